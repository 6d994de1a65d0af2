"""Local and global outputs scale by scale, so that only one scale's table of sums is ever in memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .._base.check import Array
from .._base.progress import progress_bar
from .._base.threads import pieces, run_pieces
from .._cloud.arrange import bounding_boxes, kd_order, origin_and_exponent
from .._cloud.box_tree import nearest_source
from .._sums.costs import Costs, costs
from .._sums.dense import Cloud
from .._sums.off_data import largest_sum, place_sums, some_places
from .._sums.one_scale import Places, Wish, dense_seconds, fast_seconds, scale_sums
from .._sums.own_times import adaptive_sums
from .._sums.pricing import Plan, ScalePlan
from . import equations

# Up to this many points nothing is planned: the dense path, exact to rounding, is as fast or faster
# (benchmarks/crossing.py: even with the fast one at 2,500 to 5,300 points).
_SMALL = 3_600
# Above it the dense path is not even priced.
_LARGE = 200_000
# Targets read off at a time: their sums and outputs stay in the cache.
_PIECE = 8_192
# From here on a measurement of this machine's costs is worth half a second.
_MEASURE = 50_000


@dataclass
class Outputs:
    """What the sums of all scales say; local outputs in the caller's order."""

    density: Array
    dimension: Array
    transition: Array | None  # only in closed form
    spectrum: Array | None
    energy: Array
    response: Array
    plan: Plan
    gradient: Array | None = None  # sqrt(2t) |grad log u|, where it was asked for


@dataclass(frozen=True)
class Targets:
    """Where to evaluate: some places in kd order, and the row of the answer for each."""

    places: Places
    rows: np.ndarray  # row of the answer that each place fills
    offsets: Array  # squared distance to the nearest source; empty where the places are sources
    all: bool

    @classmethod
    def every(cls, cloud: Cloud) -> Targets:
        """All points of the cloud."""
        return cls(Places.of(cloud.sources, cloud.boxes), cloud.order, np.empty(0), True)

    @classmethod
    def at_indices(cls, cloud: Cloud, indices: np.ndarray) -> Targets:
        """Points of the cloud, by their index."""
        column = np.empty(cloud.order.size, np.int64)
        column[cloud.order] = np.arange(cloud.order.size)
        rows = np.argsort(column[indices], kind="stable")
        points = np.ascontiguousarray(cloud.sources[:, column[indices[rows]]])
        return cls(Places.of(points, bounding_boxes(points)), rows, np.empty(0), False)

    @classmethod
    def at_places(cls, cloud: Cloud, points: Array, at: Array) -> Targets:
        """Anywhere in space, in the coordinates of ``points``, the caller's cloud."""
        origin, _ = origin_and_exponent(points)
        rows = kd_order(at)
        places = np.ascontiguousarray(((at[rows] - origin) * math.ldexp(1.0, -cloud.exponent)).T)
        found = Places.of(places, bounding_boxes(places))
        sources = Places.of(cloud.sources, cloud.boxes)
        return cls(found, rows, nearest_source(places, sources.points, *sources.tree), False)


def surely_dense(method: str, m: int, n: int) -> bool:
    """Whether m points in n dimensions go the dense path without any pricing."""
    return method == "dense" or (method == "auto" and (m <= _SMALL or n > 3))


def use_dense(method: str, cloud: Cloud, unit: Array, wish: Wish) -> bool:
    """Whether the dense path is asked for, or is the cheaper one."""
    n, m = cloud.sources.shape
    if method == "fast" or surely_dense(method, m, n):
        return method != "fast"
    if m > _LARGE:
        return False
    places = Places.of(cloud.sources, cloud.boxes)
    return dense_seconds(places, unit, wish) <= fast_seconds(places, unit, wish)


def wish_for(
    m: int, tol: float, spectrum: bool, fourth: bool, half: bool, dtype: np.dtype, n_threads: int,
    *, priced: bool = True,
) -> Wish:  # fmt: skip
    """The task with this machine's costs; with those of a common one where nothing is to be compared."""
    prices = costs(measure=m > _MEASURE) if priced else Costs()
    return Wish(tol, spectrum, fourth, half, dtype, n_threads, prices)


def _sums_at_places(
    targets: Targets, sources: Places, t: float, wish: Wish, advance: Callable[[int], object]
) -> tuple[Array, ScalePlan]:
    """Sums anywhere in space; places too far for the tolerance of a transform by neighbours alone."""
    table, good, report = place_sums(
        targets.places, sources, t, wish, targets.offsets,
        lambda: largest_sum(sources, t, wish), advance=advance,
    )  # fmt: skip
    rest = np.flatnonzero(~good)
    if rest.size:
        # All sums to the wide radius in full precision, and no transform at any price.
        m = sources.points.shape[1]
        direct = replace(wish, tol=wish.tol / m, costs=replace(wish.costs, call=math.inf))
        table[rest], _ = scale_sums(
            some_places(targets.places, rest), sources, np.array([t]), direct,
            offsets=targets.offsets[rest], advance=advance,
        )  # fmt: skip
        report.points_checked = rest.size
    return table, report


def fast_outputs(
    cloud: Cloud, targets: Targets, times: Array, unit: Array, wish: Wish, *, gradient: bool = False
) -> Outputs:
    """Everything at the targets. ``times`` and ``unit`` are (1, T), or (q, T) in the targets' kd order.

    ``gradient`` needs ``wish.spectrum``: both are read from the sums of w r.
    """
    n = cloud.sources.shape[0]
    q, steps = targets.rows.size, unit.shape[1]
    sources = targets.places if targets.all else Places.of(cloud.sources, cloud.boxes)
    out = Outputs(
        np.empty((q, steps)),
        np.empty((q, steps)),
        np.empty((q, steps)) if wish.fourth else None,
        np.empty((q, steps, n)) if wish.spectrum else None,
        np.full(steps, np.nan),
        np.full(steps, np.nan),
        Plan(wish.tol),
        np.empty((q, steps)) if gradient else None,
    )
    with progress_bar(total=q * steps, unit="sums", unit_scale=True) as bar:
        for a in range(steps):
            t, one_time = np.ascontiguousarray(unit[:, a]), times[:, a : a + 1]
            if t.size > 1:
                table, report = adaptive_sums(targets.places, sources, t, wish, advance=bar.update)
            elif targets.offsets.size:
                table, report = _sums_at_places(targets, sources, float(t[0]), wish, bar.update)
            else:
                table, report = scale_sums(targets.places, sources, t, wish, advance=bar.update)
            report.t = float(np.median(one_time))
            out.plan.scales.append(report)
            _read_off(table, t, times[:, a], a, n, out, wish.n_threads)
            if wish.half:
                sums = table[:, None, :]
                out.energy[a] = equations.energy(sums, one_time, n)[0]
                out.response[a] = equations.response(sums, t[:, None], n)[0]
    for name in ("density", "dimension", "transition", "spectrum", "gradient"):
        setattr(out, name, _in_callers_order(getattr(out, name), targets.rows, wish.n_threads))
    return out


def _read_off(table: Array, unit: Array, times: Array, a: int, n: int, out: Outputs, n_threads: int) -> None:
    """The local outputs of scale ``a`` from its table of sums, in the same order, piece by piece."""

    def work(first: int, last: int) -> None:
        here = slice(first, last)
        own = here if unit.shape[0] > 1 else slice(None)
        sums, unit_time, time = table[here, None, :], unit[own, None], times[own, None]
        # Where a far place sees no heat at all (0 / 0), dimension and spectrum are NaN, and rightly so.
        with np.errstate(invalid="ignore", divide="ignore"):
            out.density[here, a] = equations.density(sums, time, n)[:, 0]
            d = equations.dimension(sums, unit_time)
            out.dimension[here, a] = d[:, 0]
            if out.transition is not None:
                out.transition[here, a] = equations.transition_exact(sums, unit_time, d)[:, 0]
            if out.spectrum is not None:
                out.spectrum[here, a] = equations.spectrum(sums, unit_time, n)[:, 0]
            if out.gradient is not None:
                out.gradient[here, a] = equations.gradient_length(sums, unit_time, n)[:, 0]

    run_pieces(work, pieces(len(table), _PIECE), n_threads)


def _in_callers_order(table: Array | None, rows: np.ndarray, n_threads: int) -> Array | None:
    """Whole rows move once, at the end: writing each number to its place takes five times as long."""
    if table is None:
        return None
    out = np.empty_like(table)

    def work(first: int, last: int) -> None:
        out[rows[first:last]] = table[first:last]

    run_pieces(work, pieces(rows.size, _PIECE), n_threads)
    return out
