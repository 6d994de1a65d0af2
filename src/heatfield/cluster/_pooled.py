"""Statistics of parts of a cloud that merge to those of the whole.

Counts, sums, means and standard deviations merge exactly but for rounding. Percentiles come from a fixed
histogram whose bins are the numbers that agree in sign, exponent and the first `BITS` bits of the mantissa:
counts add up in any order, and a percentile errs by at most `PERCENTILE_ERROR` of itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._base.check import Array

BITS = 12
PERCENTILE_ERROR = 2.0**-BITS
_SHIFT = 52 - BITS
_FEW_BINS = 1 << 20  # 256 powers of two
_FRACTIONS = (0.1, 0.5, 0.9)


@dataclass(frozen=True, eq=False)
class Channel:
    """One number per point at one scale, pooled over some points."""

    count: int
    mean: float
    std: float
    keys: np.ndarray  # bins that hold any points, increasing
    counts: np.ndarray

    @classmethod
    def of(cls, values: Array) -> Channel:
        """Of the values at some points.

        Examples
        --------
        >>> part = Channel.of(np.array([1.0, 2.0, 4.0]))
        >>> part.count, round(part.mean, 3), part.counts.tolist()
        (3, 2.333, [1, 1, 1])
        """
        column = np.ascontiguousarray(values)
        unit = float(np.abs(column).max()) or 1.0  # a density can be 1e200, its square not
        mean, std = float(column.mean()), unit * float((column / unit).std())
        keys, counts = _counted(_ordered(column) >> _SHIFT)
        return cls(len(column), mean, std, keys, counts)


def _counted(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As `np.unique` with counts; numbers of one sign mostly lie so close together that none are sorted."""
    parts = [_counted_near(part) for part in (keys[keys < 0], keys[keys >= 0]) if part.size]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _counted_near(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low = int(keys.min())
    if int(keys.max()) - low > max(_FEW_BINS, 16 * keys.size):
        return np.unique(keys, return_counts=True)
    counts = np.bincount(keys - low)
    found = np.flatnonzero(counts)
    return found + low, counts[found]


def _ordered(values: Array) -> np.ndarray:
    """Integers in the order of the numbers."""
    bits = (values + 0.0).view(np.int64)  # -0 becomes 0
    return bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))


def _edges(keys: np.ndarray) -> tuple[Array, Array]:
    """The smallest and the largest number of bins."""
    low = keys << _SHIFT
    both = np.stack([low, low | np.int64((1 << _SHIFT) - 1)])
    values = (both ^ ((both >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))).view(np.float64)
    return values[0], values[1]


def merge(parts: Sequence[Channel]) -> Channel:
    """The same numbers of all points, from those of the parts, in their order."""
    counts = np.array([part.count for part in parts], dtype=float)
    total = int(counts.sum())
    means, stds = np.array([part.mean for part in parts]), np.array([part.std for part in parts])
    mean = float((counts * means).sum() / total)
    # In units of the largest deviation: a density can be 1e200, its square not.
    apart = means - mean
    unit = float(max(np.abs(apart).max(), stds.max()))
    std = (
        unit * float(np.sqrt((counts * ((stds / unit) ** 2 + (apart / unit) ** 2)).sum() / total))
        if unit
        else 0.0
    )
    keys, place = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    sums = np.zeros(keys.size, np.int64)
    np.add.at(sums, place, np.concatenate([part.counts for part in parts]))
    return Channel(total, mean, std, keys, sums)


def statistics(channel: Channel) -> list[float]:
    """Mean, standard deviation, and the 10th, 50th and 90th percentile, as `pooling.pool` orders them."""
    return [channel.mean, channel.std, *(_percentile(channel, fraction) for fraction in _FRACTIONS)]


def _percentile(channel: Channel, fraction: float) -> float:
    """With linear interpolation between ranks, each rank taken from the middle of its share of the bin."""
    position = fraction * (channel.count - 1)
    rank = int(np.floor(position))
    low, high = _edges(channel.keys)
    ends = np.cumsum(channel.counts)

    def at(r: int) -> float:
        b = int(np.searchsorted(ends, r, side="right"))
        begin = int(ends[b] - channel.counts[b])
        share = (r - begin + 0.5) / float(channel.counts[b])
        return float(low[b] + (high[b] - low[b]) * share)

    below = at(rank)
    above = at(min(rank + 1, channel.count - 1))
    return below + (above - below) * (position - rank)
