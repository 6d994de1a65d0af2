"""`ArrangedCloud`: points in kd order, and everything that is derived from their arrangement alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import _core
from .._base.check import Array
from .._base.threads import pieces, run_pieces
from .arrange import arrange, bounding_boxes, kd_order
from .box_tree import Tree, grow, nearest_source
from .nearest import diameter_of_many, nearest_distinct, nearest_of_many

# Points from which nearest neighbours and the diameter are found through the tree.
MANY = 4096
# Places that one thread takes at a time.
_PIECE = 2048


@dataclass(frozen=True, eq=False)
class ArrangedCloud:
    """Points arranged for the sums (see `arrange`): the only form in which the library uses them.

    Query points off the data are arranged in the same way, in the units of their cloud (`arrange_like`).
    """

    points: Array  # (n, m), normalised, in kd order
    boxes: Array  # (2, n, blocks)
    order: np.ndarray  # row of each column in the caller's array
    origin: Array  # original = normalised * 2**exponent + origin
    exponent: int
    n_threads: int = 1

    @classmethod
    def of(cls, points: Array, n_threads: int = 1) -> ArrangedCloud:
        """Arrange a checked (m, n) array."""
        return cls(*arrange(points, n_threads), n_threads)

    def arrange_like(self, places: Array) -> ArrangedCloud:
        """Places (q, n) anywhere in space, given in the caller's coordinates."""
        return self.arranged((places - self.origin) * math.ldexp(1.0, -self.exponent))

    def arranged(self, places: Array) -> ArrangedCloud:
        """Places (q, n) that are in the units of this cloud already."""
        order = kd_order(places)
        return self._with(np.ascontiguousarray(places[order].T), order)

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
        """The tree over the blocks: see `box_tree.grow`."""
        return grow(self.boxes)

    @cached_property
    def _neighbours(self) -> tuple[Array, np.ndarray]:
        if self.order.size > MANY:
            return nearest_of_many(self.points, self.tree, self.n_threads)
        return nearest_distinct(self.points, self.boxes)

    @property
    def nearest(self) -> Array:
        """Squared distance of each point to the nearest distinct one, normalised."""
        return self._neighbours[0]

    @cached_property
    def spacing(self) -> float:
        """Mean nearest-neighbour distance over distinct points; NaN for fewer than two."""
        return math.ldexp(_core.spacing(*self._neighbours), self.exponent)

    @cached_property
    def diameter(self) -> float:
        """Largest distance between two points."""
        if self.order.size > MANY:
            square = diameter_of_many(self.points, self.tree)
        else:
            square = _core.diameter(self.points, self.boxes)
        return math.ldexp(math.sqrt(square), self.exponent)

    def nearest_to(self, places: Array, n_threads: int) -> tuple[Array, np.ndarray]:
        """Squared distance of each place (n, q) to the nearest point, normalised, and its column."""
        squares, which = np.empty(places.shape[1]), np.empty(places.shape[1], np.int64)
        tree = self.tree

        def work(first: int, last: int) -> None:
            some = np.ascontiguousarray(places[:, first:last])
            squares[first:last], which[first:last] = nearest_source(some, self.points, tree)

        run_pieces(work, pieces(squares.size, _PIECE), n_threads)
        return squares, which
