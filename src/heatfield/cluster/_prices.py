"""What each way of computing a scale costs: seconds on one core, and bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.check import Array
from ..core.fourier.kernel import GRID_EPS, GRID_LIMIT, UPSAMPLING, width_for
from ..core.fourier.modes import ModeGrid, log_accuracy_for
from ._first_pass import Whole
from ._settings import SurveySettings
from ._store import Meta

if TYPE_CHECKING:
    from ._plan import Plan

# Seconds to write and read again one point of a grid.
_DISK = 1.6e-8
# Bytes for each point of a tile and its halo: coordinates as read and as arranged, order, boxes and tree.
_SOURCE_BYTES = 120
# Bytes for each point of a transform's grid, and the most of these for each point of the cloud.
_GRID_BYTES = 24
_CROWDED = 20


def grid_seconds(plan: Plan, size: float, settings: SurveySettings) -> float:
    """The price of a coarse scale: every point spread, looked at and read; one transform there and back."""
    prices, n = settings.costs, settings.n_dims
    points = 3.0 * plan.whole.count * prices.read * float(width_for(plan.eps(settings.tolerance))) ** n
    written = min(32.0, max(1.0, 5e8 / size))  # batches
    return points + size * (prices.fourier * math.log2(size) + prices.modes + written * _DISK)


def tile_grids(plan: Plan, a: int, metas: Sequence[Meta], settings: SurveySettings) -> Array:
    """Points of the grid of one transform over each tile with its halo; 0 for tiles that are left out."""
    n, t = settings.n_dims, float(plan.whole.scales[a])
    accuracy = log_accuracy_for(_tile_eps(settings), settings.exact)
    out = np.zeros(len(metas))
    for k, meta in enumerate(metas):
        if meta.sound:
            low = np.maximum(meta.low - plan.halos[a], plan.whole.low)
            high = np.minimum(meta.high + plan.halos[a], plan.whole.high)
            modes = ModeGrid.over(meta.low, meta.high, low, high, t, accuracy, 4.0 * t * plan.cutoffs[1])
            out[k] = modes.size * UPSAMPLING**n
    return out


def _tile_eps(settings: SurveySettings) -> float:
    return max(GRID_EPS, 0.1 * settings.tolerance)


def tile_seconds(grids: Array, around: Array, counts: Array, settings: SurveySettings) -> float:
    """At most the price of a local scale: one transform over each tile with its halo, for sums and energy."""
    prices = settings.costs
    kernel = prices.read * float(width_for(_tile_eps(settings))) ** settings.n_dims
    grid = grids[grids > 0.0]
    points = float((around + 2.0 * counts).sum())
    return kernel * points + float((3.0 * grid * (0.5 * prices.fourier * np.log2(grid) + prices.modes)).sum())


def tile_bytes(grids: Array, around: Array, counts: Array, settings: SurveySettings) -> float:
    """About what the largest tile takes: its points and halo, its outputs, and the grid of a transform.

    A transform whose grid is much larger than the number of points is never the cheapest way.
    """
    grid = _GRID_BYTES * np.minimum(np.minimum(grids, GRID_LIMIT), _CROWDED * around)
    return float((around * _SOURCE_BYTES + counts * bytes_of_output(settings) + grid).max())


def bytes_of_output(settings: SurveySettings) -> float:
    """For each point of a tile: outputs while they are put in order, or columns and the file made of them."""
    columns = (3 + settings.n_dims) * settings.n_scales
    width = 8 if settings.point_dtype == "float64" else 4
    return max(200.0 + 16.0 * columns, 100.0 + 4.0 * width * columns + 120.0)


def does_not_fit(whole: Whole, a: int, reach: float, around: Array, *sizes: Any) -> str:
    """What is too large, and what to change."""
    by_tile, points, by_grid, memory = sizes
    return (
        f"scale {a} (sqrt(t) = {math.sqrt(whole.scales[a]):.4g}) does not fit into {memory / 2**30:.3g} GiB "
        f"per task: the largest tile with its halo of {reach:.4g} holds {int(around.max()):,} points and "
        f"takes {by_tile / 2**30:.3g} GiB, a common grid has {points:.3g} points (at most {GRID_LIMIT:.3g}) "
        f"and takes {by_grid / 2**30:.3g} GiB; use smaller tiles, allow more memory per task, fewer tasks "
        "at a time, a larger tol, or other scales"
    )
