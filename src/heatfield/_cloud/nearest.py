"""Distance of every point to the nearest distinct one, exact, without a table of distances.

Small clouds compare blocks, large ones search the tree of boxes. Copies of one place are counted node by
node, never pair by pair, so a cloud of a million equal points takes no longer than any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import compiled
from .._base.select import largest_of
from .._base.threads import pieces, run_pieces
from .arrange import BLOCK, block_gap_squared
from .box_tree import DEPTH, Tree, node_gap_squared, points_in

# Minima and maxima vectorise only if the compiler may ignore NaN, and validated points have none. No more
# is allowed: a fused product here, and none in a copy of the function inlined elsewhere, would change bits.
_ORDERED = {"nnan", "nsz"}
# Up to so many points all pairs take less time than to find out which blocks are far.
_FEW = 320


@compiled(_ORDERED, inner=True)
def _nearest_in_block(sources: Any, i: int, start: int, stop: int, nearest: float) -> tuple[float, int]:
    """Smallest positive squared distance from point i to a block, and how many lie exactly on it."""
    same = 0
    if sources.shape[0] == 3:  # written out: an inner loop over the axes would stop the vector code
        x, y, z = sources[0], sources[1], sources[2]
        for j in range(start, stop):
            dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
            square = dx * dx + dy * dy + dz * dz
            same += square == 0.0
            nearest = min(nearest, square if square > 0.0 else np.inf)
        return nearest, same
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
    if m <= _FEW:
        for i in range(m):
            nearest[i], same[i] = _nearest_in_block(sources, i, 0, m, np.inf)
        return nearest, same
    for a in range(blocks):
        start, stop = a * BLOCK, min(m, (a + 1) * BLOCK)
        for i in range(start, stop):
            nearest[i], same[i] = _nearest_in_block(sources, i, start, stop, nearest[i])
        farthest = largest_of(nearest, start, stop)
        for b in range(blocks):
            if b == a or block_gap_squared(boxes[0, :, a], boxes[1, :, a], boxes, b) > farthest:
                continue
            for i in range(start, stop):
                if block_gap_squared(sources[:, i], sources[:, i], boxes, b) <= nearest[i]:
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


def nearest_of_many(sources: Any, tree: Tree, n_threads: int = 1) -> tuple[Any, Any]:
    """`nearest_distinct` through the tree of boxes, in threads."""
    m, blocks = sources.shape[1], (len(tree[0]) + 1) // 2
    nearest, same = np.full(m, np.inf), np.zeros(m, np.int64)
    run_pieces(
        lambda first, last: nearest_by_tree(sources, *tree, first, last, nearest, same),
        pieces(blocks, 4096),
        n_threads,
    )
    return nearest, same


@compiled(inner=True)
def _is_one_place(node: Any) -> bool:
    same = True
    for k in range(node.shape[1]):
        same = same and node[0, k] == node[1, k]
    return same


@compiled()
def nearest_by_tree(
    sources: Any, nodes: Any, begin: Any, size: Any, first: int, last: int, nearest: Any, same: Any
) -> None:
    """`nearest_distinct` for the blocks first to last, into ``nearest`` and ``same``."""
    n, m = sources.shape
    stack = np.empty(DEPTH, np.int64)
    low, high, at = np.empty(n), np.empty(n), np.empty(n)
    for a in range(first, last):
        start, stop = a * BLOCK, min(m, (a + 1) * BLOCK)
        for i in range(start, stop):
            nearest[i], same[i] = _nearest_in_block(sources, i, start, stop, np.inf)
        for k in range(n):
            low[k] = high[k] = sources[k, start]
            for j in range(start + 1, stop):
                low[k] = min(low[k], sources[k, j])
                high[k] = max(high[k], sources[k, j])
        farthest = largest_of(nearest, start, stop)
        stack[0] = 0
        top = 1
        while top:
            top -= 1
            b = stack[top]
            if node_gap_squared(low, high, nodes, b) > farthest or (size[b] == 1 and begin[b] == a):
                continue
            holds_own = begin[b] <= a < begin[b] + size[b]
            if size[b] > 1 and (holds_own or not _is_one_place(nodes[b])):
                left, right = b + 1, b + 2 * ((size[b] + 1) // 2)
                # The nearer child is searched first, which shortens the search of the other.
                if node_gap_squared(low, high, nodes, left) <= node_gap_squared(low, high, nodes, right):
                    left, right = right, left
                stack[top], stack[top + 1] = left, right
                top += 2
                continue
            begins, count = begin[b] * BLOCK, points_in(begin[b], size[b], m)
            one_place = _is_one_place(nodes[b])
            for i in range(start, stop):
                for k in range(n):
                    at[k] = sources[k, i]
                if node_gap_squared(at, at, nodes, b) > nearest[i]:
                    continue
                # Of many copies of one place, one gives the distance of all.
                seen = 1 if one_place else count
                nearest[i], hits = _nearest_in_block(sources, i, begins, begins + seen, nearest[i])
                same[i] += hits * (count // seen)
            farthest = largest_of(nearest, start, stop)
