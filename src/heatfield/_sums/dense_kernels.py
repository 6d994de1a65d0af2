"""The dense path up to three dimensions: every pair that can change the last digit."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import compiled
from .._base.exp2 import LOG2_E
from .._base.select import largest_of
from .._cloud.arrange import BLOCK
from .columns import FIRST, FOURTH
from .pair_kernels import TILE, directions1, directions2, directions3, fill, fourth, heat, radial


@compiled(inner=True)
def _add_tile(sums: Any, tile: Any, count: int, rate: Any, directions: bool, fourth_moment: bool) -> None:
    """Add one filled tile to the sums of one point at one scale."""
    n = tile.shape[0] - 3
    heat(tile[n], tile[n + 1], count, rate)
    add_sums(sums, tile, count, rate - rate, directions, fourth_moment)


@compiled(inner=True)
def add_sums(sums: Any, tile: Any, count: int, zero: Any, directions: bool, fourth_moment: bool) -> None:
    """Add one tile whose g is already filled."""
    n = tile.shape[0] - 3
    square, root = tile[n], tile[n + 1]
    # Radial sums and directions are separate loops: one would be faster by a twentieth, but radial sums then
    # had other last digits where directions are asked for than where they are not.
    by_distance = radial(square, root, count, zero)
    for c in range(4):
        sums[c] += by_distance[c]
    if fourth_moment:
        sums[FOURTH] += fourth(square, root, count, zero)
    if not directions:
        return
    if n == 3:
        in_space = directions3(tile[0], tile[1], tile[2], root, count, zero)
        for c in range(9):
            sums[FIRST + c] += in_space[c]
    elif n == 2:
        in_plane = directions2(tile[0], tile[1], root, count, zero)
        for c in range(5):
            sums[FIRST + c] += in_plane[c]
    else:
        on_line = directions1(tile[0], root, count, zero)
        for c in range(2):
            sums[FIRST + c] += on_line[c]


@compiled()
def _cutoff(t: float, nearest: float, log_accuracy: float, m: int) -> float:
    """Squared distance beyond which a pair changes no digit of any sum.

    Two demands. Everything left out must be small beside the point's own weight
    of 1 in the sum of g = exp(-D**2 / 8t). And it must be small beside the term of
    the nearest neighbour in the sum of w D**2, which alone determines the heat
    dimension of an isolated point.
    """
    log_reach = log_accuracy + np.log(m)
    dimension = nearest + 4.0 * t * (log_reach + np.log1p(4.0 * t * log_reach / nearest))
    return max(dimension, 8.0 * t * log_reach)


@compiled()
def gaps_to_blocks(target: Any, boxes: Any, gaps: Any) -> None:
    """Squared distance from one point to each block's box."""
    for b in range(gaps.shape[0]):
        gaps[b] = 0.0
    for k in range(target.shape[0]):
        at = target[k]
        for b in range(gaps.shape[0]):
            step = max(0.0, max(boxes[0, k, b] - at, at - boxes[1, k, b]))
            gaps[b] += step * step


@compiled(inner=True)
def _count(gaps: Any, cut: float) -> int:
    count = 0
    for b in range(gaps.shape[0]):
        count += gaps[b] <= cut
    return count


@compiled(inner=True)
def find_runs(gaps: Any, cut: float, m: int, begins: Any, ends: Any) -> int:
    """The blocks within the cut-off as runs of columns, neighbouring blocks joined."""
    runs = 0
    for b in range(gaps.shape[0]):
        if gaps[b] > cut:
            continue
        if runs > 0 and ends[runs - 1] == b * BLOCK:
            ends[runs - 1] = min(m, (b + 1) * BLOCK)
        else:
            begins[runs] = b * BLOCK
            ends[runs] = min(m, (b + 1) * BLOCK)
            runs += 1
    return runs


@compiled()
def dense_sums(
    sources: Any,
    boxes: Any,
    nearest: Any,
    scales: Any,
    first: int,
    last: int,
    log_accuracy: float,
    directions: bool,
    fourth_moment: bool,
    like: Any,
    sums: Any,
) -> None:
    """Fill ``sums[first:last]``; ``first`` must be a multiple of the block size.

    ``scales`` is (1, T), or (m, T) with the times of each point; increasing along
    T. ``log_accuracy`` is log(1 / error). ``like`` is an array of the precision to sum in.
    """
    n, m = sources.shape
    steps = scales.shape[1]
    own = scales.shape[0] > 1
    blocks = boxes.shape[2]
    tile = np.empty((n + 3, TILE + 24), like.dtype)
    gaps = np.empty(blocks)
    begins = np.empty(blocks, np.int64)
    ends = np.empty(blocks, np.int64)
    cuts = np.empty(steps)
    kept = np.empty(steps, np.int64)
    rates = np.empty(steps, like.dtype)
    target = np.empty(n)
    log_reach = log_accuracy + np.log(m)
    for i in range(first, last):
        for k in range(n):
            target[k] = sources[k, i]
        gaps_to_blocks(target, boxes, gaps)
        widest = largest_of(gaps, 0, blocks)
        for a in range(steps):
            t = scales[i, a] if own else scales[0, a]
            rates[a] = -LOG2_E / (8.0 * t)
            if widest <= 8.0 * t * log_reach:  # all of them, without a logarithm
                cuts[a], kept[a] = np.inf, blocks
                continue
            cuts[a] = _cutoff(t, nearest[i], log_accuracy, m)
            kept[a] = _count(gaps, cuts[a])
        coarse = steps - 1
        while coarse >= 0:
            runs = find_runs(gaps, cuts[coarse], m, begins, ends)
            # Scales that reach nearly as far share the list: filling a tile anew
            # costs a quarter of summing it.
            fine = coarse
            while fine > 0 and kept[fine - 1] > 0.75 * kept[coarse]:
                fine -= 1
            filled = 0
            for r in range(runs):
                at = begins[r]
                while at < ends[r]:
                    count = min(ends[r] - at, TILE - filled)
                    fill(tile, filled, sources, at, count, target)
                    filled += count
                    at += count
                    if filled < TILE and not (r == runs - 1 and at == ends[r]):
                        continue
                    for a in range(fine, coarse + 1):
                        _add_tile(sums[i, a], tile, filled, rates[a], directions, fourth_moment)
                    filled = 0
            coarse = fine - 1
