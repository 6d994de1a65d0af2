"""The second layer: how much a signature varies around each point.

For a field f known at every point at scale a, its deviation around point i at a coarser scale b is the
standard deviation of f_a under the weights exp(-D**2 / 4 t_b).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import SUMS, compiled
from .._base.exp2 import LOG2_E
from .._sums.dense_kernels import find_runs, gaps_to_blocks
from .._sums.pair_kernels import TILE, fill, heat
from .pooling import pool

STEPS = (1, 3)
# Single precision: a loop takes four vectors of sixteen at a time and the rest one by one. Runs are short, so
# they are filled up with weights of zero. In double precision that costs as much as it saves.
_FILL_UP_TO = 64


@compiled()
def scale_pairs(n_scales: int) -> Any:
    """All (a, b) with b - a in `STEPS`, by step and then by scale."""
    out = np.empty((len(STEPS) * n_scales, 2), np.int64)
    count = 0
    for step in STEPS:
        for a in range(n_scales - step):
            out[count, 0], out[count, 1] = a, a + step
            count += 1
    return out[:count]


@compiled()
def has_p10(b: int) -> bool:
    """The 10th percentile is kept from the fourth scale on: at finer ones it is 0 for nearly every cloud."""
    return b >= 3


@compiled(SUMS, inner=True)
def _moments(weight: Any, field: Any, count: int, at: Any) -> tuple[Any, Any]:
    """The sums of w (f - f_i) and w (f - f_i)**2.

    Differences from the point's own value do not cancel: the point itself, with the
    largest weight there is, keeps the variance comparable to the mean square.
    """
    zero = at - at
    first = second = zero
    for j in range(count):
        step = field[j] - at
        weighted = weight[j] * step
        first += weighted
        second += weighted * step
    return first, second


@compiled(SUMS, inner=True)
def _two_moments(
    weight: Any, one: Any, two: Any, count: int, at_one: Any, at_two: Any
) -> tuple[Any, Any, Any, Any]:
    """`_moments` of two fields: a weight is loaded once for both."""
    zero = at_one - at_one
    first = second = third = fourth = zero
    for j in range(count):
        w = weight[j]
        step = one[j] - at_one
        weighted = w * step
        first += weighted
        second += weighted * step
        other = two[j] - at_two
        weighted = w * other
        third += weighted
        fourth += weighted * other
    return first, second, third, fourth


@compiled()
def neighbourhood_deviation(
    sources: Any, boxes: Any, unit_scales: Any, weights: Any, fields: Any, log_accuracy: float, like: Any
) -> Any:
    """Deviation (F, pairs, m) of the fields (F, T, m) around each point, for every pair of scales.

    ``weights`` (m, T) are the sums of w. Pairs are left out by twice ``log_accuracy``,
    because a square root follows.
    """
    n, m = sources.shape
    count, steps = fields.shape[0], fields.shape[1]
    pairs = scale_pairs(steps)
    out = np.zeros((count, pairs.shape[0], m))
    # Centred, so that single precision keeps its digits for the differences.
    multiple = _FILL_UP_TO if like.itemsize == 4 else 1
    centred = np.zeros((count, steps, m + multiple), like.dtype)
    for f in range(count):
        for a in range(steps):
            total = 0.0
            for i in range(m):
                total += fields[f, a, i]
            middle = total / m
            for i in range(m):
                centred[f, a, i] = fields[f, a, i] - middle
    tile = np.empty((n + 3, TILE + 24), like.dtype)
    rates = np.empty(steps, like.dtype)
    gaps = np.empty(boxes.shape[2])
    begins = np.empty(boxes.shape[2], np.int64)
    ends = np.empty(boxes.shape[2], np.int64)
    sums = np.empty((count, pairs.shape[0], 2))
    target = np.empty(n)
    for b in range(steps):
        rates[b] = -LOG2_E / (4.0 * unit_scales[0, b])
    for i in range(m):
        for k in range(n):
            target[k] = sources[k, i]
        gaps_to_blocks(target, boxes, gaps)
        for f in range(count):
            for p in range(pairs.shape[0]):
                sums[f, p, 0] = sums[f, p, 1] = 0.0
        for b in range(1, steps):
            cut = 4.0 * unit_scales[0, b] * (2.0 * log_accuracy + np.log(m))
            runs = find_runs(gaps, cut, m, begins, ends)
            for r in range(runs):
                for start in range(begins[r], ends[r], TILE):
                    filled = min(TILE, ends[r] - start)
                    fill(tile, 0, sources, start, filled, target)
                    whole = (filled + multiple - 1) // multiple * multiple
                    for j in range(filled, whole):
                        tile[n, j] = 0.0
                    heat(tile[n], tile[n + 1], whole, rates[b])
                    for j in range(filled, whole):
                        tile[n + 1, j] = 0.0
                    weight = tile[n + 1]
                    for p in range(pairs.shape[0]):
                        if pairs[p, 1] != b:
                            continue
                        a = pairs[p, 0]
                        f = 0
                        while f < count - 1:
                            one, two = centred[f, a], centred[f + 1, a]
                            both = _two_moments(
                                weight,
                                one[start : start + whole],
                                two[start : start + whole],
                                whole,
                                one[i],
                                two[i],
                            )
                            sums[f, p, 0] += both[0]
                            sums[f, p, 1] += both[1]
                            sums[f + 1, p, 0] += both[2]
                            sums[f + 1, p, 1] += both[3]
                            f += 2
                        if f < count:
                            one = centred[f, a]
                            part = _moments(weight, one[start : start + whole], whole, one[i])
                            sums[f, p, 0] += part[0]
                            sums[f, p, 1] += part[1]
        for p in range(pairs.shape[0]):
            inverse_weight = 1.0 / weights[i, pairs[p, 1]]
            for f in range(count):
                mean = sums[f, p, 0] * inverse_weight
                out[f, p, i] = np.sqrt(max(0.0, sums[f, p, 1] * inverse_weight - mean * mean))
    return out


@compiled()
def pool_deviation(deviation: Any, n_scales: int, out: Any) -> None:
    """Mean, 10th percentile (where `has_p10`) and 90th percentile over the points, pair by pair."""
    pairs = scale_pairs(n_scales)
    scratch = np.empty(deviation.shape[2])
    place = 0
    for f in range(deviation.shape[0]):
        for p in range(deviation.shape[1]):
            mean, _, p10, _, p90 = pool(deviation[f, p], scratch)
            out[place] = mean
            place += 1
            if has_p10(pairs[p, 1]):
                out[place] = p10
                place += 1
            out[place] = p90
            place += 1
