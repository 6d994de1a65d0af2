"""Type-1 spreading: points to a uniform grid, from which a Fourier transform gives their modes.

Points come in kd order, so a run of them lies close together: it is spread to a small grid of its own, which
is then added to the whole. Runs are added in their order, whichever thread finishes first, so the result has
the same bits for any number of threads.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from ..._base.check import Array
from ..._base.compile import compiled
from ..._base.threads import pieces, run_pieces
from ..buffers import Buffers
from .kernel import kernel_polynomials, kernel_start, lanes_for
from .simd import LIKE, VALUE, kernel_values, spread_one

# Points spread at a time.
_PIECE = 4_096
# Grid points for each point of a run, above which the run is halved; the least points of a run.
_SPARSE, _LEAST = 200, 16


@compiled()
def _spread_run(points: Any, weights: Any, table: Any, width: int, low: Any, grid: Any, like: Any) -> None:
    """Add kernels around points (n, p), in grid steps, to a grid whose first point is ``low``."""
    n, p = points.shape
    flat = grid.reshape(-1)
    kernels = np.zeros((3, 3, len(like)))
    for axis in range(3 - n):  # an axis that is not there: one grid point, weight 1
        kernels[axis, 0, 0] = 1.0
    begin = np.zeros(3, np.int64)
    planes = np.zeros(width if n == 3 else 1, np.int64)
    rows = np.zeros(width if n >= 2 else 1, np.int64)
    for j in range(rows.shape[0]):
        rows[j] = j * grid.shape[2]
    for j in range(planes.shape[0]):
        planes[j] = j * grid.shape[1] * grid.shape[2]
    for i in range(p):
        for k in range(n):
            start, z = kernel_start(points[k, i], width)
            begin[3 - n + k] = start - low[k]
            kernel_values(table.shape[1], table, 2.0 * z - 1.0, kernels[3 - n + k], like, VALUE)
        first = (begin[0] * grid.shape[1] + begin[1]) * grid.shape[2] + begin[2]
        weight = weights[i] if weights.shape[0] > 0 else 1.0
        spread_one(flat, first, planes, rows, kernels, weight, like)


@compiled()
def _add_box(whole: Any, columns: int, part: Any, low: Any, used: int) -> None:
    """Add ``part`` from the corner ``low`` on to the ``whole``, periodic, the last axis after ``columns``.

    ``used`` columns of the part count.
    """
    n1, n2 = whole.shape[0], whole.shape[1]
    for z in range(part.shape[0]):
        for y in range(part.shape[1]):
            row = whole[(low[0] + z) % n1, (low[1] + y) % n2]
            x, done = low[2] % columns, 0
            while done < used:
                run = min(used - done, columns - x)
                here, more = row[x : x + run], part[z, y, done : done + run]
                for j in range(run):
                    here[j] += more[j]
                done += run
                x = 0


def spread(
    points: Array,
    weights: Array | None,
    center: Array,
    steps: Array,
    whole: Array,
    *,
    columns: int,
    width: int,
    n_threads: int,
    buffers: Buffers,
) -> Array:
    """Points (n, p) added to a periodic grid; a weight scales the kernel of its point.

    ``whole`` has three axes, of which the last is periodic after ``columns``.
    """
    n, p = points.shape
    table = kernel_polynomials(width)
    lanes = lanes_for(width)
    missing = 3 - n
    guard = Lock()
    ready: dict[int, list[tuple[Array, np.ndarray, int]]] = {}  # finished runs that wait for an earlier one
    next_piece = 0

    def spread_run(first: int, last: int) -> list[tuple[Array, np.ndarray, int]]:
        """Small grids that together hold the points first to last, with corner and used columns."""
        at = (points[:, first:last] - center[:, None]) * steps[:, None]
        low = np.ceil(at.min(axis=1) - 0.5 * width).astype(np.int64)
        extent = np.ceil(at.max(axis=1) - 0.5 * width).astype(np.int64) - low + width
        if extent.prod() > _SPARSE * (last - first) and last - first > _LEAST:
            middle = (first + last) // 2
            return spread_run(first, middle) + spread_run(middle, last)
        shape = np.ones(3, np.int64)
        shape[missing:] = extent
        corner = np.zeros(3, np.int64)
        corner[missing:] = low
        used = int(shape[2])
        part = buffers.borrow((int(shape[0]), int(shape[1]), used + lanes - width))
        part[:] = 0.0
        own = np.empty(0) if weights is None else weights[first:last]
        _spread_run(at, own, table, width, low, part, LIKE[lanes])
        return [(part, corner, used)]

    def work(first: int, last: int) -> None:
        nonlocal next_piece
        parts = spread_run(first, last)
        with guard:
            ready[first // _PIECE] = parts
            while next_piece in ready:
                for part, corner, used in ready.pop(next_piece):
                    _add_box(whole, columns, part, corner, used)
                    buffers.give_back(part)
                next_piece += 1

    run_pieces(work, pieces(p, _PIECE), n_threads)
    return whole
