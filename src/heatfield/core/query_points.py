"""Sums at places that are not sources, to a tolerance.

At a point of the cloud the sum is at least 1, at a place it may be anything. Two things then cost accuracy
that `one_scale` does not allow for. A transform's error is relative to the largest sum there is, and away
from the data that is larger than any sum at the places. And moments around the place are large where the data
are far, by <D**2> / 2t, the heat dimension. Both losses are known once the sums are: a place whose loss
exceeds what the tolerance was sharpened by is taken again with a sharper one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .._base.check import Array
from .cloud import ArrangedCloud
from .moments import SQUARE, WEIGHT, Request, column_count
from .one_scale import scale_sums
from .plan import ScalePlan

# Squared distance to the data, in units of 2t, from which on a place is far.
FAR = 64.0
# By what the tolerance is sharpened in each round, and where that ends.
_ROUND = 16.0
_LEAST = 1e-12


def largest_sum(sources: ArrangedCloud, t: float, request: Request, weights: Array | None = None) -> float:
    """About the largest sum of weights at any source, and so, but for a small factor, anywhere."""
    rough = replace(request, tol=1e-2, directions=False, fourth_moment=False, energy=False)
    sums, _ = scale_sums(sources, sources, np.array([t]), rough, weights=weights)
    return float(sums[:, WEIGHT].max())


def place_sums(
    targets: ArrangedCloud,
    sources: ArrangedCloud,
    t: float,
    request: Request,
    offsets: Array,
    largest: Callable[[], float],
    *,
    moments: bool = True,
    weights: Array | None = None,
    uneven: float = 1.0,
    advance: Callable[[int], object] = lambda _: None,
) -> tuple[Array, np.ndarray, ScalePlan]:
    """`scale_sums` at places, which of its rows are good, and how the first of them were found.

    The others are far from the data, or no tolerance is sharp enough for them. ``largest`` returns the
    largest sum there is, and is called only where a transform was taken; ``uneven`` is the mean weight over
    the smallest, ``moments`` says whether more than the sums of w will be read.
    """
    n, q = targets.points.shape
    sums = np.zeros((q, column_count(n, request.directions)))
    good = np.zeros(q, np.bool_)
    near = offsets <= 2.0 * t * FAR
    # At least what the dimension will cost: a round at a lower accuracy would fail.
    loss = offsets / (8.0 * t) if moments else np.zeros(q)
    first: ScalePlan | None = None
    sharper = 1.0
    while request.tol / (uneven * sharper) >= _LEAST and (near & ~good).any():
        rows = np.flatnonzero(near & ~good & (loss <= sharper))
        if rows.size:
            sharp = replace(request, tol=request.tol / (uneven * sharper))
            table, report = scale_sums(
                targets.take(rows), sources, np.array([t]), sharp,
                offsets=offsets[rows], weights=weights,
            )  # fmt: skip
            first = first or report
            own = table[:, WEIGHT]
            need = np.ones(rows.size)
            if moments:
                need = np.maximum(need, (table[:, SQUARE] / (2.0 * t * own) - 2.0 * n) / 4.0)
            if report.transforms:
                need *= np.maximum(1.0, 0.25 * largest() / own)
            done = need <= sharper
            sums[rows[done]] = table[done]
            good[rows[done]] = True
            loss[rows] = need
            advance(int(done.sum()))
        sharper *= _ROUND
    return sums, good, first or ScalePlan(t, "near")
