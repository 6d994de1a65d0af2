"""Correlations over the points: of two channels, and of a channel with itself at a coarser scale."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from ... import _core
from ..._base.check import Array
from . import (
    BEYOND_PAPER,
    CHANNEL,
    Block,
    Found,
    Meaning,
    Shape,
    channel_name,
    channel_order,
    channel_words,
    scale_words,
)

_STEPS = (1, 2)  # how many scales apart


def _correlation_names(shape: Shape) -> Iterator[str]:
    for p in range(3 + shape.n):
        for q in range(p + 1, 3 + shape.n):
            pair = f"{channel_name(p)}_{channel_name(q)}"
            yield from (f"{pair}_s{a}" for a in range(shape.n_scales))


@cache
def _correlated(channels: int, steps: int) -> np.ndarray:
    """Every pair of channels at the same scale, as rows of (channels, scales)."""
    order = channel_order(channels)
    pairs = [
        (p * steps + a, q * steps + a)
        for i, p in enumerate(order)
        for q in order[i + 1 :]
        for a in range(steps)
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _coupling_names(shape: Shape) -> Iterator[str]:
    for p in range(3 + shape.n):
        for step in _STEPS:
            yield from (f"{channel_name(p)}_s{a}_s{a + step}" for a in range(shape.n_scales - step))


@cache
def _coupled(channels: int, steps: int) -> np.ndarray:
    """Each channel with itself one and two scales further."""
    pairs = [
        (p * steps + a, p * steps + a + step)
        for p in channel_order(channels)
        for step in _STEPS
        for a in range(steps - step)
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _values(found: Found, pairs: np.ndarray) -> Array:
    channels = found.channels
    out = np.empty((len(found.ends), len(pairs)))
    _core.correlate(channels.reshape(-1, channels.shape[2]), found.ends, pairs, found.least, out)
    return out


def _correlation_meaning(block: str, p: str, q: str, a: str) -> Meaning:
    what = f"{channel_words(p)[0]}, with {channel_words(q)[0]}"
    high = f"points with high {p} have high {q} too; below 0: they have low {q}; 0: unrelated"
    return Meaning(block, what, _STATISTIC, scale_words(a), "pure number", high)


def _coupling_meaning(block: str, c: str, a: str, b: str) -> Meaning:
    what = f"{channel_words(c)[0]}, with itself at a coarser scale"
    high = f"points that stand out in {c} at scale {a} stand out at scale {b} too; near 0: others do"
    return Meaning(block, what, _STATISTIC, scale_words(a, b), "pure number", high)


_STATISTIC = "correlation over the points, -1 to 1"
BLOCKS = (
    Block(
        "correlation",
        7,
        BEYOND_PAPER,
        "correlation of two channels over the points",
        _correlation_names,
        lambda found: _values(found, _correlated(*found.channels.shape[:2])),
        (rf"(?P<p>{CHANNEL})_(?P<q>{CHANNEL})_s(?P<a>\d+)", _correlation_meaning),
        order_one=True,
        needs=("spectrum",),
    ),
    Block(
        "coupling",
        8,
        BEYOND_PAPER,
        "correlation of a channel with itself at a coarser scale",
        _coupling_names,
        lambda found: _values(found, _coupled(*found.channels.shape[:2])),
        (rf"(?P<c>{CHANNEL})_s(?P<a>\d+)_s(?P<b>\d+)", _coupling_meaning),
        order_one=True,
        needs=("spectrum",),
    ),
)
