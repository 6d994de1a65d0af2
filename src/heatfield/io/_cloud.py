"""What a file holds: points, and everything that came with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import find_coordinates
from .._base.drawing import dots
from .._base.summary import Summarised, Summary, extent, plural, shortened, shown
from ._source import Source

Array = NDArray[np.float64]
MOST_COLUMNS = 4096


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
        named = [f"{shortened(name)} ({column.dtype})" for name, column in self.columns.items()]
        lines.append(("columns", shown(named) or "none"))
        if self.notes:
            lines.append(("notes", shown(map(str, self.notes))))
        kind = f", format {self.format}" if self.format else ""
        title = f"Cloud of {plural(m, 'point')} in {plural(n, 'dimension')}{kind}"
        return Summary(title, lines, [dots(self.points, "the points")])

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


def coordinate_names(n: int) -> list[str]:
    """x, y, z up to three dimensions; x0, x1, ... beyond."""
    return list("xyz"[:n]) if n <= 3 else [f"x{i}" for i in range(n)]


def from_columns(source: Source, table: Mapping[str, NDArray[Any]], kind: str, place: str = "") -> Cloud:
    """A cloud from named columns, of which some are the coordinates."""
    names = list(table)
    where = find_coordinates(names)
    if not where:
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        raise source.error(f"has no columns x, y, z; it has {shown or 'none'}", place)
    chosen = [names[i] for i in where]
    for name in chosen:
        if table[name].dtype.kind not in "fiub":
            raise source.error(f"column {name!r} holds no numbers ({table[name].dtype})", place)
    source.check_allowance(8 * len(table[chosen[0]]) * len(chosen), "the table of coordinates", place)
    points = np.empty((len(table[chosen[0]]), len(chosen)))
    for axis, name in enumerate(chosen):
        points[:, axis] = table[name]
    return Cloud(points, {name: table[name] for name in names if name not in chosen}, kind)


def require_finite(source: Source, cloud: Cloud, invalid: str) -> Cloud:
    """Refuse coordinates that are NaN or infinite, or drop those points and the faces that touch them."""
    good = np.asarray(np.isfinite(cloud.points).all(axis=1))
    if good.all():
        return cloud
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
