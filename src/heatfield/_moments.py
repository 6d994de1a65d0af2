"""From points and scales to the sums that every signature is read from."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ._arrange import arrange
from ._check import Array
from ._dense import dense_sums, empty_sums
from ._dense_many import dense_sums_many
from ._spacing import diameter_squared, mean_spacing, nearest_distinct
from ._spacing_tree import MANY, diameter_of_many, nearest_of_many
from ._threads import pieces, run_pieces

# log(1 / error) at which a pair is left out: below the rounding of either precision.
DIGITS = {np.dtype(np.float64): 37.0, np.dtype(np.float32): 17.0}

# Pairs times scales that one thread sums in roughly a quarter of a second.
_PIECE = 2e8


@dataclass(frozen=True)
class Cloud:
    """A cloud arranged for the pair sums (see `_arrange`), with its spacing."""

    sources: Array  # (n, m), normalised, in kd order
    boxes: Array  # (2, n, blocks)
    order: np.ndarray  # place of each column in the caller's cloud
    exponent: int  # original = normalised * 2**exponent
    nearest: Array  # squared distance to the nearest distinct point, normalised
    same: np.ndarray  # how many points share each place

    @classmethod
    def of(cls, points: Array, n_threads: int = 1) -> Cloud:
        """Arrange a checked (m, n) array."""
        sources, boxes, order, exponent = arrange(points)
        nearest = nearest_of_many if order.size > MANY else nearest_distinct
        threads = {"n_threads": n_threads} if order.size > MANY else {}
        return cls(sources, boxes, order, exponent, *nearest(sources, boxes, **threads))

    @property
    def spacing(self) -> float:
        """Mean nearest-neighbour distance over distinct points; NaN for fewer than two."""
        return math.ldexp(mean_spacing(self.nearest, self.same), self.exponent)

    @property
    def diameter(self) -> float:
        """Largest distance between two points."""
        farthest = diameter_of_many if self.order.size > MANY else diameter_squared
        return math.ldexp(math.sqrt(farthest(self.sources, self.boxes)), self.exponent)

    def unit_scales(self, scales: Array) -> Array:
        """The scales in normalised units and, where they are (m, T), in kd order."""
        unit = np.ldexp(scales, -2 * self.exponent)
        return unit[self.order] if unit.shape[0] > 1 else unit


def sum_rows(
    cloud: Cloud,
    unit_scales: Array,
    first: int,
    last: int,
    sums: Array,
    *,
    spectrum: bool,
    fourth: bool,
    dtype: np.dtype,
) -> None:
    """Fill rows first..last of the table of sums of `_dense`; rows are in the cloud's kd order."""
    if cloud.sources.shape[0] > 3:
        dense_sums_many(cloud.sources, unit_scales, first, last, spectrum, fourth, dtype, sums)
        return
    dense_sums(
        cloud.sources,
        cloud.boxes,
        cloud.nearest,
        unit_scales,
        first,
        last,
        DIGITS[dtype],
        spectrum,
        fourth,
        np.empty(0, dtype),
        sums,
    )


def pair_sums(
    cloud: Cloud,
    unit_scales: Array,
    *,
    spectrum: bool,
    fourth: bool,
    dtype: np.dtype,
    n_threads: int,
) -> Array:
    """The table of sums (m, T, columns), its rows spread over threads."""
    n, m = cloud.sources.shape
    steps = unit_scales.shape[1]
    sums = empty_sums(m, steps, n, spectrum)

    def work(first: int, last: int) -> None:
        sum_rows(cloud, unit_scales, first, last, sums, spectrum=spectrum, fourth=fourth, dtype=dtype)

    rows = min(max(1, int(_PIECE / max(1, m * steps))), math.ceil(m / (4 * n_threads)) or 1)
    with one_blas_thread(n):
        run_pieces(work, pieces(m, rows), n_threads, progress="points")
    return sums


def one_blas_thread(n: int) -> Any:
    """Beyond three dimensions the sums call BLAS, whose own threads would fight with ours."""
    return threadpool_limits(1, "blas") if n > 3 else nullcontext()
