"""Which scale is computed how, and whether that fits into memory: decided before the work.

A scale is *local* where a tile with a halo around it holds all that matters to its points. It is *coarse*
where the halo would be larger than the tiles: then all tiles are spread to one common grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._base.check import Array
from ..core.arrange import origin_and_exponent
from ..core.fourier import ModeGrid, UpsampledGrid
from ..core.fourier.kernel import GRID_EPS, GRID_LIMIT, UPSAMPLING, width_for
from ..core.fourier.modes import log_accuracy_for
from ..core.near import cutoffs
from .settings import SurveySettings
from .tiles import RUN, Tile, gap_squared
from .whole import Whole

_HALO_TOL = 0.1  # points outside of the halo change a sum by this share of what near sums leave out
_FIRST_EPS = 1e-2  # eps of the common grid over tol in the first round: holds a fortieth of the largest sum
GRIDS = 5  # grids of one size in memory at a time: the sum, its transform, and a copy
_DISK = 1.6e-8  # seconds to write and read again one point of a grid
_SOURCE_BYTES = 120  # for each point of a tile and its halo: as read and as arranged, order, boxes and tree
_GRID_BYTES, _CROWDED = 24, 20  # for each point of a transform's grid; at most so many of these per point


@dataclass(frozen=True, eq=False)
class Plan:
    """All that passes 2 and 3 need to know about the whole."""

    whole: Whole
    halos: Array  # (T,) radius
    cutoffs: tuple[float, float]  # of the whole cloud, see `near.cutoffs`
    coarse: tuple[int, ...] = ()  # scales by the common grid
    bytes: float = 0.0  # what one task is expected to take at most
    tile_bytes: tuple[float, ...] = ()  # of each scale, if it is local

    @classmethod
    def bare(cls, whole: Whole, settings: SurveySettings) -> Plan:
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


def make_plan(whole: Whole, tiles: Sequence[Tile], settings: SurveySettings, memory: float) -> Plan:
    """Choose for every scale; a ValueError says what does not fit and what to change."""
    plan = Plan.bare(whole, settings)
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


def grid_points(plan: Plan, a: int, settings: SurveySettings) -> float:
    """Points of the common grid of a scale, in the first round."""
    return plan.modes(a, plan.eps(settings), settings).size * UPSAMPLING**settings.n_dims


def grid_seconds(plan: Plan, size: float, settings: SurveySettings) -> float:
    """Of a coarse scale: every point spread, looked at and read; one transform there and back."""
    costs, n = settings.costs, settings.n_dims
    points = 3.0 * plan.whole.count * costs.read * float(width_for(plan.eps(settings))) ** n
    written = min(32.0, max(1.0, 5e8 / size))  # batches
    return points + size * (costs.fourier * math.log2(size) + costs.modes + written * _DISK)


def tile_grids(plan: Plan, a: int, tiles: Sequence[Tile], settings: SurveySettings) -> Array:
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
    width = 8 if settings.point_dtype == "float64" else 4
    return max(200.0 + 16.0 * columns, 100.0 + 4.0 * width * columns + 120.0)
