"""The blocks of the descriptor: each is one `Block`, and everything else follows from its entry.

Every module of this folder states its blocks as ``BLOCKS`` and is found by itself. Layout, values, the column
dictionary of the documentation, the variants and the standardisation of the classifier read the registry.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ... import _core
from ..._base.check import Array
from ...channels import Words, words_of
from ...core.evaluate import Outputs
from ...options import CLOSED_FORMS
from ..around import Around

# Which variants have a block: all, those with the spectrum, those beyond the paper.
BEYOND_PAPER = ("joint", "oriented")
WITH_SPECTRUM = ("desc", *BEYOND_PAPER)
ALL = CLOSED_FORMS

# Of the values at the points, in the order of `_core.pool`.
STATISTICS = {
    "mean": "mean over the points",
    "std": "standard deviation over the points",
    "p10": "10th percentile over the points: nine of ten points lie above it",
    "p50": "median over the points",
    "p90": "90th percentile over the points: one point of ten lies above it",
}
STATISTIC = rf"(?P<s>{'|'.join(STATISTICS)})"  # as part of a pattern
CHANNEL = r"density|dimension|transition|spectrum\d+"


@dataclass(frozen=True)
class Shape:
    """What decides the columns of a block."""

    joint: bool  # densities and energies as logarithms
    n: int
    n_scales: int
    centers: Sequence[float]


@dataclass(frozen=True, eq=False)
class Found:
    """The signatures of N clouds whose points stand side by side."""

    local: Outputs
    channels: (
        Array  # transition, density (joint: its logarithm), dimension and spectrum, (3 or 3+n, T, total)
    )
    ends: np.ndarray  # (N,)
    times: Array  # (T, N)
    energy: Array  # (N, T)
    response: Array
    least: float  # standard deviation below which a channel counts as constant
    around: Around
    joint: bool
    centers: Array
    hds_sigma: float


@dataclass(frozen=True)
class Meaning:
    """One column in words."""

    block: str
    channel: str
    statistic: str
    scale: str
    unit: str
    high: str


@dataclass(frozen=True)
class Block:
    """One block of columns."""

    name: str
    place: int  # in the descriptor, from left to right
    variants: tuple[str, ...]
    words: str  # in one line
    names: Callable[[Shape], Iterator[str]]  # of the columns, without the name of the block in front
    values: Callable[[Found], Array]  # (N, columns)
    meaning: tuple[str, Callable[..., Meaning]]  # a pattern of these names, and what its groups mean
    order_one: bool = False  # differences of numbers of order one: their round-off is that of 1
    needs: tuple[str, ...] = ()  # beside density and dimension: channels, and "energy"


@cache
def registry() -> dict[str, Block]:
    """All blocks by name, in the order of the descriptor."""
    modules = [import_module(f".{found.name}", __name__) for found in pkgutil.iter_modules(__path__)]
    blocks = sorted((block for module in modules for block in module.BLOCKS), key=lambda block: block.place)
    return {block.name: block for block in blocks}


def channel_name(k: int) -> str:
    """Of channel k in names of columns; one by one, as points of a damaged file may have any dimension."""
    return ("density", "dimension", "transition")[k] if k < 3 else f"spectrum{k - 2}"


def channel_order(count: int) -> list[int]:
    """Where these channels stand in `Found.channels`."""
    return [1, 2, 0, *range(3, count)]


def pooled(channels: Array, ends: np.ndarray) -> Array:
    """Channel by channel, statistic by statistic, scale by scale, (N, ...)."""
    count, steps, total = channels.shape
    out = np.empty((len(ends), count * steps, len(STATISTICS)))
    _core.pool(channels.reshape(count * steps, total), ends, out)
    return out.reshape(len(ends), count, steps, -1).swapaxes(2, 3).reshape(len(ends), -1)


def logarithm(values: Array) -> Array:
    """Logarithm of positive numbers; NaN elsewhere."""
    return np.log(np.where(values > 0.0, values, np.nan))


def explain(name: str) -> Meaning:
    """What a column is; a name that no layout has is an error."""
    for block in registry().values():
        pattern, words = block.meaning
        if found := re.fullmatch(f"{block.name}_{pattern}", name):
            return words(block.name, **found.groupdict())
    raise ValueError(f"{name!r} is not a column of a descriptor")


def scale_words(*scales: Any) -> str:
    """One scale or a pair of scales."""
    if len(scales) == 1:
        return f"scale {scales[0]}; 0 is the finest"
    return f"scales {scales[0]} and {scales[1]}; 0 is the finest"


def channel_words(channel: str) -> Words:
    """The words for a channel of `channel_name`; the density as its logarithm."""
    return words_of("log_density" if channel == "density" else channel)
