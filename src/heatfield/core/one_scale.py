"""The fast path: the sums of one scale to a tolerance, by the plan's mixture of near sums and transforms."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .._base.check import Array
from .._base.threads import pieces, run_alone, run_pieces
from .box_transform import transform_box
from .buffers import Buffers
from .cloud import ArrangedCloud
from .moments import Request, column_count
from .near import cutoffs
from .plan import ScalePlan
from .scale_job import Part, ScaleJob

# Points from which one transform is given all threads; smaller ones run side by side.
_ALONE = 200_000
_NONE = np.empty(0)
# What is done with which targets, and the seconds that takes on one core.
ScaleParts = tuple[list[Part], float]


def scale_sums(
    targets: ArrangedCloud,
    sources: ArrangedCloud,
    t: Array,
    request: Request,
    *,
    offsets: Array = _NONE,
    weights: Array | None = None,
    advance: Callable[[int], object] = lambda _: None,
    buffers: Buffers | None = None,
    out: Array | None = None,
    plan: ScaleParts | None = None,
) -> tuple[Array, ScalePlan]:
    """The table of sums (q, columns) of `columns` at one scale, rows in the targets' order.

    ``t`` is (1,), or (q,) with one time per target. ``offsets`` are the squared
    distances of targets that are not sources to the nearest source. The sums of g are correct in
    total only. ``advance`` is called with the number of targets done; ``out`` is filled where it is given,
    ``buffers`` are used again, and ``plan`` is that of `plan_of`, where it is known.
    """
    n, q = targets.points.shape
    m = sources.points.shape[1]
    uneven = 1.0 if weights is None else float(weights.mean() / weights.min())
    weight_cutoff, energy_cutoff = cutoffs(
        request.tol, int(min(m * uneven, 1e300)), request.energy, request.fourth_moment
    )
    sums = np.empty((q, column_count(n, request.directions))) if out is None else out
    job = ScaleJob(
        targets,
        sources,
        t,
        request,
        offsets,
        weights,
        weight_cutoff,
        energy_cutoff,
        sums,
        advance,
        Buffers() if buffers is None else buffers,
    )
    todo, seconds = job.plan() if plan is None else plan
    report = ScalePlan(float(t[0]), "near", expected_seconds=seconds)
    boxes = [part for part in todo if part.low is not None]
    large = [part for part in boxes if part.last - part.first > _ALONE or len(boxes) < request.n_threads]
    small = [part for part in boxes if part not in large]
    isolated: list[np.ndarray] = []
    outside: list[np.ndarray] = []

    def transform(part: Part, n_threads: int) -> None:
        rows = job.rows_in(part)
        if rows.size < part.last - part.first:
            outside.append(np.setdiff1d(np.arange(part.first, part.last), rows, assume_unique=True))
        if rows.size:
            isolated.append(transform_box(job, part, rows, n_threads, report))

    for part in large:
        run_alone(lambda part=part: transform(part, request.n_threads))  # type: ignore[misc]
    run_pieces(lambda a, _: transform(small[a], 1), pieces(len(small), 1), request.n_threads)
    direct = [(part.first, part.last) for part in todo if part.low is None]
    job.near(direct)
    if outside:
        job.near_at(np.sort(np.concatenate(outside)), counted=False)
    if isolated:
        rest = np.sort(np.concatenate(isolated))
        report.points_checked = rest.size
        job.near_at(rest, counted=True)
    report.points_near = sum(last - first for first, last in direct) + sum(rows.size for rows in outside)
    report.points_transformed = q - report.points_near
    _explain(report, len(boxes), weight_cutoff)
    return sums, report


def _explain(report: ScalePlan, boxes: int, weight_cutoff: float) -> None:
    report.transforms = boxes
    if boxes == 0:
        report.reason = (
            f"neighbours within {math.sqrt(4.0 * weight_cutoff):.3g} sqrt(t) are cheaper than any transform"
        )
        return
    report.method = "fourier" if boxes == 1 and report.points_near == 0 else "boxes"
    grid = " x ".join(map(str, report.largest_grid))
    report.reason = (
        f"{boxes} transform{'s' if boxes > 1 else ''} of up to {grid} modes for "
        f"{report.points_transformed:,} points, {report.points_checked:,} of them too isolated for its error "
        f"and summed directly; {report.points_near:,} points near"
    )


def plan_of(targets: ArrangedCloud, sources: ArrangedCloud, t: Array, request: Request) -> ScaleParts:
    """Which targets are summed how at one scale, and the seconds that takes on one core."""
    limits = cutoffs(request.tol, sources.points.shape[1], request.energy, request.fourth_moment)
    return ScaleJob(targets, sources, t, request, _NONE, None, *limits, _NONE, lambda _: None).plan()


def price_of_scale(cloud: ArrangedCloud, t: Array, request: Request) -> float:
    """What the fast path would take at one scale, on one core."""
    return plan_of(cloud, cloud, t, request)[1]
