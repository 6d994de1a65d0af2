"""What the arrangement alone tells: nearest neighbours and the diameter, exact, without a table of distances.

Small clouds compare blocks, large ones search the tree of boxes. Copies of one place are counted node by
node, never pair by pair, so a cloud of a million equal points takes no longer than any other.
"""

from __future__ import annotations

import numpy as np

from .. import _core
from .._base.check import Array
from .._base.threads import pieces, run_pieces
from .box_tree import Tree


def nearest_distinct(sources: Array, boxes: Array) -> tuple[Array, np.ndarray]:
    """For each point: squared distance to the nearest point elsewhere, and how many share its place.

    The distance is infinite where all points coincide.
    """
    nearest, same = _empty(sources)
    _core.nearest(sources, boxes, nearest, same)
    return nearest, same


def nearest_of_many(sources: Array, tree: Tree, n_threads: int = 1) -> tuple[Array, np.ndarray]:
    """`nearest_distinct` through the tree of boxes, in threads."""
    nearest, same = _empty(sources)
    run_pieces(
        lambda first, last: _core.nearest_by_tree(sources, *tree, first, last, nearest, same),
        pieces((len(tree[0]) + 1) // 2, 4096),
        n_threads,
    )
    return nearest, same


def _empty(sources: Array) -> tuple[Array, np.ndarray]:
    m = sources.shape[1]
    return np.empty(m), np.empty(m, np.int64)


def diameter_of_many(sources: Array, tree: Tree) -> float:
    """The largest squared distance through the tree: a very distant pair, then what could be farther.

    Nodes whose directions from the centre are not nearly opposite are passed over (see cpp/cloud.cpp).
    """
    best = _core.distant_pair(sources)
    count = len(tree[1])
    boxes, radius = np.empty((count, 2, len(sources))), np.empty(count)
    _core.directions(sources, *tree, boxes, radius)
    for first, last in pieces(count, 32768):  # in pieces, so that Ctrl-C takes effect soon
        best = _core.farthest_by_tree(sources, *tree, boxes, radius, first, last, best)
    return best
