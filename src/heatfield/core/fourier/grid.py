"""All sums of one scale through one grid: points spread to it, heat applied to its modes, the field read off.

Everything is real, so only the modes with k >= 0 along the last axis are kept, and of the two last axes only
the modes that the heat kernel leaves. All has three axes here; those that a cloud does not have are in front
and have one point.

The transform goes through memory three times. Planes are transformed along their two axes; then columns along
the first axis, and while these are at hand the kernel is applied and they are transformed back; then planes
back. A piece of this stays in the processor's cache and belongs to one thread, so the result does not
depend on their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from ... import _core
from ..._base.check import Array
from ..._base.threads import pieces, run_pieces
from ..buffers import Buffers
from ..moments import FOURTH, ROOT_SQUARE, ROOT_WEIGHT, SQUARE, column_count
from .kernel import kernel_polynomials, kernel_transform, lanes_for, upsampled_size, width_for
from .modes import ModeGrid, from_derivatives, radial_factor, unit_of

# Numbers in one piece of a transform.
_PIECE = 65_536
# Points spread, or targets read, at a time; fewer to spread where their kernels have more grid points.
_POINTS, _SPREAD = 4_096, 1 << 22
_NO_WEIGHTS, _NO_TOTALS, _NO_MODES = np.empty(0), np.empty((0, 2)), np.empty((0, 0, 0))


@dataclass(frozen=True, kw_only=True)
class FourierTask:
    """One scale's sums at targets (n, q) of sources (n, p), to ``eps`` times the largest sum."""

    targets: Array
    sources: Array
    weights: Array | None
    grid: ModeGrid
    t: float
    eps: float
    directions: bool
    fourth_moment: bool
    energy: bool  # the total over the targets of the sums of g, into the first row
    same: bool  # targets and sources are the same points, which saves a transform
    n_threads: int
    out: Array | None = None  # the table to fill, where there is one
    buffers: Buffers = field(default_factory=Buffers)


def fourier_sums(task: FourierTask) -> tuple[Array, float]:
    """The table of sums (q, columns) of a task, to its ``eps`` times the largest sum.

    The largest sum of w anywhere, which a heavy place outside of the targets may have, is the second result.
    """
    targets, t, take = task.targets, task.t, task.buffers.take
    n, q = targets.shape
    upsampled = UpsampledGrid(task.grid, task.eps, task.n_threads, task.buffers)
    sums = np.empty((q, column_count(n, task.directions))) if task.out is None else task.out
    with take(upsampled.padded) as gridded, take(upsampled.kept, np.complex128) as modes:
        upsampled.modes_of(task.sources, task.weights, gridded, modes)
        others = upsampled.kept if task.energy and not task.same else (0, 0, 0)
        fourths = upsampled.kept if task.fourth_moment else (0, 0, 0)
        with take(others, np.complex128) as other, take(fourths, np.complex128) as fourth:
            if other.size:
                upsampled.modes_of(targets, None, gridded, other)
            totals = upsampled.apply_heat(
                modes, t, energy=task.energy,
                other=other if other.size else None, fourth=fourth if fourth.size else None,
            )  # fmt: skip
            values = upsampled.field(modes, gridded)
            largest = upsampled.largest_sum(values)
            largest = max(largest, upsampled.read_sums(values, targets, t, task.directions, sums))
            if fourth.size:
                upsampled.read_fourth_moment(upsampled.field(fourth, gridded), targets, t, sums)
    if task.energy:
        sums[0, ROOT_WEIGHT], sums[0, ROOT_SQUARE] = totals
    return sums, largest


class UpsampledGrid:
    """A grid upsampled enough for the modes of ``grid``, and the factors on its modes, axis by axis.

    Along the first axis the factors are in the order of the transform, and 0 beyond the last mode; along
    the others only the modes up to the last one are kept: 0, 1, ..., and for the second axis then the
    negative ones.
    """

    def __init__(self, grid: ModeGrid, eps: float, n_threads: int, buffers: Buffers | None = None) -> None:
        self.grid, self.n_threads = grid, n_threads
        self.buffers = Buffers() if buffers is None else buffers
        self.width = width_for(eps)
        self.sizes = [upsampled_size(count, self.width) for count in grid.modes]
        self.steps = np.array(self.sizes) / grid.period
        # As the native functions take it.
        self.stencil = kernel_polynomials(self.width), self.width, grid.center, self.steps
        missing = 3 - len(self.sizes)
        self.shape: tuple[int, ...] = (1,) * missing + tuple(self.sizes)
        self.half: tuple[int, ...] = (0,) * missing + tuple(count // 2 for count in grid.modes)
        # The last axis is continued by one kernel, so that a target reads without a turn around.
        self.padded = (*self.shape[:2], self.shape[2] + lanes_for(self.width))
        self.kept = (self.shape[0], 2 * self.half[1] + 1, self.half[2] + 1)
        self.frequencies: list[Array] = []
        self.smooth: list[Array] = []  # 1 / phihat**2: once for spreading, once for interpolation
        self.periods = [1.0] * missing + [float(period) for period in grid.period]
        for axis, (size, half) in enumerate(zip(self.shape, self.half, strict=True)):
            k: Array = np.arange(float(size))
            k[size - size // 2 :] -= size
            if axis > 0:
                k = np.concatenate([np.arange(half + 1.0), np.arange(-half, 0.0)])[: self.kept[axis]]
            there = axis >= missing
            smooth = kernel_transform(self.width, 2.0 * math.pi / size * k) ** -2.0 if there else np.ones(1)
            self.frequencies.append(k * (2.0 * math.pi / self.periods[axis]))
            self.smooth.append(np.where(np.abs(k) <= half, smooth, 0.0))

    def modes_of(self, points: Array, weights: Array | None, gridded: Array, modes: np.ndarray) -> None:
        """Points to modes by way of ``gridded``, which is cleared first."""
        planes = max(1, _PIECE // (gridded.shape[1] * gridded.shape[2]))

        def clear(first: int, last: int) -> None:
            gridded[first:last] = 0.0

        run_pieces(clear, pieces(gridded.shape[0], planes), self.n_threads)
        self.spread(points, weights, gridded)
        self.transform(gridded, modes)

    def spread(self, points: Array, weights: Array | None, onto: Array) -> None:
        """Points (n, p) added to a grid, which may have the padded shape; a weight scales a point's kernel.

        Points come in kd order, so a run of them lies close together: it is spread to small grids of its own,
        which are then added to the whole. Runs are added in their order, whichever thread finishes first, so
        the result has the same bits for any number of threads.
        """
        whole = onto.reshape(*self.shape[:2], -1)
        weights = _NO_WEIGHTS if weights is None else weights
        table, width, center, steps = self.stencil
        margin = table.shape[1] - width
        size = max(1, min(_POINTS, _SPREAD // width ** len(self.sizes)))
        guard = Lock()
        ready: dict[int, tuple[np.ndarray, Array]] = {}  # finished runs that wait for an earlier one
        next_piece = 0

        def work(first: int, last: int) -> None:
            nonlocal next_piece
            boxes = np.empty((last - first, 8), np.int64)
            boxes = boxes[: _core.boxes_of_runs(points, width, center, steps, first, last, boxes)]
            room = (boxes[:, 5] * boxes[:, 6] * (boxes[:, 7] + margin)).sum()
            grids = self.buffers.borrow((int(room),))
            _core.spread(points, weights, *self.stencil, boxes, grids)
            with guard:
                ready[first // size] = boxes, grids
                while next_piece in ready:
                    boxes, grids = ready.pop(next_piece)
                    _core.add_boxes(boxes, margin, grids, self.shape[2], whole)
                    self.buffers.give_back(grids)
                    next_piece += 1

        run_pieces(work, pieces(points.shape[1], size), self.n_threads)

    def transform(self, gridded: Array, modes: np.ndarray | None = None) -> np.ndarray:
        """Points spread to a grid, transformed along the two last axes, into ``modes`` where it is given."""
        _, rows, columns = self.shape
        whole = gridded.reshape(*self.shape[:2], -1)
        out = np.empty(self.kept, np.complex128) if modes is None else modes
        half = self.half[1]

        def work(first: int, last: int) -> None:
            along = _scipy_fft().rfft(whole[first:last, :, :columns], axis=2)[:, :, : self.kept[2]]
            across = _scipy_fft().fft(along, axis=1, overwrite_x=True)
            out[first:last, : half + 1] = across[:, : half + 1]
            out[first:last, half + 1 :] = across[:, rows - half :]

        run_pieces(work, pieces(self.shape[0], max(1, _PIECE // (rows * columns))), self.n_threads)
        return out

    def heat(self, t: float) -> list[Array]:
        """The factors of the heat kernel and of the spreading kernel, for three axes."""
        missing = 3 - len(self.sizes)
        return [
            (math.sqrt(4.0 * math.pi * t) / period if axis >= missing else 1.0) * np.exp(-t * k * k) * smooth
            for axis, (k, period, smooth) in enumerate(
                zip(self.frequencies, self.periods, self.smooth, strict=True)
            )
        ]

    def apply_heat(
        self,
        modes: np.ndarray,
        t: float,
        *,
        other: np.ndarray | None = None,
        energy: bool = True,
        fourth: np.ndarray | None = None,
    ) -> tuple[float, float]:
        """Turn what `transform` found into what `field` takes for the field sum w, in place.

        ``fourth``, of the same shape, is filled for the field sum w D**4, in its unit. Returned are the sums
        of g and of g D**2 over all pairs of points of ``modes`` and of ``other``, another transform (None:
        the same points), by Parseval's theorem.
        """
        n = len(self.sizes)
        totals = np.zeros((self.kept[1], 2))
        root = self.heat(2.0 * t)
        root[2] = root[2] * np.where(self.frequencies[2] > 0.0, 2.0, 1.0)  # the mode at -k
        # For each axis the factors of w, those of g, and k**2; of the last one for real and imaginary part.
        along, across, inside = (
            np.array([w, g, k * k]) for w, g, k in zip(self.heat(t), root, self.frequencies, strict=True)
        )
        inside = np.repeat(inside, 2, axis=1)
        powers = radial_factor(FOURTH, n, t)

        def work(first: int, last: int) -> None:
            shape = (self.kept[0], last - first, self.kept[2])
            one = self._columns(modes, first, last, shape)
            two = one if other is None else self._columns(other, first, last, shape)
            more = None if fourth is None else self.buffers.borrow(shape, np.complex128)
            _core.apply_heat(
                one.view(np.float64), two.view(np.float64),
                along, across[:, first:last].copy(), inside, powers,
                _NO_MODES if more is None else more.view(np.float64),
                totals[first:last] if energy else _NO_TOTALS,
            )  # fmt: skip
            modes[:, first:last] = _scipy_fft().ifft(one, axis=0, norm="forward", overwrite_x=True)
            self.buffers.give_back(one)
            if other is not None:
                self.buffers.give_back(two)
            if fourth is not None and more is not None:
                fourth[:, first:last] = _scipy_fft().ifft(more, axis=0, norm="forward", overwrite_x=True)
                self.buffers.give_back(more)

        rows = max(1, _PIECE // (2 * self.kept[0] * self.kept[2]))
        run_pieces(work, pieces(self.kept[1], rows), self.n_threads)
        power, power_square = totals.sum(axis=0)
        constant, slope, _ = radial_factor(SQUARE, n, 2.0 * t)
        square = unit_of(SQUARE, 2.0 * t) * (constant * power + slope * power_square)
        return float(power), float(square)

    def _columns(self, modes: np.ndarray, first: int, last: int, shape: tuple[int, ...]) -> np.ndarray:
        """Some columns, transformed along the first axis."""
        one = self.buffers.borrow(shape, np.complex128)
        np.copyto(one, modes[:, first:last])
        _in_place(_scipy_fft().fft, one, 0)
        return one

    def field(self, modes: np.ndarray, onto: Array | None = None) -> Array:
        """The grid of kernels, as it is read, from what `apply_heat` left."""
        _, rows, columns = self.shape
        out = np.empty(self.padded) if onto is None else onto
        half, kept = self.half[1], self.kept[2]

        def work(first: int, last: int) -> None:
            with self.buffers.take((last - first, rows, columns // 2 + 1), np.complex128) as all_modes:
                all_modes[:, half + 1 : rows - half] = 0.0
                all_modes[:, :, kept:] = 0.0
                all_modes[:, : half + 1, :kept] = modes[first:last, : half + 1]
                all_modes[:, rows - half :, :kept] = modes[first:last, half + 1 :]
                _in_place(_scipy_fft().ifft, all_modes[:, :, :kept], 1, norm="forward")
                out[first:last, :, :columns] = _scipy_fft().irfft(
                    all_modes, n=columns, axis=2, norm="forward"
                )
            out[first:last, :, columns:] = out[first:last, :, : out.shape[2] - columns]

        run_pieces(work, pieces(self.shape[0], max(1, _PIECE // (rows * columns))), self.n_threads)
        return out

    def read_sums(self, values: Array, targets: Array, t: float, directions: bool, sums: Array) -> float:
        """All sums but the fourth moment, from the field with its derivatives; the largest sum of w.

        One grid gives all of them at once. The sums of g and the fourth moment are set to 0.
        """
        return self._read(values, targets, from_derivatives(len(targets), t, self.steps, directions), 0, sums)

    def read_fourth_moment(self, values: Array, targets: Array, t: float, sums: Array) -> None:
        """The fourth moment, from its own field."""
        self._read(values, targets, np.array([[unit_of(FOURTH, t)]]), FOURTH, sums)

    def _read(self, values: Array, targets: Array, matrix: Array, column: int, sums: Array) -> float:
        """Fill columns of the table with what is found at the targets times a matrix; the largest value."""
        ranges = pieces(targets.shape[1], _POINTS)
        largest = np.full(len(ranges), -np.inf)

        def work(first: int, last: int) -> None:
            largest[first // _POINTS] = _core.interpolate(
                values, *self.stencil, targets, first, last, matrix, column, sums
            )

        run_pieces(work, ranges, self.n_threads)
        return float(largest.max(initial=-np.inf))

    def largest_sum(self, values: Array) -> float:
        """About the largest sum of w anywhere, from the grid of kernels."""
        found = np.zeros(values.shape[0])

        def work(first: int, last: int) -> None:
            found[first:last] = values[first:last].max(axis=(1, 2))

        planes = max(1, _PIECE // (values.shape[1] * values.shape[2]))
        run_pieces(work, pieces(values.shape[0], planes), self.n_threads)
        at_zero = kernel_transform(self.width, np.zeros(1))[0]
        return float(found.max() * at_zero ** len(self.sizes))


def _scipy_fft() -> Any:
    """Imported where a transform is taken: it takes as long as many a call."""
    import scipy.fft

    return scipy.fft


def _in_place(transform: Callable[..., np.ndarray], array: np.ndarray, axis: int, **options: Any) -> None:
    """Transform along an axis; scipy may use the memory of its argument, or not."""
    found = transform(array, axis=axis, overwrite_x=True, **options)
    if found is not array:
        array[...] = found
