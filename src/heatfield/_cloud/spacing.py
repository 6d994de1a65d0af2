"""Nearest neighbours and the diameter, exact, without a table of distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import compiled
from .arrange import BLOCK, gap_squared, reach_squared

# Minima and maxima vectorise only if the compiler may ignore NaN, and validated points have none.
_ORDERED = {"nnan", "nsz", "contract", "reassoc"}


@compiled(_ORDERED)
def _nearest_in_block(sources: Any, i: int, start: int, stop: int, nearest: float) -> tuple[float, int]:
    """Smallest positive squared distance from point i to a block, and how many lie exactly on it."""
    same = 0
    for j in range(start, stop):
        square = 0.0
        for k in range(sources.shape[0]):
            step = sources[k, j] - sources[k, i]
            square += step * step
        same += square == 0.0
        nearest = min(nearest, square if square > 0.0 else np.inf)
    return nearest, same


@compiled()
def nearest_distinct(sources: Any, boxes: Any) -> tuple[Any, Any]:
    """For each point: squared distance to the nearest point elsewhere, and how many share its place.

    The distance is infinite where all points coincide.
    """
    m = sources.shape[1]
    blocks = boxes.shape[2]
    nearest = np.full(m, np.inf)
    same = np.zeros(m, np.int64)
    for a in range(blocks):
        start, stop = a * BLOCK, min(m, (a + 1) * BLOCK)
        for i in range(start, stop):
            nearest[i], same[i] = _nearest_in_block(sources, i, start, stop, nearest[i])
        farthest = nearest[start:stop].max()
        for b in range(blocks):
            if b == a or gap_squared(boxes[0, :, a], boxes[1, :, a], boxes, b) > farthest:
                continue
            for i in range(start, stop):
                if gap_squared(sources[:, i], sources[:, i], boxes, b) <= nearest[i]:
                    found = _nearest_in_block(sources, i, b * BLOCK, min(m, (b + 1) * BLOCK), nearest[i])
                    nearest[i] = found[0]
                    same[i] += found[1]
    return nearest, same


@compiled()
def mean_spacing(nearest: Any, same: Any) -> float:
    """Mean nearest-neighbour distance over distinct points, each place once; NaN if there is only one."""
    total = 0.0
    places = 0.0
    for i in range(nearest.shape[0]):
        total += np.sqrt(nearest[i]) / same[i]
        places += 1.0 / same[i]
    mean = total / places if places > 0.0 else np.nan
    return mean if np.isfinite(mean) else np.nan


@compiled(_ORDERED)
def _farthest(sources: Any, i: int, start: int, stop: int) -> tuple[float, int]:
    best, at = -1.0, i
    for j in range(start, stop):
        square = 0.0
        for k in range(sources.shape[0]):
            step = sources[k, j] - sources[k, i]
            square += step * step
        if square > best:
            best, at = square, j
    return best, at


@compiled(_ORDERED)
def _largest(sources: Any, i: int, start: int, stop: int, best: float) -> float:
    for j in range(start, stop):
        square = 0.0
        for k in range(sources.shape[0]):
            step = sources[k, j] - sources[k, i]
            square += step * step
        best = max(best, square)
    return best


@compiled()
def diameter_squared(sources: Any, boxes: Any) -> float:
    """Largest squared distance between two points.

    Walking from a point to its farthest and on from there soon finds a very long
    pair; after that only pairs of blocks whose corners are farther apart than it
    are looked at.
    """
    m = sources.shape[1]
    blocks = boxes.shape[2]
    best, here = 0.0, 0
    for _ in range(8):
        square, there = _farthest(sources, here, 0, m)
        if square <= best:
            break
        best, here = square, there
    for a in range(blocks):
        for b in range(a, blocks):
            if reach_squared(boxes[0, :, a], boxes[1, :, a], boxes, b) <= best:
                continue
            for i in range(a * BLOCK, min(m, (a + 1) * BLOCK)):
                if reach_squared(sources[:, i], sources[:, i], boxes, b) > best:
                    best = _largest(sources, i, b * BLOCK, min(m, (b + 1) * BLOCK), best)
    return best
