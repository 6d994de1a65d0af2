"""NPY and NPZ, without pickles: the header is compared with the bytes that follow it."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ._cloud import MOST_COLUMNS, Cloud, coordinate_names, find_coordinates, from_columns
from ._source import Source


def read_npy(source: Source, dims: int | None = None) -> Cloud:
    """An (m, n) array of coordinates, or a record array with fields x, y, z."""
    array = _array(source, source.data, "header")
    return _cloud(source, array, dims, "npy", "the array")


def read_npz(source: Source, dims: int | None = None) -> Cloud:
    """The array ``points``, or arrays x, y, z, or the only (m, n) array; others of length m are columns."""
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            entries = archive.infolist()
            source.check_allowance(sum(e.file_size for e in entries), "the archive", "its directory")
            for entry in entries:
                if entry.filename.endswith(".npy") and entry.flag_bits & 1 == 0:
                    name = entry.filename[:-4]
                    with archive.open(entry) as file:
                        data = file.read(entry.file_size)
                    arrays[name] = _array(source, data, f"array {name!r}")
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        OSError,
        ValueError,
    ) as error:
        if type(error) is type(source.error("")):
            raise
        raise source.error(f"damaged archive: {error}") from None
    if "points" in arrays:
        main = "points"
    elif find_coordinates(list(arrays)):
        return from_columns(source, _same_length(source, arrays), "npz")
    else:
        tables = [name for name, a in arrays.items() if a.ndim == 2]
        if len(tables) != 1:
            raise source.error(
                f"needs an array 'points' or arrays x, y, z; it has {', '.join(list(arrays)[:8]) or 'none'}"
            )
        main = tables[0]
    cloud = _cloud(source, arrays.pop(main), dims, "npz", f"array {main!r}")
    columns = dict(cloud.columns)
    for name, array in arrays.items():
        if array.ndim == 1 and len(array) == len(cloud.points):
            columns[name] = array
        elif array.ndim != 0:
            raise source.error(
                f"array {name!r} has shape {array.shape}, not ({len(cloud.points)},)", f"array {name!r}"
            )
    return Cloud(cloud.points, columns, "npz")


def _same_length(source: Source, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    shapes = {name: a.shape for name, a in arrays.items()}
    if len(set(shapes.values())) > 1 or any(len(s) != 1 for s in shapes.values()):
        raise source.error(
            f"arrays must be one column each and equally long, got shapes {list(shapes.values())[:8]}"
        )
    return arrays


def _array(source: Source, data: bytes, place: str) -> NDArray[Any]:
    stream = io.BytesIO(data)
    try:
        version = npy.read_magic(stream)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if read is None:
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not supported")
        shape, fortran, dtype = read(stream)
    except MemoryError:
        raise source.error("the header is nested too deeply", place) from None
    except Exception as error:  # numpy parses the header as a Python literal: many kinds of error
        raise source.error(
            f"damaged header: {str(error).splitlines()[0][:200] if str(error) else error!r}", place
        ) from None
    start = stream.tell()
    if dtype.hasobject:
        raise source.error("holds Python objects, which are never unpickled", place)
    if dtype.itemsize == 0:
        raise source.error(f"has type {dtype}, which holds nothing", place)
    if len(shape) > 2 or any(not isinstance(s, int) or s < 0 for s in shape):
        raise source.error(f"has shape {shape}; (m, n) is needed", place)
    count = 1
    for side in shape:
        count *= side
    if count * dtype.itemsize > len(data) - start or max(shape, default=0) > 2**62:
        raise source.error(
            f"claims shape {shape} of {dtype}, {count * dtype.itemsize} bytes; {len(data) - start} follow",
            place,
        )
    values = np.frombuffer(data, dtype, count, start)
    values = values.reshape(shape, order="F" if fortran else "C")
    return values.astype(dtype.newbyteorder("="))


def _cloud(source: Source, array: NDArray[Any], dims: int | None, kind: str, place: str) -> Cloud:
    if array.dtype.names is not None:
        if array.ndim != 1:
            raise source.error(f"a record array must have shape (m,), got {array.shape}", place)
        parts = {n: array[n] for n in array.dtype.names}
        if any(p.ndim != 1 for p in parts.values()):
            raise source.error("fields that are arrays themselves are not supported", place)
        return from_columns(source, {n: np.ascontiguousarray(p) for n, p in parts.items()}, kind, place)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise source.error(
            f"must be an (m, n) array of numbers, got shape {array.shape} of {array.dtype}", place
        )
    n = array.shape[1]
    if n == 0 or n > MOST_COLUMNS or (dims is not None and dims > n):
        raise source.error(
            f"has {n} coordinates a point" + (f", {dims} were asked for" if dims else ""), place
        )
    chosen = n if dims is None else dims
    points = np.ascontiguousarray(array[:, :chosen], dtype=np.float64)
    return Cloud(points, {f"column{c + 1}": array[:, c].copy() for c in range(chosen, n)}, kind)


def npy_bytes(points: NDArray[np.float64], columns: dict[str, NDArray[Any]]) -> bytes:
    """The plain (m, n) array, or a record array where there are columns."""
    buffer = io.BytesIO()
    if not columns:
        np.save(buffer, points, allow_pickle=False)
        return buffer.getvalue()
    names = coordinate_names(points.shape[1])
    rows = np.empty(
        len(points), np.dtype([(n, "<f8") for n in names] + [(n, c.dtype) for n, c in columns.items()])
    )
    for name, column in zip([*names, *columns], [*points.T, *columns.values()], strict=True):
        rows[name] = column
    np.save(buffer, rows, allow_pickle=False)
    return buffer.getvalue()


def npz_bytes(points: NDArray[np.float64], columns: dict[str, NDArray[Any]]) -> bytes:
    """``points`` and one array a column, compressed."""
    for name in columns:
        if name in ("points", "file") or "/" in name or not name:
            raise ValueError(f"NPZ cannot hold a column named {name!r}")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, points=points, **columns)  # type: ignore[arg-type]
    return buffer.getvalue()
