"""Fewer points from many: by length, by area, at random, far apart, or one per cell."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._base.check import check_choice, check_count, check_extent, corners
from ._base.threads import pieces
from .options import SKELETON_POINTS, Reading, choices_of

if TYPE_CHECKING:
    from .io import Cloud

__all__ = ["sample"]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
_DISTANCES = 10**8  # in one call: about a tenth of a second, so that Ctrl-C takes effect soon


def sample(cloud: Cloud, budget: int, sampling: str = "auto", seed: int = 0) -> Cloud:
    """At most ``budget`` points of a cloud, with their columns.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    cloud : Cloud
        What `heatfield.read_cloud` returned.
    budget : int
        The most points. A cloud that has no more stays as it is: no point is ever repeated.
    sampling : {"auto", "random", "farthest", "voxel"}
        "auto": a skeleton by arc length and a mesh by area (these always give ``budget`` points),
        anything else at random without replacement.
    seed : int
        The same seed gives the same points.

    Returns
    -------
    cloud : Cloud

    Raises
    ------
    ValueError
        Where the points span 1e140 or more: lengths and areas cannot be told there.

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> cloud = hf.Cloud(np.random.default_rng(0).random((500, 3)))
    >>> len(hf.sampling.sample(cloud, 100).points), len(hf.sampling.sample(cloud, 100, "voxel").points) <= 100
    (100, True)
    """
    check_count(budget, "budget", 1)
    check_choice(sampling, "sampling", choices_of(Reading, "sampling"))
    check_extent(*corners(cloud.points))
    rng = np.random.default_rng(seed)
    if sampling == "auto" and cloud.parents is not None:
        points, node, share = sample_skeleton(cloud.points, cloud.parents, budget, rng)
        columns = {"segment": node}
        if "type" in cloud.columns:
            columns["type"] = cloud.columns["type"][node]
        if "radius" in cloud.columns:  # between the ends of the segment
            radius, parent = cloud.columns["radius"], cloud.parents[node]
            first = radius[np.where(parent >= 0, parent, node)]
            columns["radius"] = first + share * (radius[node] - first)
        return type(cloud)(points, columns, cloud.format, notes=cloud.notes)
    if sampling == "auto" and cloud.faces is not None:
        points, face = sample_surface(cloud.points, cloud.faces, budget, rng)
        return type(cloud)(points, {"face": face}, cloud.format, notes=cloud.notes)
    if sampling == "farthest":
        rows = farthest_rows(cloud.points, budget, rng)
    elif sampling == "voxel":
        rows = voxel_rows(cloud.points, budget)
    else:
        rows = random_rows(len(cloud.points), budget, rng)
    return cloud.take(rows)


def resample(cloud: Cloud, reading: Reading, seed: int) -> Cloud:
    """A cloud as the options ask for it; without a budget, skeletons and meshes get 1,024 points."""
    way, budget = reading.sampling, reading.budget
    if (cloud.parents is not None or cloud.faces is not None) and not reading.nodes:
        budget = SKELETON_POINTS if budget is None else budget
    elif way == "auto":
        way = "random"
    return cloud if budget is None else sample(cloud, budget, way, seed)


# --- which rows: no one twice ---------------------------------------------------------


def random_rows(m: int, budget: int, rng: np.random.Generator) -> Rows:
    """``budget`` of m rows without replacement, in their old order; all of them if there are no more."""
    if m <= budget:
        return np.arange(m)
    return np.sort(rng.choice(m, size=budget, replace=False)).astype(np.int64)


def farthest_rows(points: Array, budget: int, rng: np.random.Generator) -> Rows:
    """Farthest-point sampling from a random start: each row is the farthest from those before it.

    It stops early where only copies of chosen points are left.
    """
    m = len(points)
    if m <= budget:
        return np.arange(m)
    sources = np.ascontiguousarray((points - points.mean(axis=0)).T, np.float64)
    rows, nearest = np.empty(budget, np.int64), np.full(m, np.inf)
    rows[:1] = rng.integers(m)
    for first, last in pieces(budget - 1, 1 + _DISTANCES // m):
        found = _core.farthest(sources, nearest, rows, first, last)
        if found <= last:
            return rows[:found].copy()
    return rows


def voxel_rows(points: Array, budget: int, size: float | None = None) -> Rows:
    """One point a cell of a cubic grid: the one nearest to the middle of those in the cell.

    Without ``size`` the finest grid is sought, by bisection of its step, that has at most
    ``budget`` occupied cells.
    """
    m = len(points)
    if size is not None:
        return _one_a_cell(points, _cells(points, size))
    if m <= budget:
        return np.arange(m)
    extent = float(np.ptp(points, axis=0).max())
    if extent == 0.0:
        return np.zeros(1, np.int64)
    # Down to where cells are counted in 52 bits: one far outlier must not make the finest grid a coarse one.
    low, high = extent * 2.0**-52, 2.0 * extent  # `high` is one cell
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        if len(np.unique(_cells(points, middle))) > budget:
            low = middle
        else:
            high = middle
    return _one_a_cell(points, _cells(points, high))[:budget]


def _cells(points: Array, size: float) -> Rows:
    """A number for each point's cell, equal for points in one cell."""
    grid = np.floor((points - points.min(axis=0)) / size).astype(np.int64)
    label = np.zeros(len(points), np.int64)
    for axis in range(points.shape[1]):  # renumbered after each axis, so that no product overflows
        _, column = np.unique(grid[:, axis], return_inverse=True)
        _, label = np.unique(label * (int(column.max()) + 1) + column, return_inverse=True)
    return label


def _one_a_cell(points: Array, cells: Rows) -> Rows:
    count = np.bincount(cells)
    middle = np.stack([np.bincount(cells, points[:, j]) / count for j in range(points.shape[1])], axis=1)
    gap = ((points - middle[cells]) ** 2).sum(axis=1)
    order = np.lexsort((np.arange(len(points)), gap, cells))
    first = np.flatnonzero(np.r_[True, np.diff(cells[order]) != 0])
    return np.sort(order[first]).astype(np.int64)


# --- along branches, on surfaces -----------------------------------------------------


def sample_skeleton(
    nodes: Array, parents: Rows, budget: int, rng: np.random.Generator
) -> tuple[Array, Rows, Array]:
    r"""Points at uniform arc length along the segments node--parent.

    The total length L is cut into ``budget`` equal stretches and one point is drawn in each,
    s_k = (k + U_k) L / budget: uniform by arc length, and evener than independent draws.

    Returns points (budget, n), the node at whose segment each lies, and the share of it, 0 at the parent; the
    nodes themselves, without repeats, where no segment has a length.
    """
    ends = np.flatnonzero(parents >= 0)
    start = nodes[parents[ends]]
    lengths = np.sqrt(((nodes[ends] - start) ** 2).sum(axis=1))
    if not lengths.sum() > 0.0:
        rows = _distinct(nodes)[:budget]
        return nodes[rows], rows, np.ones(len(rows))
    slot, rest = _stretches(lengths, budget, rng)
    share = np.clip(rest / lengths[slot], 0.0, 1.0)
    points = start[slot] + share[:, None] * (nodes[ends[slot]] - start[slot])
    return points, ends[slot], share


def sample_surface(vertices: Array, faces: Rows, budget: int, rng: np.random.Generator) -> tuple[Array, Rows]:
    r"""Points uniform by area.

    Triangles are drawn as lengths are in `sample_skeleton`, by stretches of the cumulated area; in the
    triangle (a, b, c) the point is (1 - √u) a + √u (1 - v) b + √u v c with u, v uniform.

    Returns points and the triangle of each; the vertices, without repeats, and -1 where none has an area.
    """
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    areas = _areas(b - a, c - a)
    if not areas.sum() > 0.0:
        rows = _distinct(vertices)[:budget]
        return vertices[rows], np.full(len(rows), -1)
    face, _ = _stretches(areas, budget, rng)
    u, v = np.sqrt(rng.random(budget))[:, None], rng.random(budget)[:, None]
    return (1.0 - u) * a[face] + u * (1.0 - v) * b[face] + u * v * c[face], face


def _stretches(sizes: Array, budget: int, rng: np.random.Generator) -> tuple[Rows, Array]:
    """One place in each of ``budget`` equal stretches of the sizes in a row: which size, how far into it."""
    reach = np.cumsum(sizes)
    at = (np.arange(budget) + rng.random(budget)) * (reach[-1] / budget)
    # side="right" never lands on one without size.
    slot = np.minimum(np.searchsorted(reach, at, side="right"), np.flatnonzero(sizes > 0)[-1])
    return slot, at - (reach[slot] - sizes[slot])


def _distinct(points: Array) -> Rows:
    """The first row of every place."""
    return np.sort(np.unique(points, axis=0, return_index=True)[1]).astype(np.int64)


def _areas(u: Array, v: Array) -> Array:
    """Half of each parallelogram, in any number of dimensions."""
    if u.shape[1] == 3:
        return np.asarray(0.5 * np.sqrt((np.cross(u, v) ** 2).sum(axis=1)))
    square = (u * u).sum(axis=1) * (v * v).sum(axis=1) - (u * v).sum(axis=1) ** 2
    return np.asarray(0.5 * np.sqrt(np.maximum(square, 0.0)))


def seed_from_name(name: str, seed: int = 0) -> int:
    """A 64-bit seed that depends on the name of a file and on ``seed`` alone, not on its place or order."""
    digest = hashlib.sha256(f"{seed}\n{name}".encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:8], "little")
