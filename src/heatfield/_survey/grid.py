"""Pass 2, coarse scales: tiles spread to one grid, the kernel applied once, the field kept for all.

Spreading is additive. Tiles are added in their order within fixed batches, and batches in their order, so the
field has the same bits whoever computed what, and however many workers there were.

A transform errs relative to the largest sum. Where the sums of points are too small for that, the field is
made again with more digits, if that is cheaper; the points that are left are summed directly, over batches
of tiles again, since neighbours at a coarse scale may lie in any tile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._base.check import Array
from .._base.files import write_array
from .._base.progress import progress_bar
from .._base.threads import pieces, stop_if_asked
from ..core.clouds import ArrangedCloud, bounding_boxes
from ..core.fourier import GRID_EPS, GRID_LIMIT, log_accuracy_for, width_for
from ..core.moments import WEIGHT, column_count
from ..core.sums import SAFETY, ScaleJob
from .plan import GRIDS, SurveyPlan
from .tiles import Context, SurveySettings, load_tiles, points_of

_BATCHES, _DISK = 32, 4e9  # tiles are added up in at most so many batches, whose grids take so many bytes
_PIECE = 1 << 20  # points whose sums are looked at together
_SHARE = 0.8  # of tol that the transform's error may take, as in `box_transform`
_MOST = 300_000  # points of one scale whose sums over all tiles are taken directly
_FINER = 1e-2  # factor on eps from round to round
_NONE = np.empty(0)

# run(name, work, loads, unit, valid): results of all loads, those that are kept and valid not computed again.
RunAll = Callable[..., list[dict[str, Any]]]
# A scale, the accuracy of its field, and the number of a batch with the tiles in it.
BatchLoad = tuple[Context, SurveyPlan, int, float, int, tuple[int, ...]]
# eps and batches of a field; where the sums of a tile's isolated points begin among all, and how many.
TileField = tuple[float, int, int, int]


@dataclass(frozen=True)
class Field:
    """The field of one coarse scale, and the points of which it does not know enough."""

    eps: float
    totals: tuple[float, float]  # of g and g D**2 over all pairs, in the common coordinates
    isolated: tuple[int, ...]  # how many points of each sound tile are summed directly
    batches: int

    def of_tile(self, place: int) -> TileField:
        """What a sound tile needs to know of it, by its place among them."""
        return self.eps, self.batches, sum(self.isolated[:place]), self.isolated[place]


def coarse_fields(
    context: Context, plan: SurveyPlan, sound: Sequence[int], run: RunAll, memory: float
) -> tuple[SurveyPlan, dict[int, Field]]:
    """The fields by scale; where one cannot hold the tolerance, the plan makes its scale a local one."""
    settings, found = context.settings, dict[int, Field]()
    groups = {a: batches(sound, _size(plan, a, plan.eps(settings), settings)) for a in plan.coarse}
    todo, eps = list(plan.coarse), dict.fromkeys(plan.coarse, plan.eps(settings))
    while todo:
        unmade = [a for a in todo if not _values_file(context, a, eps[a]).exists()]
        loads = [(context, plan, a, eps[a], n, group) for a in unmade for n, group in enumerate(groups[a])]
        run("spreading", spread_batch, loads, "batches", lambda load, _: _part_file(load).exists())
        made = run("fields", make_field, [(context, plan, a, eps[a], len(groups[a])) for a in todo], "grids")
        for load in loads:
            _part_file(load).unlink(missing_ok=True)
        fields = [(a, eps[a], float(result["largest"])) for a, result in zip(todo, made, strict=True)]
        looked = run("checking", find_isolated, [(context, plan, k, fields) for k in sound], "tiles")
        counts = np.array([result["counts"] for result in looked])  # (tiles, scales)
        for i, a in enumerate(todo):
            first, second = made[i]["totals"].tolist()
            found[a] = Field(eps[a], (first, second), tuple(counts[:, i].tolist()), len(groups[a]))
        todo = [a for a in todo if _finer_is_faster(plan, a, found[a], settings, memory)]
        eps |= {a: max(GRID_EPS, _FINER * eps[a]) for a in todo}
    for a in [a for a in plan.coarse if sum(found[a].isolated) > _MOST]:
        if plan.tile_bytes[a] > memory:
            raise ValueError(_advice(plan, a, found.pop(a), settings.tolerance))
        plan = replace(
            plan, coarse=tuple(k for k in plan.coarse if k != a), bytes=max(plan.bytes, plan.tile_bytes[a])
        )
    left = [a for a in plan.coarse if any(found[a].isolated)]
    direct = [(context, plan, a, eps[a], n, group) for a in left for n, group in enumerate(groups[a])]
    run("isolated points", sum_directly, direct, "sums", lambda load, _: _part_file(load, "direct").exists())
    return plan, {a: found[a] for a in plan.coarse}


def _finer_is_faster(plan: SurveyPlan, a: int, field: Field, settings: SurveySettings, memory: float) -> bool:
    """Whether a field with more digits is possible, and cheaper than summing the isolated points."""
    eps, count = field.eps, sum(field.isolated)
    finer = max(GRID_EPS, _FINER * eps)
    if count == 0 or finer > 0.5 * eps:
        return False
    n, m, costs = settings.n_dims, plan.whole.count, settings.costs
    growth = (log_accuracy_for(finer, False) / log_accuracy_for(eps, False)) ** (0.5 * n)
    grid = float(_size(plan, a, eps, settings)) * growth
    if grid > GRID_LIMIT or 8.0 * grid * GRIDS > memory:
        return False
    # Once more spread and looked at, and a wider kernel when the sums are read.
    again = 3.0 * m * costs.read * float(width_for(finer)) ** n + 40.0 * costs.fourier * grid
    return count * m * costs.single > again


def _size(plan: SurveyPlan, a: int, eps: float, settings: SurveySettings) -> int:
    return math.prod(plan.grid(a, eps, settings, 1).sizes)


def _advice(plan: SurveyPlan, a: int, field: Field, tol: float) -> str:
    return (
        f"at scale {a} (sqrt(t) = {float(plan.whole.scales[a]) ** 0.5:.4g}) {sum(field.isolated):,} points "
        f"are too isolated for a common grid to hold tol={tol:g}, too many to be summed directly (more than "
        f"{_MOST:,}), and a tile with its halo takes {plan.tile_bytes[a] / 2**30:.3g} GiB; use a larger tol, "
        "more memory, smaller tiles, or a smaller c_max"
    )


def batches(tiles: Sequence[int], grid: float) -> list[tuple[int, ...]]:
    """Runs of tiles that are added up by one task, for a grid of so many points.

    They do not depend on the workers, so that the order of additions does not either.
    """
    most = max(1, min(_BATCHES, int(_DISK / (8.0 * grid))))
    size = -(-len(tiles) // most)
    return [tuple(tiles[first : first + size]) for first in range(0, len(tiles), size)]


# --- one field -----------------------------------------------------------------------


def _part_file(load: BatchLoad, kind: str = "grid") -> Path:
    context, _, a, eps, number, _ = load
    return context.file(kind, a, f"{eps:.2e}", number)


def _values_file(context: Context, a: int, eps: float, kind: str = "values") -> Path:
    return context.file(kind, a, f"{eps:.2e}")


def spread_batch(load: BatchLoad, n_threads: int) -> dict[str, Any]:
    """Add some tiles to a grid of one scale, which is kept as a file."""
    context, plan, a, eps, _, numbers = load
    upsampled, tiles = plan.grid(a, eps, context.settings, n_threads), load_tiles(context)
    total = np.zeros(upsampled.sizes)
    with progress_bar(total=sum(tiles[k].count for k in numbers), unit="points", unit_scale=True) as bar:
        for k in numbers:
            points = points_of(context, tiles[k])
            for first, last in pieces(len(points), _PIECE):
                upsampled.spread(plan.places(np.asarray(points[first:last])), None, total)
                bar.update(last - first)
    write_array(_part_file(load), total)
    return {}


def make_field(load: tuple[Context, SurveyPlan, int, float, int], n_threads: int) -> dict[str, Any]:
    """Add up the batches of one scale, apply the kernel, keep the field."""
    context, plan, a, eps, count = load
    upsampled = plan.grid(a, eps, context.settings, n_threads)
    total = np.zeros(upsampled.sizes)
    for number in range(count):
        total += _mapped(_part_file((context, plan, a, eps, number, ())))
    modes = upsampled.transform(total)
    del total
    fourth = np.empty_like(modes) if context.settings.exact else None
    totals = upsampled.apply_heat(modes, plan.unit(a), fourth=fourth)
    if fourth is not None:
        write_array(_values_file(context, a, eps, "fourth"), upsampled.field(fourth))
        del fourth
    values = upsampled.field(modes)
    largest = max(upsampled.largest_sum(values), 1.0)
    write_array(_values_file(context, a, eps), values)
    return {"largest": largest, "totals": np.array(totals, dtype=float)}


def _mapped(path: Path) -> Array:
    """An array in its file: processes of one machine share its memory."""
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def coarse_sums(
    context: Context, plan: SurveyPlan, a: int, eps: float, places: Array, n_threads: int
) -> Array:
    """The table of sums at places (n, q) in the common coordinates, read off the field."""
    settings, t = context.settings, plan.unit(a)
    upsampled = plan.grid(a, eps, settings, n_threads)
    sums = np.empty((places.shape[1], column_count(len(places), settings.with_spectrum)))
    upsampled.read_sums(_mapped(_values_file(context, a, eps)), places, t, settings.with_spectrum, sums)
    if settings.exact:
        upsampled.read_fourth_moment(_mapped(_values_file(context, a, eps, "fourth")), places, t, sums)
    return sums


# --- points too isolated for it ------------------------------------------------------


def find_isolated(
    load: tuple[Context, SurveyPlan, int, Sequence[tuple[int, float, float]]], n_threads: int
) -> dict[str, Any]:
    """How many points of a tile have sums too small for the error of the field, by scale.

    Scales come with the eps and the largest sum of their fields; the rows of the points are kept as a file.
    """
    context, plan, number, scales = load
    settings = context.settings
    points = points_of(context, load_tiles(context)[number])
    counts = []
    with progress_bar(total=len(points) * len(scales), unit="sums", unit_scale=True) as bar:
        for a, eps, largest in scales:
            least = SAFETY * eps * largest / (_SHARE * settings.tolerance)
            upsampled, values = plan.grid(a, eps, settings, n_threads), _mapped(_values_file(context, a, eps))
            found = []
            for first, last in pieces(len(points), _PIECE):
                places = plan.places(np.asarray(points[first:last]))
                sums = np.empty((places.shape[1], column_count(len(places), False)))
                upsampled.read_sums(values, places, plan.unit(a), False, sums)
                found.append(first + np.flatnonzero(~(sums[:, WEIGHT] >= least)))
                bar.update(last - first)
            rows = np.concatenate(found)
            counts.append(rows.size)
            if 0 < rows.size <= _MOST:
                write_array(context.file("isolated", a, f"{eps:.2e}", number), rows)
    return {"counts": np.array(counts)}


def _isolated_rows(context: Context, a: int, eps: float, number: int) -> np.ndarray:
    """Rows of a tile's kept points that are too isolated at a scale."""
    path = context.file("isolated", a, f"{eps:.2e}", number)
    return np.load(path, allow_pickle=False) if path.exists() else np.empty(0, np.int64)


def sum_directly(load: BatchLoad, n_threads: int) -> dict[str, Any]:
    """The sums of the isolated points of one scale over the sources of some tiles, kept as a file."""
    context, plan, a, eps, _, numbers = load
    tiles, t = load_tiles(context), plan.unit(a)
    request = context.settings.sums(n_threads, energy=False)
    places = np.concatenate([
        plan.places(np.asarray(points_of(context, tile)[rows])).T
        for k, tile in enumerate(tiles)
        if (rows := _isolated_rows(context, a, eps, k)).size
    ])  # fmt: skip
    total = np.zeros((len(places), column_count(places.shape[1], request.directions)))
    for k in progress_bar(numbers, unit="tiles"):
        stop_if_asked()
        sources = plan.places(np.asarray(points_of(context, tiles[k])))  # kept in kd order
        low, high = sources.min(axis=1), sources.max(axis=1)
        step = np.maximum(0.0, np.maximum(low - places, places - high))
        rows = np.flatnonzero((step * step).sum(axis=1) <= 4.0 * t * plan.cutoffs[1])
        if not rows.size:
            continue
        cloud = ArrangedCloud(
            sources, bounding_boxes(sources), np.arange(sources.shape[1]), *plan.frame, n_threads,
        )  # fmt: skip
        targets, sums = cloud.arranged(places[rows]), np.zeros((rows.size, total.shape[1]))
        work = ScaleJob(
            targets, cloud, np.array([t]), request, _NONE, None, *plan.cutoffs, sums, lambda _: None
        )
        work.near([(0, rows.size)])
        total[rows[targets.order]] += sums
    write_array(_part_file(load, "direct"), total)
    return {}


def isolated_sums(context: Context, a: int, field: TileField, number: int) -> tuple[np.ndarray, Array]:
    """Rows of a tile's points whose sums were taken directly, and these sums in the common coordinates."""
    eps, count, first, isolated = field
    parts = [_mapped(context.file("direct", a, f"{eps:.2e}", batch)) for batch in range(count)]
    sums = np.zeros((isolated, parts[0].shape[1]))
    for part in parts:
        sums += part[first : first + isolated]
    return _isolated_rows(context, a, eps, number), sums
