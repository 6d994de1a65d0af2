"""The neighbourhood block: how much a signature varies around each point (`around`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from ... import _core
from ..._base.check import Array
from ...core.clouds import ArrangedCloud
from ...core.evaluate import Evaluation
from ...core.planner import Request
from ..around import Around, scale_pairs
from . import (
    BEYOND_PAPER,
    CHANNEL,
    STATISTIC,
    STATISTICS,
    Block,
    Found,
    Meaning,
    Shape,
    channel_name,
    channel_words,
    scale_words,
)

# How many scales the weights are coarser than the field.
_STEPS = (1, 3)


def pairs_of_scales(n_scales: int) -> np.ndarray:
    """All (a, b) with b - a in `_STEPS`: fields of scale a, weights of scale b."""
    return scale_pairs(n_scales, _STEPS)


def _kept_statistics(b: int) -> tuple[str, ...]:
    """Of a deviation at scale b; at the first three scales the 10th percentile is 0 nearly always."""
    return ("mean", "p10", "p90") if b >= 3 else ("mean", "p90")


def _names(shape: Shape) -> Iterator[str]:
    for k in range(3 + shape.n):
        if k != 2:  # the transition
            for a, b in pairs_of_scales(shape.n_scales):
                yield from (f"{channel_name(k)}_{s}_s{a}_s{b}" for s in _kept_statistics(b))


@cache
def _kept(fields: int, steps: int) -> np.ndarray:
    """Which statistics (fields, pairs, `STATISTICS`), flat, the block keeps."""
    pairs, statistics = pairs_of_scales(steps), list(STATISTICS)
    kept = [
        (f * len(pairs) + p) * len(statistics) + statistics.index(name)
        for f in range(fields)
        for p, (_, b) in enumerate(pairs)
        for name in _kept_statistics(b)
    ]
    return np.array(kept, dtype=np.int64)


def _values(found: Found) -> Array:
    fields, count = found.channels[1:], len(found.ends)  # all but the transition
    steps = fields.shape[1]
    pairs = pairs_of_scales(steps)
    statistics = np.empty((count, len(fields) * len(pairs), len(STATISTICS)))
    for here, deviation in found.around.deviations(fields, pairs):
        some = np.empty((count, len(deviation), len(STATISTICS)))
        _core.pool(deviation, found.ends, some)
        statistics[:, here] = some
    return statistics.reshape(count, -1)[:, _kept(len(fields), steps)]


def _meaning(block: str, f: str, s: str, a: str, b: str) -> Meaning:
    what, unit, _ = channel_words(f)
    what = f"how much {what} of scale {a} varies around a point, weighted at scale {b} (a standard deviation)"
    high = f"{f} is mixed within the reach of scale {b}: different kinds of place lie side by side"
    unit = "pure number" if f == "density" else unit  # the spread of a logarithm
    return Meaning(block, what, STATISTICS[s], scale_words(a, b), unit, high)


def deviation_at_points(cloud: ArrangedCloud, times: Array, found: Evaluation, request: Request) -> Array:
    """Deviation (fields x pairs of scales, m) of log u, d_heat and 2t lambda_k around each point.

    All is in kd order.
    """
    out = found.local
    fields = np.stack([np.log(out.density), out.dimension, *out.spectrum])
    pairs = pairs_of_scales(len(times[0]))
    parts = Around.of(cloud, times, found, request).deviations(fields, pairs)
    return np.concatenate([rows for _, rows in parts])


BLOCKS = (
    Block(
        "neighbourhood",
        9,
        BEYOND_PAPER,
        "how much a channel of the first scale varies around a point, weighted at the second",
        _names,
        _values,
        (rf"(?P<f>{CHANNEL})_{STATISTIC}_s(?P<a>\d+)_s(?P<b>\d+)", _meaning),
        order_one=True,
        needs=("spectrum",),
    ),
)
