"""Which scale is computed how, and whether that fits into the memory of a worker: decided before the work.

A scale is *local* where a tile with a halo around it holds all that matters to its points. It is *coarse*
where the halo would be larger than the tiles: then all tiles are spread to one common grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._base.check import Array
from ..core.arrange import origin_and_exponent
from ..core.fourier import ModeGrid, UpsampledGrid
from ..core.fourier.kernel import GRID_EPS, GRID_LIMIT, UPSAMPLING
from ..core.fourier.modes import log_accuracy_for
from ..core.near import cutoffs
from ._first_pass import Whole
from ._prices import bytes_of_output, does_not_fit, grid_seconds, tile_bytes, tile_grids, tile_seconds
from ._settings import SurveySettings
from ._store import Meta, count_around, gap_squared

# Points outside of the halo may change a sum by this share of what near sums leave out anyway.
_HALO_TOL = 0.1
# eps of the common grid in units of tol, in the first round: sums of a fortieth of the largest are held.
FIRST_EPS = 1e-2
# Grids of one size that are in memory at a time: the sum, its transform, and a copy.
GRIDS = 5


@dataclass(frozen=True, eq=False)
class Frame:
    """The common coordinates: normalised = (original - origin) * 2**-exponent, as in `arrange`."""

    origin: Array
    exponent: int
    low: Array
    high: Array

    @classmethod
    def of(cls, whole: Whole) -> Frame:
        """For the extent of the whole cloud."""
        origin, exponent = origin_and_exponent(np.stack([whole.low, whole.high]))
        factor = math.ldexp(1.0, -exponent)
        return cls(origin, exponent, (whole.low - origin) * factor, (whole.high - origin) * factor)

    def places(self, points: Array) -> Array:
        """Points (m, n) as (n, m), one row per axis."""
        return np.ascontiguousarray(((points - self.origin) * math.ldexp(1.0, -self.exponent)).T)

    def unit(self, t: float) -> float:
        """A time in these coordinates."""
        return math.ldexp(t, -2 * self.exponent)


@dataclass(frozen=True, eq=False)
class Plan:
    """All that passes 2 and 3 need to know about the whole."""

    whole: Whole
    frame: Frame
    coarse: tuple[int, ...]  # scales by the common grid
    local: tuple[int, ...]
    halos: Array  # (T,) radius
    cutoffs: tuple[float, float]  # of the whole cloud, see `near.cutoffs`
    bytes: float  # what one task is expected to take at most

    def eps(self, tol: float) -> float:
        """eps of the common grid in the first round."""
        return max(GRID_EPS, FIRST_EPS * tol)

    def grid(self, a: int, eps: float, settings: SurveySettings, n_threads: int) -> UpsampledGrid:
        """The common grid of a coarse scale."""
        t, low, high = self.frame.unit(float(self.whole.scales[a])), self.frame.low, self.frame.high
        accuracy = log_accuracy_for(eps, settings.exact)
        modes = ModeGrid.over(low, high, low, high, t, accuracy, 4.0 * t * self.cutoffs[1])
        return UpsampledGrid(modes, eps, n_threads)


def make_plan(whole: Whole, metas: Sequence[Meta], settings: SurveySettings, memory: float) -> Plan:
    """Choose for every scale; a ValueError says what does not fit and what to change."""
    tol, exact = settings.tolerance, settings.exact
    halo_cutoff = cutoffs(_HALO_TOL * tol, whole.count, True, exact)[1]
    halos = np.sqrt(4.0 * whole.scales * halo_cutoff)
    frame = Frame.of(whole)
    limits = cutoffs(tol, whole.count, True, exact)
    around = points_with_halo(metas, halos)  # (tiles, T)
    counts = np.array([meta.count for meta in metas])
    own = counts * bytes_of_output(settings)
    bare = Plan(whole, frame, (), (), halos, limits, 0.0)
    coarse, local, needed = [], [], float(own.max())
    for a in range(len(halos)):
        size = grid_points(bare, a, settings)
        by_grid = 8.0 * size * GRIDS + float(own.max())
        grids = tile_grids(bare, a, metas, settings)
        by_tile = tile_bytes(grids, around[:, a], counts, settings)
        grid_fits, tile_fits = by_grid <= memory and size <= GRID_LIMIT, by_tile <= memory
        if not grid_fits and not tile_fits:
            raise ValueError(does_not_fit(whole, a, halos[a], around[:, a], by_tile, size, by_grid, memory))
        cheaper = grid_seconds(bare, size, settings) < tile_seconds(grids, around[:, a], counts, settings)
        if grid_fits and (cheaper or not tile_fits):
            coarse.append(a)
            needed = max(needed, by_grid)
        else:
            local.append(a)
            needed = max(needed, by_tile)
    return Plan(whole, frame, tuple(coarse), tuple(local), halos, limits, needed)


def grid_points(plan: Plan, a: int, settings: SurveySettings) -> float:
    """Points of the common grid of a scale, in the first round."""
    eps = plan.eps(settings.tolerance)
    t, low, high = plan.frame.unit(float(plan.whole.scales[a])), plan.frame.low, plan.frame.high
    accuracy = log_accuracy_for(eps, settings.exact)
    modes = ModeGrid.over(low, high, low, high, t, accuracy, 4.0 * t * plan.cutoffs[1])
    return modes.size * UPSAMPLING ** len(low)


def points_with_halo(metas: Sequence[Meta], halos: Array) -> Array:
    """At most how many points each tile holds with its halo, (tiles, T)."""
    out = np.zeros((len(metas), len(halos)))
    for k, meta in enumerate(metas):
        if not meta.sound:
            continue
        for other in metas:
            if not other.sound:
                continue
            gap = math.sqrt(gap_squared(meta.low, meta.high, np.stack([other.low, other.high])[None])[0])
            for a, reach in enumerate(halos):
                if other is meta:
                    out[k, a] += meta.count
                elif gap <= reach:
                    out[k, a] += count_around(other, meta.low, meta.high, reach)
    return out
