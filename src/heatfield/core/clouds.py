"""Clouds made ready for the sums: arranged, in a tree, as targets, as ragged batches; and buffers.

To arrange is to do three things, none of which changes a distance by a single bit:

* an axis whose coordinates are all far from zero is moved towards it. The
  subtraction is exact (Sterbenz: both numbers are within a factor of two), so map
  coordinates lose nothing;
* the cloud is scaled by a power of two to an extent in [1, 2), so that squared
  distances neither overflow nor vanish, whatever the unit;
* the points are sorted into blocks of neighbours, each with its bounding box, so
  that later passes skip whole blocks that are too far away to count.

Over the blocks stands a tree of boxes. The kd order halves the blocks again and again and so defines it: a
node is a run of blocks, its left child the first half (rounded up), its right child the rest. The nodes are
stored in pre-order: the left child of node i is i + 1, the right one i + 2 * (blocks of the left child).
Nothing but the boxes has to be kept. It is searched in cpp/tree.cpp.

Nearest neighbours and the diameter are exact and need no table of distances: small clouds compare blocks,
large ones search the tree. Copies of one point are counted node by node, never pair by pair, so a cloud of a
million equal points takes no longer than any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from .. import _core
from .._base.check import Array
from .._base.threads import even_pieces, pieces, run_pieces

BLOCK = _core.BLOCK
# Points from which the work is cut into pieces: for threads, and so that Ctrl-C takes effect soon.
MANY = 100_000
# How many runs the pieces are sorted in; the order does not depend on it.
_RUNS = 64
# Points from which nearest neighbours and the diameter are found through the tree.
BY_TREE = 4096
# Query points that one thread takes at a time.
_PIECE = 2048
# A point is isolated whose nearest distinct one is so many times as far away as that of this share of all
# places. A little more than two, or rounding would decide on lattices, where distances have whole ratios.
ISOLATED_TIMES, ISOLATED_SHARE = 2.001, (9, 10)
# Of fewer distinct points none is isolated.
LEAST_PLACES = 8
# A free array serves where it is at most this many times as large as what is asked for.
_LARGER = 4

# Corners of the nodes, first block of each, and how many blocks it has: see `grow`.
Tree = tuple[Any, Any, Any]


# --- arranging -----------------------------------------------------------------------


def origin_and_exponent(points: Array) -> tuple[Array, int]:
    """A corner to subtract without rounding (0 where none is needed), and log2 of the extent."""
    origin = np.empty(points.shape[1])
    return origin, _core.origin(points, origin)


def kd_order(points: Array, n_threads: int = 1) -> np.ndarray:
    """An order of the points in which every run of `BLOCK` of them is compact in space."""
    m = len(points)
    order, keys = np.arange(m), np.empty(m)
    runs = [(0, m)]
    # The halves of a run do not depend on each other.
    while m > MANY and len(runs) < _RUNS:
        middles = dict.fromkeys(runs, 0)

        def halve(lo: int, hi: int, middles: dict[tuple[int, int], int] = middles) -> None:
            middles[lo, hi] = _core.halve(points, order, keys, lo, hi)

        run_pieces(halve, runs, n_threads)
        runs = [half for (lo, hi), middle in middles.items() for half in ((lo, middle), (middle, hi))]
    run_pieces(lambda lo, hi: _core.sort(points, order, keys, lo, hi), runs, n_threads)
    return order


def arrange(points: Array, n_threads: int = 1) -> tuple[Array, Array, np.ndarray, Array, int]:
    """Sort and normalise a cloud (m, n) for the pair sums.

    Returns ``sources`` (n, m), one row per axis, in kd order; ``boxes`` (2, n, blocks),
    the lower and upper corner of each block; ``order``, the row of each column in
    the caller's cloud; the origin o and the exponent e with original = normalised * 2**e + o.
    """
    m, n = points.shape
    origin, exponent = origin_and_exponent(points)
    order = kd_order(points, n_threads)
    sources, factor = np.empty((n, m)), math.ldexp(1.0, -exponent)
    run_pieces(
        lambda first, last: _core.gather(points, order, origin, factor, first, last, sources),
        pieces(m, MANY),
        n_threads,
    )
    return sources, bounding_boxes(sources), order, origin, exponent


def bounding_boxes(sources: Array) -> Array:
    """Lower and upper corners (2, n, blocks) of the runs of `BLOCK` columns."""
    n, m = sources.shape
    boxes = np.empty((2, n, (m + BLOCK - 1) // BLOCK))
    _core.boxes(sources, boxes)
    return boxes


# --- the tree ------------------------------------------------------------------------


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


def nearest_distinct(sources: Array, boxes: Array) -> tuple[Array, np.ndarray]:
    """For each point: squared distance to the nearest distinct point, and how many points coincide with it.

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


def isolated(points: Array, nearest: Array, ends: np.ndarray) -> np.ndarray:
    """Which points (total, n) of clouds are isolated, from squared distances to the nearest distinct point.

    Every distinct place counts once, so copies of points, or of the whole cloud, change nothing. The nearest
    point of one that is not isolated is not isolated either: without the others no distance changes.
    """
    sizes = np.diff(ends, prepend=0)
    cloud = np.repeat(np.arange(len(ends)), sizes)
    order = np.lexsort((*points.T, cloud))
    rows, cloud, near = points[order], cloud[order], nearest[order]
    first = np.ones(len(rows), bool)
    first[1:] = (cloud[1:] != cloud[:-1]) | (rows[1:] != rows[:-1]).any(axis=1)
    cloud, near = cloud[first], near[first]
    near = near[np.lexsort((near, cloud))]
    places = np.bincount(cloud, minlength=len(ends))
    some = places >= LEAST_PLACES
    limit = np.full(len(ends), np.inf)
    part, whole = ISOLATED_SHARE
    rank = -(-places[some] * part // whole)  # from 1
    limit[some] = ISOLATED_TIMES**2 * near[(np.cumsum(places) - places)[some] + rank - 1]
    return nearest > np.repeat(limit, sizes)


def without_isolated(points: Array, n_threads: int = 1) -> Array:
    """A checked cloud (m, n) without its isolated points."""
    alone = ArrangedCloud.of(points, n_threads).isolated
    return np.delete(points, alone, axis=0) if alone.size else points


# --- one cloud, and where to evaluate ------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArrangedCloud:
    """Points arranged for the sums (see `arrange`): the only form in which the library uses them.

    Query points are arranged in the same way, in the units of their cloud (`arrange_like`).
    """

    points: Array  # (n, m), normalised, in kd order
    boxes: Array  # (2, n, blocks)
    order: np.ndarray  # row of each column in the caller's array
    origin: Array  # original = normalised * 2**exponent + origin
    exponent: int
    n_threads: int = 1

    @classmethod
    def of(cls, points: Array, n_threads: int = 1, *, drop: bool = False) -> ArrangedCloud:
        """Arrange a checked (m, n) array; ``drop`` leaves its isolated points out."""
        cloud = cls(*arrange(points, n_threads), n_threads)
        if drop and (alone := cloud.isolated).size:
            return cls.of(np.delete(points, alone, axis=0), n_threads)
        return cloud

    def arrange_like(self, at: Array) -> ArrangedCloud:
        """Query points (q, n) in the caller's coordinates."""
        return self.arranged((at - self.origin) * math.ldexp(1.0, -self.exponent))

    def arranged(self, at: Array) -> ArrangedCloud:
        """Query points (q, n) that are in the units of this cloud already."""
        order = kd_order(at)
        return self._with(np.ascontiguousarray(at[order].T), order)

    def take(self, columns: np.ndarray) -> ArrangedCloud:
        """Some of the points, by their columns, which stay in kd order."""
        if columns.size == self.points.shape[1]:
            return self
        return self.rearranged(columns, self.order[columns])

    def rearranged(self, columns: np.ndarray, rows: np.ndarray) -> ArrangedCloud:
        """Columns of this cloud, in kd order and perhaps repeated, that belong to other rows."""
        return self._with(np.ascontiguousarray(self.points[:, columns]), rows)

    def _with(self, points: Array, order: np.ndarray) -> ArrangedCloud:
        boxes = bounding_boxes(points)
        return ArrangedCloud(points, boxes, order, self.origin, self.exponent, self.n_threads)

    @cached_property
    def tree(self) -> Tree:
        """The tree over the blocks: see `grow`."""
        return grow(self.boxes)

    @cached_property
    def _neighbours(self) -> tuple[Array, np.ndarray]:
        if self.order.size > BY_TREE:
            return nearest_of_many(self.points, self.tree, self.n_threads)
        return nearest_distinct(self.points, self.boxes)

    @property
    def nearest(self) -> Array:
        """Squared distance of each point to the nearest distinct one, normalised."""
        return self._neighbours[0]

    @property
    def isolated(self) -> np.ndarray:
        """Rows of the points that are isolated (see the function), in the caller's array."""
        if self.order.size < LEAST_PLACES:
            return np.empty(0, np.int64)
        return self.order[isolated(self.points.T, self.nearest, np.array([self.order.size]))]

    @cached_property
    def spacing(self) -> float:
        """Mean nearest-neighbour distance over distinct points; NaN for fewer than two."""
        return math.ldexp(_core.spacing(*self._neighbours), self.exponent)

    @cached_property
    def diameter(self) -> float:
        """Largest distance between two points."""
        if self.order.size > BY_TREE:
            square = diameter_of_many(self.points, self.tree)
        else:
            square = _core.diameter(self.points, self.boxes)
        return math.ldexp(math.sqrt(square), self.exponent)

    def nearest_to(self, at: Array, n_threads: int) -> tuple[Array, np.ndarray]:
        """Squared distance of each query point (n, q) to the nearest point, normalised, and its column."""
        squares, which = np.empty(at.shape[1]), np.empty(at.shape[1], np.int64)
        tree = self.tree

        def work(first: int, last: int) -> None:
            some = np.ascontiguousarray(at[:, first:last])
            squares[first:last], which[first:last] = nearest_source(some, self.points, tree)

        run_pieces(work, pieces(squares.size, _PIECE), n_threads)
        return squares, which


@dataclass(frozen=True)
class Targets:
    """Where to evaluate: all points of a cloud, some of them, or query points.

    The ``order`` of the arranged targets is the row of the answer that each of them fills.
    """

    cloud: ArrangedCloud
    offsets: Array  # squared distance to the nearest source; empty where the targets are sources

    @classmethod
    def every(cls, cloud: ArrangedCloud) -> Targets:
        """All points of the cloud."""
        return cls(cloud, np.empty(0))

    @classmethod
    def at_indices(cls, cloud: ArrangedCloud, indices: np.ndarray) -> Targets:
        """Points of the cloud, by their index."""
        column = np.empty(cloud.order.size, np.int64)
        column[cloud.order] = np.arange(cloud.order.size)
        rows = np.argsort(column[indices], kind="stable")
        return cls(cloud.rearranged(column[indices[rows]], rows), np.empty(0))

    @classmethod
    def at_query_points(cls, cloud: ArrangedCloud, at: Array) -> Targets:
        """Anywhere in space, in the coordinates of the caller's cloud."""
        arranged = cloud.arrange_like(at)
        return cls(arranged, cloud.nearest_to(arranged.points, cloud.n_threads)[0])


# --- many clouds ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Batch:
    """Clouds one after the other, arranged for the sums: the points of cloud c end at ``ends[c]``."""

    n: int
    ends: np.ndarray  # (N,)
    sources: Array  # (n, m) of each cloud, flat
    boxes: Array  # (2, n, blocks) of each cloud, flat
    nearest: Array  # squared distance of each point to the nearest distinct one
    exponents: np.ndarray  # (N,) the unit of length of each cloud is 2**exponent
    extents: Array  # (N, 2) mean spacing and diameter; NaN for fewer than two distinct points

    @classmethod
    def of(cls, clouds: Sequence[Array], *, drop: bool = False) -> Batch:
        """Arrange checked arrays (m, n); ``drop`` leaves isolated points out."""
        points = clouds[0] if len(clouds) == 1 else np.concatenate(clouds)
        ends = np.cumsum([len(cloud) for cloud in clouds])
        if not drop:
            return cls.packed(points, ends)
        orders = np.empty(len(points), np.int64)
        batch = cls.packed(points, ends, orders=orders)
        alone = orders[isolated(points[orders], batch.nearest, ends)]
        if not alone.size:
            return batch
        gone = np.searchsorted(ends, alone, side="right")
        fewer = ends - np.cumsum(np.bincount(gone, minlength=len(ends)))
        return cls.packed(np.delete(points, alone, axis=0), fewer)

    @classmethod
    def packed(
        cls, points: Array, ends: np.ndarray, n_threads: int = 1, orders: np.ndarray | None = None
    ) -> Batch:
        """Arrange clouds that lie one after the other, (total, n); ``orders`` gets the row of each point."""
        n, sizes = points.shape[1], np.diff(ends, prepend=0)
        blocks = np.cumsum(-(-sizes // _core.BLOCK))
        sources, nearest, boxes = np.empty(points.size), np.empty(len(points)), np.empty(2 * n * blocks[-1])
        extents, exponents = np.empty((len(ends), 2)), np.empty(len(ends), np.int64)

        def work(first: int, last: int) -> None:
            rows = slice(ends[first - 1] if first else 0, ends[last - 1])
            begin = blocks[first - 1] if first else 0
            _core.clouds(
                points[rows], ends[first:last] - rows.start, sources[n * rows.start : n * rows.stop],
                boxes[2 * n * begin : 2 * n * blocks[last - 1]], nearest[rows], extents[first:last],
                exponents[first:last], None if orders is None else orders[rows],
            )  # fmt: skip
            if orders is not None:
                orders[rows] += rows.start

        if n_threads == 1:
            work(0, len(ends))
        else:
            run_pieces(work, even_pieces(sizes.tolist()), n_threads)
        return cls(n, ends, sources, boxes, nearest, exponents, extents)

    @classmethod
    def one(cls, cloud: ArrangedCloud) -> Batch:
        """A cloud that is arranged already."""
        n, m = cloud.points.shape
        return cls(
            n, np.array([m]), cloud.points.ravel(), cloud.boxes.ravel(), cloud.nearest,
            np.array([cloud.exponent]), np.empty((1, 2)),
        )  # fmt: skip

    @cached_property
    def sizes(self) -> np.ndarray:
        """(N,) points of each cloud."""
        return np.diff(self.ends, prepend=0)

    @property
    def total(self) -> int:
        """How many points there are."""
        return int(self.ends[-1])

    def at_points(self, values: Array) -> Array:
        """Numbers (T, N) of the clouds as (T, total), or (T, 1) for a single cloud."""
        return values if len(self.ends) == 1 else np.repeat(values, self.sizes, axis=1)


# --- memory --------------------------------------------------------------------------


class Buffers:
    """Large arrays of one call, used again from scale to scale, by any number of threads.

    The system gives a fresh array of many megabytes page by page, which takes as long as computing with it;
    so the grids and tables of one scale serve the next one too.

    Examples
    --------
    >>> buffers = Buffers()
    >>> with buffers.take((2, 3)) as table:
    ...     table[:] = 1.0
    >>> with buffers.take((3, 2)) as other:
    ...     bool(np.shares_memory(table, other))
    True
    """

    def __init__(self) -> None:
        self._free: list[np.ndarray] = []
        self._guard = Lock()

    def borrow(self, shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
        """An array with any numbers in it, for `give_back` later."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        with self._guard:
            fitting = [i for i, raw in enumerate(self._free) if size <= raw.size <= _LARGER * size]
            if fitting:
                raw = self._free.pop(min(fitting, key=lambda i: self._free[i].size))
            else:
                # One that is a little too small is let go: otherwise both would stay in memory.
                smaller = [i for i, raw in enumerate(self._free) if _LARGER * raw.size > size > raw.size]
                if smaller:
                    self._free.pop(max(smaller, key=lambda i: self._free[i].size))
                raw = np.empty(size, np.uint8)
        return raw[:size].view(dtype).reshape(shape)

    def give_back(self, array: np.ndarray) -> None:
        """Nobody uses this array any longer."""
        raw = array
        while isinstance(raw.base, np.ndarray):
            raw = raw.base
        if raw.size:
            with self._guard:
                self._free.append(raw)

    @contextmanager
    def take(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Iterator[np.ndarray]:
        """An array with any numbers in it, free again after the block."""
        array = self.borrow(shape, dtype)
        try:
            yield array
        finally:
            self.give_back(array)
