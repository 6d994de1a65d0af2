"""What a file holds: points, and everything that came with them; and what a format is."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.summary import Summarised, Summary, extent, plural, shortened, shown
from ..options import Reading
from .limits import Source

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Cloud(Summarised):
    """The content of one file.

    Guide: ``heatfield docs guide/formats``.

    Attributes
    ----------
    points : (m, n) float64
        Coordinates; mesh vertices and skeleton nodes where the file holds these.
    columns : dict of (m,) arrays
        Every other column under its own name, in its own type.
    format : str
        What the file turned out to be: ``"ply"``, ``"las"``, ...
    faces : (f, 3) int64 or None
        Triangles of a mesh, as rows of ``points``.
    parents : (m,) int64 or None
        For a skeleton (SWC): the row each node hangs on, -1 for a root.
    notes : dict
        What a writer needs to give the same file back, such as the scale of LAS coordinates.

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> cloud = hf.Cloud(np.eye(3), {"charge": np.array([1, -1, 0])})
    >>> cloud.take(np.array([2])).columns["charge"].tolist()
    [0]
    """

    points: Array
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    format: str = ""
    faces: NDArray[np.int64] | None = None
    parents: NDArray[np.int64] | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    def _summary(self) -> Summary:
        m, n = self.points.shape
        lines: list[tuple[str, str | list[str]]] = [("extent", extent(self.points))]
        if self.faces is not None:
            lines.append(("faces", plural(len(self.faces), "triangle")))
        if self.parents is not None:
            lines.append(("parents", f"a skeleton with {plural(int((self.parents < 0).sum()), 'root')}"))
        if self.notes.get("chains"):
            lines.append(("chains", chain_words(self)))
        named = [f"{shortened(name)} ({column.dtype})" for name, column in self.columns.items()]
        lines.append(("columns", shown(named) or "none"))
        if self.notes:
            lines.append(("notes", shown(map(str, self.notes))))
        kind = f", format {self.format}" if self.format else ""
        title = f"Cloud of {plural(m, 'point')} in {plural(n, 'dimension')}{kind}"
        return Summary(title, lines)

    def take(self, rows: NDArray[Any]) -> Cloud:
        """Some of the points with their columns; faces and parents do not survive.

        Parameters
        ----------
        rows : (q,) int, or (m,) bool

        Returns
        -------
        cloud : Cloud
        """
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Cloud(self.points[rows], columns, self.format, notes=self.notes)


def chain_words(cloud: Cloud) -> str:
    """How many chains of a molecule were taken together; "" for one.

    Examples
    --------
    >>> import numpy as np
    >>> chain_words(Cloud(np.eye(3), notes={"chains": ["A", "B"]}))
    '2 chains together: A, B'
    """
    chains = cloud.notes.get("chains", [])
    return f"{len(chains)} chains together: {shown(chains)}" if len(chains) > 1 else ""


@dataclass(frozen=True, kw_only=True)
class Format:
    """One file format: its only entry. Detection, tables of suffixes, docs and hostile-file tests follow.

    Attributes
    ----------
    name : str
        What ``Cloud.format`` says.
    suffixes : tuple of str
    read : callable(source, reading) -> Cloud
    magic : callable(source) -> bool
        Whether the content can be nothing else.
    sample : callable() -> bytes
        A small valid file in three dimensions.
    write : callable(points, columns, *, suffix, notes, descriptions) -> bytes, optional
        A writer takes those of the keywords that it uses.
    writes : tuple of str
        Suffixes that can be written.
    unmarked : bool
        The suffix is believed where the content does not tell.
    arrays : callable(source) -> context manager, optional
        The arrays of a file that may hold many clouds.
    title, forms, written, kept, needs : str
        The row of the docs page.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Source, Reading], Cloud]
    magic: Callable[[Source], bool]
    sample: Callable[[], bytes]
    write: Callable[..., bytes] | None = None
    writes: tuple[str, ...] = ()
    unmarked: bool = False
    arrays: Callable[[Source], Any] | None = None
    title: str
    forms: str = ""
    written: str = "no"
    kept: str = ""
    needs: str = ""


def starts_with(*marks: bytes) -> Callable[[Source], bool]:
    """The `Format.magic` of files that start with one of these marks."""
    return lambda source: source.data.startswith(marks)


def kept_sample(*lines: bytes) -> Callable[[], bytes]:
    """The `Format.sample` of a binary file, packed by zlib and written in base85."""
    return lambda: zlib.decompress(base64.b85decode(b"".join(lines)))


def coordinate_names(n: int) -> list[str]:
    """x, y, z up to three dimensions; x0, x1, ... beyond."""
    return list("xyz"[:n]) if n <= 3 else [f"x{i}" for i in range(n)]


def from_columns(source: Source, table: Mapping[str, NDArray[Any]], kind: str, place: str = "") -> Cloud:
    """A cloud from named columns, of which some are the coordinates; also from views of records."""
    names = list(table)
    where = source.coordinates(names)
    if not where:
        raise source.no_coordinates(names, place)
    chosen = [names[i] for i in where]
    for name in chosen:
        if table[name].dtype.kind not in "fiub":
            raise source.error(f"column {name!r} is not numeric ({table[name].dtype})", place)
    m = len(table[chosen[0]])
    source.check_allowance(8 * m * len(chosen), "the table of coordinates", place)
    points = _side_by_side([table[name] for name in chosen])
    columns = {name: table[name] for name in names if name not in chosen}
    for name, column in columns.items():
        if not (column.flags.c_contiguous and column.flags.writeable and column.dtype.isnative):
            columns[name] = column.astype(column.dtype.newbyteorder("="))
    return Cloud(points, columns, kind)


def _side_by_side(columns: list[NDArray[Any]]) -> Array:
    """An (m, n) array; in one pass where the columns are fields of one record that follow each other."""
    first = columns[0]
    places = [column.__array_interface__["data"][0] for column in columns]
    alike = all(
        c.dtype == first.dtype and c.strides == first.strides and c.base is first.base for c in columns
    )
    steps = set(np.diff(places).tolist())
    if first.base is not None and alike and len(steps) == 1:
        shape, strides = (len(first), len(columns)), (first.strides[0], *steps)
        return np.lib.stride_tricks.as_strided(first, shape, strides, writeable=False).astype(np.float64)
    points = np.empty((len(first), len(columns)))
    for axis, column in enumerate(columns):
        points[:, axis] = column
    return points


def require_finite(source: Source, cloud: Cloud, invalid: str) -> Cloud:
    """Refuse coordinates that are NaN or infinite, or drop those points and the faces that touch them."""
    finite = np.isfinite(cloud.points)
    if finite.all():
        return cloud
    good = np.asarray(finite.all(axis=1))
    if invalid == "drop" and cloud.parents is None:
        part = cloud.take(np.flatnonzero(good))
        if cloud.faces is None:
            return part
        new = np.cumsum(good) - 1
        faces = new[cloud.faces[good[cloud.faces].all(axis=1)]]
        return replace(part, faces=faces if len(faces) else None)
    row = int(np.argmin(good))
    values = ", ".join(f"{v:g}" for v in cloud.points[row, :8]) + (
        ", ..." if cloud.points.shape[1] > 8 else ""
    )
    way_out = "; pass invalid='drop' to leave them out" if cloud.parents is None else ""
    raise source.error(
        f"has coordinates ({values}); {int((~good).sum())} of {len(good)} points are not finite{way_out}",
        f"point {row}",
    )


def plain_type(column: NDArray[Any]) -> str:
    """The type of a column as "i4" or "f8", in the nearest that binary formats have."""
    return {"b1": "u1", "f2": "f4"}.get(column.dtype.str[1:], column.dtype.str[1:])


def as_records(
    points: Array, columns: Mapping[str, NDArray[Any]], fields: list[tuple[str, Any]]
) -> NDArray[np.void]:
    """One record for each point: its coordinates, then its columns."""
    rows = np.empty(len(points), np.dtype(fields))
    for (name, _), column in zip(fields, [*points.T, *columns.values()], strict=True):
        rows[name] = column
    return rows
