"""The Fourier path: all sums of one scale from Fourier modes.

A Gaussian is band-limited to any tolerance, so on a period that keeps images apart

    W(x) = sum_j exp(-|x - x_j|**2 / 4t) = sum_k c_k exp(i k x),   c_k = G(k) F(k),

with F(k) = sum_j exp(-i k x_j) and G(k) = prod sqrt(4 pi t) / P exp(-t k**2). The moments are
derivatives of W: sum w r = 2t grad W, sum w r r' = 4t**2 Hess W + 2t I W. They are read off one grid
(`by_grid`). Where more digits are asked for than that can give, and in single precision, finufft
transforms every sum: a factor on c_k for the derivative, two real fields in one complex transform. The
energy is Parseval's sum, without a transform.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import finufft
import numpy as np
from scipy.fft import fftn

from ..._base.check import Array
from ..._base.compile import compiled
from ..dense_kernels import FIRST, FOURTH, HALF_SQUARE, HALF_WEIGHT, SQUARE, WEIGHT, column_count
from .by_grid import grid_sums
from .kernel import GRID_EPS

# Modes above which outputs are transformed one at a time, to bound the memory.
_LARGE = 2_000_000


@compiled()
def digits_for(eps: float, fourth: bool) -> float:
    """t k**2 at the highest frequency: log(1 / eps), and room for the tail and the derivatives' factors."""
    return math.log(1.0 / eps) + (8.0 if fourth else 4.0)


@dataclass(frozen=True)
class Grid:
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
        digits: float,
        image: float,
    ) -> Grid:
        """For targets and sources in their boxes; ``image``: squared distance that images must keep.

        The series ends where exp(-t k**2) = exp(-digits).
        """
        span = np.maximum(source_high - low, high - source_low)
        period = span + math.sqrt(max(image, 4.0 * t * digits))
        highest = math.sqrt(digits / t)
        half = np.ceil(highest * period / (2.0 * math.pi))
        center = 0.5 * (np.minimum(low, source_low) + np.maximum(high, source_high))
        return cls(period, center, tuple(int(min(2 * h + 1, 1e9)) for h in half))

    @property
    def size(self) -> float:
        """How many modes there are in all."""
        return math.prod(float(count) for count in self.modes)

    def angles(self, places: Array, dtype: Any) -> list[np.ndarray]:
        """Coordinates (n, m) as angles in (-pi, pi), one array an axis."""
        turn = 2.0 * math.pi / self.period
        return [
            ((places[k] - self.center[k]) * turn[k]).astype(dtype, copy=False) for k in range(len(places))
        ]

    def frequencies(self) -> list[np.ndarray]:
        """k along each axis, shaped to broadcast."""
        n = len(self.modes)
        out = []
        for axis, count in enumerate(self.modes):
            k = (np.arange(count) - count // 2) * (2.0 * math.pi / self.period[axis])
            out.append(k.reshape([-1 if axis == a else 1 for a in range(n)]))
        return out

    def heat(self, t: float, frequencies: list[np.ndarray]) -> np.ndarray:
        """G(k), the Fourier coefficients of exp(-r**2 / 4t)."""
        out = np.array(1.0)
        for k, period in zip(frequencies, self.period, strict=True):
            out = out * (math.sqrt(4.0 * math.pi * t) / period * np.exp(-t * k * k))
        return out


def _fields(n: int, t: float, spectrum: bool, fourth: bool) -> list[tuple[int, float, Any]]:
    """(column, its natural unit, factor on c_k in that unit as a function of the frequencies).

    In their units 1, sqrt(2t), 2t, 8t**2 all sums are of one size, so that two in one transform do not
    drown each other.
    """

    def square(k: list[np.ndarray]) -> Any:
        return n - 2.0 * t * sum(axis * axis for axis in k)

    def squared_square(k: list[np.ndarray]) -> Any:
        return 0.5 * square(k) ** 2 + n - 4.0 * t * sum(axis * axis for axis in k)

    def mean(a: int) -> Any:
        return lambda k: 1j * math.sqrt(2.0 * t) * k[a]

    def product(a: int, b: int) -> Any:
        return lambda k: (1.0 if a == b else 0.0) - 2.0 * t * k[a] * k[b]

    out: list[tuple[int, float, Any]] = [(WEIGHT, 1.0, lambda k: 1.0)]  # noqa: ARG005
    if fourth:
        out.append((FOURTH, 8.0 * t * t, squared_square))
    if not spectrum:
        return [*out, (SQUARE, 2.0 * t, square)]
    out.extend((FIRST + a, math.sqrt(2.0 * t), mean(a)) for a in range(n))
    pairs = [(a, b) for a in range(n) for b in range(a, n)]
    out.extend((FIRST + n + c, 2.0 * t, product(a, b)) for c, (a, b) in enumerate(pairs))
    return out


def fourier_sums(
    targets: Array,
    sources: Array,
    weights: Array | None,
    grid: Grid,
    t: float,
    eps: float,
    *,
    spectrum: bool,
    fourth: bool,
    half: bool,
    same: bool,
    dtype: np.dtype,
    n_threads: int,
) -> tuple[Array, float]:
    """The table of sums (q, columns) at targets (n, q) of the sources (n, p), to ``eps`` times the largest.

    The largest sum of w anywhere, which a heavy place outside of the targets may have, is the second result.

    ``half`` puts the total over the targets of the sums of g = exp(-D**2 / 8t) into the first row;
    ``same`` says that targets and sources are the same points, which saves a transform.
    """
    if reads_grid(eps, dtype):
        return grid_sums(
            targets, sources, weights, grid, t, eps,
            spectrum=spectrum, fourth=fourth, half=half, same=same, n_threads=n_threads,
        )  # fmt: skip
    n, q = targets.shape
    kind = "complex128" if dtype == np.float64 else "complex64"
    options = {
        "eps": eps,
        "dtype": kind,
        "nthreads": n_threads,
        "maxbatchsize": 1 if grid.size > _LARGE else 0,
        "showwarn": 0,
    }
    at = grid.angles(targets, dtype)
    where = at if same else grid.angles(sources, dtype)
    strengths = np.ones(sources.shape[1], kind) if weights is None else weights.astype(kind)
    transform = _type1(grid, where, strengths, options)
    k = grid.frequencies()
    sums = np.zeros((q, column_count(n, spectrum)))

    if half:
        other = transform if same else _type1(grid, at, np.ones(q, kind), options)
        power = transform.real * other.real + transform.imag * other.imag
        power = power * grid.heat(2.0 * t, k)
        square = sum(axis * axis for axis in k)
        sums[0, HALF_WEIGHT] = power.sum(dtype=np.float64)
        sums[0, HALF_SQUARE] = ((4.0 * t * n - 16.0 * t * t * square) * power).sum(dtype=np.float64)
        del power, other

    transform *= grid.heat(t, k)
    _transform_fields(transform, grid, at, _fields(n, t, spectrum, fourth), k, options, sums)
    if spectrum:  # the square is the trace
        sums[:, SQUARE] = sum(sums[:, FIRST + n + a * n - a * (a - 1) // 2] for a in range(n))
    largest = float(fftn(transform, workers=n_threads).real.max())  # on as many points as modes
    return sums, max(largest, float(sums[:, WEIGHT].max()))


def reads_grid(eps: float, dtype: np.dtype) -> bool:
    """Whether the derivatives can be read off one grid to this error."""
    return dtype == np.float64 and eps >= GRID_EPS


def _transform_fields(
    coefficients: np.ndarray,
    grid: Grid,
    at: list[np.ndarray],
    fields: list[tuple[int, float, Any]],
    k: list[np.ndarray],
    options: dict[str, Any],
    sums: Array,
) -> None:
    """Some of the sums by a transform of their own, packed in pairs."""
    pairs = [fields[c : c + 2] for c in range(0, len(fields), 2)]
    batch = 1 if grid.size > _LARGE else len(pairs)
    plan = finufft.Plan(2, grid.modes, n_trans=batch, isign=1, **options)
    plan.setpts(*at)
    for first in range(0, len(pairs), batch):
        packed = np.empty((batch, *grid.modes), coefficients.dtype)
        for row, pair in zip(packed, pairs[first : first + batch], strict=True):
            np.multiply(coefficients, pair[0][2](k), out=row)
            if len(pair) == 2:
                row += 1j * (coefficients * pair[1][2](k))
        values = plan.execute(packed).reshape(batch, len(sums))
        for row, pair in zip(values, pairs[first : first + batch], strict=True):
            sums[:, pair[0][0]] = row.real * pair[0][1]
            if len(pair) == 2:
                sums[:, pair[1][0]] = row.imag * pair[1][1]


def _type1(grid: Grid, at: list[np.ndarray], strengths: np.ndarray, options: dict[str, Any]) -> np.ndarray:
    plan = finufft.Plan(1, grid.modes, isign=-1, **options)
    plan.setpts(*at)
    return plan.execute(strengths).reshape(grid.modes)
