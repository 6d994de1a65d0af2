"""Named arrays as points: one cloud, or many clouds in one file, whether they came from NPZ or HDF5."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import find_coordinates
from ._cloud import MOST_COLUMNS, Cloud, from_columns
from ._source import Source
from ._text import shown

# Names that are looked for, in this order, where several arrays could be meant.
POINTS = ("points", "xyz", "pos", "positions", "coords", "coordinates", "vertices", "verts", "data", "pc")
OFFSETS = ("offsets", "offset", "ptr", "indptr", "splits")
LABELS = ("labels", "label", "y", "targets", "target")
_MOST_PARTS = 16  # columns that an (m, k) array beside the points becomes


@dataclass(frozen=True)
class Entry:
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
    entries: dict[str, Entry]

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
        name = self.named(POINTS, 2, 3) or ("points" if "points" in self.entries else None)
        if name is not None:
            return name
        for dims in (3, 2):
            found = [n for n, e in self.entries.items() if len(e.shape) == dims and e.numbers]
            if len(found) == 1 and (dims == 3 or self.entries[found[0]].shape[1] <= MOST_COLUMNS):
                return found[0]
        return None

    def error(self) -> Exception:
        """Nothing here looks like points."""
        shown_names = ", ".join(shown(n)[1:-1] for n in list(self.entries)[:8]) or "none"
        return self.source.error(f"needs an array 'points' or arrays x, y, z; it has {shown_names}")


def many_clouds(count: int) -> str:
    """What is said where one cloud is expected."""
    return f"holds {count} clouds; read them with heatfield.io.read_clouds"


def one_cloud(arrays: Arrays, dims: int | None, kind: str) -> Cloud:
    """The points, with arrays of m or (m, k) values as columns; what fits nowhere is left out."""
    source, entries = arrays.source, arrays.entries
    if find_coordinates(list(entries)) and "points" not in entries:
        return _from_axes(arrays, kind)
    main = arrays.main()
    if main is None:
        raise arrays.error()
    place = f"array {shown(main)}"
    if len(entries[main].shape) == 3:
        raise source.error(many_clouds(entries[main].shape[0]), place)
    offsets = arrays.named(OFFSETS, 1)
    if offsets is not None and entries[offsets].shape[0] not in (entries[main].shape[0], 2):
        raise source.error(many_clouds(max(0, entries[offsets].shape[0] - 1)), place)
    cloud = cloud_of(source, entries[main].load(), dims, kind, place)
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
    axes = [names[i] for i in find_coordinates(names)]
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


def cloud_of(source: Source, array: NDArray[Any], dims: int | None, kind: str, place: str) -> Cloud:
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
    size = 8 * int(np.prod(entries[main].shape, dtype=object))
    source.check_allowance(size, "the table of coordinates", place)
    values = np.asarray(entries[main].load(), dtype=np.float64)
    offsets = arrays.named(OFFSETS, 1)
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
    for name in LABELS:
        entry = arrays.entries.get(lower.get(name, ""))
        if entry is None or entry.dtype.kind not in "iubUf":
            continue
        if entry.shape in ((count,), (count, 1)):
            return entry.load().reshape(count)
        raise arrays.source.error(f"has shape {entry.shape} for {count} clouds", f"array {shown(name)}")
    return None
