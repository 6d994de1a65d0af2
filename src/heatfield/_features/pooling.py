"""From values at every point to a few numbers for the cloud."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import SUMS, compiled
from .._base.select import copy_to, percentile

STATISTICS = ("mean", "std", "p10", "p50", "p90")

# A channel whose standard deviation over the points is below this, in its natural unit, has no
# correlation with anything: its variation is rounding, not geometry.
LEAST_DEVIATION = 1e-6


@compiled(inner=True)
def log_positive(value: float) -> float:
    """Logarithm of a positive number; NaN elsewhere."""
    return np.log(value) if value > 0.0 else np.nan


@compiled()
def logs(values: Any) -> Any:
    """`log_positive` of every number."""
    out = np.empty(values.shape[0])
    for i in range(values.shape[0]):
        out[i] = log_positive(values[i])
    return out


@compiled(SUMS, inner=True)
def _total(values: Any) -> float:
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i]
    return total


@compiled(SUMS, inner=True)
def _squares_around(values: Any, mean: float) -> float:
    total = 0.0
    for i in range(values.shape[0]):
        step = values[i] - mean
        total += step * step
    return total


@compiled()
def mean_and_std(values: Any) -> tuple[float, float]:
    """Mean and standard deviation (divided by m), in two passes.

    Where squares leave the range of double precision (a density can be 1e200), deviations are taken in
    units of the largest value.
    """
    m = values.shape[0]
    mean = _total(values) / m
    total = _squares_around(values, mean)
    if 1e-200 < total < 1e200:
        return mean, np.sqrt(total / m)
    unit = 0.0
    for i in range(m):
        unit = max(unit, abs(values[i]))
    if not unit > 0.0:
        return mean, unit
    total = 0.0
    for i in range(m):
        total += ((values[i] - mean) / unit) ** 2
    return mean, unit * np.sqrt(total / m)


@compiled()
def pool(values: Any, scratch: Any) -> tuple[float, float, float, float, float]:
    """Mean, standard deviation, and the 10th, 50th and 90th percentile (linear).

    Each percentile is searched for only in the part that the one before leaves.
    """
    mean, std = mean_and_std(values)
    copy_to(values, scratch, 0)
    m = scratch.shape[0]
    p50, rank = percentile(scratch, 0, m, 0.5)
    p90, _ = percentile(scratch, rank, m, 0.9)
    p10, _ = percentile(scratch, 0, min(m, rank + 2), 0.1)
    return mean, std, p10, p50, p90


@compiled()
def pool_channels(channels: Any, out: Any) -> None:
    """`pool` channels (C, T, m) into ``out``: channel by channel, statistic by statistic, scale by scale."""
    count, steps, m = channels.shape
    scratch = np.empty(m)
    for c in range(count):
        for a in range(steps):
            statistics = pool(channels[c, a], scratch)
            for s in range(5):
                out[(5 * c + s) * steps + a] = statistics[s]


@compiled()
def standardise(channels: Any, least: float = LEAST_DEVIATION) -> Any:
    """Rows of channels (C, T, m) with mean 0 and length 1; NaN where a row varies less than ``least``."""
    count, steps, m = channels.shape
    out = np.empty((count, steps, m))
    for c in range(count):
        for a in range(steps):
            mean, std = mean_and_std(channels[c, a])
            factor = 1.0 / (std * np.sqrt(m)) if std > least else np.nan
            for i in range(m):
                out[c, a, i] = (channels[c, a, i] - mean) * factor
    return out


@compiled(SUMS, inner=True)
def _dot(x: Any, y: Any) -> float:
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@compiled()
def correlations(channels: Any, out: Any) -> None:
    """Correlation over the points of every pair of standardised channels (C, T, m), scale by scale."""
    count, steps = channels.shape[0], channels.shape[1]
    place = 0
    for p in range(count):
        for q in range(p + 1, count):
            for a in range(steps):
                out[place] = _dot(channels[p, a], channels[q, a])
                place += 1


@compiled()
def couplings(channels: Any, out: Any) -> None:
    """Correlation of each standardised channel with itself one and two scales further."""
    count, steps = channels.shape[0], channels.shape[1]
    place = 0
    for p in range(count):
        for step in (1, 2):
            for a in range(steps - step):
                out[place] = _dot(channels[p, a], channels[p, a + step])
                place += 1
