"""The dense path: every pair that can change a digit, for one cloud or many at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import _core
from .._base.check import Array
from .._base.threads import even_pieces, pieces, run_pieces
from .cloud import ArrangedCloud
from .moments import LOG_ACCURACY, Request, column_count

# Pairs times scales that one thread sums in roughly a quarter of a second.
_PIECE = 2e8
_MOST_GIB = 4  # of the table of sums in more than 16 dimensions


@dataclass(frozen=True, eq=False)
class Batch:
    """Clouds one after the other, arranged for the sums: the points of cloud c end at ``ends[c]``."""

    n: int
    ends: np.ndarray  # (N,)
    sources: Array  # (n, m) of each cloud, flat
    boxes: Array  # (2, n, blocks) of each cloud, flat
    nearest: Array  # squared distance of each point to the next place
    exponents: np.ndarray  # (N,) the unit of length of each cloud is 2**exponent
    extents: Array  # (N, 2) mean spacing and diameter; NaN for fewer than two places

    @classmethod
    def of(cls, clouds: Sequence[Array]) -> Batch:
        """Arrange checked arrays (m, n)."""
        points = clouds[0] if len(clouds) == 1 else np.concatenate(clouds)
        return cls.packed(points, np.cumsum([len(cloud) for cloud in clouds]))

    @classmethod
    def packed(
        cls, points: Array, ends: np.ndarray, n_threads: int = 1, orders: np.ndarray | None = None
    ) -> Batch:
        """Arrange clouds that lie one after the other, (total, n); ``orders`` gets the row of each point."""
        n, sizes = points.shape[1], np.diff(ends, prepend=0)
        blocks = np.cumsum(-(-sizes // _core.BLOCK))
        sources, nearest, boxes = np.empty(points.size), np.empty(len(points)), np.empty(2 * n * blocks[-1])
        extents, exponents = np.empty((len(ends), 2)), np.empty(len(ends), np.int64)

        def work(first: int, last: int) -> None:
            rows = slice(ends[first - 1] if first else 0, ends[last - 1])
            begin = blocks[first - 1] if first else 0
            _core.clouds(
                points[rows], ends[first:last] - rows.start, sources[n * rows.start : n * rows.stop],
                boxes[2 * n * begin : 2 * n * blocks[last - 1]], nearest[rows], extents[first:last],
                exponents[first:last], None if orders is None else orders[rows],
            )  # fmt: skip
            if orders is not None:
                orders[rows] += rows.start

        if n_threads == 1:
            work(0, len(ends))
        else:
            run_pieces(work, even_pieces(sizes.tolist()), n_threads)
        return cls(n, ends, sources, boxes, nearest, exponents, extents)

    @classmethod
    def one(cls, cloud: ArrangedCloud) -> Batch:
        """A cloud that is arranged already."""
        n, m = cloud.points.shape
        return cls(
            n, np.array([m]), cloud.points.ravel(), cloud.boxes.ravel(), cloud.nearest,
            np.array([cloud.exponent]), np.empty((1, 2)),
        )  # fmt: skip

    @cached_property
    def sizes(self) -> np.ndarray:
        """(N,) points of each cloud."""
        return np.diff(self.ends, prepend=0)

    @property
    def total(self) -> int:
        """How many points there are."""
        return int(self.ends[-1])

    def at_points(self, values: Array) -> Array:
        """Numbers (T, N) of the clouds as (T, total), or (T, 1) for a single cloud."""
        return values if len(self.ends) == 1 else np.repeat(values, self.sizes, axis=1)


def dense_sums(batch: Batch, unit_times: Array, request: Request, out: Array | None = None) -> Array:
    """The sums (columns, T, total) of `moments`; ``unit_times`` are (T, N), or (T, m) for a single cloud.

    A cloud whose times are NaN has sums of 0.
    """
    n = batch.n
    sums = np.empty(sums_shape(batch, len(unit_times), request)) if out is None else out
    single, log_accuracy = request.dtype == np.float32, LOG_ACCURACY[request.dtype]
    times = np.ascontiguousarray(unit_times)

    def work(first: int, last: int) -> None:
        _core.dense(
            batch.sources, batch.boxes, batch.ends, batch.nearest, times, n, log_accuracy, single,
            request.fourth_moment, request.directions, first, last, sums,
        )  # fmt: skip

    _by_rows(work, batch, len(unit_times), request.n_threads)
    return sums


def difference_sums(
    batch: Batch,
    unit_times: Array,
    values: Array,
    pairs: np.ndarray,
    dtype: np.dtype,
    out: Array,
    n_threads: int = 1,
) -> None:
    """Sums of w (f_j - f_i) and of w (f_j - f_i)**2 around each point i, into ``out`` (2, F, pairs, total).

    ``values`` are fields (F, T, total); a pair (a, b) weights the fields of scale a by the w of scale b.
    """
    times = np.ascontiguousarray(unit_times)
    from_scale, to_scale = (np.ascontiguousarray(pairs[:, side]) for side in (0, 1))
    single, log_accuracy = dtype == np.float32, LOG_ACCURACY[dtype]

    def work(first: int, last: int) -> None:
        _core.differences(
            batch.sources, batch.boxes, batch.ends, times, batch.n, log_accuracy, single, values,
            from_scale, to_scale, first, last, out,
        )  # fmt: skip

    _by_rows(work, batch, len(times) * len(values), n_threads)


def _by_rows(work: Callable[[int, int], object], batch: Batch, load: int, n_threads: int) -> None:
    """Small batches in one call, without threads and progress bar; they come by the thousand."""
    total, largest = batch.total, int(batch.sizes.max(initial=1))
    if n_threads == 1 and float(total) * largest * load <= _PIECE:
        work(0, total)
        return
    rows = min(max(1, int(_PIECE / max(1, largest * load))), math.ceil(total / (4 * n_threads)) or 1)
    run_pieces(work, pieces(total, rows), n_threads, progress="points")


def sums_shape(batch: Batch, steps: int, request: Request) -> tuple[int, int, int]:
    """The shape of the table of sums; it grows with n**2, so a wide cloud may not fit."""
    shape = (column_count(batch.n, request.directions), steps, batch.total)
    size = 8 * math.prod(shape) / 2**30
    if batch.n > 16 and size > _MOST_GIB:
        raise ValueError(
            f"the spectrum of {batch.total} points in {batch.n} dimensions at {steps} scales takes "
            f"{size:.1f} GiB, more than {_MOST_GIB}; reduce the dimension first, or leave the spectrum out"
        )
    return shape
