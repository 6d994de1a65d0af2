"""The cloud that the tiles are together, which scale is computed how, and whether that fits into memory.

Diameter, mean spacing and scales are exact, as on one machine: the largest distance is that of two vertices
of the tiles' convex hulls; the nearest neighbour of a point is searched in its own tile, then in a halo, and
for the few isolated points tile by tile.

A scale is *local* where a tile with a halo around it holds all that matters to its points. It is *coarse*
where the halo would be larger than the tiles: then all tiles are spread to one common grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, KDTree, QhullError

from .._base.check import Array, check_extent, check_times
from .._base.progress import progress_bar
from .._base.threads import stop_if_asked
from ..core.clouds import ArrangedCloud, nearest_of_many, origin_and_exponent
from ..core.fourier import (
    GRID_EPS,
    GRID_LIMIT,
    UPSAMPLING,
    ModeGrid,
    UpsampledGrid,
    log_accuracy_for,
    width_for,
)
from ..core.planner import cutoffs
from ..scales import geometric
from .tiles import RUN, Context, SurveySettings, Tile, gap_squared, halo, load_tiles, points_around, points_of

MEASURE_BYTES = 250  # for each point of a tile
_FEW = 64  # up to so many points nothing is left out of a hull
_FLAT = 1e-13  # extent across a plane or a line, relative to that along it, of points that lie on it
_USUAL = 0.999  # the share of the points whose nearest neighbour is found in a halo; the others search alone


@dataclass(frozen=True, eq=False)
class Whole:
    """The cloud that the tiles are together."""

    count: int
    low: Array
    high: Array
    spacing: float  # r_nn; NaN where the lengths were given
    diameter: float
    scales: Array  # (T,) absolute times


def measure_tile(load: tuple[Context, int], n_threads: int) -> dict[str, Any]:
    """Hull vertices of a tile, and the distances of its places to their nearest neighbours."""
    context, number = load
    tiles = load_tiles(context)
    given = context.settings.lengths is not None
    return {
        "vertices": hull_vertices(np.array(points_of(context, tiles[number]))),
        "spacing": np.array((0.0, 0.0) if given else spacing_sums(context, number, tiles, n_threads)),
    }


def whole_cloud(settings: SurveySettings, tiles: Sequence[Tile], measured: Sequence[dict[str, Any]]) -> Whole:
    """Extent, exact diameter, mean spacing and scales, from what was measured of the sound tiles."""
    low = np.min([tile.low for tile in tiles if tile.sound], axis=0)
    high = np.max([tile.high for tile in tiles if tile.sound], axis=0)
    check_extent(low, high, "the cloud")
    total, places = np.sum([part["spacing"] for part in measured], axis=0)
    spacing = float(total / places) if places > 0 else float("nan")
    diameter = ArrangedCloud.of(np.concatenate([part["vertices"] for part in measured])).diameter
    if settings.lengths is not None:
        scales = np.square(settings.lengths)
    elif not np.isfinite(spacing) or not diameter > 0.0:
        raise ValueError("the tiles hold fewer than two distinct points in all: there are no scales for them")
    else:
        scales = geometric(settings.c_min * spacing**2, settings.c_max * diameter**2, settings.n_scales)
    count = sum(tile.count for tile in tiles)
    check_times(scales, count, settings.n_dims)
    if settings.point_dtype == "float32":
        check_times(scales, count, settings.n_dims, single=True, energy=False)
    return Whole(count, low, high, spacing, diameter, scales)


# --- the diameter --------------------------------------------------------------------


def hull_vertices(points: Array) -> Array:
    """Some of the points (k, n), all vertices of their convex hull among them.

    Points on a plane or a line are projected to it first; what they deviate, below 1e-13 of their extent, is
    the error of a distance.
    """
    return np.array(points if len(points) <= _FEW else points[_vertices(points - points.min(axis=0))])


def _vertices(points: Array) -> np.ndarray:
    n = points.shape[1]
    extent = np.ptp(points, axis=0)
    if n == 1 or not extent.max() > 0.0:
        return np.unique([points[:, 0].argmin(), points[:, 0].argmax()])
    try:
        return np.asarray(ConvexHull(points).vertices)
    except QhullError:
        centred = points - points.mean(axis=0)
        _, sizes, axes = np.linalg.svd(centred.T @ centred)
        kept = max(1, min(n - 1, int((np.sqrt(sizes / sizes[0]) > _FLAT**0.5).sum())))
        # The covariance knows sizes to the root of the rounding only: the extent itself decides.
        along = centred @ axes[:kept].T
        across = np.ptp(centred @ axes[kept:].T, axis=0).max()
        if across > _FLAT * np.ptp(along[:, 0]):
            return np.arange(len(points))  # flat for Qhull, not for us: nothing is left out
        return _vertices(along)


# --- the spacing ---------------------------------------------------------------------


def spacing_sums(context: Context, number: int, tiles: Sequence[Tile], n_threads: int) -> tuple[float, float]:
    """Over the places of a tile: the sum of the distances to the nearest other place, and their number.

    A place that several points share counts once in all, whichever tiles these are in.
    """
    points = np.array(points_of(context, tiles[number]))
    cloud = ArrangedCloud.of(points, n_threads)
    square, same = nearest_of_many(cloud.points, cloud.tree, n_threads)
    distance, copies = np.empty(len(points)), np.empty(len(points))
    distance[cloud.order] = np.ldexp(np.sqrt(square), cloud.exponent)
    copies[cloud.order] = same
    del cloud, square, same
    finite = distance[np.isfinite(distance)]
    usual = float(np.quantile(finite, _USUAL)) if finite.size else 0.0
    ordinary = np.flatnonzero((distance <= usual) & _reaches(points, distance, usual, number, tiles))
    if ordinary.size:
        asked = points[ordinary]
        around = halo(context, tiles, number, asked.min(axis=0), asked.max(axis=0), usual)
        if len(around):
            _compare(asked, around, ordinary, distance, copies)
    others = np.array([k for k, tile in enumerate(tiles) if tile.sound and k != number], dtype=int)
    if others.size:
        boxes = np.concatenate([tiles[k].box for k in others])
        for i in progress_bar(np.flatnonzero(distance > usual), unit="isolated points"):
            stop_if_asked()
            gaps = np.sqrt(gap_squared(points[i], points[i], boxes))
            near = np.argsort(gaps, kind="stable")[: int((gaps <= distance[i]).sum())]
            ahead = [(tiles[others[k]], float(gaps[k])) for k in near]
            distance[i], copies[i] = _search_tiles(context, points[i], ahead, distance[i], copies[i])
    return float((distance / copies).sum()), float((1.0 / copies).sum())


def _reaches(points: Array, distance: Array, usual: float, number: int, tiles: Sequence[Tile]) -> np.ndarray:
    """Which points may have a nearer one, or a copy, in another tile not further than ``usual``."""
    found = np.zeros(len(points), bool)
    own = tiles[number]
    for other, tile in enumerate(tiles):
        if other == number or not tile.sound or gap_squared(own.low, own.high, tile.box)[0] > usual * usual:
            continue
        step = np.maximum(0.0, np.maximum(tile.low - points, points - tile.high))
        found |= (step * step).sum(axis=1) <= distance * distance
    return found


def _compare(asked: Array, around: Array, rows: np.ndarray, distance: Array, copies: Array) -> None:
    """Compare some points, which are these rows, with points of other tiles; write what is found."""
    places, counts = np.unique(around, axis=0, return_counts=True)
    origin = asked.min(axis=0)
    found, which = KDTree(places - origin).query(asked - origin, k=min(2, len(places)))
    found, which = found.reshape(len(rows), -1), which.reshape(len(rows), -1)
    shared = (places[which[:, 0]] == asked).all(axis=1)
    copies[rows] += np.where(shared, counts[which[:, 0]], 0)
    second = found[:, 1] if found.shape[1] > 1 else np.full(len(rows), np.inf)
    distance[rows] = np.minimum(distance[rows], np.where(shared, second, found[:, 0]))


def _search_tiles(
    context: Context, at: Array, tiles: Sequence[tuple[Tile, float]], distance: float, copies: float
) -> tuple[float, float]:
    """The nearest other place of one point, and the copies of its own; ``tiles`` from the nearest on."""
    for tile, gap in tiles:
        if gap > distance:
            break
        reach = distance
        if not math.isfinite(reach):  # to the far corner of the tile
            corner = np.maximum(np.abs(at - tile.low), np.abs(at - tile.high))
            reach = float(np.sqrt((corner * corner).sum()) * (1.0 + 1e-12))
        around = points_around(context, tile, at, at, reach)
        steps = np.sqrt(((around - at) ** 2).sum(axis=1))
        copies += int((steps == 0.0).sum())
        distance = min(distance, float(steps[steps > 0.0].min(initial=np.inf)))
    return distance, copies


# --- how each scale is computed ------------------------------------------------------


_HALO_TOL = 0.1  # points outside of the halo change a sum by this share of what near sums leave out
_FIRST_EPS = 1e-2  # eps of the common grid over tol in the first round: holds a fortieth of the largest sum
GRIDS = 5  # grids of one size in memory at a time: the sum, its transform, and a copy
_DISK = 1.6e-8  # seconds to write and read again one point of a grid
_SOURCE_BYTES = 120  # for each point of a tile and its halo: as read and as arranged, order, boxes and tree
_GRID_BYTES, _CROWDED = 24, 20  # for each point of a transform's grid; at most so many of these per point


@dataclass(frozen=True, eq=False)
class SurveyPlan:
    """All that passes 2 and 3 need to know about the whole."""

    whole: Whole
    halos: Array  # (T,) radius
    cutoffs: tuple[float, float]  # of the whole cloud, see `near.cutoffs`
    coarse: tuple[int, ...] = ()  # scales by the common grid
    bytes: float = 0.0  # what one task is expected to take at most
    tile_bytes: tuple[float, ...] = ()  # of each scale, if it is local

    @classmethod
    def bare(cls, whole: Whole, settings: SurveySettings) -> SurveyPlan:
        """Before anything is chosen."""
        tol, exact = settings.tolerance, settings.exact
        halos = np.sqrt(4.0 * whole.scales * cutoffs(_HALO_TOL * tol, whole.count, True, exact)[1])
        return cls(whole, halos, cutoffs(tol, whole.count, True, exact))

    @property
    def local(self) -> list[int]:
        """The other scales, by a tile and its halo."""
        return [a for a in range(len(self.halos)) if a not in self.coarse]

    @cached_property
    def frame(self) -> tuple[Array, int]:
        """The common coordinates: normalised = (original - origin) * 2**-exponent, as in `arrange`."""
        return origin_and_exponent(np.stack([self.whole.low, self.whole.high]))

    def places(self, points: Array) -> Array:
        """Points (m, n) as (n, m) in the common coordinates, one row per axis."""
        origin, exponent = self.frame
        return np.ascontiguousarray(((points - origin) * math.ldexp(1.0, -exponent)).T)

    def unit(self, a: int) -> float:
        """The time of a scale in the common coordinates."""
        return math.ldexp(float(self.whole.scales[a]), -2 * self.frame[1])

    def eps(self, settings: SurveySettings) -> float:
        """eps of the common grid in the first round."""
        return max(GRID_EPS, _FIRST_EPS * settings.tolerance)

    def modes(self, a: int, eps: float, settings: SurveySettings) -> ModeGrid:
        """The modes of the common grid of a scale."""
        t, (low, high) = self.unit(a), self.places(np.stack([self.whole.low, self.whole.high])).T.copy()
        accuracy = log_accuracy_for(eps, settings.exact)
        return ModeGrid.over(low, high, low, high, t, accuracy, 4.0 * t * self.cutoffs[1])

    def grid(self, a: int, eps: float, settings: SurveySettings, n_threads: int) -> UpsampledGrid:
        """The common grid of a coarse scale."""
        return UpsampledGrid(self.modes(a, eps, settings), eps, n_threads)


def make_plan(whole: Whole, tiles: Sequence[Tile], settings: SurveySettings, memory: float) -> SurveyPlan:
    """Choose for every scale; a ValueError says what does not fit and what to change."""
    plan = SurveyPlan.bare(whole, settings)
    around = points_with_halo(tiles, plan.halos)  # (tiles, T)
    counts = np.array([tile.count for tile in tiles])
    own = float(counts.max()) * _output_bytes(settings)
    coarse, by_tiles, needed = [], [], own
    for a in range(len(plan.halos)):
        size = grid_points(plan, a, settings)
        by_grid = 8.0 * size * GRIDS + own
        grids = tile_grids(plan, a, tiles, settings)
        by_tile = _tile_bytes(grids, around[:, a], counts, settings)
        grid_fits, tile_fits = by_grid <= memory and size <= GRID_LIMIT, by_tile <= memory
        if not grid_fits and not tile_fits:
            held = f"{int(around[:, a].max()):,} points and takes {by_tile / 2**30:.3g} GiB"
            raise ValueError(
                f"scale {a} (sqrt(t) = {math.sqrt(whole.scales[a]):.4g}) does not fit into "
                f"{memory / 2**30:.3g} GiB: the largest tile with its halo of {plan.halos[a]:.4g} holds "
                f"{held}, a common grid has {size:.3g} points (at most {GRID_LIMIT:.3g}) and takes "
                f"{by_grid / 2**30:.3g} GiB; use smaller tiles, more memory, a larger tol, or other lengths"
            )
        cheaper = grid_seconds(plan, size, settings) < tile_seconds(grids, around[:, a], counts, settings)
        if grid_fits and (cheaper or not tile_fits):
            coarse.append(a)
        needed = max(needed, by_grid if a in coarse else by_tile)
        by_tiles.append(by_tile)
    return replace(plan, coarse=tuple(coarse), bytes=needed, tile_bytes=tuple(by_tiles))


def points_with_halo(tiles: Sequence[Tile], halos: Array) -> Array:
    """At most how many points each tile holds with its halo, (tiles, T)."""
    out = np.zeros((len(tiles), len(halos)))
    sound = [k for k, tile in enumerate(tiles) if tile.sound]
    boxes = np.concatenate([tiles[k].box for k in sound])
    for k in sound:
        low, high = tiles[k].low, tiles[k].high
        near = np.sqrt(gap_squared(low, high, boxes)) <= halos.max()
        for other in np.array(sound)[near]:
            gaps = gap_squared(low, high, tiles[other].run_boxes)
            runs = (gaps[:, None] <= halos * halos).sum(axis=0)
            out[k] += tiles[k].count if other == k else np.minimum(tiles[other].count, RUN * runs)
    return out


# --- what each way costs: seconds on one core, and bytes -----------------------------


def grid_points(plan: SurveyPlan, a: int, settings: SurveySettings) -> float:
    """Points of the common grid of a scale, in the first round."""
    return plan.modes(a, plan.eps(settings), settings).size * UPSAMPLING**settings.n_dims


def grid_seconds(plan: SurveyPlan, size: float, settings: SurveySettings) -> float:
    """Of a coarse scale: every point spread, looked at and read; one transform there and back."""
    costs, n = settings.costs, settings.n_dims
    points = 3.0 * plan.whole.count * costs.read * float(width_for(plan.eps(settings))) ** n
    written = min(32.0, max(1.0, 5e8 / size))  # batches
    return points + size * (costs.fourier * math.log2(size) + costs.modes + written * _DISK)


def tile_grids(plan: SurveyPlan, a: int, tiles: Sequence[Tile], settings: SurveySettings) -> Array:
    """Points of the grid of one transform over each tile with its halo; 0 for tiles that are left out."""
    t = float(plan.whole.scales[a])
    accuracy = log_accuracy_for(_tile_eps(settings), settings.exact)
    out = np.zeros(len(tiles))
    for k, tile in enumerate(tiles):
        if tile.sound:
            low = np.maximum(tile.low - plan.halos[a], plan.whole.low)
            high = np.minimum(tile.high + plan.halos[a], plan.whole.high)
            modes = ModeGrid.over(tile.low, tile.high, low, high, t, accuracy, 4.0 * t * plan.cutoffs[1])
            out[k] = modes.size * UPSAMPLING**settings.n_dims
    return out


def _tile_eps(settings: SurveySettings) -> float:
    return max(GRID_EPS, 0.1 * settings.tolerance)


def tile_seconds(grids: Array, around: Array, counts: Array, settings: SurveySettings) -> float:
    """At most that of a local scale: one transform over each tile with its halo, for sums and energy."""
    costs = settings.costs
    kernel = costs.read * float(width_for(_tile_eps(settings))) ** settings.n_dims
    grid = grids[grids > 0.0]
    points = float((around + 2.0 * counts).sum())
    return kernel * points + float((3.0 * grid * (0.5 * costs.fourier * np.log2(grid) + costs.modes)).sum())


def _tile_bytes(grids: Array, around: Array, counts: Array, settings: SurveySettings) -> float:
    """About what the largest tile takes: its points and halo, its outputs, and the grid of a transform.

    A transform whose grid is much larger than the number of points is never the cheapest way.
    """
    grid = _GRID_BYTES * np.minimum(np.minimum(grids, GRID_LIMIT), _CROWDED * around)
    return float((around * _SOURCE_BYTES + counts * _output_bytes(settings) + grid).max())


def _output_bytes(settings: SurveySettings) -> float:
    """For each point of a tile: outputs while they are put in order, or columns and the file made of them."""
    columns = (3 + settings.n_dims) * settings.n_scales
    return max(
        200.0 + 16.0 * columns, 220.0 + (32.0 if settings.point_dtype == "float64" else 16.0) * columns
    )
