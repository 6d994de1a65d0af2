"""LAS and LAZ written by laspy, every column kept.

A column goes where LAS has a dimension of its name, else into an extra dimension.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.optional import need
from ._las_records import PROJECTION, is_wkt

_KEPT_BITS = 0b1001  # the meaning of GPS times, and return numbers that were made up
# Points whose records are made together: in the cache of a processor, as every column passes over all.
# Packed ones by the threads of the compressor, in chunks of 50,000.
_AT_ONCE, _AT_ONCE_PACKED = 1 << 13, 200_000
_STEPS = 2**31 - 2  # coordinates are stored as 32-bit counts of a step


def las_bytes(
    points: NDArray[np.float64],
    columns: dict[str, NDArray[Any]],
    compress: bool = False,
    notes: dict[str, Any] | None = None,
    descriptions: dict[str, str] | None = None,
) -> bytes:
    """LAS 1.4; point format 6, or 7 where there are colours, or that of the file the points came from.

    ``notes`` of a cloud that was read from LAS give scale and offset back, so that its
    coordinates stay the same to the last digit, and the coordinate reference system. Otherwise the step
    is the coarsest power of ten that holds every coordinate, or the finest that the extent allows.
    ``descriptions`` go with extra dimensions, which have room for 32 bytes.
    """
    laspy = need("laspy", "LAS and LAZ files")
    if compress:
        need("lazrs", "LAZ files")
    if points.shape[1] != 3:
        raise ValueError(f"LAS holds points in 3 dimensions, got {points.shape[1]}")
    notes = notes or {}
    scales, offsets = (notes["scales"], notes["offsets"]) if "scales" in notes else _grid(points)
    header = _header(laspy, columns, notes.get("point_format"))
    header.scales, header.offsets = scales, offsets
    records = notes.get("vlrs", [])
    for record in records:
        header.vlrs.append(laspy.VLR(record.user, record.number, record.description, record.data))
    header.global_encoding.value = int(notes.get("global_encoding", 0)) & _KEPT_BITS
    bare = all(record.user != PROJECTION for record in records)
    header.global_encoding.wkt = is_wkt(records) or (bare and header.point_format.id >= 6)
    known = set(header.point_format.dimension_names) - {"X", "Y", "Z"}
    texts = {**notes.get("descriptions", {}), **(descriptions or {})}
    for name, column in columns.items():
        if name in known and _fits(header.point_format.dimension_by_name(name), column):
            continue
        if name in known or name.lower() in ("x", "y", "z"):
            raise ValueError(
                f"LAS gives {name!r} a meaning and a type that this column ({column.dtype}) does not fit"
            )
        if column.dtype.kind not in "fiub" or len(name.encode()) > 31 or not name:
            raise ValueError(
                f"LAS cannot hold column {name!r} of {column.dtype}: numbers, and a name of at most 31 bytes"
            )
        kind = {"b1": "u1", "f2": "f4"}.get(column.dtype.str[1:], column.dtype.str[1:])
        text = texts.get(name, "").encode("ascii", "replace")[:32].decode()
        header.add_extra_dim(laspy.ExtraBytesParams(name=name, type=kind, description=text))
    counts = np.rint((points - offsets) / scales)
    if len(counts) and np.abs(counts).max() > _STEPS:
        raise ValueError("the extent of these points does not fit LAS at the given scale")
    header.creation_date = None  # the same points give the same bytes on any day
    buffer = io.BytesIO()
    with laspy.LasWriter(buffer, header, do_compress=compress, closefd=False) as writer:
        step = _AT_ONCE_PACKED if compress else _AT_ONCE
        for first in range(0, len(points), step):
            rows = slice(first, first + step)
            record = laspy.ScaleAwarePointRecord.zeros(len(points[rows]), header=header)
            record.X, record.Y, record.Z = (counts[rows, i].astype(np.int32) for i in range(3))
            for name, column in columns.items():
                record[name] = column[rows]
            writer.write_points(record)
    return buffer.getvalue()


def _header(laspy: Any, columns: dict[str, NDArray[Any]], source: int | None) -> Any:
    """The header of the source's point format where that has a place for the columns, else of format 6 or 7.

    Formats below 6 keep a coordinate system in GeoTIFF keys, which those from 6 on may not have.
    """
    coloured = "red" in columns
    formats = [7 if coloured else 6]
    if source is not None:
        plain = {4: 1, 5: 3, 9: 6, 10: 8}.get(source, source)  # without waveforms
        plain = {0: 2, 1: 3, 6: 7}.get(plain, plain) if coloured else plain
        plain = {0: 1, 2: 3}.get(plain, plain) if "gps_time" in columns else plain
        formats.insert(0, {6: 8, 7: 8}.get(plain, plain) if "nir" in columns else plain)
    for number in formats:
        header = laspy.LasHeader(version="1.4", point_format=number)
        known = {d.name: d for d in header.point_format.dimensions}
        if all(_fits(known[name], column) for name, column in columns.items() if name in known):
            break
    return header


def _fits(dimension: Any, column: NDArray[Any]) -> bool:
    """Whether a standard dimension holds these values."""
    if column.dtype.kind not in "iub" or dimension.kind.name == "FloatingPoint":
        return (
            column.dtype.kind in "fiub"
            and dimension.kind.name == "FloatingPoint"
            and dimension.num_bits == 64
        )
    low, high = int(dimension.min), int(dimension.max)
    return not len(column) or (int(column.min()) >= low and int(column.max()) <= high)


def _grid(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scales, offsets = np.full(3, 1e-3), np.zeros(3)
    for axis in range(3 if len(points) else 0):
        x = points[:, axis]
        offsets[axis] = np.floor(x.min())
        extent = max(float(x.max() - offsets[axis]), 1e-6)
        finest = int(np.floor(np.log10(_STEPS / extent)))
        for digits in range(min(0, finest), finest + 1):
            scales[axis] = float(f"1e{-digits}")
            steps = np.rint((x - offsets[axis]) / scales[axis])
            near = np.abs(steps * scales[axis] + offsets[axis] - x)
            if (near <= 4 * np.spacing(np.abs(x).max())).all():  # a step of 0.001 is no exact number either
                break
    return scales, offsets
