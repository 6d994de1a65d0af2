"""Sizes inside compressed LAS points, which the decoder would believe and allocate.

A few bytes can claim gigabytes in three places: the items of the record "laszip encoded" (the
decoder keeps some 12 kB of statistics for every extra byte), the chunk table, and the layer sizes
at the start of every chunk of point formats 6 to 10.
"""

from __future__ import annotations

import io
import struct

from .._base.optional import need
from ._source import Source

_MOST_EXTRA = 2048
_VARIABLE = 2**32 - 1  # chunk size of chunks that differ
# Bytes of an item by its type, and layers of those that come in layers; None: as many as bytes.
_SIZES = {6: 20, 7: 8, 8: 6, 9: 29, 10: 30, 11: 6, 12: 8, 13: 29}
_LAYERS = {10: 9, 11: 1, 12: 2, 13: 1, 14: None}
_BYTES = (0, 14)


def check_compression(source: Source, count: int, width: int, start: int) -> None:
    """Compare every size with the bytes that are there; ``start`` is where the points begin."""
    chunk_size, items, record = _items(source, start)
    for kind, size in items:
        if (
            _SIZES.get(kind, size) != size
            or (kind not in _SIZES and kind not in _BYTES)
            or size > _MOST_EXTRA
        ):
            raise source.error(f"lists an item of type {kind} with {size} bytes", "record 'laszip encoded'")
    if sum(size for _, size in items) != width:
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
    if all(kind not in _LAYERS for kind, _ in items):
        return
    if any(kind not in _LAYERS for kind, _ in items):
        raise source.error("mixes items with and without layers", "record 'laszip encoded'")
    _walk(source, chunks, width, sum(_LAYERS[kind] or size for kind, size in items), start + 8, table)


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


def _items(source: Source, start: int) -> tuple[int, list[tuple[int, int]], bytes]:
    """Chunk size, type and bytes of each item, and the whole record "laszip encoded"."""
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
            (chunk_size,) = struct.unpack_from("<I", data, body + 12)
            (items,) = struct.unpack_from("<H", data, body + 32)
            if 34 + 6 * items > length:
                break
            entries = [struct.unpack_from("<HHH", data, body + 34 + 6 * i)[:2] for i in range(items)]
            record = data[body : body + length]
            found.append((chunk_size, [(int(a), int(b)) for a, b in entries], record))
        position = body + length
    if len(found) != 1:
        raise source.error("is compressed but does not say how (one record 'laszip encoded')", "header")
    return found[0]
