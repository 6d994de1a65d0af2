"""The targets of one box by Fourier transform, with a check of every row against the tolerance."""

from __future__ import annotations

import math

import numpy as np

from .. import _core
from .._base.check import Array
from .arrange import BLOCK
from .fourier import FourierTask, ModeGrid, fourier_sums
from .fourier.kernel import GRID_LIMIT, UPSAMPLING
from .fourier.modes import log_accuracy_for
from .moments import ROOT_SQUARE, ROOT_WEIGHT, WEIGHT
from .near import double_precision_cutoff
from .plan import ScalePlan
from .scale_job import Part, ScaleJob

# The transform's error stays below this many times eps times the largest sum (measured: below 1.4).
SAFETY = 2.0


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
        finer = max(job.least, min(wanted, 1e-2 * eps))
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
    """The price of one transform over a box with p sources and q targets."""
    whole, terms = job.sources.tree[0][0], job.transforms(float(job.t[0]))
    return _core.transform_cost(low, high, whole, eps=eps, p=p, q=q, **terms)


def _near_seconds(job: ScaleJob, rows: np.ndarray) -> float:
    """The price of summing some targets directly, from the neighbours of a few of them."""
    sample = rows[:: max(1, rows.size // 16)]
    t, prices = float(job.t[0]), job.request.costs
    total = prices.target * sample.size
    zones = (
        double_precision_cutoff(job.request.tol, job.request.energy),
        job.weight_cutoff,
        job.energy_cutoff,
    )
    for i in sample:
        at = np.ascontiguousarray(job.targets.points[:, i])
        before = 0
        for zone, price in zip(zones, (prices.pair, prices.single, prices.ring), strict=True):
            cut = 4.0 * t * zone + (job.offsets[i] if job.offsets.size else 0.0)
            within = _core.estimate_within(*job.sources.tree, at, at, cut, job.sources.points.shape[1])
            total += price * (within - before)
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
