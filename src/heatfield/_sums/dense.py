"""The dense path: every pair that can change a digit of the result."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .._base.check import Array
from .._base.threads import pieces, run_pieces
from .._cloud.cloud import ArrangedCloud
from .columns import LOG_ACCURACY, Request, column_count
from .dense_any_dimension import dense_sums_any_dimension
from .dense_kernels import dense_sums

# Pairs times scales that one thread sums in roughly a quarter of a second.
_PIECE = 2e8
_MOST_GIB = 4  # of the table of sums in more than 16 dimensions


def pair_sums(cloud: ArrangedCloud, unit_scales: Array, request: Request) -> Array:
    """The table of sums (m, T, columns) of `columns`, its rows in the cloud's kd order."""
    n, m = cloud.points.shape
    steps = unit_scales.shape[1]
    sums = _empty_sums(m, steps, n, request.directions)
    if request.n_threads == 1 and float(m) * m * steps <= _PIECE:
        # Small clouds often come by the thousand: one compiled call, without threads and progress bar.
        _sum_rows(cloud, unit_scales, 0, m, request, sums)
        return sums
    rows = min(max(1, int(_PIECE / max(1, m * steps))), math.ceil(m / (4 * request.n_threads)) or 1)
    with one_blas_thread(n):
        run_pieces(
            lambda first, last: _sum_rows(cloud, unit_scales, first, last, request, sums),
            pieces(m, rows),
            request.n_threads,
            progress="points",
        )
    return sums


def _empty_sums(m: int, steps: int, n: int, directions: bool) -> Array:
    """The table of sums (m, T, columns), all zero; it grows with n**2, so a wide cloud may not fit."""
    shape = (m, steps, column_count(n, directions))
    size = 8 * shape[0] * shape[1] * shape[2] / 2**30
    if n > 16 and size > _MOST_GIB:
        raise ValueError(
            f"the spectrum of {m} points in {n} dimensions at {steps} scales takes {size:.1f} GiB, more than "
            f"{_MOST_GIB}; reduce the dimension first, or leave the spectrum out"
        )
    return np.zeros(shape)


def _sum_rows(
    cloud: ArrangedCloud, unit_scales: Array, first: int, last: int, request: Request, sums: Array
) -> None:
    """Fill rows first..last of the table."""
    directions, fourth_moment, dtype = request.directions, request.fourth_moment, request.dtype
    if cloud.points.shape[0] > 3:
        dense_sums_any_dimension(
            cloud.points, unit_scales, first, last,
            directions=directions, fourth_moment=fourth_moment, dtype=dtype, sums=sums,
        )  # fmt: skip
        return
    dense_sums(
        cloud.points, cloud.boxes, cloud.nearest, unit_scales, first, last, LOG_ACCURACY[dtype],
        directions, fourth_moment, np.empty(0, dtype), sums,
    )  # fmt: skip


def one_blas_thread(n: int) -> Any:
    """Beyond three dimensions the sums call BLAS, whose own threads would compete with ours."""
    return threadpool_limits(1, "blas") if n > 3 else nullcontext()
