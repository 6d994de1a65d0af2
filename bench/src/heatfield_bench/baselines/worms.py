"""Generalised ranks over worms of a two-parameter module on a grid.

The worm of width d >= 1 at the node p is the union of the squares of nodes within d steps (by the larger
coordinate) of p + a (1, -1), for all integers a with |a| <= (l - 1) d. Its generalised rank is the rank of
the map from the limit of the module over the worm to its colimit.

For such a set the limit is that over its minimal nodes, the lower corners of the squares, and the joins of
neighbouring ones; the colimit is that over the maximal nodes, the upper corners, and the meets of
neighbouring ones. Both are fences a_1 <= j_1 >= a_2 <= ... and b_1 >= m_1 <= b_2 >= ..., and all maps from
limit to colimit agree, so that one end of both suffices:

* what the limit has at the end of its fence: from S = all of M(a_1), step by step, S becomes all elements of
  M(a_{k+1}) whose image in M(j_k) is the image of an element of S;
* what becomes zero in the colimit at the end of its fence: from N = 0 in M(b_1), N becomes the image in
  M(b_{k+1}) of all elements of M(m_k) whose image in M(b_k) is in N.

The rank is the dimension of the image of S in M(b_n) modulo N. The module is given by the bars of its
slices and the maps between them (`bifiltration.sliced`): M at a node has the bars alive there as a basis.
Elements are bit sets. Nodes below the grid have no homology, beyond its end everything stays as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heatfield._base.check import Array

from .._tools import compiled
from .bifiltration import Bifiltration, _add, _flip, _last, sliced


def worm_widths(complex_: Bifiltration, degree: int, resolution: int, length: int, count: int) -> Array:
    """(k, codensity, radius): the largest width in steps whose worm at the node has rank at least k.

    0 where even the worm of width 1 has not.
    """
    nodes = np.linspace(0.0, 1.0, resolution)
    found = sliced(complex_, degree, nodes, maps=True)
    first, end = np.searchsorted(nodes, found.birth), np.searchsorted(nodes, found.death)
    keep = first < end  # others are alive at no node
    owner = np.repeat(np.arange(resolution), np.diff(found.starts))[keep]
    starts = np.searchsorted(owner, np.arange(resolution + 1)).astype(np.int64)
    number = np.cumsum(keep) - 1
    edge = keep[found.source] & keep[found.target]
    return _widths(
        starts, first[keep], end[keep], number[found.source[edge]], number[found.target[edge]], length, count
    )


@compiled
def _compose(starts: Any, source: Any, target: Any, owner: Any, words: int) -> Any:
    """table[s, t, i]: the image in slice t of the i-th bar of slice s <= t."""
    n_slices = starts.shape[0] - 1
    most = np.max(np.diff(starts))
    table = np.zeros((n_slices, n_slices, most, words), np.uint64)
    for s in range(n_slices):
        for i in range(starts[s + 1] - starts[s]):
            _flip(table[s, s, i], i)
    for e in range(source.shape[0]):
        s = owner[source[e]]
        _flip(table[s, s + 1, source[e] - starts[s]], target[e] - starts[s + 1])
    for s in range(n_slices):
        for t in range(s + 1, n_slices - 1):
            for i in range(starts[s + 1] - starts[s]):
                _image(table[s, t, i], table[t, t + 1], table[s, t + 1, i])
    return table


@compiled
def _image(bits: Any, rows: Any, out: Any) -> None:
    """The sum of the rows that a bit set names."""
    out[:] = np.uint64(0)
    for w in range(bits.shape[0]):
        left = bits[w]
        while left != np.uint64(0):
            lowest = left & (~left + np.uint64(1))
            place = 0
            for step in (32, 16, 8, 4, 2, 1):
                if lowest >> np.uint64(step) != np.uint64(0):
                    lowest >>= np.uint64(step)
                    place += step
            _add(out, rows[w * 64 + place], out.shape[0])
            left &= left - np.uint64(1)


@compiled
def _reduced(value: Any, tag: Any, rows: Any, tags: Any, pivot: Any) -> int:
    """Reduce by the rows; the pivot that is left, or -1 where nothing is."""
    words = value.shape[0]
    at = _last(value, words - 1)
    while at >= 0 and pivot[at] >= 0:
        _add(value, rows[pivot[at]], words)
        _add(tag, tags[pivot[at]], words)
        at = _last(value, at >> 6)
    return at


@compiled
def _preimage(
    table: Any, bars: Any, mask: Any, space: Any, size: int, work: Any, pivot: Any, out: Any
) -> int:
    """A basis of what a map sends into a space: bars ``bars`` to the rows of ``table``, masked.

    ``space`` holds ``size`` elements that need not be independent; ``out`` may be ``space``.
    """
    rows, tags = work[0], work[1]
    words, count = space.shape[1], 0
    pivot[:] = -1
    for k in range(size):
        rows[count] = space[k]
        tags[count] = np.uint64(0)
        at = _reduced(rows[count], tags[count], rows, tags, pivot)
        if at >= 0:
            pivot[at] = count
            count += 1
    found = 0
    for w in range(words):
        for b in range(64):
            if bars[w] >> np.uint64(b) & np.uint64(1) == np.uint64(0):
                continue
            bar = w * 64 + b
            for v in range(words):
                rows[count, v] = table[bar, v] & mask[v]
            tags[count] = np.uint64(0)
            _flip(tags[count], bar)
            at = _reduced(rows[count], tags[count], rows, tags, pivot)
            if at >= 0:
                pivot[at] = count
                count += 1
            else:
                out[found] = tags[count]
                found += 1
    return found


@compiled
def _masked(space: Any, size: int, mask: Any) -> None:
    for k in range(size):
        for w in range(space.shape[1]):
            space[k, w] &= mask[w]


@compiled
def _rank(
    table: Any, alive: Any, i: int, j: int, d: int, length: int, limit: Any, zero: Any, work: Any, pivot: Any
) -> int:
    """The generalised rank over the worm of width d at codensity i and radius j."""
    top = alive.shape[0] - 1
    reach = (length - 1) * d
    if i - reach - d < 0 or j - reach - d < 0:
        return 0  # a square that begins below the grid
    words = alive.shape[2]
    # The limit, from the square of the smallest radius on.
    s, r = min(top, i + reach - d), min(top, j - reach - d)
    size = 0
    for w in range(words):
        for b in range(64):
            if alive[s, r, w] >> np.uint64(b) & np.uint64(1) != np.uint64(0):
                limit[size] = np.uint64(0)
                _flip(limit[size], w * 64 + b)
                size += 1
    for a in range(-reach, reach):
        s_next, r_next = min(top, i - a - 1 - d), min(top, j + a + 1 - d)
        join = alive[s, r_next]
        _masked(limit, size, join)
        size = _preimage(table[s_next, s], alive[s_next, r_next], join, limit, size, work, pivot, limit)
        if size == 0:
            return 0
        s, r = s_next, r_next
    # What the colimit forgets, from the same side on.
    t, q = min(top, i + reach + d), min(top, j - reach + d)
    gone = 0
    for a in range(-reach, reach):
        t_next, q_next = min(top, i - a - 1 + d), min(top, j + a + 1 + d)
        gone = _preimage(table[t_next, t], alive[t_next, q], alive[t, q], zero, gone, work, pivot, zero)
        _masked(zero, gone, alive[t_next, q_next])
        t, q = t_next, q_next
    # The limit in the last square's upper corner, modulo that.
    rows, tags = work[0], work[1]
    pivot[:] = -1
    count = rank = 0
    for k in range(gone + size):
        tags[count] = np.uint64(0)
        if k < gone:
            rows[count] = zero[k]
        else:
            _image(limit[k - gone], table[s, t], rows[count])
            for w in range(words):
                rows[count, w] &= alive[t, q, w]
        at = _reduced(rows[count], tags[count], rows, tags, pivot)
        if at >= 0:
            pivot[at] = count
            count += 1
            if k >= gone:
                rank += 1
    return rank


@compiled
def _widths(starts: Any, first: Any, end: Any, source: Any, target: Any, length: int, count: int) -> Array:
    n = starts.shape[0] - 1
    out = np.zeros((count, n, n))
    most = np.max(np.diff(starts))
    if most == 0:
        return out
    words = (most + 63) >> 6
    owner = np.empty(first.shape[0], np.int64)
    alive = np.zeros((n, n, words), np.uint64)  # slice, radius
    for s in range(n):
        for bar in range(starts[s], starts[s + 1]):
            owner[bar] = s
            for r in range(first[bar], min(end[bar], n)):
                _flip(alive[s, r], bar - starts[s])
    table = _compose(starts, source, target, owner, words)
    limit, zero = np.zeros((most, words), np.uint64), np.zeros((most, words), np.uint64)
    work, pivot = np.zeros((2, 2 * most + 1, words), np.uint64), np.empty(words * 64, np.int64)
    for i in range(n):
        for j in range(n):
            for d in range(1, n):
                rank = _rank(table, alive, i, j, d, length, limit, zero, work, pivot)
                if rank == 0:
                    break
                for k in range(min(rank, count)):
                    out[k, i, j] = d
    return out
