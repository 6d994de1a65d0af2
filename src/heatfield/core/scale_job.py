"""One scale in progress: which targets are summed how, and the near sums among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from .._base.check import Array
from .._base.threads import pieces, run_pieces
from .arrange import BLOCK
from .buffers import Buffers
from .cloud import ArrangedCloud
from .fourier.kernel import GRID_EPS, GRID_LIMIT, UPSAMPLING
from .moments import ROOT_SQUARE, ROOT_WEIGHT, Request
from .near import cutoffs, double_precision_cutoff

# eps of the first try, in units of tol: the largest sum may be this many times (over 2) the own one.
_FIRST_TRY = 0.1
# The smallest error that is asked of any transform.
LEAST_EPS = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-6}
_NONE, _NO_ROWS = np.empty(0), np.empty(0, np.int64)
# Share of the points of their blocks from which scattered targets are summed block by block.
_FULL = 0.6


@dataclass(frozen=True, eq=False)
class Part:
    """A run of targets; those in the box (low, high) by transform to ``eps``, the others directly."""

    first: int
    last: int
    node: int  # of the tree of targets
    low: Array | None = None
    high: Array | None = None
    eps: float = 0.0


@dataclass
class ScaleJob:
    """One scale in progress."""

    targets: ArrangedCloud
    sources: ArrangedCloud
    t: Array
    request: Request
    offsets: Array
    weights: Array | None
    weight_cutoff: float
    energy_cutoff: float
    sums: Array
    advance: Callable[[int], object]
    buffers: Buffers = field(default_factory=Buffers)

    def __post_init__(self) -> None:
        self.roots = _NONE if self.weights is None else np.sqrt(self.weights)
        self.total_weight = (
            self.sources.points.shape[1] if self.weights is None else float(self.weights.sum())
        )
        self.same = self.targets is self.sources
        # Where the sums of g are known already, what follows from w alone does not reach as far.
        self.moments_cutoff = self.energy_cutoff
        if self.request.energy:
            m = self.sources.points.shape[1]
            self.moments_cutoff = cutoffs(self.request.tol, m, False, self.request.fourth_moment)[1]
        self.least = LEAST_EPS[self.request.dtype]
        self.first_eps = max(self.least, _FIRST_TRY * self.request.tol)

    def plan(self) -> tuple[list[Part], float]:
        """What to do with which targets, and the price: the cheapest cut through the tree (cpp/tree.cpp).

        For every node three prices are compared: sum its points' neighbours directly, take one transform over
        the box of its crowded points with a halo and sum the others directly, or leave it to its two halves.
        A cloud that fills its extent ends as one transform, fine scales as direct sums, a tight cluster in
        a wide extent as a transform over the cluster alone; nothing is ever quadratic. A transform over
        points of very different surroundings has more digits, or leaves the isolated ones to direct sums.
        """
        n, m = self.sources.points.shape
        _, begin, size = self.targets.tree
        blocks = (len(begin) + 1) // 2
        chosen, boxes, eps = np.empty(blocks, np.int64), np.empty((blocks, 2, n)), np.empty(blocks)
        price, count = _core.plan(
            self.targets.points, *self.targets.tree, self.offsets, m, *self.sources.tree,
            double_precision_cutoff(self.request.tol, self.request.energy), self.weight_cutoff,
            self.first_eps, self.least, n <= 3 and self.t.shape[0] == 1,
            chosen=chosen, boxes=boxes, epss=eps, **self.transforms(float(self.t.mean())),
        )  # fmt: skip
        parts = []
        for i, (low, high), error in zip(
            chosen[:count].tolist(), boxes[:count], eps[:count].tolist(), strict=True
        ):
            first = int(begin[i]) * BLOCK
            last = min(self.targets.points.shape[1], int(begin[i] + size[i]) * BLOCK)
            # Copies: the whole table of boxes would stay in memory.
            if error:
                parts.append(Part(first, last, i, low.copy(), high.copy(), error))
            else:
                parts.append(Part(first, last, i))
        return parts, price

    def rows_in(self, part: Part) -> np.ndarray:
        """The targets of a part that lie in its box."""
        if part.low is None or part.high is None:
            return np.empty(0, np.int64)
        corners = self.targets.tree[0][part.node]
        if (corners[0] >= part.low).all() and (corners[1] <= part.high).all():
            return np.arange(part.first, part.last)
        places = self.targets.points[:, part.first : part.last]
        inside = ((places >= part.low[:, None]) & (places <= part.high[:, None])).all(axis=0)
        return part.first + np.flatnonzero(inside)

    def transforms(self, t: float) -> dict[str, Any]:
        """What the price of a transform depends on: ``TransformCosts`` of cpp/core.hpp."""
        return {
            "t": t,
            "energy_cutoff": self.energy_cutoff,
            "fourth": self.request.fourth_moment,
            "prices": np.array([*self.request.costs.as_array(), UPSAMPLING, GRID_EPS, GRID_LIMIT]),
        }

    def near(self, ranges: list[tuple[int, int]]) -> None:
        """Sum ranges of targets directly."""
        self._near(
            self.targets.points, _NO_ROWS, self.t, self.offsets, self.sums, ranges, energy=self.request.energy
        )

    def near_at(self, rows: np.ndarray, counted: bool) -> None:
        """Sum scattered targets directly; ``counted`` says that the totals of g have them already."""
        table = np.empty((rows.size, self.sums.shape[1]))
        t = self.t[rows] if self.t.shape[0] > 1 else self.t
        offsets = self.offsets[rows] if self.offsets.size else self.offsets
        places = np.ascontiguousarray(self.targets.points[:, rows])
        # A few rows of each block are summed with those of the next ones, many by themselves.
        blocks = 1 + np.count_nonzero(np.diff(rows // BLOCK)) if rows.size else 0
        together = rows if rows.size >= _FULL * BLOCK * blocks else _NO_ROWS
        energy = self.request.energy and not counted
        self._near(places, together, t, offsets, table, [(0, rows.size)], energy=energy)
        if counted:
            table[:, ROOT_WEIGHT : ROOT_SQUARE + 1] = self.sums[rows, ROOT_WEIGHT : ROOT_SQUARE + 1]
        self.sums[rows] = table

    def _near(
        self,
        places: Array,
        rows: np.ndarray,
        t: Array,
        offsets: Array,
        table: Array,
        ranges: list[tuple[int, int]],
        *,
        energy: bool,
    ) -> None:
        request = self.request
        cutoff = self.energy_cutoff if energy else self.moments_cutoff
        single = request.dtype == np.float32 and float(t.min(initial=np.inf)) >= _core.TINY_TIME

        def work(first: int, last: int) -> None:
            _core.near(
                places, rows, t, offsets, self.sources.points, self.roots, self.sources.boxes,
                *self.sources.tree, double_precision_cutoff(request.tol, energy), self.weight_cutoff, cutoff,
                request.tol, request.directions, request.fourth_moment, energy, single, first, last, table,
            )  # fmt: skip
            self.advance(last - first)

        step = BLOCK * 16
        todo = [(first + a, first + b) for first, last in ranges for a, b in pieces(last - first, step)]
        run_pieces(work, todo, self.request.n_threads)
