"""All sums of one scale through one grid: points spread to it, heat applied, the field read off."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..._base.check import Array
from ..._base.threads import pieces, run_pieces
from ..columns import FIRST, FOURTH, ROOT_SQUARE, ROOT_WEIGHT, SQUARE, WEIGHT, column_count
from .interpolate import interpolate
from .upsampled_grid import UpsampledGrid, apply_heat, energy_totals, fourth_field, largest_sum_on

if TYPE_CHECKING:
    from .modes import FourierTask

# Targets read off the grid at a time.
_PIECE = 4_096


def grid_sums(task: FourierTask) -> tuple[Array, float]:
    """See `fourier_sums`."""
    targets, t = task.targets, task.t
    n, q = targets.shape
    upsampled = UpsampledGrid(task.grid, task.eps, task.n_threads)
    sums = np.zeros((q, column_count(n, task.directions)))
    modes = upsampled.transform(upsampled.spread(task.sources, task.weights))
    if task.energy:
        other = modes if task.same else upsampled.transform(upsampled.spread(targets, None))
        sums[0, ROOT_WEIGHT], sums[0, ROOT_SQUARE] = energy_totals(upsampled, modes, other, t)
        del other
    apply_heat(upsampled, modes, t)
    if task.fourth_moment:
        read_fourth_moment(fourth_field(upsampled, modes, t), upsampled, targets, t, sums)
    values = upsampled.field(modes)
    read_sums(values, upsampled, targets, t, task.directions, sums)
    return sums, max(largest_sum_on(upsampled, values), float(sums[:, WEIGHT].max()))


def read_sums(
    values: Array, upsampled: UpsampledGrid, targets: Array, t: float, directions: bool, sums: Array
) -> None:
    """All sums but the fourth moment, from the field with its gradient and Hessian."""
    n, q = targets.shape
    scaled = math.sqrt(2.0 * t) * upsampled.steps  # derivatives in natural units
    gradient, hessian = 4 - n, 10 - n * (n + 1) // 2
    pairs = [(a, b) for a in range(n) for b in range(a, n)]

    def work(first: int, last: int) -> None:
        found = np.empty((last - first, 10))
        interpolate(
            values, upsampled.width, targets[:, first:last], upsampled.grid.center, upsampled.steps, found
        )
        rows, weight = sums[first:last], found[:, 0]
        rows[:, WEIGHT] = weight
        for c, (a, b) in enumerate(pairs):
            second = found[:, hessian + c] * (scaled[a] * scaled[b] * 2.0 * t)
            if a == b:
                second += 2.0 * t * weight
                rows[:, SQUARE] += second
            if directions:
                rows[:, FIRST + n + c] = second
        if directions:
            for axis in range(n):
                rows[:, FIRST + axis] = found[:, gradient + axis] * (math.sqrt(2.0 * t) * scaled[axis])

    run_pieces(work, pieces(q, _PIECE), upsampled.n_threads)


def read_fourth_moment(
    values: Array, upsampled: UpsampledGrid, targets: Array, t: float, sums: Array
) -> None:
    """The fourth moment, from its own field."""

    def work(first: int, last: int) -> None:
        found = np.empty((last - first, 10))
        interpolate(
            values, upsampled.width, targets[:, first:last], upsampled.grid.center, upsampled.steps, found
        )
        sums[first:last, FOURTH] = 8.0 * t * t * found[:, 0]

    run_pieces(work, pieces(targets.shape[1], _PIECE), upsampled.n_threads)
