"""Points too isolated for the common grid: their sums over all tiles directly, tile by tile.

A transform errs relative to the largest sum. Where a point's own sum is too small for that, its neighbours
are summed, and those of a coarse scale may lie in any tile. Sums over tiles add up, in the order of tiles.
"""

from __future__ import annotations

import numpy as np

from .._base.check import Array
from ..core.arrange import bounding_boxes
from ..core.cloud import ArrangedCloud
from ..core.moments import column_count
from ..core.scale_job import ScaleJob
from ._common_grid import code
from ._plan import Plan
from ._settings import Job
from ._store import load_arrays, save_arrays, tile_points

_NONE = np.empty(0)


def isolated_rows(job: Job, a: int, eps: float, number: int) -> np.ndarray:
    """Rows of a tile's kept points that are too isolated at a scale."""
    found = load_arrays(job.file(f"isolated-{code(a, eps)}", number), ("rows",))
    return np.empty(0, np.int64) if found is None else found["rows"].astype(np.int64)


def _isolated_places(job: Job, plan: Plan, a: int, eps: float) -> Array:
    """All of them, (q, n) in the common coordinates, tile by tile."""
    parts = [
        plan.frame.places(np.asarray(tile_points(job, tile.number)[rows])).T
        for tile in job.tiles
        if (rows := isolated_rows(job, a, eps, tile.number)).size
    ]
    return np.concatenate(parts)


def sum_directly(task: tuple[Job, Plan, int, float, int, tuple[int, ...]], n_threads: int) -> None:
    """The sums of the isolated points of one scale over the sources of some tiles."""
    job, plan, a, eps, number, tiles = task
    target = job.file(f"direct-{code(a, eps)}", number)
    if load_arrays(target, ("sums",)) is not None:
        return
    t = plan.frame.unit(float(plan.whole.scales[a]))
    places = _isolated_places(job, plan, a, eps)
    request = job.settings.fast_request(n_threads, energy=False)
    total = np.zeros((len(places), column_count(places.shape[1], request.directions)))
    reach = 4.0 * t * plan.cutoffs[1]
    for tile in tiles:
        sources = plan.frame.places(np.asarray(tile_points(job, tile)))  # kept in kd order
        low, high = sources.min(axis=1), sources.max(axis=1)
        step = np.maximum(0.0, np.maximum(low - places, places - high))
        rows = np.flatnonzero((step * step).sum(axis=1) <= reach)
        if not rows.size:
            continue
        cloud = ArrangedCloud(
            sources, bounding_boxes(sources), np.arange(sources.shape[1]), plan.frame.origin,
            plan.frame.exponent, n_threads,
        )  # fmt: skip
        targets = cloud.arranged(places[rows])
        sums = np.zeros((rows.size, total.shape[1]))
        work = ScaleJob(
            targets, cloud, np.array([t]), request, _NONE, None, *plan.cutoffs, sums, lambda _: None
        )
        work.near([(0, rows.size)])
        total[rows[targets.order]] += sums
    save_arrays(target, sums=total)


def add_directly(task: tuple[Job, int, float, int], n_threads: int) -> None:  # noqa: ARG001
    """Add up the sums over batches, and keep them tile by tile of the isolated points."""
    job, a, eps, count = task
    parts = [load_arrays(job.file(f"direct-{code(a, eps)}", number), ("sums",)) for number in range(count)]
    total: Array | None = None
    for part in parts:
        assert part is not None
        total = part["sums"] if total is None else total + part["sums"]
    assert total is not None
    first = 0
    for tile in job.tiles:
        rows = isolated_rows(job, a, eps, tile.number)
        if rows.size:
            save_arrays(job.file(f"added-{code(a, eps)}", tile.number), sums=total[first : first + rows.size])
            first += rows.size


def isolated_sums(job: Job, a: int, eps: float, number: int) -> tuple[np.ndarray, Array]:
    """Rows of a tile's points whose sums were taken directly, and these sums in the common coordinates."""
    rows = isolated_rows(job, a, eps, number)
    if not rows.size:
        return rows, np.empty((0, 0))
    found = load_arrays(job.file(f"added-{code(a, eps)}", number), ("sums",))
    if found is None or len(found["sums"]) != rows.size:
        raise OSError(f"sums of isolated points of {job.tiles[number].path!r} are missing; run again")
    return rows, found["sums"]
