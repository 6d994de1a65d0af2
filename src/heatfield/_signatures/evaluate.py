"""`evaluate`: local and global outputs, by the dense or the fast path.

The fast path goes scale by scale, so that only one scale's table of sums is ever in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._base.check import Array, check_times
from .._base.compile import compiled
from .._base.progress import progress_bar
from .._base.threads import pieces, run_pieces
from .._cloud.cloud import ArrangedCloud
from .._sums.buffers import Buffers
from .._sums.columns import ROOT_SQUARE, ROOT_WEIGHT, WEIGHT, Request, column_count
from .._sums.dense import pair_sums
from .._sums.dense_or_fast import surely_dense, use_dense
from .._sums.off_data import largest_sum, place_sums
from .._sums.one_scale import ScaleParts, plan_of, scale_sums
from .._sums.own_times import adaptive_sums
from .._sums.plan import Plan, ScalePlan
from .._sums.targets import Targets
from . import equations

# Sums of w below this are taken for 0: double precision has its full digits down to 2e-308.
_LEAST_WEIGHT = 1e-300
# Targets read off at a time: their sums and outputs stay in the cache.
_PIECE = 8_192
# The outputs at single targets.
_LOCAL = ("density", "dimension", "transition", "spectrum", "directions", "gradient")


@dataclass
class Outputs:
    """All outputs at all scales; local ones in the kd order of the targets."""

    density: Array
    dimension: Array
    transition: Array | None  # only in closed form
    spectrum: Array | None
    directions: Array | None  # eigenvectors of the spectrum, where they were asked for
    gradient: Array | None  # sqrt(2t) |grad log u|, where it was asked for
    energy: Array
    response: Array
    plan: Plan
    weight_sums: Array | None = None  # (q, T) the sums of w, on the dense path only

    def in_order(self, rows: np.ndarray, n_threads: int) -> Outputs:
        """The local outputs with each target in its row of the caller's array."""
        moved: dict[str, Any] = {name: _in_order(getattr(self, name), rows, n_threads) for name in _LOCAL}
        return replace(self, weight_sums=None, **moved)


def evaluate(
    cloud: ArrangedCloud,
    targets: Targets | None,
    times: Array,
    request: Request,
    *,
    vectors: bool = False,
    in_order: bool = False,
) -> Outputs:
    """All outputs at the targets, None for every point; the only place where dense or fast is chosen.

    ``times`` is (1, T), or (q, T) with one time per target, in the caller's order. ``vectors``: the
    eigenvectors of the spectrum too; the sums for them are those of the spectrum. ``in_order``: the local
    outputs in the caller's order instead of the kd order.
    """
    n, m = cloud.points.shape
    check_times(times, m, n)
    where = Targets.every(cloud) if targets is None else targets
    own = times[where.places.order] if times.shape[0] > 1 else times
    unit = np.ldexp(own, -2 * cloud.exponent)
    dense = targets is None and surely_dense(request.method, m, n)
    if not dense:
        request = request.priced(m)
        dense = targets is None and use_dense(cloud, unit, request)
    if dense:
        out = _dense_outputs(cloud, own, unit, request, vectors)
        return out.in_order(where.places.order, request.n_threads) if in_order else out
    out = _fast_outputs(cloud, where, own, unit, request, vectors)
    rows = where.places.order if in_order else np.arange(where.places.order.size)
    return _by_target(out, rows, request.n_threads)


def _dense_outputs(
    cloud: ArrangedCloud, times: Array, unit: Array, request: Request, vectors: bool
) -> Outputs:
    """All outputs from one table of exact sums."""
    n = cloud.points.shape[0]
    sums = pair_sums(cloud, unit, request)
    d = equations.dimension(sums, unit)
    nothing = np.full(times.shape[1], np.nan)
    return Outputs(
        density=equations.density(sums, times, n),
        dimension=d,
        transition=equations.transition_exact(sums, unit, d) if request.fourth_moment else None,
        spectrum=equations.spectrum(sums, unit, n) if request.directions else None,
        directions=equations.directions(sums, unit, n) if vectors else None,
        gradient=equations.gradient_length(sums, unit, n) if request.gradient else None,
        energy=equations.energy(sums, times, n) if request.energy else nothing,
        response=equations.response(sums, unit, n) if request.energy else nothing,
        plan=Plan(None),  # its scales are made where they are shown: see `dense_plan`
        weight_sums=sums[:, :, WEIGHT],
    )


def _fast_outputs(
    cloud: ArrangedCloud, targets: Targets, times: Array, unit: Array, request: Request, vectors: bool
) -> Outputs:
    """All outputs to a tolerance. ``times`` and ``unit`` are (1, T), or (q, T) in the targets' kd order.

    The local outputs are (T, q, ...), scale by scale as they are found: writing each to its place among the
    scales of a target would go through the memory of all scales every time.
    """
    n = cloud.points.shape[0]
    q, steps = targets.places.order.size, unit.shape[1]
    out = Outputs(
        density=np.empty((steps, q)),
        dimension=np.empty((steps, q)),
        transition=np.empty((steps, q)) if request.fourth_moment else None,
        spectrum=np.empty((steps, q, n)) if request.directions else None,
        directions=np.empty((steps, q, n, n)) if vectors else None,
        gradient=np.empty((steps, q)) if request.gradient else None,
        energy=np.full(steps, np.nan),
        response=np.full(steps, np.nan),
        plan=Plan(request.tol),
    )
    own_times, anywhere = unit.shape[0] > 1, targets.offsets.size > 0
    plans: list[ScaleParts | None] = [None] * steps
    if not own_times and not anywhere:

        def make_plan(a: int, _: int) -> None:
            plans[a] = plan_of(targets.places, cloud, np.ascontiguousarray(unit[:, a]), request)

        _ = cloud.tree, targets.places.tree  # grown once, before the threads ask for them
        run_pieces(make_plan, pieces(steps, 1), request.n_threads)
    buffers, found = Buffers(), np.empty((q, column_count(n, request.directions)))
    views: dict[str, Any] = {name: _by_scale(getattr(out, name)) for name in _LOCAL}
    by_scale = replace(out, **views)
    with progress_bar(total=q * steps, unit="sums", unit_scale=True) as bar:
        for a in range(steps):
            t, one_time = np.ascontiguousarray(unit[:, a]), times[:, a : a + 1]
            if own_times:
                table, report = adaptive_sums(
                    targets.places, cloud, t, request, advance=bar.update, buffers=buffers, out=found
                )
            elif anywhere:
                table, report = _sums_at_places(targets, cloud, float(t[0]), request, bar.update)
            else:
                table, report = scale_sums(
                    targets.places, cloud, t, request,
                    advance=bar.update, buffers=buffers, out=found, plan=plans[a],
                )  # fmt: skip
            report.t = float(np.median(one_time))
            out.plan.scales.append(report)
            totals = read_off(table, t, times[:, a], a, n, by_scale, request.n_threads)
            if request.energy:
                sums = totals[None, None, :]
                out.energy[a] = equations.energy(sums, one_time, n)[0]
                out.response[a] = equations.response(sums, t[:, None], n)[0]
    return out


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


def read_off(table: Array, unit: Array, times: Array, a: int, n: int, out: Outputs, n_threads: int) -> Array:
    """The local outputs of scale ``a`` from its table of sums, in the same order, piece by piece.

    Returned are the totals of the sums of g, in a row like those of the table.
    """
    ranges = pieces(len(table), _PIECE)
    totals = np.zeros((len(ranges), table.shape[1]))

    def work(first: int, last: int) -> None:
        here = slice(first, last)
        own = here if unit.shape[0] > 1 else slice(None)
        sums, unit_time, time = table[here, None, :], unit[own, None], times[own, None]
        both = slice(ROOT_WEIGHT, ROOT_SQUARE + 1)
        totals[first // _PIECE, both] = table[here, both].sum(axis=0)
        # Where the heat at a far place is 0, dimension and spectrum are 0 / 0: NaN, as they should be.
        with np.errstate(invalid="ignore", divide="ignore"):
            out.density[here, a] = equations.density(sums, time, n)[:, 0]
            d = equations.dimension(sums, unit_time)
            out.dimension[here, a] = d[:, 0]
            if out.transition is not None:
                out.transition[here, a] = equations.transition_exact(sums, unit_time, d)[:, 0]
            if out.spectrum is not None:
                out.spectrum[here, a] = equations.spectrum(sums, unit_time, n)[:, 0]
            if out.directions is not None:
                out.directions[here, a] = equations.directions(sums, unit_time, n)[:, 0]
            if out.gradient is not None:
                out.gradient[here, a] = equations.gradient_length(sums, unit_time, n)[:, 0]

    run_pieces(work, ranges, n_threads)
    return totals.sum(axis=0)


def _in_order(table: Array | None, rows: np.ndarray, n_threads: int) -> Array | None:
    """Whole rows move once, at the end: writing each number to its place takes five times as long."""
    if table is None:
        return None
    out = np.empty_like(table)

    def work(first: int, last: int) -> None:
        out[rows[first:last]] = table[first:last]

    run_pieces(work, pieces(rows.size, _PIECE), n_threads)
    return out


def _by_scale(table: Array | None) -> Array | None:
    """An array (T, q, ...) seen as (q, T, ...)."""
    return None if table is None else np.moveaxis(table, 0, 1)


def _by_target(out: Outputs, rows: np.ndarray, n_threads: int) -> Outputs:
    """The local outputs (T, q, ...) as (q, T, ...), each target in its row."""
    for name in _LOCAL:
        table = getattr(out, name)
        if table is None:
            continue
        steps, q, *rest = table.shape
        moved = np.empty((q, steps, *rest))
        flat, flat_moved = table.reshape(steps, q, -1), moved.reshape(q, steps, -1)

        def work(first: int, last: int, flat: Array = flat, flat_moved: Array = flat_moved) -> None:
            _move_rows(flat, rows, first, last, flat_moved)

        run_pieces(work, pieces(q, _PIECE), n_threads)
        setattr(out, name, moved)  # one after the other, so that only one of them is in memory twice
    return out


@compiled()
def _move_rows(table: Any, rows: Any, first: int, last: int, out: Any) -> None:
    """Targets first to last of (T, q, c) to their rows of (q, T, c)."""
    for i in range(first, last):
        row = out[rows[i]]
        for a in range(row.shape[0]):
            for c in range(row.shape[1]):
                row[a, c] = table[a, i, c]
