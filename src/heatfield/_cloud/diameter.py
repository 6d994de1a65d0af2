"""The largest distance between two points, exact, without a table of distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import compiled
from .._base.threads import pieces
from .arrange import BLOCK, reach_squared
from .box_tree import DEPTH, Tree, reach

# Minima and maxima vectorise only if the compiler may ignore NaN, and validated points have none. No more
# is allowed: a fused product here, and none in a copy of the function inlined elsewhere, would change bits.
_ORDERED = {"nnan", "nsz"}


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


def diameter_of_many(sources: Any, tree: Tree) -> float:
    """`diameter_squared` through the tree of boxes: a long pair first, then only what could be longer."""
    best = long_walk(sources)
    compass, radius = directions(sources, *tree)
    for first, last in pieces(radius.size, 32768):  # in pieces, so that Ctrl-C is heard
        best = farthest_by_tree(sources, *tree, compass, radius, first, last, best)
    return float(best)


@compiled()
def long_walk(sources: Any) -> float:
    """The squared length of a very long pair: from a point to its farthest, and on from there."""
    best, here = 0.0, 0
    for _ in range(8):
        square, there = _farthest(sources, here, 0, sources.shape[1])
        if square <= best:
            break
        best, here = square, there
    return best


@compiled()
def directions(sources: Any, nodes: Any, begin: Any, size: Any) -> tuple[Any, Any]:
    """For every node, the box of its points' unit vectors from the cloud's centre, and their largest length.

    Boxes along the axes fit a shell badly: their corners stick out of it, and on a sphere a
    whole cap of blocks looks far enough from every block. Seen from the centre, only what
    lies opposite can be far away.
    """
    n, m = sources.shape
    count = nodes.shape[0]
    compass = np.empty((count, 2, n))
    compass[:, 0], compass[:, 1] = 1.0, -1.0
    radius = np.zeros(count)
    center = 0.5 * (nodes[0, 0] + nodes[0, 1])
    for i in range(count - 1, -1, -1):
        if size[i] > 1:
            left, right = i + 1, i + 2 * ((size[i] + 1) // 2)
            radius[i] = max(radius[left], radius[right])
            for k in range(n):
                compass[i, 0, k] = min(compass[left, 0, k], compass[right, 0, k])
                compass[i, 1, k] = max(compass[left, 1, k], compass[right, 1, k])
            continue
        for j in range(begin[i] * BLOCK, min(m, (begin[i] + 1) * BLOCK)):
            square = 0.0
            for k in range(n):
                square += (sources[k, j] - center[k]) ** 2
            length = np.sqrt(square)
            radius[i] = max(radius[i], length)
            for k in range(n):
                along = (sources[k, j] - center[k]) / length if length > 0.0 else 0.0
                compass[i, 0, k] = min(compass[i, 0, k], along)
                compass[i, 1, k] = max(compass[i, 1, k], along)
    return compass, radius


@compiled()
def _opposite(compass: Any, radius: Any, a: int, b: int) -> float:
    """Upper bound of the squared distance between nodes a and b, from their directions.

    |p - q|**2 = (|p| + |q|)**2 - |p| |q| |p/|p| + q/|q||**2, and the last factor is at least the gap
    between the one box of directions and the mirrored other. It grows with |p| and |q|.
    """
    apart = 0.0
    for k in range(compass.shape[2]):
        step = max(0.0, max(compass[a, 0, k] + compass[b, 0, k], -compass[a, 1, k] - compass[b, 1, k]))
        apart += step * step
    p, q = radius[a], radius[b]
    if apart >= 2.0:  # at a right angle or less the bound no longer grows with both lengths
        return max(p, q) ** 2 + (p * p if p < q else q * q)
    return ((p + q) ** 2 - p * q * apart) * (1.0 + 1e-12)


@compiled()
def farthest_by_tree(
    sources: Any,
    nodes: Any,
    begin: Any,
    size: Any,
    compass: Any,
    radius: Any,
    first: int,
    last: int,
    best: float,
) -> float:
    """Largest squared distance from the nodes first to last to any other point, if above ``best``."""
    n, m = sources.shape
    stack = np.empty(DEPTH, np.int64)
    at = np.empty(n)
    for a in range(first, last):
        if size[a] > 1 or reach(nodes[a, 0], nodes[a, 1], nodes[0]) <= best:
            continue
        start, stop = begin[a] * BLOCK, min(m, (begin[a] + 1) * BLOCK)
        stack[0] = 0
        top = 1
        while top:
            top -= 1
            b = stack[top]
            # Every pair is seen from both ends; the later block looks back at the earlier.
            if begin[b] > begin[a] or reach(nodes[a, 0], nodes[a, 1], nodes[b]) <= best:
                continue
            if _opposite(compass, radius, a, b) <= best:
                continue
            if size[b] > 1:
                stack[top], stack[top + 1] = b + 1, b + 2 * ((size[b] + 1) // 2)
                top += 2
                continue
            begins = begin[b] * BLOCK
            for i in range(start, stop):
                for k in range(n):
                    at[k] = sources[k, i]
                if reach(at, at, nodes[b]) > best:
                    best = _largest(sources, i, begins, min(m, begins + BLOCK), best)
    return best
