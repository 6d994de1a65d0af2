"""Nearest neighbours of the points of one tile among those of all tiles: exact, as on one machine."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.spatial import KDTree

from .._base.check import Array
from ..core.cloud import ArrangedCloud
from ..core.nearest import nearest_of_many
from ._settings import Job
from ._store import Meta, gap_squared, halo, points_around, tile_points

# The share of the points whose nearest neighbour is found in a halo; the others search one by one.
_USUAL = 0.999


def spacing_sums(job: Job, number: int, metas: Sequence[Meta], n_threads: int) -> tuple[float, float]:
    """Over the places of a tile: the sum of the distances to the nearest other place, and their number.

    A place that several points share counts once in all, whichever tiles these are in. The sum is infinite
    where there is no other place.
    """
    points = np.array(tile_points(job, number))
    cloud = ArrangedCloud.of(points, n_threads)
    square, same = nearest_of_many(cloud.points, cloud.tree, n_threads)
    distance = np.empty(len(points))
    copies = np.empty(len(points))
    distance[cloud.order] = np.ldexp(np.sqrt(square), cloud.exponent)
    copies[cloud.order] = same
    del cloud, square, same
    finite = distance[np.isfinite(distance)]
    usual = float(np.quantile(finite, _USUAL)) if finite.size else 0.0
    ordinary = np.flatnonzero((distance <= usual) & _reaches(points, distance, usual, number, metas))
    if ordinary.size:
        _search_halo(job, number, metas, points, ordinary, usual, distance, copies)
    others = np.array([k for k, meta in enumerate(metas) if meta.sound and k != number], dtype=int)
    boxes = np.array([[metas[k].low, metas[k].high] for k in others]).reshape(len(others), 2, points.shape[1])
    for i in np.flatnonzero(distance > usual) if len(others) else ():
        gaps = np.sqrt(gap_squared(points[i], points[i], boxes))
        near = np.argsort(gaps, kind="stable")[: int((gaps <= distance[i]).sum())]
        tiles = [(int(others[k]), float(gaps[k])) for k in near]
        distance[i], copies[i] = _search_tiles(job, metas, points[i], tiles, distance[i], copies[i])
    return float((distance / copies).sum()), float((1.0 / copies).sum())


def _reaches(points: Array, distance: Array, usual: float, number: int, metas: Sequence[Meta]) -> np.ndarray:
    """Which points may have a nearer one, or a copy, in another tile not further than ``usual``."""
    found = np.zeros(len(points), bool)
    own = metas[number]
    for other, meta in enumerate(metas):
        if other == number or not meta.sound:
            continue
        box = np.stack([meta.low, meta.high])
        if gap_squared(own.low, own.high, box[None])[0] > usual * usual:
            continue
        step = np.maximum(0.0, np.maximum(box[0] - points, points - box[1]))
        found |= (step * step).sum(axis=1) <= distance * distance
    return found


def _search_halo(
    job: Job, number: int, metas: Sequence[Meta], points: Array, rows: np.ndarray, reach: float,
    distance: Array, copies: Array,
) -> None:  # fmt: skip
    """Compare some points with those of other tiles within ``reach``; write what is found."""
    asked = points[rows]
    around = halo(job, metas, number, asked.min(axis=0), asked.max(axis=0), reach)
    if not len(around):
        return
    places, counts = np.unique(around, axis=0, return_counts=True)
    origin = asked.min(axis=0)
    tree = KDTree(places - origin)
    found, which = tree.query(asked - origin, k=min(2, len(places)))
    found, which = found.reshape(len(rows), -1), which.reshape(len(rows), -1)
    shared = (places[which[:, 0]] == asked).all(axis=1)
    copies[rows] += np.where(shared, counts[which[:, 0]], 0)
    second = found[:, 1] if found.shape[1] > 1 else np.full(len(rows), np.inf)
    nearest = np.where(shared, second, found[:, 0])
    distance[rows] = np.minimum(distance[rows], nearest)


def _search_tiles(
    job: Job,
    metas: Sequence[Meta],
    at: Array,
    tiles: Sequence[tuple[int, float]],
    distance: float,
    copies: float,
) -> tuple[float, float]:
    """The nearest other place of one point, and the copies of its own; ``tiles`` from the nearest on."""
    for other, gap in tiles:
        if gap > distance:
            break
        reach = distance
        if not math.isfinite(reach):  # to the far corner of the tile
            corner = np.maximum(np.abs(at - metas[other].low), np.abs(at - metas[other].high))
            reach = float(np.sqrt((corner * corner).sum()) * (1.0 + 1e-12))
        around = points_around(job, other, metas[other], at, at, reach)
        if not len(around):
            continue
        steps = np.sqrt(((around - at) ** 2).sum(axis=1))
        copies += int((steps == 0.0).sum())
        distance = min(distance, float(steps[steps > 0.0].min(initial=np.inf)))
    return distance, copies
