"""Sums of one scale by finufft: a factor on the modes for each derivative, two real fields per transform.

Used where more digits are asked for than `by_grid` can give, and in single precision. Barnett, Magland and
af Klinteberg, SIAM J. Sci. Comput. 41 (2019) C479. finufft adds the points of its threads in the order in
which they arrive, so the last bits depend on their number.
"""

from __future__ import annotations

import math
from typing import Any

import finufft
import numpy as np
from scipy.fft import fftn

from ..._base.check import Array
from ..columns import FIRST, FOURTH, ROOT_SQUARE, ROOT_WEIGHT, SQUARE, WEIGHT
from .modes import FourierTask, ModeGrid

# Modes above which outputs are transformed one at a time, to bound the memory.
_LARGE = 2_000_000


def _fields(n: int, t: float, directions: bool, fourth_moment: bool) -> list[tuple[int, float, Any]]:
    """(column, its natural unit, factor on c_k in that unit as a function of the frequencies).

    In their units 1, sqrt(2t), 2t, 8t**2 all sums are of one size, so that of two in one transform neither
    is lost in the error of the other.
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
    if fourth_moment:
        out.append((FOURTH, 8.0 * t * t, squared_square))
    if not directions:
        return [*out, (SQUARE, 2.0 * t, square)]
    out.extend((FIRST + a, math.sqrt(2.0 * t), mean(a)) for a in range(n))
    pairs = [(a, b) for a in range(n) for b in range(a, n)]
    out.extend((FIRST + n + c, 2.0 * t, product(a, b)) for c, (a, b) in enumerate(pairs))
    return out


def finufft_sums(task: FourierTask) -> tuple[Array, float]:
    """See `fourier_sums`; every sum by its own transform."""
    targets, sources, grid, t, n_threads = task.targets, task.sources, task.grid, task.t, task.n_threads
    n, q = targets.shape
    kind = "complex128" if task.dtype == np.float64 else "complex64"
    options = {
        "eps": task.eps,
        "dtype": kind,
        "nthreads": n_threads,
        "maxbatchsize": 1 if grid.size > _LARGE else 0,
        "showwarn": 0,
    }
    at = grid.angles(targets, task.dtype)
    where = at if task.same else grid.angles(sources, task.dtype)
    strengths = np.ones(sources.shape[1], kind) if task.weights is None else task.weights.astype(kind)
    transform = _type1(grid, where, strengths, options)
    k = grid.frequencies()
    sums = task.table()
    sums[:] = 0.0

    if task.energy:
        other = transform if task.same else _type1(grid, at, np.ones(q, kind), options)
        power = transform.real * other.real + transform.imag * other.imag
        power = power * grid.heat(2.0 * t, k)
        square = sum(axis * axis for axis in k)
        sums[0, ROOT_WEIGHT] = power.sum(dtype=np.float64)
        sums[0, ROOT_SQUARE] = ((4.0 * t * n - 16.0 * t * t * square) * power).sum(dtype=np.float64)
        del power, other

    transform *= grid.heat(t, k)
    _transform_fields(
        transform, grid, at, _fields(n, t, task.directions, task.fourth_moment), k, options, sums
    )
    if task.directions:  # the square is the trace
        sums[:, SQUARE] = sum(sums[:, FIRST + n + a * n - a * (a - 1) // 2] for a in range(n))
    largest = float(fftn(transform, workers=n_threads).real.max())  # on as many points as modes
    return sums, max(largest, float(sums[:, WEIGHT].max()))


def _transform_fields(
    coefficients: np.ndarray,
    grid: ModeGrid,
    at: list[np.ndarray],
    fields: list[tuple[int, float, Any]],
    k: list[np.ndarray],
    options: dict[str, Any],
    sums: Array,
) -> None:
    """Some of the sums, each by its own transform, packed in pairs."""
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


def _type1(
    grid: ModeGrid, at: list[np.ndarray], strengths: np.ndarray, options: dict[str, Any]
) -> np.ndarray:
    plan = finufft.Plan(1, grid.modes, isign=-1, **options)
    plan.setpts(*at)
    return plan.execute(strengths).reshape(grid.modes)
