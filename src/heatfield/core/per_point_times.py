"""The fast path with per-point times: every target has its own.

Neighbours within each target's own cut-off are summed directly (near sums take one time per target). A
transform has one time only. But the sums are smooth in log t: exp(-D**2 / 4t) is analytic and at most 1 in
size for |Im log t| < pi/2, so over times within a factor of two a polynomial through a dozen of them, at
Chebyshev's nodes, is as good as the sums themselves. Targets are therefore put into bands of time; where the
neighbours of a band's targets are too many, its sums are taken at the nodes, each by the cheapest
mixture (`sums.scale_sums`), and interpolated. Where the last coefficients or the noise of the nodes are
too large for the tolerance, as at an isolated point beside a cluster, the target is summed directly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .. import _core
from .._base.check import Array
from .clouds import ArrangedCloud, Buffers
from .moments import FOURTH, MOMENTS, SQUARE, WEIGHT, column_count, columns
from .planner import Request, ScalePlan, cutoffs
from .sums import scale_sums

# Neighbours from which on interpolation pays: a dozen transforms cost about as much per target.
MANY_NEIGHBOURS = 30_000
# Share of the tolerance that each node's sums may use.
_NODE = 1.0 / 32.0
# The coefficients fall at least by this factor (the ellipse that touches 0.9 pi/2, for a ratio of 2).
_DECAY = math.log(8.0)


def per_point_sums(
    targets: ArrangedCloud,
    sources: ArrangedCloud,
    t: Array,
    request: Request,
    *,
    advance: Callable[[int], object] = lambda _: None,
    buffers: Buffers | None = None,
    out: Array | None = None,
) -> tuple[Array, ScalePlan]:
    """`scale_sums` with times (q,), in the targets' order; the targets are points of the cloud."""
    n, q = targets.points.shape
    sums = np.empty((q, column_count(n, request.directions))) if out is None else out
    kept = Buffers() if buffers is None else buffers
    direct = np.ones(q, np.bool_)
    band = np.floor(np.log2(t / t.min())).astype(np.int64)
    nodes = 0
    for b in np.unique(band):
        rows = np.flatnonzero(band == b)
        if n > 3 or _neighbours(targets, sources, t, rows, request) < MANY_NEIGHBOURS:
            continue
        table, good, nodes = _interpolated(targets.take(rows), sources, t[rows], request, kept)
        sums[rows[good]] = table[good]
        direct[rows[good]] = False
        advance(int(good.sum()))
    rows = np.flatnonzero(direct)
    if rows.size == q:
        scale_sums(targets, sources, t, request, advance=advance, buffers=kept, out=sums)
    elif rows.size:
        sums[rows], _ = scale_sums(
            targets.take(rows), sources, t[rows], request, advance=advance, buffers=kept
        )
    report = ScalePlan(float(np.median(t)), "near", points_near=rows.size, points_transformed=q - rows.size)
    report.reason = f"{rows.size:,} points by neighbours, each within its own reach"
    if nodes:
        report.method = "interpolated" if rows.size == 0 else "boxes"
        report.reason += f"; {q - rows.size:,} interpolated between {nodes} times"
    return sums, report


def _neighbours(
    targets: ArrangedCloud, sources: ArrangedCloud, t: Array, rows: np.ndarray, request: Request
) -> float:
    """About how many neighbours a target of these rows has, from a few of them."""
    m = sources.points.shape[1]
    reach_squared = 4.0 * cutoffs(request.tol, m, request.energy, request.fourth_moment)[1]
    counts = []
    for i in rows[:: max(1, rows.size // 32)]:
        at = np.ascontiguousarray(targets.points[:, i])
        counts.append(_core.estimate_within(*sources.tree, at, at, reach_squared * t[i], m))
    return float(np.mean(counts))


def _interpolated(
    targets: ArrangedCloud, sources: ArrangedCloud, t: Array, request: Request, buffers: Buffers
) -> tuple[Array, np.ndarray, int]:
    """Sums of targets whose times lie within a factor of two; where they are good; how many nodes."""
    count = math.ceil((math.log(1.0 / request.tol) + 4.0) / _DECAY) + 2
    angle = (np.arange(count) + 0.5) * math.pi / count
    low, high = math.log(float(t.min())), math.log(float(t.max()))
    middle, half = 0.5 * (low + high), max(0.5 * (high - low), 1e-9)
    x = np.clip((np.log(t) - middle) / half, -1.0, 1.0)
    # The j-th Chebyshev polynomial at the targets is cos(j turn).
    turn = np.arccos(x)[:, None] * np.arange(count)
    basis = np.cos(turn) * np.where(np.arange(count) == 0, 1.0, 2.0) / count
    checked = [WEIGHT, SQUARE] + ([FOURTH] if request.fourth_moment else [])
    unit = {columns(1)[moment.name].start: moment.unit(t) for moment in MOMENTS}
    sums = np.zeros((t.size, column_count(targets.points.shape[0], request.directions)))
    tails = {(c, j): np.zeros(t.size) for c in checked for j in (1, 2)}
    noise = np.zeros(t.size)
    sharper = replace(request, tol=max(_NODE * request.tol, 1e-13), energy=False)
    found = np.empty_like(sums)
    for theta in angle:
        node = np.array([math.exp(middle + half * math.cos(theta))])
        table, _ = scale_sums(targets, sources, node, sharper, buffers=buffers, out=found)
        share = basis @ np.cos(theta * np.arange(count))
        sums += share[:, None] * table
        noise += np.abs(share) * table[:, WEIGHT]
        for (c, j), tail in tails.items():
            tail += (2.0 / count) * math.cos((count - j) * theta) * table[:, c]
    own = sums[:, WEIGHT]
    good = sharper.tol * noise <= 0.5 * request.tol * own
    for (c, _), tail in tails.items():
        good &= np.abs(tail) <= 0.2 * request.tol * own * unit[c]
    return sums, good, count
