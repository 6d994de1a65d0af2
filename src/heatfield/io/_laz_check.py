"""Sizes inside compressed LAS points, which the decoder would believe and allocate.

A few bytes can claim gigabytes in three places: the items of the record "laszip encoded" (the
decoder keeps some 12 kB of statistics for every extra byte), the chunk table, and the layer sizes
at the start of every chunk of point formats 6 to 10.
"""

from __future__ import annotations

import io
import struct
from dataclasses import replace

from .._base.optional import need
from ._source import Source

_MOST_EXTRA = 2048
_VARIABLE = 2**32 - 1  # chunk size of chunks that differ
# Bytes of an item by its type, and layers of those that come in layers; None: as many as bytes.
_SIZES = {6: 20, 7: 8, 8: 6, 9: 29, 10: 30, 11: 6, 12: 8, 13: 29}
_LAYERS = {10: 9, 11: 1, 12: 2, 13: 1, 14: None}
_BYTES = (0, 14)
_NEWEST = {0: 2, 6: 2, 7: 2, 8: 2, 9: 1, 10: 4, 11: 4, 12: 4, 13: 4, 14: 4}  # version of an item
_POINTWISE, _LAYERED = 1, 3  # ways to compress: one stream, (2) chunks, chunks in layers


def with_chunk_table(source: Source, count: int, start: int) -> Source:
    """The same points with a chunk table, where an early LASzip wrote one stream without chunks.

    One stream is one chunk of all points: its place goes before it, a table of one entry behind it.
    """
    place, record = _laszip(source, start)
    (way,) = struct.unpack_from("<H", record)
    if way > _LAYERED:
        raise source.error(
            f"is compressed in way {way}, which is newer than this reader", "record 'laszip encoded'"
        )
    if way != _POINTWISE or not 0 < count < _VARIABLE:
        return source
    lazrs = need("lazrs", "LAZ files")
    head = bytearray(source.data[:start])
    struct.pack_into("<H", head, place, 2)
    struct.pack_into("<I", head, place + 12, count)
    stream = source.data[start:]
    out = io.BytesIO()
    try:
        lazrs.write_chunk_table(
            out, [(count, len(stream))], lazrs.LazVlr(bytes(head[place : place + len(record)]))
        )
    except BaseException as error:  # some damage is a Rust panic, which is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        raise source.error("the record 'laszip encoded' is damaged", f"byte {place}") from None
    table = struct.pack("<q", start + 8 + len(stream))
    return replace(source, data=bytes(head) + table + stream + out.getvalue())


def check_compression(source: Source, count: int, width: int, start: int) -> None:
    """Compare every size with the bytes that are there; ``start`` is where the points begin."""
    chunk_size, items, record = _items(source, start)
    for kind, size, version in items:
        if version > _NEWEST.get(kind, version) or kind > max(_NEWEST):
            raise source.error(
                f"uses version {version} of item {kind}, which is newer than this reader",
                "record 'laszip encoded'",
            )
        if (
            _SIZES.get(kind, size) != size
            or (kind not in _SIZES and kind not in _BYTES)
            or size > _MOST_EXTRA
        ):
            raise source.error(f"lists an item of type {kind} with {size} bytes", "record 'laszip encoded'")
    if sum(size for _, size, _ in items) != width:
        raise source.error(
            f"gives {width} bytes to a point, which its compression does not agree with", "byte 105"
        )
    if count == 0:
        return
    table, chunks = _table(source, start)
    if not 0 < chunks <= count + 1:
        raise source.error(f"claims {chunks} chunks for {count} points", f"byte {table + 4}")
    if chunk_size == _VARIABLE:
        chunks = _filled_chunks(source, count, start, record, table)
    elif chunk_size == 0 or chunks != -(-count // chunk_size):
        raise source.error(f"claims {chunks} chunks of {chunk_size} for {count} points", f"byte {table + 4}")
    if all(kind not in _LAYERS for kind, _, _ in items):
        return
    if any(kind not in _LAYERS for kind, _, _ in items):
        raise source.error("mixes items with and without layers", "record 'laszip encoded'")
    _walk(source, chunks, width, sum(_LAYERS[kind] or size for kind, size, _ in items), start + 8, table)


def _filled_chunks(source: Source, count: int, start: int, record: bytes, table: int) -> int:
    """How many chunks of their own sizes (COPC) hold points; empty ones may follow."""
    lazrs = need("lazrs", "LAZ files")
    stream = io.BytesIO(source.data)
    stream.seek(start)
    try:
        sizes = [points for points, _ in lazrs.read_chunk_table(stream, lazrs.LazVlr(record))]
    except BaseException as error:  # some damage is a Rust panic, which is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        raise source.error("the chunk table is damaged", f"byte {table}") from None
    filled = sum(points > 0 for points in sizes)
    if sum(sizes) != count or 0 in sizes[:filled]:
        raise source.error(f"its chunks hold {sum(sizes)} points, its header says {count}", f"byte {table}")
    return filled


def _walk(source: Source, chunks: int, width: int, layers: int, position: int, table: int) -> None:
    """Each chunk: one plain point, its number of points, then the sizes of its layers, then these."""
    for _ in range(chunks):
        sizes_at = position + width + 4
        if sizes_at + 4 * layers > table:
            raise source.error("a compressed chunk runs past its table", f"byte {position}")
        total = sum(struct.unpack_from(f"<{layers}I", source.data, sizes_at))
        position = sizes_at + 4 * layers + total
        if position > table:
            raise source.error(f"a compressed chunk claims {total} bytes, past its table", f"byte {sizes_at}")


def _table(source: Source, start: int) -> tuple[int, int]:
    """Where the chunk table is, and how many chunks it claims."""
    data = source.data
    source.check_count(1, 8, start, "chunk table", f"byte {start}")
    (table,) = struct.unpack_from("<q", data, start)
    if table == -1:  # written by a stream that could not go back: the place stands at the end
        (table,) = struct.unpack_from("<q", data, len(data) - 8)
    if not start + 8 <= table <= len(data) - 8:
        raise source.error(f"says its chunk table is at byte {table}, outside of the file", f"byte {start}")
    return table, struct.unpack_from("<II", data, table)[1]


def _items(source: Source, start: int) -> tuple[int, list[tuple[int, int, int]], bytes]:
    """Chunk size; type, bytes and version of each item; and the whole record "laszip encoded"."""
    _, record = _laszip(source, start)
    (chunk_size,) = struct.unpack_from("<I", record, 12)
    (items,) = struct.unpack_from("<H", record, 32)
    entries = [struct.unpack_from("<HHH", record, 34 + 6 * i) for i in range(items)]
    return chunk_size, [(int(a), int(b), int(c)) for a, b, c in entries], record


def _laszip(source: Source, start: int) -> tuple[int, bytes]:
    """Where the record "laszip encoded" stands, and its content."""
    data = source.data
    position, vlrs = struct.unpack_from("<H", data, 94)[0], struct.unpack_from("<I", data, 100)[0]
    found = []
    for _ in range(vlrs):
        if position + 54 > start:
            break
        number, length = struct.unpack_from("<HH", data, position + 18)
        body = position + 54
        if data[position + 2 : position + 18].split(b"\0")[0] == b"laszip encoded" and number == 22204:
            if length < 34 or body + length > start:
                break
            if 34 + 6 * struct.unpack_from("<H", data, body + 32)[0] > length:
                break
            found.append((body, bytes(data[body : body + length])))
        position = body + length
    if len(found) != 1:
        raise source.error("is compressed but does not say how (one record 'laszip encoded')", "header")
    return found[0]
