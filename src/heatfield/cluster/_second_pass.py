"""Pass 2 as a whole: fields of the coarse scales, as accurate as their points need, and what is left."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core.fourier.kernel import GRID_EPS, GRID_LIMIT, width_for
from ..core.fourier.modes import log_accuracy_for
from ._common_grid import batches, find_isolated, make_field, read_field, spread_batch
from ._isolated import add_directly, sum_directly
from ._plan import GRIDS, Plan
from ._settings import Job

# Points of one scale whose sums over all tiles are taken directly.
_MOST = 300_000
# Factor on eps from round to round.
_FINER = 1e-2

# each(work, tasks, what): run all tasks, with a bar; the results in the order of the tasks.
Each = Callable[[Any, Sequence[Any], str], list[Any]]


@dataclass
class Fields:
    """The coarse scales: the accuracy of each field, its totals, how many points were summed directly."""

    eps: dict[int, float] = field(default_factory=dict)
    totals: dict[int, tuple[float, float]] = field(default_factory=dict)
    isolated: dict[int, int] = field(default_factory=dict)


def coarse_fields(job: Job, plan: Plan, tiles: Sequence[int], each: Each, memory: float) -> Fields:
    """Make the fields; what even the finest of them cannot hold to the tolerance is summed directly."""
    settings, out = job.settings, Fields()
    groups = {a: batches(tiles, _size(plan, a, plan.eps(settings.tolerance), job)) for a in plan.coarse}
    todo = list(plan.coarse)
    out.eps = {a: plan.eps(settings.tolerance) for a in todo}
    while todo:
        spreading = [
            (job, plan, a, out.eps[a], number, group) for a in todo for number, group in enumerate(groups[a])
        ]
        each(spread_batch, spreading, "spreading")
        each(make_field, [(job, plan, a, out.eps[a], len(groups[a])) for a in todo], "fields")
        asked = tuple((a, out.eps[a]) for a in todo)
        counts = each(find_isolated, [(job, plan, k, asked, _MOST) for k in tiles], "checking")
        for a in todo:
            out.isolated[a] = sum(count[a] for count in counts)
        todo = [a for a in todo if _finer_pays(job, plan, a, out, memory)]
        for a in todo:
            out.eps[a] = max(GRID_EPS, _FINER * out.eps[a])
    for a in plan.coarse:
        if out.isolated[a] > _MOST:
            raise ValueError(_advice(plan, a, out, settings.tolerance))
        found = read_field(job, a, out.eps[a])
        assert found is not None
        out.totals[a] = found.totals
    left = [a for a in plan.coarse if out.isolated[a]]
    direct = [
        (job, plan, a, out.eps[a], number, group) for a in left for number, group in enumerate(groups[a])
    ]
    each(sum_directly, direct, "isolated points")
    each(add_directly, [(job, a, out.eps[a], len(groups[a])) for a in left], "isolated points")
    return out


def _finer_pays(job: Job, plan: Plan, a: int, fields: Fields, memory: float) -> bool:
    """Whether a field with more digits is possible, and cheaper than summing the isolated points."""
    eps, count = fields.eps[a], fields.isolated[a]
    finer = max(GRID_EPS, _FINER * eps)
    if count == 0 or finer > 0.5 * eps:
        return False
    n, m, prices = len(plan.frame.low), plan.whole.count, job.settings.costs
    growth = (log_accuracy_for(finer, False) / log_accuracy_for(eps, False)) ** (0.5 * n)
    grid = float(_size(plan, a, eps, job)) * growth
    if grid > GRID_LIMIT or 8.0 * grid * GRIDS > memory:
        return False
    # Once more spread and looked at, and a wider kernel when the sums are read.
    again = 3.0 * m * prices.read * float(width_for(finer)) ** n + 40.0 * prices.fourier * grid
    return count * m * prices.single > again


def _size(plan: Plan, a: int, eps: float, job: Job) -> int:
    return math.prod(plan.grid(a, eps, job.settings, 1).sizes)


def _advice(plan: Plan, a: int, fields: Fields, tol: float) -> str:
    return (
        f"at scale {a} (sqrt(t) = {float(plan.whole.scales[a]) ** 0.5:.4g}) {fields.isolated[a]:,} points "
        f"are too isolated for a common grid to hold tol={tol:g}, and too many to be summed directly (more "
        f"than {_MOST:,}); "
        "use a larger tol, smaller tiles with more memory per task, so that the scale becomes local, or a "
        "smaller c_max"
    )
