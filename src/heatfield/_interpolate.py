"""A band-limited field on a grid, read off anywhere with its gradient and Hessian at once.

On a grid somewhat finer than its modes need, a periodic field is a sum of bumps phi around the grid points,

    W(x) = sum_l f_l phi(x / h - l),   f_l = sum_k c_k / phihat(k) exp(i k x_l),

so its derivatives are the same sum with phi' and phi''. One real grid gives all ten numbers of a point, where
separate transforms would need five complex ones. phi(s) = exp(beta (sqrt(1 - (2s/w)**2) - 1)) on w grid
points. The heat factor exp(-t k**2) in c_k keeps the error small although derivatives amplify it; with
the widths below the second derivatives, the weakest, err by about 2 eps in their natural unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.polynomial.legendre import leggauss
from scipy.fft import irfftn, next_fast_len

from ._bumps import VECTOR, make_bumps, make_contract
from ._check import Array
from ._jit import compiled

# Grid points per mode along each axis.
FINER = 1.25
# Below this the second derivatives of the bump would be too rough.
LEAST_EPS = 0.99e-9
_BETA = 2.6  # per point of width


@compiled()
def width_for(eps: float) -> int:
    """Grid points that the bump covers: one for each digit, and three."""
    return 3 + math.ceil(math.log10(1.0 / eps) - 0.01)


def _bump(s: Array, width: int) -> Array:
    inside = np.maximum(1.0 - (2.0 * s / width) ** 2, 0.0)
    return np.where(inside > 0.0, np.exp(_BETA * width * (np.sqrt(inside) - 1.0)), 0.0)


def lanes_for(width: int) -> int:
    """The width filled up to whole vectors: 8 or 12."""
    return max(8, -(-width // VECTOR) * VECTOR)


@lru_cache(maxsize=32)
def bump_table(width: int) -> Array:
    """Polynomials (3, degree + 1, lanes): phi, phi' and phi'' between grid points, highest power first.

    The leftmost of the grid points under the bump lies z in [0, 1) right of its edge; column j is
    phi(width / 2 - j - z) as a polynomial in 2z - 1.
    """
    degree = width + 4
    nodes = np.cos((np.arange(degree + 1) + 0.5) * np.pi / (degree + 1))
    table = np.zeros((3, degree + 1, lanes_for(width)))
    for j in range(width):
        fit: Any = Chebyshev.fit(nodes, _bump(0.5 * width - j - 0.5 * (nodes + 1.0), width), degree, [-1, 1])
        for order in range(3):
            powers = (fit.deriv(order) if order else fit).convert(kind=Polynomial).coef
            # d/ds = -d/dz = -2 d/d(2z - 1)
            table[order, degree + 1 - len(powers) :, j] = powers[::-1] * (-2.0) ** order
    table.setflags(write=False)
    return table


def bump_transform(width: int, angles: Array) -> Array:
    """phihat at angular frequencies per grid step."""
    nodes, weights = leggauss(200)
    s = 0.5 * width * nodes
    return np.cos(np.multiply.outer(angles, s)) @ (0.5 * width * weights * _bump(s, width))


def field_on_grid(coefficients: np.ndarray, period: Array, width: int, n_threads: int) -> tuple[Array, Array]:
    """The f_l above, from the c_k of a real field, k = 0 in the middle; and grid steps per unit of length.

    The grid has three axes and is continued along the last one as `interpolate` wants it.
    """
    modes = coefficients.shape
    sizes = [next_fast_len(max(math.ceil(FINER * count), width + 1, 16), real=True) for count in modes]
    half = coefficients[..., modes[-1] // 2 :]
    places = []
    for axis, (count, size) in enumerate(zip(modes, sizes, strict=True)):
        k = np.arange(count) - count // 2
        shape = [-1 if axis == a else 1 for a in range(len(modes))]
        factor = 1.0 / bump_transform(width, 2.0 * np.pi / size * k)
        last = axis == len(modes) - 1
        half = half * (factor[count // 2 :] if last else factor).reshape(shape)
        places.append(k[count // 2 :] if last else k % size)
    spectrum = np.zeros((*sizes[:-1], sizes[-1] // 2 + 1), np.complex128)
    spectrum[np.ix_(*places)] = half
    values = irfftn(spectrum, s=sizes, norm="forward", workers=n_threads, overwrite_x=True)
    continued = np.concatenate([values, values[..., : lanes_for(width)]], axis=-1)
    return continued.reshape((1,) * (3 - len(modes)) + continued.shape), np.array(sizes) / period


@compiled()
def _start(at: float, count: int, width: int) -> tuple[int, float]:
    """The leftmost grid point under the bump around ``at`` (in grid steps), and its z."""
    edge = at - 0.5 * width
    first = math.ceil(edge)
    return int(first) % count, first - edge


def _make_interpolate(lanes: int) -> Callable[..., None]:
    """`interpolate` for bumps of up to so many grid points."""
    fill = make_bumps(lanes)
    contract = make_contract(lanes)

    @compiled()
    def interpolate(
        grid: Any,
        table: Any,
        width: int,
        places: Any,
        center: Any,
        steps: Any,
        first: int,
        last: int,
        out: Any,
    ) -> None:
        n = places.shape[0]
        flat = grid.reshape(-1)
        bumps = np.zeros((3, 3, lanes))
        bumps[:, 0, 0] = 1.0  # an axis that is not there: one grid point, weight 1
        begin = np.zeros(3, np.int64)
        covered = np.ones(3, np.int64)
        covered[3 - n :] = width
        size = (grid.shape[0], grid.shape[1], grid.shape[2] - lanes)
        planes, rows = np.zeros(covered[0], np.int64), np.zeros(covered[1], np.int64)
        for i in range(first, last):
            for k in range(n):
                axis = 3 - n + k
                begin[axis], z = _start((places[k, i] - center[k]) * steps[k], size[axis], width)
                fill(table.shape[1], table, 2.0 * z - 1.0, bumps[axis])
            for j in range(planes.shape[0]):
                planes[j] = (begin[0] + j) % size[0] * grid.shape[1] * grid.shape[2]
            for j in range(rows.shape[0]):
                rows[j] = (begin[1] + j) % size[1] * grid.shape[2]
            contract(flat, begin[2], planes, rows, bumps, out[i])

    return interpolate


_INTERPOLATE = {lanes: _make_interpolate(lanes) for lanes in (8, 12)}


def interpolate(
    grid: Array, width: int, places: Array, center: Array, steps: Array, first: int, last: int, out: Array
) -> None:
    """Fill rows first to last of ``out`` (q, 10) with W, its gradient and its Hessian at the places (n, q).

    ``grid`` is (N1, N2, N3 + lanes), its last axis continued periodically by the lanes of the bumps; axes
    that are not there have one point, in front. ``steps`` are grid steps per unit of length. The order is
    W; z, y, x; zz, zy, zx, yy, yx, xx, where x is the last axis.
    """
    table = bump_table(width)
    _INTERPOLATE[table.shape[2]](grid, table, width, places, center, steps, first, last, out)
