"""A file brought into memory under limits, before anything in it is believed.

A file may not unpack to more than ``max(16 MiB, 50 x its size)`` bytes unless the caller
allows more. Every count in a header is compared with the bytes that are really there.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ._error import ReadError

FLOOR = 16 * 2**20
RATIO = 50
_PIECE = 2**18


@dataclass(frozen=True)
class Source:
    """The bytes of one file, unpacked if it was gzipped."""

    path: str
    data: bytes
    suffix: str  # lower case, without ".gz"
    allowance: int  # bytes that decoding may produce

    def error(self, problem: str, place: str = "") -> ReadError:
        """A ReadError that names this file."""
        return ReadError(self.path, problem, place)

    def check_count(self, count: int, least_bytes: int, start: int, what: str, place: str) -> None:
        """Compare a count from a header with the bytes that follow ``start``."""
        left = len(self.data) - start
        if count < 0 or count * least_bytes > left:
            raise self.error(
                f"claims {count} {what}, which need {count * least_bytes} bytes, but {max(left, 0)} follow",
                place,
            )

    def check_allowance(self, size: int, what: str, place: str) -> None:
        """Compare the size of something unpacked with what this file may unpack to."""
        if size > self.allowance:
            raise self.error(
                f"{what} unpacks to {size} bytes, more than the {self.allowance} allowed for its size; "
                "pass max_bytes= if it can be trusted",
                place,
            )


def open_source(path: str | os.PathLike[str], max_bytes: int | None = None) -> Source:
    """Read a regular file, gunzip it if its content says so; ReadError for everything else."""
    name = os.fspath(path)
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    try:
        status = os.stat(name)
    except (OSError, ValueError) as error:
        raise ReadError(name, _reason(error)) from None
    if stat.S_ISDIR(status.st_mode):
        raise ReadError(name, "is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise ReadError(name, "is not a regular file (a device, pipe or socket)")
    # A file of holes claims any size for free. Where blocks are not reported, the size stands.
    stored = getattr(status, "st_blocks", 0) * 512 or status.st_size
    if status.st_size > allowance(stored, max_bytes):
        raise ReadError(name, f"is {status.st_size} bytes long but holds only {stored}: a sparse file")
    try:
        with open(name, "rb") as file:
            data = file.read(status.st_size)
    except MemoryError:
        raise ReadError(name, f"its {status.st_size} bytes do not fit in memory") from None
    except (OSError, ValueError) as error:
        raise ReadError(name, _reason(error)) from None
    if not data:
        raise ReadError(name, "is empty (0 bytes)")
    suffixes = [s.lower() for s in Path(name).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    allowed = allowance(len(data), max_bytes)
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(name, data, allowed)
    return Source(name, data, suffixes[-1] if suffixes else "", allowance(len(data), max_bytes))


def allowance(size: int, max_bytes: int | None) -> int:
    """The most bytes that a file of this size may unpack to."""
    return max_bytes if max_bytes is not None else max(FLOOR, RATIO * size)


def _gunzip(name: str, data: bytes, allowed: int) -> bytes:
    """All members of a gzip file. Counted before they are kept, so that a bomb takes no memory."""
    total = 0
    for piece in _gunzip_pieces(name, data):
        total += len(piece)
        if total > allowed:
            raise ReadError(
                name,
                f"{len(data)} gzipped bytes unpack to more than the {allowed} allowed; "
                "pass max_bytes= if it can be trusted",
            )
    if total == 0:
        raise ReadError(name, "is empty once unpacked (0 bytes)")
    unpacked = b"".join(_gunzip_pieces(name, data))
    if unpacked[:2] == b"\x1f\x8b":
        raise ReadError(name, "is gzipped twice")
    return unpacked


def _gunzip_pieces(name: str, data: bytes) -> Iterator[bytes]:
    view, position = memoryview(data), 0
    while position < len(data):
        if data[position : position + 2] != b"\x1f\x8b":
            if position and not data[position:].strip(b"\0"):
                return  # padding after the last member
            raise ReadError(name, "bytes after the end of the gzip stream", f"byte {position}")
        unpacker = zlib.decompressobj(wbits=31)
        while not unpacker.eof:
            piece: bytes | memoryview = view[position : position + _PIECE]
            if not piece:
                raise ReadError(name, "the gzip stream is cut off", f"byte {len(data)}")
            position += len(piece)
            while True:
                try:
                    yield unpacker.decompress(piece, _PIECE)
                except zlib.error as error:
                    raise ReadError(
                        name, f"not a sound gzip stream ({error})", f"before byte {position}"
                    ) from None
                piece = unpacker.unconsumed_tail
                if not piece or unpacker.eof:
                    break
        position -= len(unpacker.unused_data)


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
