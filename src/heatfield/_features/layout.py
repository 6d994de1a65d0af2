"""The columns of a descriptor: blocks, names, order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from .._base.drawing import bars
from .._base.summary import Summarised, Summary, plural
from .._signatures.channels import blocks_with_spectrum

STATISTICS = ("mean", "std", "p10", "p50", "p90")
# The neighbourhood block: how many scales the weights are coarser than the field.
STEPS = (1, 3)

# The number of the layout: a change of a name, of the order, or of a value by more
# than 1e-9 gets a new one.
SCHEMA = 1

PAPER_BLOCKS = ("global", "hds", "density", "dimension", "transition", "spectrum")
JOINT_BLOCKS = (*PAPER_BLOCKS, "gradient", "correlation", "coupling", "neighbourhood")
VARIANT_BLOCKS = {"simple": PAPER_BLOCKS[:-1], "desc": PAPER_BLOCKS, "joint": JOINT_BLOCKS}

# Blocks that are read from the sums of w r and w r r', about a third of the work.
NEED_SPECTRUM = {*blocks_with_spectrum(), "gradient", "correlation", "coupling", "neighbourhood"}


@dataclass(frozen=True, repr=False)
class Layout(Summarised):
    """The columns of a descriptor: their names, and the columns of each block."""

    names: tuple[str, ...]
    columns: dict[str, slice]

    @property
    def width(self) -> int:
        """How many numbers there are per cloud."""
        return len(self.names)

    def _summary(self) -> Summary:
        lines: list[tuple[str, str | list[str]]] = []
        for block, place in self.columns.items():
            first, last = self.names[place.start], self.names[place.stop - 1]
            count = place.stop - place.start
            lines.append((block, f"columns {place.start} to {place.stop - 1} ({count}): {first} ... {last}"))
        counts = [place.stop - place.start for place in self.columns.values()]
        picture = bars(list(self.columns), counts, "columns per block")
        return Summary(f"Layout of {plural(self.width, 'column')}", lines, [picture])


@lru_cache(maxsize=64)  # a thousand names take longer than describing a small cloud
def layout(
    variant: str, blocks: tuple[str, ...], n: int, n_scales: int, centers: tuple[float, ...]
) -> Layout:
    """The layout of chosen blocks of a variant, in n dimensions."""
    names: list[str] = []
    columns: dict[str, slice] = {}
    for block in VARIANT_BLOCKS[variant]:
        if block not in blocks:
            continue
        added = [
            f"{block}_{what}_s{a}" if isinstance(a, int) else f"{block}_{what}_{a}"
            for what, a in _entries(block, variant == "joint", n, n_scales, centers)
        ]
        columns[block] = slice(len(names), len(names) + len(added))
        names += added
    return Layout(tuple(names), columns)


def _entries(
    block: str, joint: bool, n: int, n_scales: int, centers: tuple[float, ...]
) -> list[tuple[str, int | str]]:
    """What a block holds, in order, each with its scale or pair of scales."""
    scales = range(n_scales)
    axes = [f"spectrum{k + 1}" for k in range(n)]
    if block == "global":
        log = "log_" if joint else ""
        quantities = (f"{log}energy", "response", f"{log}roughness", f"{log}relative_roughness")
        return [(q, a) for q in quantities for a in scales]
    if block == "hds":
        return [
            (f"{part}_d{center:g}", a)
            for part in ("composition", "contrast")
            for center in centers
            for a in scales
        ]
    if block == "spectrum":
        return [(f"{k + 1}_{s}", a) for k in range(n) for s in STATISTICS for a in scales]
    if block == "density" and joint:
        return [(f"log_{s}", a) for s in STATISTICS for a in scales]
    if block == "correlation":
        channels = ["density", "dimension", "transition", *axes]
        return [
            (f"{channels[p]}_{channels[q]}", a)
            for p in range(len(channels))
            for q in range(p + 1, len(channels))
            for a in scales
        ]
    if block == "coupling":
        channels = ["density", "dimension", "transition", *axes]
        return [(c, f"s{a}_s{a + step}") for c in channels for step in (1, 2) for a in range(n_scales - step)]
    if block == "neighbourhood":
        return [
            (f"{field}_{s}", f"s{a}_s{b}")
            for field in ("density", "dimension", *axes)
            for a, b in scale_pairs(n_scales)
            for s in kept_statistics(b)
        ]
    return [(s, a) for s in STATISTICS for a in scales]  # density, dimension, transition, gradient


@cache
def scale_pairs(n_scales: int) -> np.ndarray:
    """All (a, b) with b - a in `STEPS`, by step and then by scale: fields of scale a, weights of scale b."""
    pairs = [(a, a + step) for step in STEPS for a in range(n_scales - step)]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def kept_statistics(b: int) -> tuple[str, ...]:
    """Of a deviation at scale b; at the first three scales the 10th percentile is 0 nearly always."""
    return ("mean", "p10", "p90") if b >= 3 else ("mean", "p90")
