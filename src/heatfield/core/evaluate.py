"""`evaluate`: local and global outputs, by the dense or the fast path.

The fast path goes scale by scale, so that only one scale's table of sums is ever in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .._base.check import Array, check_times
from .._base.progress import progress_bar
from .._base.threads import pieces, run_pieces
from . import formulas
from .buffers import Buffers
from .cloud import ArrangedCloud
from .dense import Batch, dense_sums
from .dense_or_fast import surely_dense, use_dense
from .moments import ROOT_SQUARE, ROOT_WEIGHT, WEIGHT, Request, column_count
from .one_scale import ScaleParts, plan_of, scale_sums
from .outputs import PIECE, Outputs, fill_transition, read_off, totals
from .per_point_times import adaptive_sums
from .plan import Plan, ScalePlan
from .query_points import largest_sum, place_sums
from .targets import Targets

# Sums of w below this are taken for 0: double precision has its full digits down to 2e-308.
_LEAST_WEIGHT = 1e-300


@dataclass(frozen=True, eq=False)
class Evaluation:
    """All outputs at all scales; local ones in the kd order of the targets, ``rows`` in the caller's."""

    local: Outputs
    energy: Array  # (T,)
    response: Array
    plan: Plan
    rows: np.ndarray


def evaluate(
    cloud: ArrangedCloud, targets: Targets | None, times: Array, request: Request, *, vectors: bool = False
) -> Evaluation:
    """All outputs at the targets, None for every point; the only place where dense or fast is chosen.

    ``times`` is (1, T), or (q, T) with one time per target, in the caller's order. ``vectors``: the
    eigenvectors of the spectrum too; the sums for them are those of the spectrum.
    """
    n, m = cloud.points.shape
    check_times(times, m, n)
    where = Targets.every(cloud) if targets is None else targets
    own = np.ascontiguousarray((times[where.places.order] if times.shape[0] > 1 else times).T)  # (T, 1 or q)
    unit = np.ldexp(own, -2 * cloud.exponent)
    dense = targets is None and surely_dense(request.method, m, n)
    if not dense:
        request = request.priced(m)
        dense = targets is None and use_dense(cloud, unit.T, request)
    q, steps = where.places.order.size, len(unit)
    out = Outputs.empty(n, steps, q, request, vectors=vectors)
    # The scales of a dense plan are made where they are shown: see `dense_plan`.
    plan = Plan(None if dense else request.tol)
    nothing = np.full((2, steps), np.nan)
    found = Evaluation(out, nothing[0], nothing[1], plan, where.places.order)
    if dense:
        _dense(cloud, own, unit, request, found)
    else:
        _fast(cloud, where, own, unit, request, found)
    if not out.exact and len(own) > 1:
        fill_transition(out, np.log(own), request.n_threads)
    return found


def _dense(cloud: ArrangedCloud, times: Array, unit: Array, request: Request, found: Evaluation) -> None:
    """Fill all outputs from one table of exact sums."""
    n = len(cloud.points)
    batch = Batch.one(cloud)
    sums = dense_sums(batch, unit, request)
    read_off_points(sums, unit, times, n, found.local, request.n_threads)
    if request.energy:
        both = totals(sums[ROOT_WEIGHT : ROOT_SQUARE + 1], batch.ends)[0]
        found.energy[:] = formulas.energy(both[0], formulas.heat_factor(2.0 * times[:, 0], n))
        found.response[:] = formulas.response(both[0], both[1], unit[:, 0], n)


def _fast(
    cloud: ArrangedCloud, targets: Targets, times: Array, unit: Array, request: Request, found: Evaluation
) -> None:
    """Fill all outputs to a tolerance, scale by scale."""
    n = cloud.points.shape[0]
    q, steps = targets.places.order.size, len(unit)
    own_times, anywhere = unit.shape[1] > 1, targets.offsets.size > 0
    plans: list[ScaleParts | None] = [None] * steps
    if not own_times and not anywhere:

        def make_plan(a: int, _: int) -> None:
            plans[a] = plan_of(targets.places, cloud, unit[a], request)

        _ = cloud.tree, targets.places.tree  # grown once, before the threads ask for them
        run_pieces(make_plan, pieces(steps, 1), request.n_threads)
    buffers, room = Buffers(), np.empty((q, column_count(n, request.directions)))
    with progress_bar(total=q * steps, unit="sums", unit_scale=True) as bar:
        for a in range(steps):
            t, time = unit[a], times[a : a + 1]
            if own_times:
                table, report = adaptive_sums(
                    targets.places, cloud, t, request, advance=bar.update, buffers=buffers, out=room
                )
            elif anywhere:
                table, report = _sums_at_places(targets, cloud, float(t[0]), request, bar.update)
            else:
                table, report = scale_sums(
                    targets.places, cloud, t, request,
                    advance=bar.update, buffers=buffers, out=room, plan=plans[a],
                )  # fmt: skip
            report.t = float(np.median(time))
            found.plan.scales.append(report)
            both = read_off_scale(table, t, time[0], a, n, found.local, request.n_threads)
            if request.energy:
                found.energy[a] = formulas.energy(both[0], formulas.heat_factor(2.0 * time[0, 0], n))
                found.response[a] = formulas.response(both[0], both[1], t[0], n)


def _sums_at_places(
    targets: Targets, sources: ArrangedCloud, t: float, request: Request, advance: Callable[[int], object]
) -> tuple[Array, ScalePlan]:
    """Sums anywhere in space; places too far for the tolerance of a transform by neighbours alone.

    In double precision always: far from the data the weights underflow in single precision.
    """
    request = replace(request, dtype=np.dtype(np.float64))
    table, good, report = place_sums(
        targets.places, sources, t, request, targets.offsets,
        lambda: largest_sum(sources, t, request), advance=advance,
    )  # fmt: skip
    rest = np.flatnonzero(~good)
    if rest.size:
        # All sums to the energy cut-off in double precision, and no transform at any price.
        m = sources.points.shape[1]
        direct = replace(request, tol=request.tol / m, costs=replace(request.costs, call=math.inf))
        table[rest], _ = scale_sums(
            targets.places.take(rest), sources, np.array([t]), direct,
            offsets=targets.offsets[rest], advance=advance,
        )  # fmt: skip
        report.points_checked = rest.size
    # Numbers below have lost digits, and ratios of them would be wrong without a sign of it.
    table[table[:, WEIGHT] < _LEAST_WEIGHT] = 0.0
    return table, report


def read_off_points(sums: Array, unit: Array, times: Array, n: int, out: Outputs, n_threads: int) -> None:
    """`read_off` of a table (columns, T, q), block by block of its points."""

    def work(first: int, last: int) -> None:
        here = slice(first, last)
        own = here if unit.shape[1] > 1 else slice(None)
        factor = formulas.heat_factor(times[:, own], n)
        read_off(sums[:, :, here].copy(), unit[:, own], factor, n, out.part(slice(None), here))

    run_pieces(work, pieces(sums.shape[2], PIECE), n_threads)


def read_off_scale(
    table: Array, unit: Array, times: Array, a: int, n: int, out: Outputs, n_threads: int
) -> Array:
    """`read_off` of scale ``a`` from its table (q, columns), block by block of its points.

    ``unit`` and ``times`` are (1,) or (q,). Returned are the totals of the sums of g and of g D**2.
    """
    ranges = pieces(len(table), PIECE)
    both = np.zeros((len(ranges), 2))

    def work(first: int, last: int) -> None:
        here = slice(first, last)
        own = here if unit.shape[0] > 1 else slice(None)
        sums = np.ascontiguousarray(table[here].T)[:, None]
        both[first // PIECE] = sums[ROOT_WEIGHT : ROOT_SQUARE + 1, 0].sum(axis=1)
        factor = formulas.heat_factor(times[None, own], n)
        read_off(sums, unit[None, own], factor, n, out.part(slice(a, a + 1), here))

    run_pieces(work, ranges, n_threads)
    return both.sum(axis=0)
