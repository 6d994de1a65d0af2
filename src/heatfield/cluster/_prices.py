"""What each way of computing a scale costs: seconds on one core, and bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.check import Array
from .._sums.fourier.kernel import GRID_EPS, UPSAMPLING, width_for
from .._sums.fourier.modes import ModeGrid, log_accuracy_for
from .._sums.pricing import GRID_LIMIT
from ._first_pass import Whole
from ._settings import SurveySettings
from ._store import Meta

if TYPE_CHECKING:
    from ._plan import Plan

# Seconds to write and read again one point of a grid.
_DISK = 1.6e-8
# Bytes for each point of a tile and its halo: coordinates as read and as arranged, order, boxes and tree.
SOURCE_BYTES = 120


def grid_seconds(plan: Plan, size: float, settings: SurveySettings) -> float:
    """The price of a coarse scale: every point spread, looked at and read; one transform there and back."""
    prices, n = settings.costs, settings.n_dims
    points = 3.0 * plan.whole.count * prices.read * float(width_for(plan.eps(settings.tolerance))) ** n
    written = min(32.0, max(1.0, 5e8 / size))  # batches
    return points + size * (prices.fourier * math.log2(size) + prices.modes + written * _DISK)


def tile_seconds(plan: Plan, a: int, metas: Sequence[Meta], around: Array, settings: SurveySettings) -> float:
    """At most the price of a local scale: one transform over each tile with its halo, for sums and energy."""
    prices, n, t = settings.costs, settings.n_dims, float(plan.whole.scales[a])
    eps = max(GRID_EPS, 0.1 * settings.tolerance)
    kernel = prices.read * float(width_for(eps)) ** n
    total = 0.0
    for meta, points in zip(metas, around[:, a], strict=True):
        if not meta.sound:
            continue
        low = np.maximum(meta.low - plan.halos[a], plan.whole.low)
        high = np.minimum(meta.high + plan.halos[a], plan.whole.high)
        grid = (
            ModeGrid.over(
                meta.low,
                meta.high,
                low,
                high,
                t,
                log_accuracy_for(eps, settings.exact),
                4.0 * t * plan.cutoffs[1],
            ).size
            * UPSAMPLING**n
        )
        total += kernel * (points + 2.0 * meta.count) + 3.0 * grid * (
            0.5 * prices.fourier * math.log2(grid) + prices.modes
        )
    return total


def bytes_of_output(settings: SurveySettings) -> float:
    """For each point of a tile: sums, outputs, columns, and the file while it is written."""
    columns = (3 + settings.n_dims) * settings.n_scales
    width = 8 if settings.point_dtype == "float64" else 4
    return 120.0 + 8.0 * columns + 3.0 * (width * columns + 60.0)


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
