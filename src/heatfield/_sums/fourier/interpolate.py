"""A field on a grid of kernels, read off anywhere with its gradient and Hessian at once.

One real grid gives all ten numbers of a point, where separate transforms would need five complex ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.check import Array
from ..._base.compile import compiled
from .kernel import kernel_polynomials, kernel_start
from .simd import DERIVATIVES, LIKE, contract, kernel_values


@compiled()
def _interpolate(
    grid: Any, table: Any, width: int, places: Any, center: Any, steps: Any, out: Any, like: Any
) -> None:
    n = places.shape[0]
    flat = grid.reshape(-1)
    kernels = np.zeros((3, 3, len(like)))
    for axis in range(3 - n):  # an axis that is not there: one grid point, weight 1
        kernels[axis, 0, 0] = 1.0
    begin = np.zeros(3, np.int64)
    size = (grid.shape[0], grid.shape[1], grid.shape[2] - len(like))
    planes = np.zeros(width if n == 3 else 1, np.int64)
    rows = np.zeros(width if n >= 2 else 1, np.int64)
    for i in range(places.shape[1]):
        for k in range(n):
            axis = 3 - n + k
            start, z = kernel_start((places[k, i] - center[k]) * steps[k], width)
            begin[axis] = start % size[axis]
            kernel_values(table.shape[1], table, 2.0 * z - 1.0, kernels[axis], like, DERIVATIVES)
        for j in range(planes.shape[0]):
            planes[j] = (begin[0] + j) % size[0] * grid.shape[1] * grid.shape[2]
        for j in range(rows.shape[0]):
            rows[j] = (begin[1] + j) % size[1] * grid.shape[2]
        contract(flat, begin[2], planes, rows, kernels, out[i], like)


def interpolate(grid: Array, width: int, places: Array, center: Array, steps: Array, out: Array) -> None:
    """Fill ``out`` (q, 10) with W, its gradient and its Hessian at the places (n, q).

    ``grid`` is (N1, N2, N3 + lanes), its last axis continued periodically by the lanes of the kernels; axes
    that are not there have one point, in front. ``steps`` are grid steps per unit of length. Derivatives are
    per grid step; the order is W; z, y, x; zz, zy, zx, yy, yx, xx, where x is the last axis.
    """
    table = kernel_polynomials(width)
    # All places come as a whole array, some as a part of one, which would be compiled anew.
    places = np.ascontiguousarray(places)
    _interpolate(grid, table, width, places, center, steps, out, LIKE[table.shape[2]])
