"""A tree of boxes over the blocks of an arranged cloud.

The kd order halves the blocks again and again and so defines the tree: a node is a
run of blocks, its left child the first half (rounded up), its right child the rest. The
nodes are stored in pre-order: the left child of node i is i + 1, the right one
i + 2 * (blocks of the left child). Nothing but the boxes has to be kept. Walks through it: cpp/tree.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._base.check import Array

# Corners of the nodes, first block of each, and how many blocks it has: see `grow`.
Tree = tuple[Any, Any, Any]


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
