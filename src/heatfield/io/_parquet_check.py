"""Sizes inside a Parquet file, which pyarrow would believe and allocate.

A few bytes can claim gigabytes in two places: the lists of the footer (an empty entry is one byte
there, a kilobyte in memory), and the unpacked size of every page. Both are Thrift's compact protocol.
"""

from __future__ import annotations

import struct
from typing import Any

from ._cloud import MOST_COLUMNS
from ._source import Source

_LONGEST_FOOTER = 2 * 2**20
_MOST_PAGES = 100_000
_CHUNK = 1024  # bytes that pyarrow keeps for the details of a column's chunk
_DEEPEST = 16
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12


class _UnsoundError(Exception):
    """The bytes are no Thrift."""


class _Compact:
    """Thrift's compact protocol, read as plain dictionaries by number of the field."""

    def __init__(self, data: bytes, position: int, end: int) -> None:
        self.data, self.position, self.end = data, position, end

    def byte(self) -> int:
        if self.position >= self.end:
            raise _UnsoundError
        self.position += 1
        return self.data[self.position - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise _UnsoundError

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE, _BYTE):
            return self.byte()
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self.list(depth + 1)
        if kind in (_BINARY, _DOUBLE):
            length = self.varint() if kind == _BINARY else 8
            if length > self.end - self.position:
                raise _UnsoundError
            self.position += length
            return length
        raise _UnsoundError

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _DEEPEST:
            raise _UnsoundError
        fields: dict[int, Any] = {}
        number = 0
        while (head := self.byte()) != _STOP:
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            kind = head & 15
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self.value(kind, depth)
        return fields

    def list(self, depth: int) -> list[Any]:
        if depth > _DEEPEST:
            raise _UnsoundError
        head = self.byte()
        count = head >> 4 if head >> 4 < 15 else self.varint()
        if count > self.end - self.position:
            raise _UnsoundError
        return [self.value(head & 15, depth) for _ in range(count)]


def check_pages(source: Source) -> None:
    """Add up what the pages unpack to; a ReadError where that is too much or makes no sense."""
    data = source.data
    if len(data) < 12 or data[-4:] != b"PAR1":
        raise source.error("damaged: it does not end with a footer", f"byte {len(data)}")
    (length,) = struct.unpack_from("<I", data, len(data) - 8)
    start = len(data) - 8 - length
    if start < 4:
        raise source.error(
            f"claims a footer of {length} bytes, longer than the file", f"byte {len(data) - 8}"
        )
    if length > max(_LONGEST_FOOTER, len(data) // 10):
        raise source.error(f"has a footer of {length} bytes, out of proportion", f"byte {start}")
    try:
        footer = _Compact(data, start, len(data) - 8).struct()
        groups = footer.get(4, [])
        chunks = [chunk for group in groups for chunk in group.get(1, [])]
        if len(footer.get(2, [])) > 8 * MOST_COLUMNS:
            raise source.error(f"has more than {MOST_COLUMNS} columns", "schema")
        source.check_allowance(_CHUNK * len(chunks), f"a footer of {len(chunks)} chunks", "footer")
        total = pages = 0
        for chunk in chunks:
            details = chunk.get(3)
            if not isinstance(details, dict) or 1 in chunk:
                raise source.error("keeps a column in another file or nowhere", "footer")
            if details[5] <= 0:
                continue
            position = min(details[9], details.get(11) or details[9])
            end = position + details[7]
            if not 4 <= position <= end <= start:
                raise source.error("says a column lies outside of the file", "footer")
            left = details[5]
            while left > 0 and position < end:
                page = _Compact(data, position, end)
                header = page.struct()
                total += max(0, header[2])
                pages += 1
                source.check_allowance(total, "all pages together", f"byte {position}")
                if pages > _MOST_PAGES + len(data) // 1000:
                    raise source.error(f"has more than {pages - 1} pages", f"byte {position}")
                if header[3] < 0:
                    raise _UnsoundError
                left -= max((header[n].get(1, 0) for n in (5, 8) if n in header), default=0)
                position = page.position + header[3]
    except (_UnsoundError, KeyError, TypeError, AttributeError):
        raise source.error("damaged: its footer or a page's header makes no sense") from None
