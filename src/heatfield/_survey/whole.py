"""The cloud that the tiles are together: exact diameter, mean spacing and scales, as on one machine.

The largest distance is that of two vertices of the tiles' convex hulls. The nearest neighbour of a point is
searched in its own tile, then in a halo, and for the few isolated points tile by tile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, KDTree, QhullError

from .._base.check import Array, check_extent, check_times
from .._base.progress import progress_bar
from .._base.threads import stop_if_asked
from .._signatures.scales import geometric
from ..core.cloud import ArrangedCloud
from ..core.nearest import nearest_of_many
from .settings import Context, SurveySettings
from .tiles import Tile, gap_squared, halo, load_tiles, points_around, points_of

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

    The largest distance from anywhere to the points is that to one of these. Points on a plane or a line
    are projected to it first; what they deviate, below 1e-13 of their extent, is the error of a distance.
    """
    if len(points) <= _FEW:
        return np.array(points)
    return np.asarray(points[_vertices(points - points.min(axis=0))])


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

    A place that several points share counts once in all, whichever tiles these are in. The sum is infinite
    where there is no other place.
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
