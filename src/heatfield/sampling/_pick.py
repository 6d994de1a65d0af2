"""Which rows of a cloud to keep: at random, far apart, or one per cell of a grid. No row twice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._base.threads import pieces

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
_DISTANCES = 10**8  # in one call: about a tenth of a second, so that Ctrl-C takes effect soon


def random_rows(m: int, budget: int, rng: np.random.Generator) -> Rows:
    """``budget`` of m rows without replacement, in their old order; all of them if there are no more.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    m, budget : int
    rng : numpy Generator

    Returns
    -------
    rows : (budget,) int

    Examples
    --------
    >>> random_rows(3, 5, np.random.default_rng(0)).tolist(), len(random_rows(9, 5, np.random.default_rng(0)))
    ([0, 1, 2], 5)
    """
    if m <= budget:
        return np.arange(m)
    return np.sort(rng.choice(m, size=budget, replace=False)).astype(np.int64)


def farthest_rows(points: Array, budget: int, rng: np.random.Generator) -> Rows:
    """Farthest-point sampling from a random start: each row is the farthest from those before it.

    It stops early where only copies of chosen points are left.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    points : (m, n)
    budget : int
    rng : numpy Generator
        Of the first point.

    Returns
    -------
    rows : (at most budget,) int

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.1, 0.1]])
    >>> rng = np.random.default_rng(0)
    >>> len(farthest_rows(square, 4, rng)), len(farthest_rows(np.zeros((3, 2)), 2, rng))  # three copies
    (4, 1)
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

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    points : (m, n)
    budget : int
    size : float, optional
        Side of a cell.

    Returns
    -------
    rows : (at most budget,) int

    Examples
    --------
    >>> len(voxel_rows(np.random.default_rng(0).random((500, 2)), 500, size=0.5))
    4
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
    rows = _one_a_cell(points, _cells(points, high))
    return rows[:budget]


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
