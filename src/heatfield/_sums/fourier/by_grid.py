"""All sums of one scale through one grid: points spread to it, heat applied, the field read off."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._base.check import Array
from ..._base.compile import compiled
from ..._base.threads import pieces, run_pieces
from ..columns import FIRST, FOURTH, ROOT_SQUARE, ROOT_WEIGHT, SQUARE, WEIGHT
from .interpolate import interpolate
from .upsampled_grid import UpsampledGrid

if TYPE_CHECKING:
    from .modes import FourierTask

# Targets read off the grid at a time.
_PIECE = 4_096


def grid_sums(task: FourierTask) -> tuple[Array, float]:
    """See `fourier_sums`."""
    targets, t, take = task.targets, task.t, task.buffers.take
    upsampled = UpsampledGrid(task.grid, task.eps, task.n_threads, task.buffers)
    sums = task.table()
    totals = 0.0, 0.0
    with take(upsampled.padded) as gridded, take(upsampled.kept, np.complex128) as modes:
        spread_and_transform(upsampled, task.sources, task.weights, gridded, modes)
        others = upsampled.kept if task.energy and not task.same else (0, 0, 0)
        fourths = upsampled.kept if task.fourth_moment else (0, 0, 0)
        with take(others, np.complex128) as other, take(fourths, np.complex128) as fourth:
            if other.size:
                spread_and_transform(upsampled, targets, None, gridded, other)
            totals = upsampled.apply_heat(
                modes, t, energy=task.energy,
                other=other if other.size else None, fourth=fourth if fourth.size else None,
            )  # fmt: skip
            if fourth.size:
                read_fourth_moment(upsampled.field(fourth, gridded), upsampled, targets, t, sums)
        values = upsampled.field(modes, gridded)
        weight = read_sums(values, upsampled, targets, t, task.directions, task.fourth_moment, sums)
        largest = max(upsampled.largest_sum(values), weight)
    if task.energy:
        sums[0, ROOT_WEIGHT], sums[0, ROOT_SQUARE] = totals
    return sums, largest


def spread_and_transform(
    upsampled: UpsampledGrid, points: Array, weights: Array | None, gridded: Array, modes: np.ndarray
) -> None:
    """Points to modes by way of ``gridded``, which is cleared first."""
    upsampled.clear(gridded)
    upsampled.spread(points, weights, gridded)
    upsampled.transform(gridded, modes)


@compiled()
def _from_derivatives(
    found: Any, n: int, t: float, steps: Any, directions: bool, fourth_moment: bool, rows: Any
) -> float:
    """Rows of sums from value, gradient and Hessian per grid step; the largest sum of w among them."""
    gradient, hessian = 4 - n, 10 - n * (n + 1) // 2
    unit = math.sqrt(2.0 * t)
    largest = -np.inf
    for i in range(found.shape[0]):
        weight = found[i, 0]
        square = 0.0
        c = 0
        for a in range(n):
            if directions:
                rows[i, FIRST + a] = found[i, gradient + a] * (unit * (unit * steps[a]))
            for b in range(a, n):
                second = found[i, hessian + c] * ((unit * steps[a]) * (unit * steps[b]) * 2.0 * t)
                if a == b:
                    second += 2.0 * t * weight
                    square += second
                if directions:
                    rows[i, FIRST + n + c] = second
                c += 1
        rows[i, WEIGHT] = weight
        rows[i, SQUARE] = square
        rows[i, ROOT_WEIGHT] = rows[i, ROOT_SQUARE] = 0.0
        if not fourth_moment:
            rows[i, FOURTH] = 0.0
        largest = max(largest, weight)
    return largest


def read_sums(
    values: Array,
    upsampled: UpsampledGrid,
    targets: Array,
    t: float,
    directions: bool,
    fourth_moment: bool,
    sums: Array,
) -> float:
    """All sums but the fourth moment, from the field with its gradient and Hessian; the largest sum of w.

    The sums of g are set to 0, and so is the fourth moment unless it was read before.
    """
    n, q = targets.shape
    ranges = pieces(q, _PIECE)
    largest = np.full(len(ranges), -np.inf)

    def work(first: int, last: int) -> None:
        found = _read(values, upsampled, targets, first, last)
        largest[first // _PIECE] = _from_derivatives(
            found, n, t, upsampled.steps, directions, fourth_moment, sums[first:last]
        )

    run_pieces(work, ranges, upsampled.n_threads)
    return float(largest.max(initial=-np.inf))


def read_fourth_moment(
    values: Array, upsampled: UpsampledGrid, targets: Array, t: float, sums: Array
) -> None:
    """The fourth moment, from its own field."""

    def work(first: int, last: int) -> None:
        sums[first:last, FOURTH] = 8.0 * t * t * _read(values, upsampled, targets, first, last)[:, 0]

    run_pieces(work, pieces(targets.shape[1], _PIECE), upsampled.n_threads)


def _read(values: Array, upsampled: UpsampledGrid, targets: Array, first: int, last: int) -> Array:
    """Value, gradient and Hessian at some targets: see `interpolate`."""
    found = np.empty((last - first, 10))
    interpolate(
        values, upsampled.width, targets[:, first:last], upsampled.grid.center, upsampled.steps, found
    )
    return found
