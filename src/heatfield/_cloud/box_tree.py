"""A tree of boxes over the blocks of an arranged cloud, and the walks through it.

The kd order halves the blocks again and again and so defines the tree: a node is a
run of blocks, its left child the first half (rounded up), its right child the rest. The
nodes are stored in pre-order: the left child of node i is i + 1, the right one
i + 2 * (blocks of the left child). Nothing but the boxes has to be kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._base.check import Array
from .._base.compile import compiled
from .arrange import BLOCK

# Corners of the nodes, first block of each, and how many blocks it has: see `grow`.
Tree = tuple[Any, Any, Any]
# Deeper than any tree: the number of blocks halves at every level.
DEPTH = 64


def grow(boxes: Array) -> Tree:
    """The tree over block boxes (2, n, blocks).

    Returns ``nodes`` (count, 2, n), the corners of each node; ``begin`` and ``size``, the
    first block of each node and how many it has.
    """
    n, blocks = boxes.shape[1:]
    count = max(0, 2 * blocks - 1)
    nodes, begin, size = np.empty((count, 2, n)), np.empty(count, np.int64), np.empty(count, np.int64)
    _core.grow(boxes, nodes, begin, size)
    return nodes, begin, size


def nearest_source(targets: Array, sources: Array, tree: Tree) -> tuple[Array, np.ndarray]:
    """Squared distance of each target (n, q) to the nearest source, and which one that is (-1: none)."""
    squares, which = np.empty(targets.shape[1]), np.empty(targets.shape[1], np.int64)
    _core.nearest_source(targets, sources, *tree, squares, which)
    return squares, which


@compiled(inline=True, inner=True)
def node_gap_squared(low: Any, high: Any, nodes: Any, i: int) -> float:
    """Smallest squared distance between the box (low, high) and that of node i."""
    total = 0.0
    for k in range(low.shape[0]):
        step = max(0.0, max(nodes[i, 0, k] - high[k], low[k] - nodes[i, 1, k]))
        total += step * step
    return total


@compiled(inline=True, inner=True)
def node_reach_squared(low: Any, high: Any, nodes: Any, i: int) -> float:
    """Largest squared distance between the box (low, high) and that of node i."""
    total = 0.0
    for k in range(low.shape[0]):
        step = max(high[k] - nodes[i, 0, k], nodes[i, 1, k] - low[k])
        total += step * step
    return total


@compiled(inner=True)
def points_in(begin: int, size: int, m: int) -> int:
    """How many points a run of blocks holds; only the very last block may be short."""
    return min(m, (begin + size) * BLOCK) - begin * BLOCK


@compiled(inner=True)
def _walk(
    nodes: Any, begin: Any, size: Any, low: Any, high: Any, cut: float, estimate: bool, m: int, found: Any
) -> int:  # fmt: skip
    """The blocks within ``cut`` (squared) of the box into ``found``, or about how many points."""
    stack = np.empty(DEPTH, np.int64)
    stack[0] = 0
    top = 1 if nodes.shape[0] else 0
    count = 0
    while top:
        top -= 1
        i = stack[top]
        if node_gap_squared(low, high, nodes, i) > cut:
            continue
        if size[i] == 1 or node_reach_squared(low, high, nodes, i) <= cut:
            if estimate:
                count += points_in(begin[i], size[i], m)
            else:
                for b in range(begin[i], begin[i] + size[i]):
                    found[count] = b
                    count += 1
            continue
        if estimate:
            diagonal = apart = 0.0
            for k in range(low.shape[0]):
                diagonal += (nodes[i, 1, k] - nodes[i, 0, k]) ** 2
                middle = 0.5 * (nodes[i, 0, k] + nodes[i, 1, k])
                apart += max(0.0, max(middle - high[k], low[k] - middle)) ** 2
            if diagonal <= 0.5 * cut:
                if apart <= cut:
                    count += points_in(begin[i], size[i], m)
                continue
        # The left child is taken first, so the blocks come out in order.
        stack[top] = i + 2 * ((size[i] + 1) // 2)
        stack[top + 1] = i + 1
        top += 2
    return count


@compiled()
def blocks_within(nodes: Any, begin: Any, size: Any, low: Any, high: Any, cut: float, found: Any) -> int:
    """Write the blocks whose box is within ``cut`` (squared) of the box (low, high); return how many."""
    return _walk(nodes, begin, size, low, high, cut, False, 0, found)


@compiled()
def estimate_within(nodes: Any, begin: Any, size: Any, low: Any, high: Any, cut: float, m: int) -> int:
    """About how many points lie within ``cut`` (squared) of the box (low, high).

    A node whose diagonal is below 0.7 of the distance counts wholly or not at all, so
    that the time does not grow with the number of points.
    """
    return _walk(nodes, begin, size, low, high, cut, True, m, size)
