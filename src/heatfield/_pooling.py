"""From values at every point to a few numbers for the cloud."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._jit import compiled
from ._select import percentile

STATISTICS = ("mean", "std", "p10", "p50", "p90")

# A channel whose spread over the points is below this, in its natural unit, has no
# correlation with anything: what is left of it is rounding, not geometry.
FLAT = 1e-6


@compiled()
def mean_and_std(values: Any) -> tuple[float, float]:
    """Mean and standard deviation (divided by m), in two passes."""
    mean = values.sum() / values.shape[0]
    total = 0.0
    for i in range(values.shape[0]):
        total += (values[i] - mean) ** 2
    return mean, np.sqrt(total / values.shape[0])


@compiled()
def pool(values: Any, scratch: Any) -> tuple[float, float, float, float, float]:
    """Mean, standard deviation, and the 10th, 50th and 90th percentile (linear).

    Each percentile is looked for only where the one before has left it.
    """
    mean, std = mean_and_std(values)
    scratch[:] = values
    m = scratch.shape[0]
    p50, rank = percentile(scratch, 0, m, 0.5)
    p90, _ = percentile(scratch, rank, m, 0.9)
    p10, _ = percentile(scratch, 0, min(m, rank + 2), 0.1)
    return mean, std, p10, p50, p90


@compiled()
def pool_channel(channel: Any, scratch: Any, out: Any) -> None:
    """`pool` every row of a channel (T, m) into ``out``: statistic by statistic, scale by scale."""
    steps = channel.shape[0]
    for a in range(steps):
        statistics = pool(channel[a], scratch)
        for s in range(5):
            out[s * steps + a] = statistics[s]


@compiled()
def standardise(channel: Any) -> Any:
    """Rows of a channel (T, m) with mean 0 and length 1; NaN where a row is flat."""
    out = np.empty_like(channel)
    for a in range(channel.shape[0]):
        mean, std = mean_and_std(channel[a])
        factor = 1.0 / (std * np.sqrt(channel.shape[1])) if std > FLAT else np.nan
        for i in range(channel.shape[1]):
            out[a, i] = (channel[a, i] - mean) * factor
    return out


@compiled()
def correlations(channels: Any, out: Any) -> None:
    """Correlation over the points of every pair of standardised channels (C, T, m), scale by scale."""
    count, steps = channels.shape[0], channels.shape[1]
    place = 0
    for p in range(count):
        for q in range(p + 1, count):
            for a in range(steps):
                out[place] = (channels[p, a] * channels[q, a]).sum()
                place += 1


@compiled()
def couplings(channels: Any, out: Any) -> None:
    """Correlation of each standardised channel with itself one and two scales further."""
    count, steps = channels.shape[0], channels.shape[1]
    place = 0
    for p in range(count):
        for step in (1, 2):
            for a in range(steps - step):
                out[place] = (channels[p, a] * channels[p, a + step]).sum()
                place += 1
