"""Nearest neighbours and the diameter of large clouds: the same numbers as `spacing`, by the tree of boxes.

Both are exact. Copies of one place are counted node by node, never pair by pair, so a
cloud of a million equal points takes no longer than any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import compiled
from .._base.threads import pieces, run_pieces
from .arrange import BLOCK
from .box_tree import DEPTH, gap, grow, points_in, reach
from .spacing import _farthest, _largest, _nearest_in_block

# Points from which the tree pays.
MANY = 4096


def nearest_of_many(sources: Any, boxes: Any, n_threads: int = 1) -> tuple[Any, Any]:
    """`spacing.nearest_distinct`, spread over threads."""
    m, blocks = sources.shape[1], boxes.shape[2]
    tree = grow(boxes)
    nearest, same = np.full(m, np.inf), np.zeros(m, np.int64)
    run_pieces(
        lambda first, last: nearest_by_tree(sources, *tree, first, last, nearest, same),
        pieces(blocks, 4096),
        n_threads,
    )
    return nearest, same


def diameter_of_many(sources: Any, boxes: Any) -> float:
    """`spacing.diameter_squared`: a long pair first, then only what could be longer."""
    tree = grow(boxes)
    best = long_walk(sources)
    compass, radius = directions(sources, *tree)
    for first, last in pieces(radius.size, 32768):  # in pieces, so that Ctrl-C is heard
        best = farthest_by_tree(sources, *tree, compass, radius, first, last, best)
    return float(best)


@compiled()
def _is_one_place(node: Any) -> bool:
    same = True
    for k in range(node.shape[1]):
        same = same and node[0, k] == node[1, k]
    return same


@compiled()
def nearest_by_tree(
    sources: Any, nodes: Any, begin: Any, size: Any, first: int, last: int, nearest: Any, same: Any
) -> None:
    """`spacing.nearest_distinct` for the blocks first to last, into ``nearest`` and ``same``."""
    n, m = sources.shape
    stack = np.empty(DEPTH, np.int64)
    low, high, at = np.empty(n), np.empty(n), np.empty(n)
    for a in range(first, last):
        start, stop = a * BLOCK, min(m, (a + 1) * BLOCK)
        for i in range(start, stop):
            nearest[i], same[i] = _nearest_in_block(sources, i, start, stop, np.inf)
        for k in range(n):
            low[k], high[k] = sources[k, start:stop].min(), sources[k, start:stop].max()
        farthest = nearest[start:stop].max()
        stack[0] = 0
        top = 1
        while top:
            top -= 1
            b = stack[top]
            if gap(low, high, nodes[b]) > farthest or (size[b] == 1 and begin[b] == a):
                continue
            holds_own = begin[b] <= a < begin[b] + size[b]
            if size[b] > 1 and (holds_own or not _is_one_place(nodes[b])):
                left, right = b + 1, b + 2 * ((size[b] + 1) // 2)
                # The nearer child is looked at first: it narrows the search for the other.
                if gap(low, high, nodes[left]) <= gap(low, high, nodes[right]):
                    left, right = right, left
                stack[top], stack[top + 1] = left, right
                top += 2
                continue
            begins, count = begin[b] * BLOCK, points_in(begin[b], size[b], m)
            one_place = _is_one_place(nodes[b])
            for i in range(start, stop):
                for k in range(n):
                    at[k] = sources[k, i]
                if gap(at, at, nodes[b]) > nearest[i]:
                    continue
                # Of many copies of one place, one tells the distance of all.
                seen = 1 if one_place else count
                nearest[i], hits = _nearest_in_block(sources, i, begins, begins + seen, nearest[i])
                same[i] += hits * (count // seen)
            farthest = nearest[start:stop].max()


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
