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

import numpy as np

from .. import _core
from .._base.check import Array
from .._base.threads import pieces, run_pieces

BLOCK = _core.BLOCK
# Points from which the work is cut into pieces: for threads, and so that Ctrl-C takes effect soon.
MANY = 100_000
# How many runs the pieces are sorted in; the order does not depend on it.
_RUNS = 64


def origin_and_exponent(points: Array) -> tuple[Array, int]:
    """A corner to subtract without rounding (0 where none is needed), and log2 of the extent."""
    origin = np.empty(points.shape[1])
    return origin, _core.origin(points, origin)


def kd_order(points: Array, n_threads: int = 1) -> np.ndarray:
    """An order of the points in which every run of `BLOCK` of them is compact in space."""
    m = len(points)
    order, keys = np.arange(m), np.empty(m)
    runs = [(0, m)]
    # The halves of a run do not depend on each other.
    while m > MANY and len(runs) < _RUNS:
        middles = dict.fromkeys(runs, 0)

        def halve(lo: int, hi: int, middles: dict[tuple[int, int], int] = middles) -> None:
            middles[lo, hi] = _core.halve(points, order, keys, lo, hi)

        run_pieces(halve, runs, n_threads)
        runs = [half for (lo, hi), middle in middles.items() for half in ((lo, middle), (middle, hi))]
    run_pieces(lambda lo, hi: _core.sort(points, order, keys, lo, hi), runs, n_threads)
    return order


def arrange(points: Array, n_threads: int = 1) -> tuple[Array, Array, np.ndarray, Array, int]:
    """Sort and normalise a cloud (m, n) for the pair sums.

    Returns ``sources`` (n, m), one row per axis, in kd order; ``boxes`` (2, n, blocks),
    the lower and upper corner of each block; ``order``, the row of each column in
    the caller's cloud; the origin o and the exponent e with original = normalised * 2**e + o.
    """
    m, n = points.shape
    origin, exponent = origin_and_exponent(points)
    order = kd_order(points, n_threads)
    sources, factor = np.empty((n, m)), math.ldexp(1.0, -exponent)
    run_pieces(
        lambda first, last: _core.gather(points, order, origin, factor, first, last, sources),
        pieces(m, MANY),
        n_threads,
    )
    return sources, bounding_boxes(sources), order, origin, exponent


def bounding_boxes(sources: Array) -> Array:
    """Lower and upper corners (2, n, blocks) of the runs of `BLOCK` columns."""
    n, m = sources.shape
    boxes = np.empty((2, n, (m + BLOCK - 1) // BLOCK))
    _core.boxes(sources, boxes)
    return boxes
