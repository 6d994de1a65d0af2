"""The exponential-of-semicircle kernel that links points and a uniform grid, as in FINUFFT.

On a grid somewhat finer than its modes need (the upsampling factor), a periodic field is

    W(x) = sum_l f_l phi(x / h - l),   f_l = sum_k c_k / phihat(k) exp(i k x_l),

so its derivatives are the same sum with phi' and phi''; the other way round, the modes of points are those
of the points spread to the grid with phi, divided by phihat (`grid`). The kernel is
phi(s) = exp(beta (sqrt(1 - (2s/w)**2) - 1)) on w grid points: A. H. Barnett, J. Magland and L. af Klinteberg,
"A parallel nonuniform fast Fourier transform library based on an exponential of semicircle kernel",
SIAM J. Sci. Comput. 41 (2019) C479. The heat factor exp(-t k**2) in c_k keeps the error small although
derivatives amplify it and the upsampling factor is only 1.25; with the widths below the second derivatives,
the weakest, err by about 2 eps in their natural unit, down to 1e-13 (measured: benchmarks/grid_error.py).
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.polynomial.legendre import leggauss

from ... import _core
from ..._base.check import Array

# The upsampling factor: grid points per mode along each axis.
UPSAMPLING = 1.25
# Points of the fine grid that fit into the memory given to one transform (16 bytes each).
GRID_LIMIT = 1.2e8
# The smallest error that the widest kernel gives.
GRID_EPS = 0.99e-13
_BETA = 2.6  # per point of width
_VECTOR = 4  # numbers
_DIGITS = 50  # of the polynomials while they are made


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
