"""The grid between points and Fourier modes: spreading, the transform, the heat kernel, the field.

Everything is real, so only the modes with k >= 0 along the last axis are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.fft import fft, ifft, irfft, rfft

from ..._base.check import Array
from ..._base.compile import compiled
from ..._base.threads import pieces, run_pieces, stop_if_asked
from .kernel import kernel_transform, lanes_for, upsampled_size, width_for
from .spread import spread

if TYPE_CHECKING:
    from .modes import ModeGrid


class UpsampledGrid:
    """A grid upsampled enough for the modes of ``grid``, and the factors on its modes, axis by axis.

    Along each axis the factors are in the order of the transform, and 0 beyond the last mode.
    """

    def __init__(self, grid: ModeGrid, eps: float, n_threads: int) -> None:
        self.grid, self.n_threads = grid, n_threads
        self.width = width_for(eps)
        self.sizes = [upsampled_size(count, self.width) for count in grid.modes]
        self.steps = np.array(self.sizes) / grid.period
        self.frequencies: list[Array] = []
        self.smooth: list[Array] = []  # 1 / phihat**2: once for spreading, once for interpolation
        for axis, (count, size) in enumerate(zip(grid.modes, self.sizes, strict=True)):
            last = axis == len(self.sizes) - 1
            k: Array = np.arange(size // 2 + 1.0)
            if not last:
                k = np.arange(float(size))
                k[size - size // 2 :] -= size
            kept = np.abs(k) <= count // 2
            smooth = kernel_transform(self.width, 2.0 * math.pi / size * k) ** -2.0
            self.frequencies.append(k * (2.0 * math.pi / grid.period[axis]))
            self.smooth.append(np.where(kept, smooth, 0.0))

    def spread(self, points: Array, weights: Array | None, onto: Array | None = None) -> Array:
        """Points (n, p) spread to the grid, or onto one to which other points were spread."""
        return spread(
            points, weights, self.grid.center, self.steps, self.sizes, self.width, self.n_threads, onto=onto
        )

    def transform(self, gridded: Array) -> np.ndarray:
        """The transform of points spread to the grid, with three axes; overwrites the grid."""
        # Axis by axis, so that Ctrl-C need not wait for all of them.
        found = rfft(gridded, axis=-1, workers=self.n_threads, overwrite_x=True)
        for axis in range(len(self.sizes) - 1):
            stop_if_asked()
            found = fft(found, axis=axis, workers=self.n_threads, overwrite_x=True)
        stop_if_asked()
        return found.reshape((1,) * (3 - len(self.sizes)) + found.shape)

    def heat(self, t: float) -> list[Array]:
        """The factors of the heat kernel and of the spreading kernel, for three axes."""
        return self._three(
            math.sqrt(4.0 * math.pi * t) / period * np.exp(-t * k * k) * smooth
            for k, period, smooth in zip(self.frequencies, self.grid.period, self.smooth, strict=True)
        )

    def squares(self) -> list[Array]:
        """k**2 along three axes."""
        return self._three((k * k for k in self.frequencies), 0.0)

    def _three(self, axes: Iterable[Array], missing: float = 1.0) -> list[Array]:
        return [np.full(1, missing)] * (3 - len(self.sizes)) + list(axes)

    def each_plane(self, work: Callable[[int, int], object]) -> None:
        """Call ``work(first, last)`` for runs of planes of the transform."""
        planes = self.sizes[0] if len(self.sizes) == 3 else 1
        run_pieces(work, pieces(planes, 8), self.n_threads)

    def field(self, modes: np.ndarray) -> Array:
        """The grid of kernels with this transform, as `interpolate` takes it; overwrites the transform."""
        shape = (*self.sizes[:-1], self.sizes[-1] // 2 + 1)
        found = modes.reshape(shape)
        for axis in range(len(self.sizes) - 1):
            found = ifft(found, axis=axis, norm="forward", workers=self.n_threads, overwrite_x=True)
            stop_if_asked()
        values = irfft(
            found, n=self.sizes[-1], axis=-1, norm="forward", workers=self.n_threads, overwrite_x=True
        )
        stop_if_asked()
        continued = np.concatenate([values, values[..., : lanes_for(self.width)]], axis=-1)
        return continued.reshape((1,) * (3 - len(self.sizes)) + continued.shape)


@compiled()
def _power(one: Any, other: Any, heat: Any, squares: Any, first: int, last: int, totals: Any) -> None:
    """Parseval's sums of both transforms under the heat kernel, and the same with k**2; one row per plane."""
    for z in range(first, last):
        total = total_square = 0.0
        for y in range(one.shape[1]):
            factor = heat[0][z] * heat[1][y]
            if factor == 0.0:
                continue
            square = squares[0][z] + squares[1][y]
            for x in range(one.shape[2]):
                a, b = one[z, y, x], other[z, y, x]
                power = (a.real * b.real + a.imag * b.imag) * factor * heat[2][x]
                if x > 0:
                    power *= 2.0  # the mode at -k
                total += power
                total_square += power * (square + squares[2][x])
        totals[z, 0], totals[z, 1] = total, total_square


@compiled()
def _multiply(modes: Any, heat: Any, first: int, last: int) -> None:
    """The heat factors on some planes."""
    for z in range(first, last):
        for y in range(modes.shape[1]):
            row = modes[z, y]
            factor = heat[0][z] * heat[1][y]
            for x in range(row.shape[0]):
                row[x] *= factor * heat[2][x]


@compiled()
def _multiply_fourth(modes: Any, squares: Any, t: float, n: int, first: int, last: int) -> None:
    """The factors that turn sum w into sum w D**4 / 8t**2."""
    for z in range(first, last):
        for y in range(modes.shape[1]):
            row = modes[z, y]
            for x in range(row.shape[0]):
                square = squares[0][z] + squares[1][y] + squares[2][x]
                row[x] *= 0.5 * (n - 2.0 * t * square) ** 2 + n - 4.0 * t * square


def energy_totals(upsampled: UpsampledGrid, modes: np.ndarray, other: np.ndarray, t: float) -> list[float]:
    """The sums of g and of g D**2 over all pairs of the points of both transforms."""
    n = len(upsampled.sizes)
    totals = np.zeros((modes.shape[0], 2))
    heat, squares = tuple(upsampled.heat(2.0 * t)), tuple(upsampled.squares())
    upsampled.each_plane(lambda a, b: _power(modes, other, heat, squares, a, b, totals))
    power, power_square = totals.sum(axis=0)
    return [power, 4.0 * t * n * power - 16.0 * t * t * power_square]


def apply_heat(upsampled: UpsampledGrid, modes: np.ndarray, t: float) -> None:
    """Turn the transform of points into that of the field sum w, in place."""
    factors = tuple(upsampled.heat(t))
    upsampled.each_plane(lambda a, b: _multiply(modes, factors, a, b))


def fourth_field(upsampled: UpsampledGrid, modes: np.ndarray, t: float) -> Array:
    """The grid of kernels of sum w D**4 / 8t**2, from the transform of the field sum w."""
    more, squares, n = modes.copy(), tuple(upsampled.squares()), len(upsampled.sizes)
    upsampled.each_plane(lambda a, b: _multiply_fourth(more, squares, t, n, a, b))
    return upsampled.field(more)


def largest_sum_on(upsampled: UpsampledGrid, values: Array) -> float:
    """About the largest sum of w anywhere, from the grid of kernels."""
    at_zero = kernel_transform(upsampled.width, np.zeros(1))[0]
    return float(values.max() * at_zero ** len(upsampled.sizes))
