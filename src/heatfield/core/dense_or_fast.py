"""Dense or fast: every rule for that choice.

`evaluate`, `HeatField` and the forecast ask these functions. On the fast path, `ScaleJob.plan` then
chooses between near sums and transforms for each part of the cloud, and `box_transform` whether a transform
was good enough.
"""

from __future__ import annotations

import math

import numpy as np

from .. import _core
from .._base.check import Array
from .arrange import BLOCK
from .cloud import ArrangedCloud
from .moments import LOG_ACCURACY, Request
from .one_scale import price_of_scale

# Up to this many points nothing is planned: the dense path, exact to rounding, is as fast or faster
# (benchmarks/crossing.py: even with the fast one at 2,500 to 5,300 points).
SMALL = 3_600
# Above it the dense path is not even priced.
LARGE = 200_000
# Places times sources from which the fast path of `HeatField` pays.
MANY_PAIRS = 1e8


def surely_dense(method: str, m: int, n: int) -> bool:
    """Whether m points in n dimensions take the dense path whatever the costs are."""
    return method == "dense" or (method == "auto" and (m <= SMALL or n > 3))


def use_dense(cloud: ArrangedCloud, unit: Array, request: Request) -> bool:
    """Whether the dense path is asked for, or is the cheaper one."""
    n, m = cloud.points.shape
    if request.method == "fast" or surely_dense(request.method, m, n):
        return request.method != "fast"
    if m > LARGE:
        return False
    return dense_seconds(cloud, unit, request) <= fast_seconds(cloud, unit, request)


def field_uses_fast(method: str, m: int, n: int, q: int) -> bool:
    """Whether a heat field of m sources in n dimensions takes the fast path at q places."""
    return method == "fast" or (not surely_dense(method, m, n) and float(m) * q > MANY_PAIRS)


def fast_seconds(cloud: ArrangedCloud, unit: Array, request: Request) -> float:
    """What the fast path would take on one core."""
    columns = (np.ascontiguousarray(unit[:, a]) for a in range(unit.shape[1]))
    return sum(price_of_scale(cloud, t, request) for t in columns)


def dense_seconds(cloud: ArrangedCloud, unit: Array, request: Request) -> float:
    """What the dense path would take on one core, from the neighbours of a few points."""
    n, m = cloud.points.shape
    log_reach = LOG_ACCURACY[request.dtype] + math.log(m)
    total = 0.0
    sample = np.unique(np.linspace(0, m - 1, 64).astype(int))
    for i in sample:
        at = np.ascontiguousarray(cloud.points[:, i])
        for t in unit[i if unit.shape[0] > 1 else 0]:
            pairs = _core.estimate_within(*cloud.tree, at, at, 8.0 * t * log_reach, m)
            total += pairs * request.costs.pair + request.costs.target + m / BLOCK * 2e-9 * n
    return total * m / sample.size
