"""The fast path: the sums of one scale to a tolerance, by the plan's mixture of near sums and transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._base.check import Array
from .._base.threads import pieces, run_alone, run_pieces
from .._cloud.arrange import BLOCK
from .._cloud.box_tree import blocks_within, estimate_within, grow
from .costs import Costs
from .dense import DIGITS
from .dense_kernels import HALF_SQUARE, HALF_WEIGHT, WEIGHT, column_count
from .fourier.by_finufft import Grid, digits_for, fourier_sums, reads_grid
from .fourier.kernel import FINER
from .near import double_radius, near_sums, radii
from .pricing import GRID_LIMIT, ScalePlan, chosen_nodes, price_scale, transform_cost

# The transform's error stays below this many times eps times the largest sum (measured: below 1.4).
SAFETY = 2.0
# eps of the first try, in units of tol: the largest sum may be this many times (over 2) the own one.
_FIRST_TRY = 0.1
LEAST_EPS = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-6}
# Points from which one transform is given all threads; smaller ones run side by side.
_ALONE = 200_000
_NONE = np.empty(0)


@dataclass(frozen=True)
class Places:
    """Points in kd order with the tree over their blocks."""

    points: Array  # (n, m)
    boxes: Array
    tree: tuple[Array, np.ndarray, np.ndarray]

    @classmethod
    def of(cls, points: Array, boxes: Array) -> Places:
        """From the arrays that `_cloud.arrange` makes."""
        return cls(points, boxes, grow(boxes))


@dataclass(frozen=True)
class Wish:
    """What to sum, and how well."""

    tol: float
    spectrum: bool
    fourth: bool
    half: bool  # the totals for E2 and C2; only where the targets are the sources
    dtype: np.dtype
    n_threads: int
    costs: Costs


def scale_sums(
    targets: Places,
    sources: Places,
    t: Array,
    wish: Wish,
    *,
    offsets: Array = _NONE,
    weights: Array | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> tuple[Array, ScalePlan]:
    """The table of sums (q, columns) of `dense_kernels` at one scale, rows in the targets' order.

    ``t`` is (1,), or (q,) with a time of its own for each target. ``offsets`` are the squared
    distances of targets that are no sources to the nearest source. The sums of g are right in
    total only. ``advance`` is told how many targets are done.
    """
    n, q = targets.points.shape
    m = sources.points.shape[1]
    uneven = 1.0 if weights is None else float(weights.mean() / weights.min())
    full, wide = radii(wish.tol, int(min(m * uneven, 1e300)), wish.half)
    sums = np.zeros((q, column_count(n, wish.spectrum)))
    job = _Job(targets, sources, t, wish, offsets, weights, full, wide, sums, advance)
    todo, seconds = job.plan()
    report = ScalePlan(float(t[0]), "near", expected_seconds=seconds)
    boxes = [part for part in todo if part.low is not None]
    large = [part for part in boxes if part.last - part.first > _ALONE or len(boxes) < wish.n_threads]
    small = [part for part in boxes if part not in large]
    lonely: list[np.ndarray] = []
    outside: list[np.ndarray] = []

    def transform(part: _Part, n_threads: int) -> None:
        rows = job.rows_in(part)
        if rows.size < part.last - part.first:
            outside.append(np.setdiff1d(np.arange(part.first, part.last), rows, assume_unique=True))
        if rows.size:
            lonely.append(job.transform(part, rows, n_threads, report))

    for part in large:
        run_alone(lambda part=part: transform(part, wish.n_threads))  # type: ignore[misc]
    run_pieces(lambda a, _: transform(small[a], 1), pieces(len(small), 1), wish.n_threads)
    direct = [(part.first, part.last) for part in todo if part.low is None]
    job.near(direct)
    if outside:
        job.near_at(np.sort(np.concatenate(outside)), counted=False)
    if lonely:
        rest = np.sort(np.concatenate(lonely))
        report.points_checked = rest.size
        job.near_at(rest, counted=True)
    report.points_near = sum(last - first for first, last in direct) + sum(rows.size for rows in outside)
    report.points_transformed = q - report.points_near
    _explain(report, len(boxes), full)
    return sums, report


def _explain(report: ScalePlan, boxes: int, full: float) -> None:
    report.transforms = boxes
    if boxes == 0:
        report.reason = (
            f"neighbours within {math.sqrt(4.0 * full):.3g} sqrt(t) are cheaper than any transform"
        )
        return
    report.method = "fourier" if boxes == 1 and report.points_near == 0 else "boxes"
    grid = " x ".join(map(str, report.largest_grid))
    report.reason = (
        f"{boxes} transform{'s' if boxes > 1 else ''} of up to {grid} modes for "
        f"{report.points_transformed:,} points, {report.points_checked:,} of them too lonely for its error "
        f"and summed directly; {report.points_near:,} points near"
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """A run of targets; those in the box (low, high) by transform to ``eps``, the others directly."""

    first: int
    last: int
    low: Array | None = None
    high: Array | None = None
    eps: float = 0.0


@dataclass
class _Job:
    """One scale in progress."""

    targets: Places
    sources: Places
    t: Array
    wish: Wish
    offsets: Array
    weights: Array | None
    full: float
    wide: float
    sums: Array
    advance: Callable[[int], object]

    def __post_init__(self) -> None:
        self.roots = _NONE if self.weights is None else np.sqrt(self.weights)
        self.mass = self.sources.points.shape[1] if self.weights is None else float(self.weights.sum())
        self.same = self.targets is self.sources
        self.least = LEAST_EPS[self.wish.dtype]
        self.first_eps = max(self.least, _FIRST_TRY * self.wish.tol)

    def plan(self) -> tuple[list[_Part], float]:
        """What to do with which targets, and the price."""
        n, m = self.sources.points.shape
        choice, price, boxes, eps = price_scale(
            self.targets.points, *self.targets.tree, self.offsets, m, *self.sources.tree,
            float(self.t.mean()), double_radius(self.wish.tol, self.wish.half), self.full, self.wide,
            self.first_eps, self.least,
            *self._transforms(), self.wish.costs.as_array(), n <= 3 and self.t.shape[0] == 1,
        )  # fmt: skip
        _, begin, size = self.targets.tree
        parts = []
        for i, is_transform in zip(*chosen_nodes(choice, size), strict=True):
            first, last = begin[i] * BLOCK, min(self.targets.points.shape[1], (begin[i] + size[i]) * BLOCK)
            low, high = boxes[i]
            parts.append(_Part(first, last, low, high, eps[i]) if is_transform else _Part(first, last))
        return parts, float(price[0])

    def rows_in(self, part: _Part) -> np.ndarray:
        """The targets of a part that lie in its box."""
        if part.low is None or part.high is None:
            return np.empty(0, np.int64)
        places = self.targets.points[:, part.first : part.last]
        inside = ((places >= part.low[:, None]) & (places <= part.high[:, None])).all(axis=0)
        return part.first + np.flatnonzero(inside)

    def _transforms(self) -> tuple[int, bool, bool]:
        """Packed transforms where no grid is read, whether the fourth moment counts, double precision."""
        n = self.sources.points.shape[0]
        fields = (1 + n + n * (n + 1) // 2 if self.wish.spectrum else 2) + self.wish.fourth
        return (fields + 1) // 2, self.wish.fourth, self.wish.dtype == np.float64

    def _transform_seconds(self, low: Array, high: Array, p: int, q: int, eps: float) -> float:
        """The price of one transform over a box with p sources and q targets."""
        return transform_cost(
            low, high, self.sources.tree[0][0], float(self.t[0]), self.wide, eps, float(p), float(q),
            *self._transforms(), self.wish.costs.as_array(),
        )  # fmt: skip

    def _near_seconds(self, rows: np.ndarray) -> float:
        """The price of summing some targets directly, from the neighbours of a few of them."""
        sample = rows[:: max(1, rows.size // 16)]
        t, prices = float(self.t[0]), self.wish.costs
        total = prices.target * sample.size
        zones = (double_radius(self.wish.tol, self.wish.half), self.full, self.wide)
        for i in sample:
            at = np.ascontiguousarray(self.targets.points[:, i])
            before = 0
            for zone, price in zip(zones, (prices.pair, prices.single, prices.ring), strict=True):
                cut = 4.0 * t * zone + (self.offsets[i] if self.offsets.size else 0.0)
                within = estimate_within(*self.sources.tree, at, at, cut, self.sources.points.shape[1])
                total += price * (within - before)
                before = within
        return total * rows.size / max(1, sample.size)

    def transform(self, part: _Part, rows: np.ndarray, n_threads: int, report: ScalePlan) -> np.ndarray:
        """Sum some targets by transform; return those where its error would break the promise."""
        t, eps, todo, half = float(self.t[0]), part.eps, rows, self.wish.half
        places = self._places(rows)
        low, high = places.min(axis=1), places.max(axis=1)
        around, weights = self._around(low, high, math.sqrt(4.0 * t * self.wide))
        everything = around.shape[1] == self.sources.points.shape[1]
        same = self.same and everything and rows.size == self.targets.points.shape[1]
        if around.shape[1] == 0:
            return rows
        box = around.min(axis=1), around.max(axis=1)
        left_out = 0.0 if everything else self.mass * math.exp(-self.wide)
        while True:
            grid = Grid.over(low, high, *box, t, digits_for(eps, self.wish.fourth), 4.0 * t * self.wide)
            finer_grid = FINER if reads_grid(eps, self.wish.dtype) else 2.0
            # More digits than the plan asked for may not fit into memory. The first try always runs: it also
            # gives the totals of g, which those summed directly afterwards count on.
            if todo is not rows and grid.size * finer_grid ** len(low) > 2.0 * GRID_LIMIT:
                self.advance(rows.size - todo.size)
                return todo
            if grid.size > math.prod(report.largest_grid or (0,)):
                report.largest_grid = grid.modes
            table, largest = fourier_sums(
                places if todo is rows else self._places(todo), around, weights, grid, t, eps,
                spectrum=self.wish.spectrum, fourth=self.wish.fourth, half=half,
                same=same and todo is rows, dtype=self.wish.dtype, n_threads=n_threads,
            )  # fmt: skip
            error = SAFETY * eps * largest + left_out
            good = 0.8 * self.wish.tol * table[:, WEIGHT] >= error
            totals = (table if half else self.sums[rows[:1]])[0, HALF_WEIGHT : HALF_SQUARE + 1].copy()
            self._store(todo, good, table)
            self.sums[rows[0], HALF_WEIGHT : HALF_SQUARE + 1] = totals  # of the whole box, with its first row
            failed = todo[~good]
            # Once more with more digits, if that is cheaper than summing the rest directly.
            wanted = 0.3 * self.wish.tol * max(1.0, float(table[~good, WEIGHT].min(initial=np.inf))) / largest
            finer = max(self.least, min(wanted, 1e-2 * eps))
            if (
                failed.size == 0
                or finer > 0.5 * eps
                or self._near_seconds(failed)
                < self._transform_seconds(low, high, around.shape[1], failed.size, finer)
            ):
                self.advance(rows.size - failed.size)
                return failed
            todo, eps, half = failed, finer, False

    def _places(self, rows: np.ndarray) -> Array:
        """Targets by their rows; without a copy where they are a run."""
        if rows[-1] - rows[0] == rows.size - 1:
            return self.targets.points[:, rows[0] : rows[-1] + 1]
        return np.ascontiguousarray(self.targets.points[:, rows])

    def _store(self, rows: np.ndarray, good: np.ndarray, table: Array) -> None:
        if not good.all():
            self.sums[rows[good]] = table[good]
        elif rows[-1] - rows[0] == rows.size - 1:
            self.sums[rows[0] : rows[-1] + 1] = table
        else:
            self.sums[rows] = table

    def _around(self, low: Array, high: Array, halo: float) -> tuple[Array, Array | None]:
        """The sources within the halo of a box, and their weights."""
        found = np.empty(self.sources.boxes.shape[2], np.int64)
        count = blocks_within(*self.sources.tree, low, high, halo * halo, found)
        m = self.sources.points.shape[1]
        columns = (found[:count, None] * BLOCK + np.arange(BLOCK)).ravel()
        columns = columns[columns < m]
        # A block may reach far beyond the halo, and the grid must not.
        places = self.sources.points[:, columns]
        inside = ((places >= low[:, None] - halo) & (places <= high[:, None] + halo)).all(axis=0)
        if columns.size == m and inside.all():
            return self.sources.points, self.weights
        return places[:, inside], None if self.weights is None else self.weights[columns[inside]]

    def near(self, ranges: list[tuple[int, int]]) -> None:
        """Sum ranges of targets directly."""
        self._near(self.targets.points, self.t, self.offsets, self.sums, ranges)

    def near_at(self, rows: np.ndarray, counted: bool) -> None:
        """Sum scattered targets directly; ``counted`` says that the totals of g have them already."""
        table = np.empty((rows.size, self.sums.shape[1]))
        t = self.t[rows] if self.t.shape[0] > 1 else self.t
        offsets = self.offsets[rows] if self.offsets.size else self.offsets
        self._near(np.ascontiguousarray(self.targets.points[:, rows]), t, offsets, table, [(0, rows.size)])
        if counted:
            table[:, HALF_WEIGHT : HALF_SQUARE + 1] = self.sums[rows, HALF_WEIGHT : HALF_SQUARE + 1]
        self.sums[rows] = table

    def _near(
        self, places: Array, t: Array, offsets: Array, table: Array, ranges: list[tuple[int, int]]
    ) -> None:
        like = np.empty(0, self.wish.dtype)

        def work(first: int, last: int) -> None:
            near_sums(
                places, t, offsets, self.sources.points, self.roots, self.sources.boxes, *self.sources.tree,
                first, last, self.full, self.wide, self.wish.tol,
                self.wish.spectrum, self.wish.fourth, self.wish.half, like, table,
            )  # fmt: skip
            self.advance(last - first)

        step = BLOCK * 16
        todo = [(first + a, first + b) for first, last in ranges for a, b in pieces(last - first, step)]
        run_pieces(work, todo, self.wish.n_threads)


def fast_seconds(places: Places, unit: Array, wish: Wish) -> float:
    """What the fast path would take on one core."""
    full, wide = radii(wish.tol, places.points.shape[1], wish.half)
    total = 0.0
    for a in range(unit.shape[1]):
        t = np.ascontiguousarray(unit[:, a])
        job = _Job(places, places, t, wish, _NONE, None, full, wide, _NONE, lambda _: None)
        total += job.plan()[1]
    return total


def dense_seconds(places: Places, unit: Array, wish: Wish) -> float:
    """What the dense path would take on one core, from the neighbours of a few points."""
    n, m = places.points.shape
    spread = DIGITS[wish.dtype] + math.log(m)
    total = 0.0
    sample = np.unique(np.linspace(0, m - 1, 64).astype(int))
    for i in sample:
        at = np.ascontiguousarray(places.points[:, i])
        for t in unit[i if unit.shape[0] > 1 else 0]:
            pairs = estimate_within(*places.tree, at, at, 8.0 * t * spread, m)
            total += pairs * wish.costs.pair + wish.costs.target + m / BLOCK * 2e-9 * n
    return total * m / sample.size
