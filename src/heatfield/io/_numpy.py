"""NPY and NPZ, without pickles: the header is compared with the bytes that follow it."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ._arrays import Arrays, Entry, cloud_of, many_clouds, one_cloud
from ._cloud import Cloud, coordinate_names
from ._error import ReadError
from ._source import Source
from ._text import shown

_LONGEST_HEADER = 2**16


def read_npy(source: Source, dims: int | None = None) -> Cloud:
    """An (m, n) array of coordinates, or a record array with fields x, y, z."""
    array = _array(source, source.data, "header")
    if array.ndim == 3:
        raise source.error(many_clouds(array.shape[0]), "the array")
    return cloud_of(source, array, dims, "npy", "the array")


def read_npz(source: Source, dims: int | None = None) -> Cloud:
    """The array ``points``, or arrays x, y, z, or the only (m, n) array; others of length m are columns."""
    with npz_arrays(source) as arrays:
        return one_cloud(arrays, dims, "npz")


@contextmanager
def npz_arrays(source: Source) -> Iterator[Arrays]:
    """The arrays of an archive, unpacked when they are asked for."""
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            found: dict[str, Entry] = {}
            for entry in archive.infolist():
                name = entry.filename.removesuffix(".npy")
                if name == entry.filename or entry.flag_bits & 1:
                    continue
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise source.error(
                        f"is packed by method {entry.compress_type} of ZIP, which NumPy does not use",
                        f"array {shown(name)}",
                    )
                with archive.open(entry) as file:
                    head = file.read(_LONGEST_HEADER)
                shape, _, dtype, _ = _header(source, head, f"array {shown(name)}")
                found[name] = Entry(shape, dtype, partial(_unpacked, source, archive, entry))
            yield Arrays(source, found)
    except ReadError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        OSError,
        ValueError,
    ) as error:
        raise source.error(f"damaged archive: {error}") from None


def _unpacked(source: Source, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    place = f"array {shown(entry.filename.removesuffix('.npy'))}"
    source.check_allowance(entry.file_size, "it", place)
    with archive.open(entry) as file:
        return _array(source, file.read(entry.file_size), place)


def _header(source: Source, data: bytes, place: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, Fortran order, type, and the byte where the values start."""
    stream = io.BytesIO(data[:_LONGEST_HEADER])
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
    # Sides are compared one by one: a product of thousands of digits cannot even be printed.
    if len(shape) > 32 or any(type(s) is not int or not 0 <= s < 2**48 for s in shape):
        raise source.error("has a shape with sides that are no counts", place)
    return shape, fortran, dtype, stream.tell()


def _array(source: Source, data: bytes, place: str) -> NDArray[Any]:
    shape, fortran, dtype, start = _header(source, data, place)
    if dtype.hasobject:
        raise source.error("holds Python objects, which are never unpickled", place)
    if dtype.itemsize == 0:
        raise source.error(f"has type {dtype}, which holds nothing", place)
    size = math.prod(shape) * dtype.itemsize
    if size > len(data) - start or math.prod(s for s in shape if s) * dtype.itemsize >= 2**62:
        raise source.error(
            f"claims shape {shape} of {dtype}, {size} bytes; {len(data) - start} follow", place
        )
    values = np.frombuffer(data, dtype, math.prod(shape), start)
    values = values.reshape(shape, order="F" if fortran else "C")
    return values.astype(dtype.newbyteorder("="))


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
