"""NPY, NPZ and HDF5: named arrays as points, one cloud or many in a file.

Nothing is unpickled. External links are ignored; sizes in headers are compared with the bytes that are there.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..._base.check import MOST_DIMENSIONS
from ..._base.optional import need
from ...options import Reading
from ..cloud import Cloud, Format, as_records, coordinate_names, from_columns, starts_with
from ..limits import MOST_COLUMNS, Source, damage, open_zip
from ..text import shown
from .neurons import read_sections

# Names that are looked for, in this order, where several arrays could be meant.
_POINTS = ("points", "xyz", "pos", "positions", "coords", "coordinates", "vertices", "verts", "data", "pc")
_OFFSETS = ("offsets", "offset", "ptr", "indptr", "splits")
_LABELS = ("labels", "label", "y", "targets", "target")
_LONGEST_HEADER = 2**16
_MOST_ARRAYS = 1000
_MOST_PARTS = 16  # columns that an (m, k) array beside the points becomes


@dataclass(frozen=True)
class _Entry:
    """An array that is known by its shape and type, and read when it is wanted."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    load: Callable[[], NDArray[Any]]

    @property
    def numbers(self) -> bool:
        """Whether it holds numbers."""
        return self.dtype.kind in "fiub"


@dataclass(frozen=True)
class Arrays:
    """The arrays of a file by name."""

    source: Source
    entries: dict[str, _Entry]

    def named(self, names: tuple[str, ...], *dims: int) -> str | None:
        """The first of some names under which there are numbers with one of these numbers of dimensions."""
        lower = {name.lower(): name for name in reversed(self.entries)}
        for name in names:
            entry = self.entries.get(lower.get(name, ""))
            if entry is not None and entry.numbers and len(entry.shape) in dims:
                return lower[name]
        return None

    def main(self) -> str | None:
        """The array of points: by its name, or because it is the only one of its shape."""
        name = self.named(_POINTS, 2, 3) or ("points" if "points" in self.entries else None)
        if name is not None:
            return name
        records = [n for n, e in self.entries.items() if e.dtype.names and len(e.shape) == 1]
        records = [n for n in records if self.source.coordinates(self.entries[n].dtype.names or ())]
        if len(records) == 1:
            return records[0]
        for dims in (3, 2):
            found = [n for n, e in self.entries.items() if len(e.shape) == dims and e.numbers]
            if len(found) == 1 and (dims == 3 or self.entries[found[0]].shape[1] <= MOST_COLUMNS):
                return found[0]
        return None

    def error(self) -> Exception:
        """Nothing here looks like points."""
        shown_names = ", ".join(shown(n)[1:-1] for n in list(self.entries)[:8]) or "none"
        return self.source.error(f"needs an array 'points' or arrays x, y, z; it has {shown_names}")


def _many_clouds(count: int) -> str:
    """What is said where one cloud is expected."""
    return f"holds {count} clouds; read them with heatfield.io.read_clouds"


def _one_cloud(arrays: Arrays, dims: int | None, kind: str) -> Cloud:
    """The points, with arrays of m or (m, k) values as columns; what fits nowhere is left out."""
    source, entries = arrays.source, arrays.entries
    if source.coordinates(list(entries)) and "points" not in entries:
        return _from_axes(arrays, kind)
    main = arrays.main()
    if main is None:
        raise arrays.error()
    place = f"array {shown(main)}"
    if len(entries[main].shape) == 3:
        raise source.error(_many_clouds(entries[main].shape[0]), place)
    offsets = arrays.named(_OFFSETS, 1)
    if offsets is not None and entries[offsets].shape[0] not in (entries[main].shape[0], 2):
        raise source.error(_many_clouds(max(0, entries[offsets].shape[0] - 1)), place)
    cloud = _cloud_of(source, entries[main].load(), dims, kind, place)
    columns, left_out = dict(cloud.columns), []
    total = cloud.points.nbytes
    for name, entry in entries.items():
        if name == main:
            continue
        fits = entry.shape[:1] == (len(cloud.points),) and entry.dtype.kind in "fiubU"
        if not fits or len(entry.shape) > 2 or (len(entry.shape) == 2 and entry.shape[1] > _MOST_PARTS):
            left_out.append(name)
            continue
        values = entry.load()
        total += values.nbytes
        source.check_allowance(total, "all arrays together", f"array {shown(name)}")
        columns |= (
            {name: values}
            if values.ndim == 1
            else {f"{name}_{i}": values[:, i].copy() for i in range(values.shape[1])}
        )
    return Cloud(cloud.points, columns, kind, notes={"left_out": left_out} if left_out else {})


def _from_axes(arrays: Arrays, kind: str) -> Cloud:
    """Arrays x, y, z, and those as long as they are."""
    source, names = arrays.source, list(arrays.entries)
    axes = [names[i] for i in source.coordinates(names)]
    shape = arrays.entries[axes[0]].shape
    if len(shape) != 1 or any(arrays.entries[a].shape != shape for a in axes):
        shapes = [arrays.entries[a].shape for a in axes[:8]]
        raise source.error(f"arrays must be one column each and equally long, got shapes {shapes}")
    table, total = {}, 0
    for name, entry in arrays.entries.items():
        if entry.shape == shape and (name in axes or entry.dtype.kind in "fiubU"):
            table[name] = entry.load()
            total += table[name].nbytes
            source.check_allowance(total, "all arrays together", f"array {shown(name)}")
    return from_columns(source, table, kind)


def _cloud_of(source: Source, array: NDArray[Any], dims: int | None, kind: str, place: str) -> Cloud:
    """An (m, n) array of coordinates, or a record array with fields x, y, z."""
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
            f"has {n} coordinates per point" + (f", {dims} were asked for" if dims else ""), place
        )
    if dims is None and (n > MOST_DIMENSIONS or (n == len(array) and array.dtype.kind in "iub")):
        what = "integers, perhaps an image" if n <= MOST_DIMENSIONS or n == len(array) else "numbers"
        raise source.error(
            f"is an array {array.shape} of {what}; pass dims={n} if its rows are points in {n} dimensions, "
            "dims=3 for the first three columns",
            place,
        )
    chosen = n if dims is None else dims
    source.check_allowance(8 * len(array) * chosen, "the table of coordinates", place)
    points = np.ascontiguousarray(array[:, :chosen], dtype=np.float64)
    return Cloud(points, {f"column{c + 1}": array[:, c].copy() for c in range(chosen, n)}, kind)


def all_clouds(arrays: Arrays) -> tuple[list[NDArray[np.float64]], NDArray[Any] | None]:
    """Every cloud, and one label for each where there are labels.

    Either an array (N, m, n), as ModelNet40 is distributed, or all points in one (total, n) array with the
    offsets (N + 1,) at which clouds begin and end.
    """
    source, entries = arrays.source, arrays.entries
    main = arrays.main()
    if main is None:
        raise arrays.error()
    place = f"array {shown(main)}"
    if not entries[main].numbers:
        raise source.error(f"must be (N, m, n) or (m, n) numbers, got {entries[main].dtype}", place)
    size = 8 * int(np.prod(entries[main].shape, dtype=object))
    source.check_allowance(size, "the table of coordinates", place)
    values = np.asarray(entries[main].load(), dtype=np.float64)
    offsets = arrays.named(_OFFSETS, 1)
    if values.ndim == 3:
        clouds = list(values)
    elif values.ndim == 2 and offsets is not None:
        clouds = _cut(source, values, entries[offsets].load(), offsets)
    elif values.ndim == 2:
        clouds = [values]
    else:
        raise source.error(f"must be (N, m, n) or (m, n), got shape {values.shape}", place)
    for i, cloud in enumerate(clouds):
        good = np.isfinite(cloud)
        if not good.all():
            row = int(np.argmin(good.all(axis=1)))
            raise source.error(f"cloud {i} is not finite in row {row}", place)
    return clouds, _labels(arrays, len(clouds))


def _cut(
    source: Source, values: NDArray[np.float64], offsets: NDArray[Any], name: str
) -> list[NDArray[np.float64]]:
    place = f"array {shown(name)}"
    if (
        offsets.dtype.kind not in "iu"
        or len(offsets) < 1
        or offsets[0] != 0
        or (np.diff(offsets.astype(np.int64)) < 0).any()
    ):
        raise source.error("offsets must be integers that start at 0 and never fall", place)
    ends = offsets.astype(np.int64)
    if ends[-1] != len(values) and len(values):
        ends = np.append(ends, len(values))  # beginnings only
    if (np.diff(ends) < 0).any():
        raise source.error(f"offsets reach {int(offsets[-1])}, but there are {len(values)} points", place)
    return [values[a:b] for a, b in pairwise(ends)]


def _labels(arrays: Arrays, count: int) -> NDArray[Any] | None:
    lower = {name.lower(): name for name in arrays.entries}
    for name in _LABELS:
        entry = arrays.entries.get(lower.get(name, ""))
        if entry is None or entry.dtype.kind not in "iubUf":
            continue
        if entry.shape in ((count,), (count, 1)):
            return entry.load().reshape(count)
        raise arrays.source.error(f"has shape {entry.shape} for {count} clouds", f"array {shown(name)}")
    return None


def read_npy(source: Source, reading: Reading) -> Cloud:
    """An (m, n) array of coordinates, or a record array with fields x, y, z."""
    with _npy_arrays(source) as arrays:
        array = arrays.entries["points"].load()
    if array.ndim == 3:
        raise source.error(_many_clouds(array.shape[0]), "the array")
    return _cloud_of(source, array, reading.dims, "npy", "the array")


@contextmanager
def _npy_arrays(source: Source) -> Iterator[Arrays]:
    """The one array of a file."""
    array = _array(source, source.data, "header")
    yield Arrays(source, {"points": _Entry(array.shape, array.dtype, lambda: array)})


def read_npz(source: Source, reading: Reading) -> Cloud:
    """The array ``points``, or arrays x, y, z, or the only (m, n) array; others of length m are columns."""
    with _npz_arrays(source) as arrays:
        return _one_cloud(arrays, reading.dims, "npz")


@contextmanager
def _npz_arrays(source: Source) -> Iterator[Arrays]:
    """The arrays of an archive, unpacked when they are asked for."""
    with open_zip(source) as archive:
        found: dict[str, _Entry] = {}
        for entry in archive.infolist():
            name = entry.filename.removesuffix(".npy")
            if name == entry.filename or entry.flag_bits & 1:
                continue
            with archive.open(entry) as file:
                head = file.read(_LONGEST_HEADER)
            shape, _, dtype, _ = _header(source, head, f"array {shown(name)}")
            found[name] = _Entry(shape, dtype, partial(_unpacked, source, archive, entry))
        yield Arrays(source, found)


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
        raise source.error("has a shape with sides that are not counts", place)
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


def write_npy(points: NDArray[np.float64], columns: dict[str, NDArray[Any]], **_: Any) -> bytes:
    """The plain (m, n) array, or a record array where there are columns."""
    fields = [(n, "<f8") for n in coordinate_names(points.shape[1])] + [
        (n, c.dtype) for n, c in columns.items()
    ]
    buffer = io.BytesIO()
    np.save(buffer, as_records(points, columns, fields) if columns else points, allow_pickle=False)
    return buffer.getvalue()


def write_npz(points: NDArray[np.float64], columns: dict[str, NDArray[Any]], **_: Any) -> bytes:
    """``points`` and one array a column, compressed."""
    for name in columns:
        if name in ("points", "file") or "/" in name or not name:
            raise ValueError(f"NPZ cannot hold a column named {name!r}")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, points=points, **columns)  # type: ignore[arg-type]
    return buffer.getvalue()


def read_hdf5(source: Source, reading: Reading) -> Cloud:
    """The array ``points``, or arrays x, y, z, or the only (m, n) array; others of length m are columns."""
    with _hdf5_arrays(source) as arrays:
        points, structure = (arrays.entries.get(name) for name in ("points", "structure"))
        if points and structure and points.shape[1:] == (4,) and structure.shape[1:] == (3,):
            if not (points.numbers and structure.dtype.kind in "iu" and structure.shape[0] > 0):
                raise source.error("is a morphology whose arrays 'points' and 'structure' are not numbers")
            return read_sections(source, reading, points.load(), structure.load())
        return _one_cloud(arrays, reading.dims, "hdf5")


@contextmanager
def _hdf5_arrays(source: Source) -> Iterator[Arrays]:
    """The arrays of a file, read when they are asked for."""
    h5py = need("h5py", "HDF5 files")
    with damage(source), h5py.File(io.BytesIO(source.data), "r") as file:
        if len(file) > _MOST_ARRAYS:
            raise source.error(f"holds {len(file)} objects, more than {_MOST_ARRAYS}")
        found: dict[str, _Entry] = {}
        for name in file:
            # A link may lead to any file of the machine, and so may the storage of an array.
            if not isinstance(file.get(name, getlink=True), h5py.HardLink):
                continue
            item = file[name]
            own = isinstance(item, h5py.Dataset) and not item.is_virtual and item.external is None
            if own and item.shape is not None and not item.dtype.hasobject:
                found[name] = _Entry(item.shape, item.dtype, partial(_dataset, source, item, name))
        yield Arrays(source, found)


def _dataset(source: Source, item: Any, name: str) -> NDArray[Any]:
    place = f"array {shown(name)}"
    source.check_allowance(math.prod(item.shape) * item.dtype.itemsize, "it", place)
    if item.chunks is not None:  # a chunk is unpacked as a whole, however little of it is used
        source.check_allowance(math.prod(item.chunks) * item.dtype.itemsize, "a chunk of it", place)
    values = np.asarray(item[()])
    return values.astype(values.dtype.newbyteorder("="))


_SAMPLE = np.arange(27.0).reshape(9, 3) / 4


def _hdf5_sample() -> bytes:
    buffer = io.BytesIO()
    with need("h5py", "HDF5 files").File(buffer, "w", libver="latest") as file:
        file.create_dataset("points", data=_SAMPLE, chunks=(5, 3), compression="gzip", shuffle=True)
        file["label"] = np.arange(9)
    return buffer.getvalue()


_ARRAYS = "`points`, x, y, z, or the only (m, n) array"
_KEPT = "other arrays of m or (m, k) values"
NPY = Format(
    name="npy",
    suffixes=(".npy",),
    magic=starts_with(b"\x93NUMPY"),
    read=read_npy,
    arrays=_npy_arrays,
    write=write_npy,
    writes=(".npy",),
    sample=lambda: write_npy(_SAMPLE, {"label": np.arange(9)}),
    title="NPY",
    forms="(m, n), records with x, y, z; (N, m, n) by `read_clouds`",
    written="yes",
    kept="other fields",
)
NPZ = Format(
    name="npz",
    suffixes=(".npz",),
    magic=starts_with(b"PK\x03\x04", b"PK\x05\x06"),
    read=read_npz,
    arrays=_npz_arrays,
    write=write_npz,
    writes=(".npz",),
    sample=lambda: write_npz(_SAMPLE, {"label": np.arange(9)}),
    title="NPZ",
    forms=_ARRAYS,
    written="yes",
    kept=_KEPT,
)
HDF5 = Format(
    name="hdf5",
    suffixes=(".h5", ".hdf5"),
    magic=starts_with(b"\x89HDF\r\n\x1a\n"),
    read=read_hdf5,
    arrays=_hdf5_arrays,
    sample=_hdf5_sample,
    title="HDF5",
    forms=f"{_ARRAYS} at the top; records; morphologies (points, structure)",
    kept=_KEPT,
    needs="`heatfield[io]`",
)
