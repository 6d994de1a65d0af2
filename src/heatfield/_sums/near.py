"""The near path: for every target, the sources close enough to count, found through the tree.

Three zones around a target, by the weight w = exp(-D**2 / 4t) of a source.

1. Near, every sum is taken in double precision.
2. Further out w is small, and single precision is enough as long as that zone holds only a small
   share of the target's sums. That share is known afterwards: where it is too large, the
   zone is summed again in double precision.
3. In the ring beyond ``weight_cutoff`` w is below the tolerance, but not yet g = sqrt(w), which the energy E2
   needs: there only the radial sums are taken, which cost least, w and w D**2 among them. What the
   directions miss is known too, since |sum w r r'| <= sum w D**2 over the ring: where that is too much,
   they are added.

What remains outside weighs less than tol even if the whole cloud lay there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._base.compile import compiled
from .._base.exp2 import LOG2_E
from .._cloud.arrange import BLOCK, block_gap_squared
from .._cloud.box_tree import blocks_within
from .columns import FIRST, FOURTH, ROOT_SQUARE, ROOT_WEIGHT, SQUARE, WEIGHT
from .near_kernels import RUN, add_columns, add_columns_any_dimension

# Above log(1 / tol): the tail of a smooth cloud weighs a few times its weight at the cut-off.
MARGIN = 4.0
# Share of 2t W, in units of tol, by which the ring may change w r r' and still be left out of it.
RING = 4.0
# Error of single-precision sums, relative to themselves: all roundings added up in the worst direction
# come to about 100 units of 6e-8 (32 additions in a row, and the exponent's rounding times its size).
SINGLE_ERROR = 1e-5
# The same for the sum of g over all pairs, where roundings partly cancel (measured: below 2e-7).
TOTAL_ERROR = 1e-6
# Targets further than this from their centre (squared, in units of 4t) are summed in one zone.
ONE_ZONE = 6.0
# So are sources further than this (squared, in units of 4t): beyond, w underflows in single precision, and a
# sum of zeros would pass the check of its share.
DEEPEST = 80.0
# Times below this (the extent is between 1 and 2) too: w D**4 underflows in single precision.
TINY_TIME = 1e-12
# Size of a block of targets, in units of sqrt(t) and of tol over the rounding unit, up to which they share a
# centre. Differences from it are rounded relative to the block's size, which moves D**2 / 4t by up to 2.5
# times that over sqrt(t) where w still counts. Larger blocks are summed target by target.
SHARED_CENTRE = 0.2
# Targets that share their neighbours lie within a box of this half diagonal (squared, in units of the largest
# squared distance that counts), unless they have no more than so many blocks of neighbours.
COMPACT, MANY_BLOCKS = 0.5, 64
# Share of tol that the blocks left out of the ring may have, where no energy is asked for.
NEGLIGIBLE = 0.05
# Blocks gathered at a time: what 16 targets read stays in the processor's cache.
CHUNK = 128


def cutoffs(tol: float, m: int, energy: bool, fourth_moment: bool = False) -> tuple[float, float]:
    """The cut-offs for w and for g (see above).

    All cut-offs of the near path, also `double_precision_cutoff`, are squared distances in units of 4t: at
    D**2 = 4t * cutoff the weight is w = exp(-cutoff).

    Beyond a squared distance R in these units, all m sources together weigh at most m exp(-R). In the
    dimension each counts 2R times, in the fourth moment 2R**2 times in its unit; what is promised for these
    is 4 and 16 tol (`promise`), of which half may be left out.
    """
    log_accuracy = math.log(1.0 / tol)
    reach = log_accuracy + math.log(max(m, 2)) + 2.0
    margin = math.log(0.25 * reach * reach) if fourth_moment else math.log(reach)
    energy_cutoff = reach + max(0.0, margin - 2.0)
    return log_accuracy + MARGIN, max(energy_cutoff, (2.0 if energy else 1.0) * (log_accuracy + MARGIN))


@compiled()
def double_precision_cutoff(tol: float, energy: bool) -> float:
    """The cut-off (see `cutoffs`) beyond which single precision is tried.

    In a smooth cloud the shares beyond it are then a quarter of what is allowed.
    """
    cutoff = 1.5 - np.log(0.5 * tol / SINGLE_ERROR)
    if energy:
        cutoff = max(cutoff, 2.0 * (1.5 - np.log(0.5 * tol / TOTAL_ERROR)))
    return max(0.0, cutoff)


@compiled(inner=True)
def _split(boxes: Any, found: Any, count: int, low: Any, high: Any, cut: float) -> int:
    """Move the blocks within ``cut`` of the box (low, high) to the front, order kept on both sides."""
    inside = 0
    outside = np.empty(count, np.int64)
    for c in range(count):
        b = found[c]
        if block_gap_squared(low, high, boxes, b) <= cut:
            found[inside] = b
            inside += 1
        else:
            outside[c - inside] = b
    for c in range(inside, count):
        found[c] = outside[c - inside]
    return inside


@compiled(inner=True)
def _needed(
    boxes: Any, found: Any, first: int, last: int, low: Any, high: Any, t: float, tol: float,
    fourth_moment: bool, rows: Any,
) -> int:  # fmt: skip
    """Keep those of the blocks found[first:last] of the ring that can matter beside the sums known by now.

    All that are left out together change no sum of a target by more than `NEGLIGIBLE` tol of its unit:
    a source at D**2 = 4t x counts exp(-x), in the dimension 2x times, in the fourth moment 2 x**2 times.
    """
    least = rows[0, WEIGHT]
    for i in range(1, rows.shape[0]):
        least = min(least, rows[i, WEIGHT])
    most = NEGLIGIBLE * tol * least / (BLOCK * (last - first))
    kept = first
    for c in range(first, last):
        x = max(2.0, block_gap_squared(low, high, boxes, found[c]) / (4.0 * t))
        if np.exp(-x) * (max(1.0, 0.125 * x * x) if fourth_moment else max(1.0, 0.5 * x)) > most:
            found[kept] = found[c]
            kept += 1
    return kept


@compiled(inner=True)
def _gather(
    sources: Any, source_roots: Any, found: Any, first: int, last: int, center: Any, columns: Any
) -> int:
    """Copy the blocks found[first:last] side by side, as seen from the centre; return how many points."""
    n, m = sources.shape
    filled = 0
    for c in range(first, last):
        start = found[c] * BLOCK
        count = min(m, start + BLOCK) - start
        for k in range(n):
            row, source, middle = (
                columns[k, filled : filled + count],
                sources[k, start : start + count],
                center[k],
            )
            for j in range(count):
                row[j] = source[j] - middle
        if source_roots.shape[0] > 0:
            for j in range(count):
                columns[-1, filled + j] = source_roots[start + j]
        filled += count
    return filled


@compiled(inner=True)
def _add_zone(
    sources: Any, source_roots: Any, found: Any, first: int, last: int, targets: Any, times: Any, start: int,
    stop: int, center: Any, asked: Any, directions: bool, fourth_moment: bool, columns: Any, root: Any,
    many_axes: Any, table: Any,
) -> None:  # fmt: skip
    """Add the blocks found[first:last] to the rows of the targets start to stop that are asked for."""
    n = sources.shape[0]
    weighted = source_roots.shape[0] > 0
    at = np.zeros(columns.shape[0] - 1, columns.dtype)
    for a in range(first, last, CHUNK):
        count = _gather(sources, source_roots, found, a, min(last, a + CHUNK), center, columns)
        for i in range(start, stop):
            if not asked[i - start]:
                continue
            t = times[i] if times.shape[0] > 1 else times[0]
            rate = columns.dtype.type(-LOG2_E / (8.0 * t))
            for k in range(n):
                at[k] = targets[k, i] - center[k]
            if many_axes is None:
                add_columns(
                    columns, count, at, n, rate, weighted, directions, fourth_moment, root, table[i - start]
                )
            else:
                add_columns_any_dimension(
                    columns, count, at, n, rate, weighted, directions, fourth_moment, root, table[i - start]
                )


@compiled(inner=True)
def _frame(targets: Any, times: Any, start: int, stop: int, low: Any, high: Any, center: Any) -> float:
    """The box of the targets start to stop and its centre; the shortest of their times."""
    shortest = np.inf
    for i in range(start, stop):
        shortest = min(shortest, times[i] if times.shape[0] > 1 else times[0])
    for k in range(low.shape[0]):
        low[k] = high[k] = targets[k, start]
        for i in range(start + 1, stop):
            low[k] = min(low[k], targets[k, i])
            high[k] = max(high[k], targets[k, i])
        center[k] = 0.5 * (low[k] + high[k])
    return shortest


@compiled(inner=True)
def _half_diagonal_squared(high: Any, center: Any) -> float:
    total = 0.0
    for k in range(high.shape[0]):
        total += (high[k] - center[k]) ** 2
    return total


@compiled(inner=True)
def _clear(table: Any, rows: int) -> None:
    for i in range(rows):
        for c in range(table.shape[1]):
            table[i, c] = 0.0


@compiled(inner=True)
def _add_rows(part: Any, rows: int, first: int, last: int, table: Any) -> None:
    """Add the columns first to last of the first rows."""
    for i in range(rows):
        for c in range(first, last):
            table[i, c] += part[i, c]


@compiled()
def near_sums(
    targets: Any, rows: Any, times: Any, offsets: Any, sources: Any, source_roots: Any, boxes: Any,
    nodes: Any, begin: Any, size: Any, first: int, last: int, weight_cutoff: float, energy_cutoff: float,
    tol: float, directions: bool, fourth_moment: bool, energy: bool, like: Any, many_axes: Any, sums: Any,
) -> None:  # fmt: skip
    """Fill rows first to last of ``sums`` (q, columns); ``first`` must be a multiple of the block size.

    ``targets`` is (n, q) in kd order; ``rows`` (q,) are their places in it where they are some of a cloud and
    those of one block are to be summed together, or empty; ``times`` (1,) or (q,); ``offsets`` (q,) the
    squared distance of each target to the nearest source, or empty where the targets are sources;
    ``source_roots`` (m,)
    are the square roots of weights, or empty. ``energy`` says whether the sums of g are needed, which
    have no meaning with weights; ``like`` is an array of the precision of the innermost zone. ``many_axes``
    is None up to three dimensions and True beyond: numba then compiles only the kernels that are called.
    """
    n = sources.shape[0]
    axes = max(n, 3)
    columns = np.zeros((axes + 1, CHUNK * BLOCK + 24), like.dtype)
    single = np.zeros((axes + 1, CHUNK * BLOCK + 24), np.float32)
    root, single_root = np.empty(RUN, like.dtype), np.empty(RUN, np.float32)
    found = np.empty(boxes.shape[2], np.int64)
    low, high, center = np.empty(n), np.empty(n), np.empty(n)
    part = np.empty((BLOCK, sums.shape[1]))
    too_large = np.empty(BLOCK, np.bool_)
    every = np.ones(BLOCK, np.bool_)
    near_cutoff = double_precision_cutoff(tol, energy)
    unit = 6e-8 if columns.itemsize == 4 else 1.1e-16
    shared = 0.25 * (SHARED_CENTRE * tol / unit) ** 2
    start = first
    while start < last:
        stop = min(last, start - start % BLOCK + BLOCK)
        if rows.shape[0] > 0:
            stop = start + 1
            while stop < last and rows[stop] // BLOCK == rows[start] // BLOCK:
                stop += 1
        shortest = _frame(targets, times, start, stop, low, high, center)
        size_squared = _half_diagonal_squared(high, center)
        if size_squared > 4.0 * shortest * shared and stop > start + 1:
            stop = start + 1
            shortest = _frame(targets, times, start, stop, low, high, center)
            size_squared = 0.0
        while True:
            nearest = inner = outer = longest = 0.0
            for i in range(start, stop):
                t = times[i] if times.shape[0] > 1 else times[0]
                own = offsets[i] if offsets.shape[0] > 0 else 0.0
                longest = max(longest, t)
                nearest = max(nearest, own + 4.0 * t * near_cutoff)
                inner = max(inner, own + 4.0 * t * weight_cutoff)
                outer = max(outer, own + 4.0 * t * energy_cutoff)
            a = b = c = blocks_within(nodes, begin, size, low, high, outer, found)
            if c <= MANY_BLOCKS or size_squared <= COMPACT * outer or stop == start + 1:
                break
            stop = start + (stop - start) // 2
            shortest = _frame(targets, times, start, stop, low, high, center)
            size_squared = _half_diagonal_squared(high, center)
        count = stop - start
        # Coordinates in single precision are relative to the centre. Where the targets lie too far apart
        # for that there are few neighbours, and one zone is enough.
        close = size_squared <= 4.0 * shortest * ONE_ZONE and outer <= 4.0 * shortest * DEEPEST
        if close and shortest >= TINY_TIME:
            b = _split(boxes, found, c, low, high, inner)
            a = _split(boxes, found, b, low, high, nearest)
        row = sums[start:stop]
        _clear(row, count)
        _add_zone(
            sources, source_roots, found, 0, a, targets, times, start, stop, center, every, directions,
            fourth_moment, columns, root, many_axes, row,
        )  # fmt: skip
        if b > a:
            _clear(part, count)
            _add_zone(
                sources, source_roots, found, a, b, targets, times, start, stop, center, every, directions,
                fourth_moment, single, single_root, many_axes, part,
            )  # fmt: skip
            again = False
            for i in range(count):
                t = times[start + i] if times.shape[0] > 1 else times[0]
                most = 0.5 * tol / SINGLE_ERROR * (row[i, WEIGHT] + part[i, WEIGHT])
                most_root = 0.5 * tol / TOTAL_ERROR * (row[i, ROOT_WEIGHT] + part[i, ROOT_WEIGHT])
                too_large[i] = (
                    part[i, WEIGHT] > most
                    or part[i, SQUARE] > 4.0 * most * 2.0 * t
                    or part[i, FOURTH] > 16.0 * most * 8.0 * t * t
                    or (energy and part[i, ROOT_SQUARE] > most_root * 8.0 * t)
                    or (energy and part[i, ROOT_WEIGHT] > most_root)
                )
                again |= too_large[i]
                if too_large[i]:
                    _clear(part[i : i + 1], 1)
            if again:
                _add_zone(
                    sources, source_roots, found, a, b, targets, times, start, stop, center, too_large,
                    directions,
                    fourth_moment, columns, root, many_axes, part,
                )  # fmt: skip
            _add_rows(part, count, 0, part.shape[1], row)
        if c > b and not energy and source_roots.shape[0] == 0:
            c = _needed(boxes, found, b, c, low, high, longest, tol, fourth_moment, row)
        if c > b:
            _clear(part, count)
            _add_zone(
                sources, source_roots, found, b, c, targets, times, start, stop, center, every, False,
                fourth_moment, single, single_root, many_axes, part,
            )  # fmt: skip
            _add_rows(part, count, 0, FIRST, row)
            again = False
            for i in range(count):
                t = times[start + i] if times.shape[0] > 1 else times[0]
                too_large[i] = part[i, SQUARE] > RING * tol * 2.0 * t * row[i, WEIGHT]
                again |= too_large[i]
            if directions and again:
                _clear(part, count)
                _add_zone(
                    sources, source_roots, found, b, c, targets, times, start, stop, center, too_large, True,
                    False, columns, root, many_axes, part,
                )  # fmt: skip
                _add_rows(part, count, FIRST, part.shape[1], row)
        start = stop
