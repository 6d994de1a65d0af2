"""The sums of `sums` with the sources found through the tree: for far places on large clouds.

The same references and the same arithmetic, so far away nothing underflows or cancels; only the
searches for the strongest source and for the blocks that count do not look at every block.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._base.compile import compiled
from .._base.exp2 import LOG2_E
from .._cloud.arrange import BLOCK
from .._cloud.box_tree import DEPTH
from .._sums.columns import FIRST, WEIGHT, column_count
from .._sums.pair_kernels import TILE
from .sums import SEARCHES, move_reference, read_sums, sum_runs

# Error of a squared distance, relative to itself: where that is small in units of 4t, the nearest source is
# the strongest without a second look from there.
ROUNDING = 1e-15


@compiled()
def heaviest_in_nodes(heaviest: Any, begin: Any, size: Any) -> Any:
    """The largest logarithm of a weight in each node, from that of each block."""
    out = np.empty(begin.shape[0])
    for i in range(begin.shape[0] - 1, -1, -1):
        if size[i] == 1:
            out[i] = heaviest[begin[i]]
        else:
            out[i] = max(out[i + 1], out[i + 2 * ((size[i] + 1) // 2)])
    return out


@compiled(inner=True)
def _node_excess(node: Any, place: Any, centre: Any, h: Any) -> float:
    """The smallest excess that a source in a node can have."""
    total = 0.0
    for k in range(place.shape[0]):
        step = min(max(place[k], node[0, k]), node[1, k]) - centre[k]
        total += step * (step - 2.0 * h[k])
    return total


@compiled(inner=True)
def _strongest(
    sources: Any, logs: Any, nodes: Any, begin: Any, size: Any, heaviest: Any,
    place: Any, centre: Any, h: Any, rate: float, stack: Any,
) -> int:  # fmt: skip
    """The source of largest exponent."""
    n, m = sources.shape
    found, best = -1, -np.inf
    stack[0] = 0
    top = 1
    while top:
        top -= 1
        i = stack[top]
        if heaviest[i] + rate * _node_excess(nodes[i], place, centre, h) <= best:
            continue
        if size[i] == 1:
            for j in range(begin[i] * BLOCK, min(m, (begin[i] + 1) * BLOCK)):
                more = 0.0
                for k in range(n):
                    step = sources[k, j] - centre[k]
                    more += step * (step - 2.0 * h[k])
                if logs[j] + rate * more > best:
                    found, best = j, logs[j] + rate * more
            continue
        left, right = i + 1, i + 2 * ((size[i] + 1) // 2)
        if heaviest[left] + rate * _node_excess(nodes[left], place, centre, h) > heaviest[
            right
        ] + rate * _node_excess(nodes[right], place, centre, h):
            left, right = right, left
        stack[top], stack[top + 1] = left, right  # the more promising one is taken first
        top += 2
    return found


@compiled(inner=True)
def _find_runs(
    m: int, nodes: Any, begin: Any, size: Any, heaviest: Any, place: Any, centre: Any, h: Any,
    rate: float, floor: float, stack: Any, begins: Any, ends: Any, sources: Any, logs: Any,
) -> int:  # fmt: skip
    """The blocks that hold an exponent of at least ``floor``, as runs of columns in order."""
    more = np.empty(BLOCK)
    runs = 0
    stack[0] = 0
    top = 1
    while top:
        top -= 1
        i = stack[top]
        if heaviest[i] + rate * _node_excess(nodes[i], place, centre, h) < floor:
            continue
        if size[i] > 1:
            stack[top], stack[top + 1] = i + 2 * ((size[i] + 1) // 2), i + 1
            top += 2
            continue
        first, last = begin[i] * BLOCK, min(m, (begin[i] + 1) * BLOCK)
        # A box is a poor bound far away: most of those that reach the floor hold no source that does.
        count = last - first
        more[:] = 0.0
        for k in range(place.shape[0]):
            row, middle, twice = sources[k, first:last], centre[k], 2.0 * h[k]
            for j in range(count):
                step = row[j] - middle
                more[j] += step * (step - twice)
        strongest = -np.inf
        for j in range(count):
            strongest = max(strongest, logs[first + j] + rate * more[j])
        if strongest < floor:
            continue
        if runs > 0 and ends[runs - 1] == first:
            ends[runs - 1] = last
        else:
            begins[runs], ends[runs] = first, last
            runs += 1
    return runs


@compiled()
def field_sums_by_tree(
    sources: Any, logs: Any, nodes: Any, begin: Any, size: Any, heaviest: Any, t: float,
    places: Any, nearest: Any, first: int, last: int, log_accuracy: float, moments: bool, out: Any,
) -> None:  # fmt: skip
    """Fill ``out[first:last]``, (q, `field_columns`), at one time; arguments as of `field_sums`.

    ``heaviest`` belongs to the nodes; ``log_accuracy`` is log(1 / error). ``nearest`` is the strongest
    source of each place, up to rounding, or -1 where it is not known.
    """
    n, m = sources.shape
    blocks = (m + BLOCK - 1) // BLOCK
    tile = np.empty((n + 4, TILE + 24))
    sums = np.empty(column_count(n, moments))
    begins, ends = np.empty(blocks, np.int64), np.empty(blocks, np.int64)
    stack = np.empty(2 * DEPTH, np.int64)
    centre, h, offset = np.empty(n), np.empty(n), np.empty(n)
    rate = -LOG2_E / (8.0 * t)
    tiny = 0.01 * math.exp(-log_accuracy)
    # What is left out must be small beside the strongest source, for the moments also when it is
    # multiplied by r**2 / 2t. Normalised, no r**2 exceeds 4n.
    log_reach = log_accuracy + math.log(m) + (math.log1p(2.0 * n / t) if moments else 0.0)
    for i in range(first, last):
        place = places[i]
        centre[:] = place
        h[:] = 0.0
        star = nearest[i]
        sure = False
        if star >= 0:
            move_reference(sources, star, place, centre, h)
            square = 0.0
            for k in range(n):
                square += h[k] * h[k]
            sure = ROUNDING * square <= 4.0 * t * tiny
        for _ in range(SEARCHES):
            if sure:
                break
            found = _strongest(sources, logs, nodes, begin, size, heaviest, place, centre, h, rate, stack)
            if found == star:
                break
            star = found
            move_reference(sources, star, place, centre, h)
        floor = logs[star] - 0.5 * LOG2_E * log_reach
        runs = _find_runs(
            m, nodes, begin, size, heaviest, place, centre, h, rate, floor, stack, begins, ends, sources, logs
        )
        offset[:] = 0.0
        for _ in range(2):
            sum_runs(
                sums, tile, sources, logs, begins, ends, runs, centre, h, offset, rate, logs[star], moments
            )
            if read_sums(out[i], sums, h, offset, t, logs[star], moments):
                break
            for k in range(n):
                offset[k] += sums[FIRST + k] / sums[WEIGHT]
