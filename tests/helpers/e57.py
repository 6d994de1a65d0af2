"""Pages of E57 with sound checksums, so that damage in them reaches the reader."""

from __future__ import annotations

import struct

PAGE = 1024


def _crc(block: bytes) -> int:
    """CRC-32C."""
    crc = 0xFFFFFFFF
    for byte in block:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def logical(content: bytes) -> bytes:
    """What the pages hold."""
    return b"".join(content[i : i + PAGE - 4] for i in range(0, len(content), PAGE))


def sealed(content: bytes) -> bytes:
    """Pages with their checksums."""
    step = PAGE - 4
    pages = [content[i : i + step].ljust(step, b"\0") for i in range(0, len(content), step)]
    return b"".join(page + struct.pack(">I", _crc(page)) for page in pages)
