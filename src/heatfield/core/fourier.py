"""The Fourier path: all sums of one scale from Fourier modes, to an error relative to the largest sum.

A Gaussian is band-limited to any tolerance, so on a period that keeps images apart

    W(x) = sum_j exp(-|x - x_j|**2 / 4t) = sum_k c_k exp(i k x),   c_k = G(k) F(k),

with F(k) = sum_j exp(-i k x_j) and G(k) = prod sqrt(4 pi t) / P exp(-t k**2). The moments are derivatives of
W (`moments`), read off one grid that a kernel of a few grid points links with the points. The energy is
Parseval's sum, without a transform.

The kernel is the exponential of a semicircle, as in FINUFFT. On a grid somewhat finer than its modes need
(the upsampling factor), a periodic field is

    W(x) = sum_l f_l phi(x / h - l),   f_l = sum_k c_k / phihat(k) exp(i k x_l),

so its derivatives are the same sum with phi' and phi''; the other way round, the modes of points are those
of the points spread to the grid with phi, divided by phihat (`UpsampledGrid`). The kernel is
phi(s) = exp(beta (sqrt(1 - (2s/w)**2) - 1)) on w grid points: A. H. Barnett, J. Magland and L. af Klinteberg,
"A parallel nonuniform fast Fourier transform library based on an exponential of semicircle kernel",
SIAM J. Sci. Comput. 41 (2019) C479. The heat factor exp(-t k**2) in c_k keeps the error small although
derivatives amplify it and the upsampling factor is only 1.25; with the widths below the second derivatives,
the weakest, err by about 2 eps in their natural unit, down to 1e-13 (measured: benchmarks/grid_error.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss

from .. import _core
from .._base.check import Array
from .._base.threads import pieces, run_pieces
from .clouds import Buffers
from .moments import BY_NAME, FOURTH, MOMENTS, ROOT_SQUARE, ROOT_WEIGHT, column_count, columns

# The upsampling factor: grid points per mode along each axis.
UPSAMPLING = 1.25
# Points of the fine grid that fit into the memory given to one transform (16 bytes each).
GRID_LIMIT = 1.2e8
# The smallest error that the widest kernel gives.
GRID_EPS = 0.99e-13
_BETA = 2.6  # per point of width
_VECTOR = 4  # numbers
_DIGITS = 50  # of the polynomials while they are made
# Numbers in one piece of a transform.
_PIECE = 65_536
# Points spread, or targets read, at a time; fewer to spread where their kernels have more grid points.
_POINTS, _SPREAD = 4_096, 1 << 22
_NO_WEIGHTS, _NO_TOTALS, _NO_MODES = np.empty(0), np.empty((0, 2)), np.empty((0, 0, 0))


# --- the kernel ----------------------------------------------------------------------


def width_for(eps: float) -> int:
    """Grid points that the kernel covers: one for each digit, and three."""
    return _core.width_for(eps)


def lanes_for(width: int) -> int:
    """The width filled up to whole vectors: 4, 8, 12 or 16."""
    return -(-width // _VECTOR) * _VECTOR


@lru_cache(maxsize=32)
def kernel_polynomials(width: int) -> Array:
    """Polynomials (width, lanes) of phi between grid points, highest power first.

    The leftmost of the grid points under the kernel lies z in [0, 1) right of its edge; column j is
    phi(width / 2 - j - z) as a polynomial in x = 2z - 1. Their second derivatives would amplify the
    rounding of a fit; so the interpolation at Chebyshev's nodes is done with fifty digits.
    """
    half, columns = Decimal(width) / 2, -(-width // 2)
    x = [Decimal(math.cos((i + 0.5) * math.pi / width)) for i in range(width)]
    with localcontext() as context:
        context.prec = _DIGITS

        def kernel(s: Decimal) -> Decimal:
            return (Decimal(_BETA) * width * ((1 - (s / half) ** 2).sqrt() - 1)).exp()

        # Newton's divided differences, then powers; the right half of the kernel is the left one's image.
        differences = np.array([[kernel(half - j - (at + 1) / 2) for j in range(columns)] for at in x])
        for level in range(1, width):
            for i in range(width - 1, level - 1, -1):
                differences[i] = (differences[i] - differences[i - 1]) / (x[i] - x[i - level])
        powers = np.zeros((width, columns), object)
        for i in range(width - 1, -1, -1):
            powers[1:], powers[0] = powers[:-1] - powers[1:] * x[i], differences[i] - powers[0] * x[i]
    table = np.zeros((width, lanes_for(width)))
    table[::-1, :columns] = powers
    for j in range(width // 2):
        table[::-1, width - 1 - j] = powers[:, j] * (-1) ** np.arange(width)
    table.setflags(write=False)
    return table


@lru_cache(maxsize=32)
def _quadrature(width: int) -> tuple[Array, Array]:
    """Places in half of the kernel, and its values there times the weights of a Gauss-Legendre rule."""
    nodes, weights = leggauss(200)
    s = nodes[100:]
    values = np.exp(_BETA * width * (np.sqrt(1.0 - s * s) - 1.0))
    return 0.5 * width * s, width * weights[100:] * values


def kernel_transform(width: int, angles: Array) -> Array:
    """phihat at angular frequencies per grid step."""
    s, values = _quadrature(width)
    # No matrix product: it would start the threads of BLAS inside our own.
    return (np.cos(np.multiply.outer(angles, s)) * values).sum(axis=1)


def upsampled_size(modes: int, width: int) -> int:
    """Grid points along an axis with so many modes."""
    from scipy.fft import next_fast_len

    return next_fast_len(max(math.ceil(UPSAMPLING * modes), width + 1, 16), real=True)


# --- which modes, and what the moments are there -------------------------------------


def from_derivatives(n: int, t: float, steps: Array, directions: bool) -> Array:
    """The matrix (derivatives, columns) that makes moments from the derivatives of W per grid step.

    The derivatives are W, its gradient and the upper triangle of its Hessian, in the order of the grid;
    columns of moments of g, and of moments that need higher derivatives, are 0.
    """
    order = [(), *((a,) for a in range(n)), *((a, b) for a in range(n) for b in range(a, n))]
    found = np.zeros((len(order), column_count(n, directions)))
    unit = math.sqrt(2.0 * t)
    for moment in MOMENTS:
        place = columns(n)[moment.name]
        if moment.kernel != "w" or moment.order > 2 or place.stop > found.shape[1]:
            continue
        for column, terms in enumerate(moment.derivatives(n), place.start):
            for axes, coefficient in terms.items():
                per_step = math.prod(unit * steps[a] for a in axes)
                found[order.index(axes), column] = coefficient * per_step * unit**moment.order
    return found


def log_accuracy_for(eps: float, fourth_moment: bool) -> float:
    """t k**2 at the highest frequency: log(1 / eps), plus a margin for tail and derivatives."""
    return _core.log_accuracy_for(eps, fourth_moment)


@dataclass(frozen=True)
class ModeGrid:
    """Period, centre and number of modes along each axis."""

    period: Array
    center: Array
    modes: tuple[int, ...]

    @classmethod
    def over(
        cls,
        low: Array,
        high: Array,
        source_low: Array,
        source_high: Array,
        t: float,
        log_accuracy: float,
        image: float,
    ) -> ModeGrid:
        """For targets and sources in their boxes; ``image``: squared distance that images must keep.

        The series ends where exp(-t k**2) = exp(-log_accuracy).
        """
        span = np.maximum(source_high - low, high - source_low)
        period = span + math.sqrt(max(image, 4.0 * t * log_accuracy))
        highest = math.sqrt(log_accuracy / t)
        half = np.ceil(highest * period / (2.0 * math.pi))
        center = 0.5 * (np.minimum(low, source_low) + np.maximum(high, source_high))
        return cls(period, center, tuple(int(min(2 * h + 1, 1e9)) for h in half))

    @property
    def size(self) -> float:
        """How many modes there are in all."""
        return math.prod(float(count) for count in self.modes)


# --- the sums ------------------------------------------------------------------------


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

    Everything is real, so only the modes with k >= 0 along the last axis are kept, and of the two last axes
    only the modes that the heat kernel leaves. All has three axes here; those that a cloud does not have are
    in front and have one point.

    The transform goes through memory three times. Planes are transformed along their two axes; then columns
    along the first axis, and while these are at hand the kernel is applied and they are transformed back;
    then planes back. A piece of this stays in the processor's cache and belongs to one thread, so the result
    does not depend on their number.
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
        powers = BY_NAME["fourth"].factor(n, t)

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
        square_of_g = BY_NAME["root_square"]
        constant, slope, _ = square_of_g.factor(n, 2.0 * t)
        square = square_of_g.natural_unit(2.0 * t) * (constant * power + slope * power_square)
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
        self._read(values, targets, np.array([[BY_NAME["fourth"].natural_unit(t)]]), FOURTH, sums)

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
