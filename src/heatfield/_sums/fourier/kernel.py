"""The exponential-of-semicircle kernel that links points and a uniform grid, as in FINUFFT.

On a grid somewhat finer than its modes need (the upsampling factor), a periodic field is

    W(x) = sum_l f_l phi(x / h - l),   f_l = sum_k c_k / phihat(k) exp(i k x_l),

so its derivatives are the same sum with phi' and phi'' (`interpolate`); the other way round, the modes of
points are those of the points spread to the grid with phi, divided by phihat (`spread`). The kernel is
phi(s) = exp(beta (sqrt(1 - (2s/w)**2) - 1)) on w grid points: A. H. Barnett, J. Magland and L. af Klinteberg,
"A parallel nonuniform fast Fourier transform library based on an exponential of semicircle kernel",
SIAM J. Sci. Comput. 41 (2019) C479. The heat factor exp(-t k**2) in c_k keeps the error small although
derivatives amplify it and the upsampling factor is only 1.25; with the widths below the second derivatives,
the weakest, err by about 2 eps in their natural unit (measured: benchmarks/grid_error.py).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.polynomial.legendre import leggauss
from scipy.fft import next_fast_len

from ..._base.check import Array
from ..._base.compile import compiled
from .simd import VECTOR

# The upsampling factor: grid points per mode along each axis.
UPSAMPLING = 1.25
# Below this the second derivatives of the kernel would be too rough.
GRID_EPS = 0.99e-9
_BETA = 2.6  # per point of width


@compiled()
def width_for(eps: float) -> int:
    """Grid points that the kernel covers: one for each digit, and three."""
    return 3 + math.ceil(math.log10(1.0 / eps) - 0.01)


def _kernel(s: Array, width: int) -> Array:
    inside = np.maximum(1.0 - (2.0 * s / width) ** 2, 0.0)
    return np.where(inside > 0.0, np.exp(_BETA * width * (np.sqrt(inside) - 1.0)), 0.0)


def lanes_for(width: int) -> int:
    """The width filled up to whole vectors: 8 or 12."""
    return max(8, -(-width // VECTOR) * VECTOR)


@lru_cache(maxsize=32)
def kernel_polynomials(width: int) -> Array:
    """Polynomials (3, degree + 1, lanes): phi, phi' and phi'' between grid points, highest power first.

    The leftmost of the grid points under the kernel lies z in [0, 1) right of its edge; column j is
    phi(width / 2 - j - z) as a polynomial in 2z - 1.
    """
    degree = width + 4
    nodes = np.cos((np.arange(degree + 1) + 0.5) * np.pi / (degree + 1))
    table = np.zeros((3, degree + 1, lanes_for(width)))
    for j in range(width):
        fit: Any = Chebyshev.fit(
            nodes, _kernel(0.5 * width - j - 0.5 * (nodes + 1.0), width), degree, [-1, 1]
        )
        for order in range(3):
            powers = (fit.deriv(order) if order else fit).convert(kind=Polynomial).coef
            # d/ds = -d/dz = -2 d/d(2z - 1)
            table[order, degree + 1 - len(powers) :, j] = powers[::-1] * (-2.0) ** order
    table.setflags(write=False)
    return table


@lru_cache(maxsize=32)
def _quadrature(width: int) -> tuple[Array, Array]:
    """Places in half of the kernel, and its values there times the weights of a Gauss-Legendre rule."""
    nodes, weights = leggauss(200)
    s = 0.5 * width * nodes[100:]
    return s, width * weights[100:] * _kernel(s, width)


def kernel_transform(width: int, angles: Array) -> Array:
    """phihat at angular frequencies per grid step."""
    s, values = _quadrature(width)
    # No matrix product: it would start the threads of BLAS inside our own.
    return (np.cos(np.multiply.outer(angles, s)) * values).sum(axis=1)


@compiled(inner=True)
def kernel_start(at: float, width: int) -> tuple[int, float]:
    """The leftmost grid point under the kernel around ``at`` (in grid steps), and its z."""
    edge = at - 0.5 * width
    first = math.ceil(edge)
    return first, first - edge


def upsampled_size(modes: int, width: int) -> int:
    """Grid points along an axis with so many modes."""
    return next_fast_len(max(math.ceil(UPSAMPLING * modes), width + 1, 16), real=True)
