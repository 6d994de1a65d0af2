"""The sums over pairs: dense, for one cloud or many at once; or to a tolerance, one scale at a time.

The dense path takes every pair that can change a digit. The fast path follows the parts of the plan
(`planner.split_scale`): near sums over the sources close enough to count, and Fourier transforms over boxes,
whose every row is checked against the tolerance and summed directly where it fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .. import _core
from .._base.check import Array
from .._base.threads import pieces, run_alone, run_pieces
from .clouds import BLOCK, ArrangedCloud, Batch, Buffers
from .fourier import GRID_LIMIT, UPSAMPLING, FourierTask, ModeGrid, fourier_sums, log_accuracy_for
from .moments import LOG_ACCURACY, ROOT_SQUARE, ROOT_WEIGHT, WEIGHT, column_count
from .planner import (
    LEAST_EPS,
    Part,
    Request,
    ScaleParts,
    ScalePlan,
    cutoffs,
    double_precision_cutoff,
    split_scale,
    transform_seconds,
)

# Pairs times scales that one thread sums in roughly a quarter of a second.
_PIECE = 2e8
_MOST_GIB = 4  # of the table of sums in more than 16 dimensions
# Points from which one transform is given all threads; smaller ones run side by side.
_ALONE = 200_000
# Share of the points of their blocks from which scattered targets are summed block by block.
_FULL = 0.6
# The transform's error stays below this many times eps times the largest sum (measured: below 1.4).
SAFETY = 2.0
_NONE, _NO_ROWS = np.empty(0), np.empty(0, np.int64)


# --- dense ---------------------------------------------------------------------------


def dense_sums(batch: Batch, unit_times: Array, request: Request, out: Array | None = None) -> Array:
    """The sums (columns, T, total) of `moments`; ``unit_times`` are (T, N), or (T, m) for a single cloud.

    A cloud whose times are NaN has sums of 0.
    """
    n = batch.n
    sums = np.empty(sums_shape(batch, len(unit_times), request)) if out is None else out
    single, log_accuracy = request.dtype == np.float32, LOG_ACCURACY[request.dtype]
    times = np.ascontiguousarray(unit_times)

    def work(first: int, last: int) -> None:
        _core.dense(
            batch.sources, batch.boxes, batch.ends, batch.nearest, times, n, log_accuracy, single,
            request.fourth_moment, request.directions, first, last, sums,
        )  # fmt: skip

    _by_rows(work, batch, len(unit_times), request.n_threads)
    return sums


def difference_sums(
    batch: Batch,
    unit_times: Array,
    values: Array,
    pairs: np.ndarray,
    dtype: np.dtype,
    out: Array,
    n_threads: int = 1,
) -> None:
    """Sums of w (f_j - f_i) and of w (f_j - f_i)**2 around each point i, into ``out`` (2, F, pairs, total).

    An ``out`` (1, F, pairs, total) gets the first of them only, in about half of the time.
    ``values`` are fields (F, T, total); a pair (a, b) weights the fields of scale a by the w of scale b.
    """
    times = np.ascontiguousarray(unit_times)
    from_scale, to_scale = (np.ascontiguousarray(pairs[:, side]) for side in (0, 1))
    single, log_accuracy = dtype == np.float32, LOG_ACCURACY[dtype]

    def work(first: int, last: int) -> None:
        _core.differences(
            batch.sources, batch.boxes, batch.ends, times, batch.n, log_accuracy, single, values,
            from_scale, to_scale, first, last, out,
        )  # fmt: skip

    _by_rows(work, batch, len(times) * len(values), n_threads)


def _by_rows(work: Callable[[int, int], object], batch: Batch, load: int, n_threads: int) -> None:
    """Small batches in one call, without threads and progress bar; they come by the thousand."""
    total, largest = batch.total, int(batch.sizes.max(initial=1))
    if n_threads == 1 and float(total) * largest * load <= _PIECE:
        work(0, total)
        return
    rows = min(max(1, int(_PIECE / max(1, largest * load))), math.ceil(total / (4 * n_threads)) or 1)
    run_pieces(work, pieces(total, rows), n_threads, progress="points")


def sums_shape(batch: Batch, steps: int, request: Request) -> tuple[int, int, int]:
    """The shape of the table of sums; it grows with n**2, so a wide cloud may not fit."""
    shape = (column_count(batch.n, request.directions), steps, batch.total)
    size = 8 * math.prod(shape) / 2**30
    if batch.n > 16 and size > _MOST_GIB:
        raise ValueError(
            f"the spectrum of {batch.total} points in {batch.n} dimensions at {steps} scales takes "
            f"{size:.1f} GiB, more than {_MOST_GIB}; reduce the dimension first, or leave the spectrum out"
        )
    return shape


# --- one scale to a tolerance --------------------------------------------------------


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
    parts: ScaleParts | None = None,
) -> tuple[Array, ScalePlan]:
    """The table of sums (q, columns) of `columns` at one scale, rows in the targets' order.

    ``t`` is (1,), or (q,) with one time per target. ``offsets`` are the squared
    distances of query points to the nearest source. The sums of g are correct in
    total only. ``advance`` is called with the number of targets done; ``out`` is filled where it is given,
    ``buffers`` are used again, and ``parts`` are those of `split_scale`, where they are known.
    """
    n, q = targets.points.shape
    m = sources.points.shape[1]
    uneven = 1.0 if weights is None else float(weights.mean() / weights.min())
    limits = cutoffs(request.tol, int(min(m * uneven, 1e300)), request.energy, request.fourth_moment)
    sums = np.empty((q, column_count(n, request.directions))) if out is None else out
    job = ScaleJob(
        targets, sources, t, request, offsets, weights, *limits, sums, advance, buffers or Buffers(),
    )  # fmt: skip
    todo, seconds = parts or split_scale(targets, sources, t, request, offsets=offsets, limits=limits)
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
    _explain(report, len(boxes), limits[0])
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


@dataclass
class ScaleJob:
    """One scale in progress."""

    targets: ArrangedCloud
    sources: ArrangedCloud
    t: Array
    request: Request
    offsets: Array
    weights: Array | None
    weight_cutoff: float
    energy_cutoff: float
    sums: Array
    advance: Callable[[int], object]
    buffers: Buffers = field(default_factory=Buffers)

    def __post_init__(self) -> None:
        self.roots = _NONE if self.weights is None else np.sqrt(self.weights)
        self.total_weight = (
            self.sources.points.shape[1] if self.weights is None else float(self.weights.sum())
        )
        self.same = self.targets is self.sources
        # Where the sums of g are known already, what follows from w alone does not reach as far.
        self.moments_cutoff = self.energy_cutoff
        if self.request.energy:
            m = self.sources.points.shape[1]
            self.moments_cutoff = cutoffs(self.request.tol, m, False, self.request.fourth_moment)[1]

    def rows_in(self, part: Part) -> np.ndarray:
        """The targets of a part that lie in its box."""
        if part.low is None or part.high is None:
            return np.empty(0, np.int64)
        corners = self.targets.tree[0][part.node]
        if (corners[0] >= part.low).all() and (corners[1] <= part.high).all():
            return np.arange(part.first, part.last)
        places = self.targets.points[:, part.first : part.last]
        inside = ((places >= part.low[:, None]) & (places <= part.high[:, None])).all(axis=0)
        return part.first + np.flatnonzero(inside)

    def near(self, ranges: list[tuple[int, int]]) -> None:
        """Sum ranges of targets directly."""
        self._near(
            self.targets.points, _NO_ROWS, self.t, self.offsets, self.sums, ranges, energy=self.request.energy
        )

    def near_at(self, rows: np.ndarray, counted: bool) -> None:
        """Sum scattered targets directly; ``counted`` says that the totals of g have them already."""
        table = np.empty((rows.size, self.sums.shape[1]))
        t = self.t[rows] if self.t.shape[0] > 1 else self.t
        offsets = self.offsets[rows] if self.offsets.size else self.offsets
        places = np.ascontiguousarray(self.targets.points[:, rows])
        # A few rows of each block are summed with those of the next ones, many by themselves.
        blocks = 1 + np.count_nonzero(np.diff(rows // BLOCK)) if rows.size else 0
        together = rows if rows.size >= _FULL * BLOCK * blocks else _NO_ROWS
        energy = self.request.energy and not counted
        self._near(places, together, t, offsets, table, [(0, rows.size)], energy=energy)
        if counted:
            table[:, ROOT_WEIGHT : ROOT_SQUARE + 1] = self.sums[rows, ROOT_WEIGHT : ROOT_SQUARE + 1]
        self.sums[rows] = table

    def _near(
        self,
        places: Array,
        rows: np.ndarray,
        t: Array,
        offsets: Array,
        table: Array,
        ranges: list[tuple[int, int]],
        *,
        energy: bool,
    ) -> None:
        request = self.request
        cutoff = self.energy_cutoff if energy else self.moments_cutoff
        single = request.dtype == np.float32 and float(t.min(initial=np.inf)) >= _core.TINY_TIME

        def work(first: int, last: int) -> None:
            _core.near(
                places, rows, t, offsets, self.sources.points, self.roots, self.sources.boxes,
                *self.sources.tree, double_precision_cutoff(request.tol, energy), self.weight_cutoff, cutoff,
                request.tol, request.directions, request.fourth_moment, energy, single, first, last, table,
            )  # fmt: skip
            self.advance(last - first)

        step = BLOCK * 16
        todo = [(first + a, first + b) for first, last in ranges for a, b in pieces(last - first, step)]
        run_pieces(work, todo, self.request.n_threads)


# --- the targets of one box by transform ---------------------------------------------


def transform_box(
    job: ScaleJob, part: Part, rows: np.ndarray, n_threads: int, report: ScalePlan
) -> np.ndarray:
    """Sum some targets by transform; return those where its error would exceed the tolerance."""
    t, eps, todo, energy = float(job.t[0]), part.eps, rows, job.request.energy
    places = _places(job, rows)
    low, high = places.min(axis=1), places.max(axis=1)
    around, weights = _around(job, low, high, math.sqrt(4.0 * t * job.energy_cutoff))
    everything = around.shape[1] == job.sources.points.shape[1]
    same = job.same and everything and rows.size == job.targets.points.shape[1]
    if around.shape[1] == 0:
        job.sums[rows, ROOT_WEIGHT : ROOT_SQUARE + 1] = 0.0
        return rows
    box = around.min(axis=1), around.max(axis=1)
    left_out = 0.0 if everything else job.total_weight * math.exp(-job.energy_cutoff)
    while True:
        grid = ModeGrid.over(
            low, high, *box, t, log_accuracy_for(eps, job.request.fourth_moment), 4.0 * t * job.energy_cutoff
        )
        # More digits than the plan asked for may not fit into memory. The first try always runs: it also
        # gives the totals of g, which already contain the targets that are summed directly afterwards.
        if todo is not rows and grid.size * UPSAMPLING ** len(low) > 2.0 * GRID_LIMIT:
            job.advance(rows.size - todo.size)
            return todo
        if grid.size > math.prod(report.largest_grid or (0,)):
            report.largest_grid = grid.modes
        task = FourierTask(
            targets=places if todo is rows else _places(job, todo),
            sources=around,
            weights=weights,
            grid=grid,
            t=t,
            eps=eps,
            directions=job.request.directions,
            fourth_moment=job.request.fourth_moment,
            energy=energy,
            same=same and todo is rows,
            n_threads=n_threads,
            out=_rows(job, rows) if todo is rows else None,
            buffers=job.buffers,
        )
        table, largest = fourier_sums(task)
        error = SAFETY * eps * largest + left_out
        good = 0.8 * job.request.tol * table[:, WEIGHT] >= error
        totals = (table if energy else job.sums[rows[:1]])[0, ROOT_WEIGHT : ROOT_SQUARE + 1].copy()
        if todo is not rows or task.out is None:
            # Rows that are not good are summed again, but for the sums of g.
            job.sums[todo[~good], ROOT_WEIGHT : ROOT_SQUARE + 1] = 0.0
            job.sums[todo[good]] = table[good]
        job.sums[rows[0], ROOT_WEIGHT : ROOT_SQUARE + 1] = totals  # of the whole box, with its first row
        failed = todo[~good]
        # Once more with more digits, if that is cheaper than summing the rest directly.
        wanted = 0.3 * job.request.tol * max(1.0, float(table[~good, WEIGHT].min(initial=np.inf))) / largest
        finer = max(LEAST_EPS[job.request.dtype], min(wanted, 1e-2 * eps))
        if (
            failed.size == 0
            or finer > 0.5 * eps
            or _near_seconds(job, failed)
            < _transform_seconds(job, low, high, around.shape[1], failed.size, finer)
        ):
            job.advance(rows.size - failed.size)
            return failed
        todo, eps, energy = failed, finer, False


def _transform_seconds(job: ScaleJob, low: Array, high: Array, p: int, q: int, eps: float) -> float:
    """The cost of one transform over a box with p sources and q targets."""
    box = low, high, job.sources.tree[0][0]
    return transform_seconds(box, float(job.t[0]), job.energy_cutoff, job.request, eps=eps, p=p, q=q)


def _near_seconds(job: ScaleJob, rows: np.ndarray) -> float:
    """The cost of summing some targets directly, from the neighbours of a few of them."""
    sample = rows[:: max(1, rows.size // 16)]
    t, costs = float(job.t[0]), job.request.costs
    total = costs.target * sample.size
    zones = (
        double_precision_cutoff(job.request.tol, job.request.energy),
        job.weight_cutoff,
        job.energy_cutoff,
    )
    for i in sample:
        at = np.ascontiguousarray(job.targets.points[:, i])
        before = 0
        for zone, cost in zip(zones, (costs.pair, costs.single, costs.ring), strict=True):
            cut = 4.0 * t * zone + (job.offsets[i] if job.offsets.size else 0.0)
            within = _core.estimate_within(*job.sources.tree, at, at, cut, job.sources.points.shape[1])
            total += cost * (within - before)
            before = within
    return total * rows.size / max(1, sample.size)


def _places(job: ScaleJob, rows: np.ndarray) -> Array:
    """Targets by their rows; without a copy where they are a run."""
    if rows[-1] - rows[0] == rows.size - 1:
        return job.targets.points[:, rows[0] : rows[-1] + 1]
    return np.ascontiguousarray(job.targets.points[:, rows])


def _rows(job: ScaleJob, rows: np.ndarray) -> Array | None:
    """The rows of the result, where they are a run and can be filled in place."""
    return job.sums[rows[0] : rows[-1] + 1] if rows[-1] - rows[0] == rows.size - 1 else None


def _around(job: ScaleJob, low: Array, high: Array, halo: float) -> tuple[Array, Array | None]:
    """The sources within the halo of a box, and their weights."""
    whole = job.sources.tree[0][0]
    if (whole[0] >= low - halo).all() and (whole[1] <= high + halo).all():
        return job.sources.points, job.weights
    found = np.empty(job.sources.boxes.shape[2], np.int64)
    count = _core.blocks_within(*job.sources.tree, low, high, halo * halo, found)
    m = job.sources.points.shape[1]
    columns = (found[:count, None] * BLOCK + np.arange(BLOCK)).ravel()
    columns = columns[columns < m]
    # A block may reach far beyond the halo, and the grid must not.
    places = job.sources.points.take(columns, axis=1)
    inside = ((places >= low[:, None] - halo) & (places <= high[:, None] + halo)).all(axis=0)
    if columns.size == m and inside.all():
        return job.sources.points, job.weights
    return places.compress(inside, axis=1), None if job.weights is None else job.weights[columns[inside]]
