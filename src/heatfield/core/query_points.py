"""Sums at query points, which are not sources, to a tolerance.

At a point of the cloud the sum is at least 1, at a query point it may be anything. Two things then cost
accuracy that `sums.scale_sums` does not allow for. A transform's error is relative to the largest sum there
is, and away from the data that is larger than any sum at the query points. And moments around a query point
are large where the data are far, by <D**2> / 2t, the heat dimension. Both losses are known once the sums are:
a query point whose loss exceeds what the tolerance was sharpened by is taken again with a sharper one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .._base.check import Array
from .clouds import ArrangedCloud, Targets
from .moments import SQUARE, WEIGHT, column_count
from .planner import Request, ScalePlan
from .sums import scale_sums

# Squared distance to the data, in units of 2t, from which on a query point is far.
FAR = 64.0
# By what the tolerance is sharpened in each round, and where that ends.
_ROUND = 16.0
_LEAST = 1e-12
# Sums of w below this are taken for 0: double precision has its full digits down to 2e-308.
_LEAST_WEIGHT = 1e-300


def largest_sum(sources: ArrangedCloud, t: float, request: Request, weights: Array | None = None) -> float:
    """About the largest sum of weights at any source, and so, but for a small factor, anywhere."""
    rough = replace(request, tol=1e-2, directions=False, fourth_moment=False, energy=False)
    sums, _ = scale_sums(sources, sources, np.array([t]), rough, weights=weights)
    return float(sums[:, WEIGHT].max())


def query_point_sums(
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
    """`scale_sums` at query points, which of its rows are good, and how the first of them were found.

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


def sums_of_targets(
    targets: Targets, sources: ArrangedCloud, t: float, request: Request, advance: Callable[[int], object]
) -> tuple[Array, ScalePlan]:
    """Sums at query points; those too far for the tolerance of a transform by neighbours alone.

    In double precision always: far from the data the weights underflow in single precision.
    """
    request = replace(request, dtype=np.dtype(np.float64))
    table, good, report = query_point_sums(
        targets.cloud, sources, t, request, targets.offsets,
        lambda: largest_sum(sources, t, request), advance=advance,
    )  # fmt: skip
    rest = np.flatnonzero(~good)
    if rest.size:
        # All sums to the energy cut-off in double precision, and no transform at any cost.
        m = sources.points.shape[1]
        direct = replace(request, tol=request.tol / m, costs=replace(request.costs, call=math.inf))
        table[rest], _ = scale_sums(
            targets.cloud.take(rest), sources, np.array([t]), direct,
            offsets=targets.offsets[rest], advance=advance,
        )  # fmt: skip
        report.points_checked = rest.size
    # Numbers below have lost digits, and ratios of them would be wrong without a sign of it.
    table[table[:, WEIGHT] < _LEAST_WEIGHT] = 0.0
    return table, report
