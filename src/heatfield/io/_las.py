"""LAS, LAZ and COPC by laspy and lazrs, behind checks that do not trust the header."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.optional import need
from ._cloud import Cloud
from ._las_records import kept_records
from ._laz_check import check_compression, with_chunk_table
from ._source import Source

_AT_ONCE = 100_000
_POINT = 24  # bytes of a point in double precision
_COUNT_14 = 247  # where version 1.4 keeps its 64-bit count
_WIDTH = (20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67)  # bytes of a record by point format


def read_las(source: Source) -> Cloud:
    """Coordinates as laspy scales them, to the last digit, and all other dimensions as columns."""
    count, width, start, packed = _check_header(source)
    laspy = need("laspy", "LAS and LAZ files")
    records = kept_records(source)
    if packed:
        need("lazrs", "LAZ files")
        source.check_allowance(count * (width + _POINT), f"a file of {count} points", "header")
        source = with_chunk_table(source, count, start)
        check_compression(source, count, width, start)
    try:
        # One thread: the parallel decoder allocates what a damaged chunk table claims.
        backend = laspy.LazBackend.Lazrs if packed else None
        with laspy.open(io.BytesIO(source.data), laz_backend=backend, read_evlrs=False) as reader:
            scales, offsets = np.array(reader.header.scales), np.array(reader.header.offsets)
            encoding = reader.header.global_encoding.value
            extra = {d.name: d.description for d in reader.header.point_format.extra_dimensions}
            names = [n for n in reader.header.point_format.dimension_names if n not in ("X", "Y", "Z")]
            points = np.empty((count, 3))
            columns: dict[str, NDArray[Any]] = {}
            done = 0
            # Piece by piece: laspy keeps whole records, and the columns would double them.
            for piece in reader.chunk_iterator(_AT_ONCE):
                rows = slice(done, done + len(piece))
                for axis, name in enumerate("xyz"):
                    points[rows, axis] = piece[name]
                for name in names:
                    values = np.asarray(piece[name])
                    if name not in columns:
                        columns[name] = np.empty((count, *values.shape[1:]), values.dtype)
                    columns[name][rows] = values
                done += len(piece)
    except MemoryError:
        raise source.error("does not fit in memory") from None
    except BaseException as error:  # lazrs reports some damage as a Rust panic, which is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        what = _first_line(error)
        if "nsupported" in what or "not supported" in what:
            raise source.error(f"is written in a way that is newer than this reader ({what})") from None
        raise source.error(f"damaged: {what}", f"after byte {start}") from None
    if done != count:
        raise source.error(f"holds {done} points where its header claims {count}", f"after byte {start}")
    if done == 0:
        columns = {}
    flat: dict[str, NDArray[Any]] = {}
    for name, values in columns.items():
        parts = (
            {name: values}
            if values.ndim == 1
            else {f"{name}_{i}": values[:, i] for i in range(values.shape[1])}
        )
        flat.update(parts)
    notes = {
        "scales": scales,
        "offsets": offsets,
        "point_format": source.data[104] & 0x3F,
        "global_encoding": int(encoding),
        "vlrs": records,
        "descriptions": {name: text for name, text in extra.items() if text},
    }
    return Cloud(points, flat, "las", notes=notes)


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _check_header(source: Source) -> tuple[int, int, int, bool]:
    """Count, bytes per point, start of the points, and whether they are compressed."""
    data = source.data
    if len(data) < 227:
        raise source.error("ends inside the header, which takes 227 bytes or more", f"byte {len(data)}")
    minor = data[25]
    if data[24] != 1 or minor > 4:
        newer = ", newer than this reader" if (data[24], minor) > (1, 4) and data[24] < 10 else ""
        raise source.error(f"has LAS version {data[24]}.{minor}{newer}; 1.0 to 1.4 can be read", "byte 24")
    head, start, vlrs, kind, width, count = struct.unpack_from("<HIIBHI", data, 94)
    if minor == 4:
        if head < 375 or len(data) < 375:
            raise source.error(
                "ends inside the header, which takes 375 bytes in version 1.4", f"byte {len(data)}"
            )
        (count,) = struct.unpack_from("<Q", data, _COUNT_14)
    packed, point_format = bool(kind & 0xC0), kind & 0x3F
    if point_format >= len(_WIDTH):
        raise source.error(f"has point format {point_format}, which does not exist", "byte 104")
    if width < _WIDTH[point_format]:
        raise source.error(
            f"gives {width} bytes to a point; format {point_format} needs {_WIDTH[point_format]}", "byte 105"
        )
    if not 227 <= head <= start <= len(data):
        raise source.error(f"says its points start at byte {start}, outside of the file", "byte 96")
    if vlrs * 54 > start - head:
        raise source.error(f"claims {vlrs} variable records, for which there is no room", "byte 100")
    if not packed:
        source.check_count(count, width, start, "points", "header")
    scales = struct.unpack_from("<6d", data, 131)
    if not np.isfinite(scales).all():
        raise source.error("scales and offsets must be finite", "byte 131")
    return count, width, start, packed
