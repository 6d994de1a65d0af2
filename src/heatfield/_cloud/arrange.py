"""Points made ready for the pair sums: exact centring, exact scaling, compact blocks.

Three things happen here, none of which changes a distance by a single bit:

* an axis whose coordinates are all far from zero is moved towards it. The
  subtraction is exact (Sterbenz: both numbers are within a factor of two), so map
  coordinates lose nothing;
* the cloud is scaled by a power of two to an extent in [1, 2), so that squared
  distances neither overflow nor vanish, whatever the unit;
* the points are sorted into blocks of neighbours, each with its bounding box, so
  that later passes skip whole blocks that are too far away to count.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._base.compile import compiled
from .._base.select import select
from .._base.threads import pieces, run_pieces

BLOCK = 16


@compiled()
def origin_and_exponent(points: Any) -> tuple[Any, int]:
    """A corner to subtract without rounding (0 where none is needed), and log2 of the extent."""
    m, n = points.shape
    origin = np.zeros(n)
    extent = 0.0
    for k in range(n):
        lo = hi = points[0, k] if m else 0.0
        for i in range(m):
            lo = min(lo, points[i, k])
            hi = max(hi, points[i, k])
        if lo > 0.0 and hi <= 2.0 * lo:
            origin[k] = lo
        elif hi < 0.0 and lo >= 2.0 * hi:
            origin[k] = hi
        extent = max(extent, hi - lo)
    exponent = math.frexp(extent)[1] - 1 if extent > 0.0 else 0
    return origin, min(max(exponent, -1000), 1000)


@compiled()
def _halve(points: Any, order: Any, keys: Any, lo: int, hi: int) -> int:
    """Sort the run lo to hi of the order into two halves, across its widest axis; where the second begins."""
    axis, widest = 0, -1.0
    for k in range(points.shape[1]):
        low = high = points[order[lo], k]
        for i in range(lo, hi):
            low = min(low, points[order[i], k])
            high = max(high, points[order[i], k])
        if high - low > widest:
            axis, widest = k, high - low
    for i in range(lo, hi):
        keys[i] = points[order[i], axis]
    # Cut at a multiple of the block size, so that blocks start at multiples of it.
    middle = lo + BLOCK * ((hi - lo + 2 * BLOCK - 1) // (2 * BLOCK))
    select(keys, order, lo, hi, middle)
    return middle


@compiled()
def _sort(points: Any, order: Any, keys: Any, first: int, last: int) -> None:
    """Halve a run of the order down to its blocks."""
    todo = [(first, last)]
    while todo:
        lo, hi = todo.pop()
        if hi - lo > BLOCK:
            middle = _halve(points, order, keys, lo, hi)
            todo.append((lo, middle))
            todo.append((middle, hi))


@compiled()
def kd_order(points: Any) -> Any:
    """An order of the points in which every run of `BLOCK` of them is compact in space."""
    m = points.shape[0]
    order = np.empty(m, np.int64)
    for i in range(m):
        order[i] = i
    _sort(points, order, np.empty(m), 0, m)
    return order


def arrange_many(points: Any, n_threads: int) -> tuple[Any, Any, Any, Any, int]:
    """`arrange` in threads: the halves of a run do not depend on each other, so the result is the same."""
    m, n = points.shape
    origin, exponent = origin_and_exponent(points)
    factor = math.ldexp(1.0, -exponent)
    order, keys = np.arange(m), np.empty(m)
    runs = [(0, m)]
    while len(runs) < 4 * n_threads:
        middles = dict.fromkeys(runs, 0)

        def halve(lo: int, hi: int, middles: dict[tuple[int, int], int] = middles) -> None:
            middles[lo, hi] = _halve(points, order, keys, lo, hi)

        run_pieces(halve, runs, n_threads)
        runs = [half for (lo, hi), middle in middles.items() for half in ((lo, middle), (middle, hi))]
    run_pieces(lambda lo, hi: _sort(points, order, keys, lo, hi), runs, n_threads)
    sources = np.empty((n, m))

    def gather(first: int, last: int) -> None:
        sources[:, first:last] = ((points[order[first:last]] - origin) * factor).T

    run_pieces(gather, pieces(m, 1 << 14), n_threads)
    return sources, bounding_boxes(sources), order, origin, exponent


@compiled()
def arrange(points: Any) -> tuple[Any, Any, Any, Any, int]:
    """Sort and normalise a cloud for the pair sums.

    Returns ``sources`` (n, m), one row per axis, in kd order; ``boxes`` (2, n, blocks),
    the lower and upper corner of each block; ``order``, the row of each column in
    the caller's cloud; the origin o and the exponent e with original = normalised * 2**e + o.
    """
    m, n = points.shape
    origin, exponent = origin_and_exponent(points)
    factor = math.ldexp(1.0, -exponent)
    order = kd_order(points)
    sources = np.empty((n, m))
    for k in range(n):
        for i in range(m):
            sources[k, i] = (points[order[i], k] - origin[k]) * factor
    return sources, bounding_boxes(sources), order, origin, exponent


@compiled()
def bounding_boxes(sources: Any) -> Any:
    """Lower and upper corners (2, n, blocks) of the runs of `BLOCK` columns."""
    n, m = sources.shape
    blocks = (m + BLOCK - 1) // BLOCK
    boxes = np.empty((2, n, blocks))
    for k in range(n):
        for b in range(blocks):
            low = high = sources[k, b * BLOCK]
            for i in range(b * BLOCK, min(m, (b + 1) * BLOCK)):
                low = min(low, sources[k, i])
                high = max(high, sources[k, i])
            boxes[0, k, b] = low
            boxes[1, k, b] = high
    return boxes


@compiled(inner=True)
def block_gap_squared(low: Any, high: Any, boxes: Any, b: int) -> float:
    """Smallest squared distance between the box (low, high) and block b."""
    total = 0.0
    for k in range(low.shape[0]):
        step = max(0.0, max(boxes[0, k, b] - high[k], low[k] - boxes[1, k, b]))
        total += step * step
    return total


@compiled(inner=True)
def block_reach_squared(low: Any, high: Any, boxes: Any, b: int) -> float:
    """Largest squared distance between the box (low, high) and block b."""
    total = 0.0
    for k in range(low.shape[0]):
        step = max(high[k] - boxes[0, k, b], boxes[1, k, b] - low[k])
        total += step * step
    return total
