"""The largest distance between two points, exact, without a table of distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import compiled
from .._base.threads import pieces
from .arrange import BLOCK, block_reach_squared
from .box_tree import DEPTH, Tree, node_reach_squared

# Minima and maxima vectorise only if the compiler may ignore NaN, and validated points have none. No more
# is allowed: a fused product here, and none in a copy of the function inlined elsewhere, would change bits.
_ORDERED = {"nnan", "nsz"}


@compiled(_ORDERED, inner=True)
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


@compiled(_ORDERED, inner=True)
def _largest(sources: Any, i: int, start: int, stop: int, best: float) -> float:
    if sources.shape[0] == 3:  # written out: an inner loop over the axes would stop the vector code
        x, y, z = sources[0], sources[1], sources[2]
        for j in range(start, stop):
            dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
            best = max(best, dx * dx + dy * dy + dz * dz)
        return best
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

    Going from a point to its farthest, and on from there, soon finds a very distant
    pair; after that only pairs of blocks whose corners are farther apart are examined.
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
        low, high = boxes[0, :, a], boxes[1, :, a]
        b = a
        while b < blocks:
            if block_reach_squared(low, high, boxes, b) <= best:
                b += 1
                continue
            start = b * BLOCK
            while b < blocks and block_reach_squared(low, high, boxes, b) > best:
                b += 1
            # Runs of blocks are scanned whole: to bound every point takes longer than the vector code.
            for i in range(a * BLOCK, min(m, (a + 1) * BLOCK)):
                best = _largest(sources, i, start, min(m, b * BLOCK), best)
    return best


def diameter_of_many(sources: Any, tree: Tree) -> float:
    """`diameter_squared` through the tree of boxes: a very distant pair, then what could be farther."""
    best = distant_pair_squared(sources)
    direction_boxes, radius = bound_directions(sources, *tree)
    for first, last in pieces(radius.size, 32768):  # in pieces, so that Ctrl-C takes effect soon
        best = farthest_by_tree(sources, *tree, direction_boxes, radius, first, last, best)
    return float(best)


@compiled()
def distant_pair_squared(sources: Any) -> float:
    """The squared distance of a very distant pair: from a point to its farthest, and on from there."""
    best, here = 0.0, 0
    for _ in range(8):
        square, there = _farthest(sources, here, 0, sources.shape[1])
        if square <= best:
            break
        best, here = square, there
    return best


@compiled()
def bound_directions(sources: Any, nodes: Any, begin: Any, size: Any) -> tuple[Any, Any]:
    """For every node, the box of its points' unit vectors from the cloud's centre, and their largest length.

    Boxes along the axes bound a shell badly: their corners lie outside of it, so that on a sphere
    many blocks seem far enough from every block. Two points are far apart only if their directions
    from the centre are nearly opposite, which the boxes of directions bound well.
    """
    n, m = sources.shape
    count = nodes.shape[0]
    direction_boxes = np.empty((count, 2, n))
    radius = np.zeros(count)
    center = np.empty(n)
    for k in range(n):
        center[k] = 0.5 * (nodes[0, 0, k] + nodes[0, 1, k])
    for i in range(count - 1, -1, -1):
        if size[i] > 1:
            left, right = i + 1, i + 2 * ((size[i] + 1) // 2)
            radius[i] = max(radius[left], radius[right])
            for k in range(n):
                direction_boxes[i, 0, k] = min(direction_boxes[left, 0, k], direction_boxes[right, 0, k])
                direction_boxes[i, 1, k] = max(direction_boxes[left, 1, k], direction_boxes[right, 1, k])
            continue
        for k in range(n):
            direction_boxes[i, 0, k], direction_boxes[i, 1, k] = 1.0, -1.0
        for j in range(begin[i] * BLOCK, min(m, (begin[i] + 1) * BLOCK)):
            square = 0.0
            for k in range(n):
                square += (sources[k, j] - center[k]) ** 2
            length = np.sqrt(square)
            radius[i] = max(radius[i], length)
            for k in range(n):
                along = (sources[k, j] - center[k]) / length if length > 0.0 else 0.0
                direction_boxes[i, 0, k] = min(direction_boxes[i, 0, k], along)
                direction_boxes[i, 1, k] = max(direction_boxes[i, 1, k], along)
    return direction_boxes, radius


@compiled(inner=True)
def _bound_by_direction(direction_boxes: Any, radius: Any, a: int, b: int) -> float:
    """Upper bound of the squared distance between nodes a and b, from their directions.

    |p - q|**2 = (|p| + |q|)**2 - |p| |q| |p/|p| + q/|q||**2, and the last factor is at least the gap
    between the one box of directions and the mirrored other. It grows with |p| and |q|.
    """
    apart = 0.0
    for k in range(direction_boxes.shape[2]):
        step = max(
            0.0,
            max(
                direction_boxes[a, 0, k] + direction_boxes[b, 0, k],
                -direction_boxes[a, 1, k] - direction_boxes[b, 1, k],
            ),
        )
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
    direction_boxes: Any,
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
        if size[a] > 1 or node_reach_squared(nodes[a, 0], nodes[a, 1], nodes, 0) <= best:
            continue
        start, stop = begin[a] * BLOCK, min(m, (begin[a] + 1) * BLOCK)
        stack[0] = 0
        top = 1
        while top:
            top -= 1
            b = stack[top]
            # Every pair occurs from both ends; it is examined from the later block.
            if begin[b] > begin[a] or node_reach_squared(nodes[a, 0], nodes[a, 1], nodes, b) <= best:
                continue
            if _bound_by_direction(direction_boxes, radius, a, b) <= best:
                continue
            if size[b] > 1:
                stack[top], stack[top + 1] = b + 1, b + 2 * ((size[b] + 1) // 2)
                top += 2
                continue
            begins = begin[b] * BLOCK
            for i in range(start, stop):
                for k in range(n):
                    at[k] = sources[k, i]
                if node_reach_squared(at, at, nodes, b) > best:
                    best = _largest(sources, i, begins, min(m, begins + BLOCK), best)
    return best
