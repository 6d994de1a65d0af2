"""The grid between points and Fourier modes: spreading, the transform, the heat kernel, the field.

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
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.fft import fft, ifft, irfft, rfft

from ..._base.check import Array
from ..._base.compile import compiled
from ..._base.threads import pieces, run_pieces
from ..buffers import Buffers
from .kernel import kernel_transform, lanes_for, upsampled_size, width_for
from .spread import spread

if TYPE_CHECKING:
    from .modes import ModeGrid

# Numbers in one piece of a transform.
_PIECE = 65_536
_NONE = np.empty((0, 0, 0), np.complex128)


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

    def spread(self, points: Array, weights: Array | None, onto: Array) -> Array:
        """Points (n, p) added to a grid, which may have the padded shape."""
        whole = onto.reshape(*self.shape[:2], -1)
        return spread(
            points, weights, self.grid.center, self.steps, whole,
            columns=self.shape[2], width=self.width, n_threads=self.n_threads, buffers=self.buffers,
        )  # fmt: skip

    def clear(self, gridded: Array) -> None:
        """Fill a grid with zeros."""
        planes = max(1, _PIECE // (gridded.shape[1] * gridded.shape[2]))

        def work(first: int, last: int) -> None:
            gridded[first:last] = 0.0

        run_pieces(work, pieces(gridded.shape[0], planes), self.n_threads)

    def transform(self, gridded: Array, modes: np.ndarray | None = None) -> np.ndarray:
        """Points spread to a grid, transformed along the two last axes, into ``modes`` where it is given."""
        _, rows, columns = self.shape
        whole = gridded.reshape(*self.shape[:2], -1)
        out = np.empty(self.kept, np.complex128) if modes is None else modes
        half = self.half[1]

        def work(first: int, last: int) -> None:
            along = rfft(whole[first:last, :, :columns], axis=2)[:, :, : self.kept[2]]
            across = fft(along, axis=1, overwrite_x=True)
            out[first:last, : half + 1] = across[:, : half + 1]
            out[first:last, half + 1 :] = across[:, rows - half :]

        run_pieces(work, pieces(self.shape[0], max(1, _PIECE // (rows * columns))), self.n_threads)
        return out

    def heat(self, t: float) -> tuple[Array, ...]:
        """The factors of the heat kernel and of the spreading kernel, for three axes."""
        missing = 3 - len(self.sizes)
        return tuple(
            (math.sqrt(4.0 * math.pi * t) / period if axis >= missing else 1.0) * np.exp(-t * k * k) * smooth
            for axis, (k, period, smooth) in enumerate(
                zip(self.frequencies, self.periods, self.smooth, strict=True)
            )
        )

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

        ``fourth``, of the same shape, is filled for the field sum w D**4 / 8t**2. Returned are the sums of g
        and of g D**2 over all pairs of points of ``modes`` and of ``other``, another transform (None: the
        same points).
        """
        n = len(self.sizes)
        totals = np.zeros((self.kept[1], 2))
        factors = (self.heat(t), self.heat(2.0 * t), tuple(k * k for k in self.frequencies))

        def work(first: int, last: int) -> None:
            shape = (self.kept[0], last - first, self.kept[2])
            one = self._columns(modes, first, last, shape)
            two = one if other is None else self._columns(other, first, last, shape)
            more = _NONE if fourth is None else self.buffers.borrow(shape, np.complex128)
            _apply(one, two, *factors, first, t, n, energy, more, totals)
            modes[:, first:last] = ifft(one, axis=0, norm="forward", overwrite_x=True)
            self.buffers.give_back(one)
            if other is not None:
                self.buffers.give_back(two)
            if fourth is not None:
                fourth[:, first:last] = ifft(more, axis=0, norm="forward", overwrite_x=True)
                self.buffers.give_back(more)

        rows = max(1, _PIECE // (2 * self.kept[0] * self.kept[2]))
        run_pieces(work, pieces(self.kept[1], rows), self.n_threads)
        power, power_square = totals.sum(axis=0)
        return float(power), float(4.0 * t * n * power - 16.0 * t * t * power_square)

    def _columns(self, modes: np.ndarray, first: int, last: int, shape: tuple[int, ...]) -> np.ndarray:
        """Some columns, transformed along the first axis."""
        one = self.buffers.borrow(shape, np.complex128)
        np.copyto(one, modes[:, first:last])
        _in_place(fft, one, 0)
        return one

    def field(self, modes: np.ndarray, onto: Array | None = None) -> Array:
        """The grid of kernels, as `interpolate` takes it, from what `apply_heat` left."""
        _, rows, columns = self.shape
        out = np.empty(self.padded) if onto is None else onto
        half, kept = self.half[1], self.kept[2]

        def work(first: int, last: int) -> None:
            with self.buffers.take((last - first, rows, columns // 2 + 1), np.complex128) as all_modes:
                all_modes[:, half + 1 : rows - half] = 0.0
                all_modes[:, :, kept:] = 0.0
                all_modes[:, : half + 1, :kept] = modes[first:last, : half + 1]
                all_modes[:, rows - half :, :kept] = modes[first:last, half + 1 :]
                _in_place(ifft, all_modes[:, :, :kept], 1, norm="forward")
                out[first:last, :, :columns] = irfft(all_modes, n=columns, axis=2, norm="forward")
            out[first:last, :, columns:] = out[first:last, :, : out.shape[2] - columns]

        run_pieces(work, pieces(self.shape[0], max(1, _PIECE // (rows * columns))), self.n_threads)
        return out

    def largest_sum(self, values: Array) -> float:
        """About the largest sum of w anywhere, from the grid of kernels."""
        found = np.zeros(values.shape[0])

        def work(first: int, last: int) -> None:
            found[first:last] = values[first:last].max(axis=(1, 2))

        planes = max(1, _PIECE // (values.shape[1] * values.shape[2]))
        run_pieces(work, pieces(values.shape[0], planes), self.n_threads)
        at_zero = kernel_transform(self.width, np.zeros(1))[0]
        return float(found.max() * at_zero ** len(self.sizes))


def _in_place(transform: Callable[..., np.ndarray], array: np.ndarray, axis: int, **options: Any) -> None:
    """Transform along an axis; scipy may use the memory of its argument, or not."""
    found = transform(array, axis=axis, overwrite_x=True, **options)
    if found is not array:
        array[...] = found


@compiled()
def _apply(
    one: Any, other: Any, heat: Any, root_heat: Any, squares: Any, first: int, t: float, n: int, energy: bool,
    fourth: Any, totals: Any,
) -> None:  # fmt: skip
    """The heat factors on some columns, Parseval's sums of both transforms, and the fourth moment's field.

    Parseval's sums, under the kernel of g and the same with k**2, are one row of ``totals`` for each of the
    columns' rows.
    """
    for z in range(one.shape[0]):
        for y in range(one.shape[1]):
            row = one[z, y]
            factor = heat[0][z] * heat[1][first + y]
            square = squares[0][z] + squares[1][first + y]
            if energy:
                root_factor = root_heat[0][z] * root_heat[1][first + y]
                total = total_square = 0.0
                for x in range(row.shape[0]):
                    a, b = row[x], other[z, y, x]
                    power = (a.real * b.real + a.imag * b.imag) * root_factor * root_heat[2][x]
                    if x > 0:
                        power *= 2.0  # the mode at -k
                    total += power
                    total_square += power * (square + squares[2][x])
                totals[first + y, 0] += total
                totals[first + y, 1] += total_square
            for x in range(row.shape[0]):
                row[x] *= factor * heat[2][x]
            if fourth.shape[0] > 0:
                for x in range(row.shape[0]):
                    whole = square + squares[2][x]
                    fourth[z, y, x] = row[x] * (0.5 * (n - 2.0 * t * whole) ** 2 + n - 4.0 * t * whole)
