"""The near path: for every target, the sources close enough to count, found through the tree.

Two radii. Within ``full`` every sum is taken. Between ``full`` and ``wide`` lie pairs whose
weight w is below the tolerance, but not yet their g = sqrt(w), which the energy E2 needs: there
only the cheap radial sums are taken, w and w D**2 among them, and in single precision, since g
is below sqrt(tol) there. What remains outside weighs
less than tol even if the whole cloud lay there. What the directions miss is known too,
since |sum w r r'| <= sum w D**2 over the ring: where that is too much, the ring's directions are added.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._arrange import BLOCK, gap_squared
from ._dense import FIRST, SQUARE, WEIGHT, add_sums
from ._exponential import LOG2_E
from ._jit import SUMS, compiled
from ._pairs import TILE, fill, heat
from ._tree import blocks_within

# Above log(1 / tol): the tail of a smooth cloud weighs a few times its weight at the cut-off.
MARGIN = 4.0
# Share of 2t W that the ring may hold back from w r r', in units of tol.
RING = 4.0
# Blocks gathered at a time: what 16 targets read stays in the fast cache.
CHUNK = 128


def radii(tol: float, m: int) -> tuple[float, float]:
    """Both cut-offs as squared distances in units of 4t (see above)."""
    digits = math.log(1.0 / tol)
    return digits + MARGIN, max(2.0 * (digits + MARGIN), digits + math.log(max(m, 2)) + 2.0)


@compiled()
def _split(boxes: Any, found: Any, count: int, low: Any, high: Any, cut: float) -> int:
    """Move the blocks within ``cut`` of the box (low, high) to the front, order kept on both sides."""
    inside = 0
    outside = found[:count].copy()
    for c in range(count):
        b = found[c]
        if gap_squared(low, high, boxes, b) <= cut:
            found[inside] = b
            inside += 1
        else:
            outside[c - inside] = b
    found[inside:count] = outside[: count - inside]
    return inside


@compiled()
def _gather(sources: Any, weights: Any, found: Any, first: int, last: int, columns: Any) -> int:
    """Copy the blocks found[first:last] side by side into ``columns``; return how many points."""
    n, m = sources.shape
    filled = 0
    for c in range(first, last):
        start = found[c] * BLOCK
        count = min(m, start + BLOCK) - start
        for k in range(n):
            for j in range(count):
                columns[k, filled + j] = sources[k, start + j]
        if weights.shape[0] > 0:
            for j in range(count):
                columns[n, filled + j] = weights[start + j]
        filled += count
    return filled


@compiled()
def _sum_columns(
    columns: Any, count: int, target: Any, rate: Any, weighted: bool, spectrum: bool, with_fourth: bool,
    tile: Any, row: Any,
) -> None:  # fmt: skip
    """Add gathered sources to the sums of one target."""
    n = target.shape[0]
    places = columns[:n]
    for at in range(0, count, TILE):
        filled = min(TILE, count - at)
        fill(tile, 0, places, at, filled, target)
        heat(tile[n], tile[n + 1], filled, rate)
        if weighted:
            for j in range(filled):
                tile[n + 1, j] *= columns[n, at + j]
        add_sums(row, tile, filled, rate - rate, spectrum and n <= 3, with_fourth)
        if spectrum and n > 3:
            _add_directions(row, tile, filled, n)


@compiled(SUMS)
def _add_directions(row: Any, tile: Any, count: int, n: int) -> None:
    """w r and w r r' beyond three dimensions, axis by axis."""
    half = tile[n + 1]
    c = FIRST + n
    for k in range(n):
        x = tile[k]
        total = 0.0
        for j in range(count):
            total += half[j] * half[j] * x[j]
        row[FIRST + k] += total
        for l in range(k, n):
            y = tile[l]
            total = 0.0
            for j in range(count):
                total += half[j] * half[j] * x[j] * y[j]
            row[c] += total
            c += 1


@compiled()
def near_sums(
    targets: Any, times: Any, offsets: Any, sources: Any, weights: Any, boxes: Any,
    nodes: Any, begin: Any, size: Any, first: int, last: int, full: float, wide: float, tol: float,
    spectrum: bool, with_fourth: bool, like: Any, sums: Any,
) -> None:  # fmt: skip
    """Fill rows first to last of ``sums`` (q, columns); ``first`` must be a multiple of the block size.

    ``targets`` is (n, q) in kd order; ``times`` (1,) or (q,); ``offsets`` (q,) the squared distance
    of each target to the nearest source, or empty where the targets are sources. ``weights`` (m,)
    are square roots, or empty; with weights the sums of g alone mean nothing.
    """
    n = sources.shape[0]
    tile = np.zeros((n + 3, TILE + 24), like.dtype)
    rough = np.zeros((n + 3, TILE + 24), np.float32)
    found = np.empty(boxes.shape[2], np.int64)
    columns = np.empty((n + 1, CHUNK * BLOCK + 24))
    low, high, target = np.empty(n), np.empty(n), np.empty(n)
    ring = np.empty((BLOCK, sums.shape[1]))
    lacks = np.empty(BLOCK, np.bool_)
    weighted = weights.shape[0] > 0
    for start in range(first, last, BLOCK):
        stop = min(last, start + BLOCK)
        inner = outer = 0.0
        for i in range(start, stop):
            t = times[i] if times.shape[0] > 1 else times[0]
            extra = offsets[i] if offsets.shape[0] > 0 else 0.0
            inner, outer = max(inner, extra + 4.0 * t * full), max(outer, extra + 4.0 * t * wide)
        for k in range(n):
            low[k], high[k] = targets[k, start:stop].min(), targets[k, start:stop].max()
        count = blocks_within(nodes, begin, size, low, high, outer, found)
        inside = _split(boxes, found, count, low, high, inner)
        sums[start:stop] = 0.0
        ring[:] = 0.0
        # Once through everything near, once through the ring, and once more for the directions
        # that the ring should not have left out.
        for turn in range(3):
            lo, hi = (0, inside) if turn == 0 else (inside, count)
            if turn == 2 and not (spectrum and lacks[: stop - start].any()):
                break
            for a in range(lo, hi, CHUNK):
                gathered = _gather(sources, weights, found, a, min(hi, a + CHUNK), columns)
                for i in range(start, stop):
                    rate = -LOG2_E / (8.0 * (times[i] if times.shape[0] > 1 else times[0]))
                    for k in range(n):
                        target[k] = targets[k, i]
                    if turn == 1:
                        _sum_columns(
                            columns, gathered, target, np.float32(rate), weighted, False, with_fourth,
                            rough, ring[i - start],
                        )  # fmt: skip
                    elif turn == 0 or lacks[i - start]:
                        row = sums[i] if turn == 0 else ring[i - start]
                        _sum_columns(
                            columns, gathered, target, like.dtype.type(rate), weighted, spectrum, with_fourth,
                            tile, row,
                        )  # fmt: skip
            if turn == 1:
                for i in range(start, stop):
                    t = times[i] if times.shape[0] > 1 else times[0]
                    sums[i, :FIRST] += ring[i - start, :FIRST]
                    lacks[i - start] = ring[i - start, SQUARE] > RING * tol * 2.0 * t * sums[i, WEIGHT]
                ring[:] = 0.0
        if turn == 2:
            sums[start:stop, FIRST:] += ring[: stop - start, FIRST:]
