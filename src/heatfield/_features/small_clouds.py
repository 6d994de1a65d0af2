"""Descriptors of many small clouds: a few compiled calls per batch, without the interpreter in between.

The work of `describe.describe_cloud` on the dense path, for a run of clouds: `_core.clouds` arranges all of
them, NumPy computes their times from that, and `_rows` does the rest. The numbers are the same to the bit
(tests/_features/test_small_clouds.py), so no result depends on how clouds were grouped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._base.check import Array, OutOfRangeError, check_times, time_range
from .._base.compile import compiled
from .._base.select import copy_to
from .._base.threads import even_pieces, run_pieces
from .._cloud.arrange import BLOCK
from .._signatures.eigenvalues import eigenvalues_up_to_3
from .._signatures.equations import _scaled_covariance, heat_dimension_spectrum
from .._signatures.scales import geometric
from .._sums.columns import (
    FIRST,
    FOURTH,
    LOG_ACCURACY,
    ROOT_SQUARE,
    ROOT_WEIGHT,
    SQUARE,
    WEIGHT,
    column_count,
)
from .._sums.dense_kernels import dense_sums
from .._sums.dense_or_fast import SMALL, surely_dense
from .layout import JOINT_BLOCKS, PAPER_BLOCKS
from .neighbourhood_kernels import neighbourhood_deviation, pool_deviation
from .pooling import LEAST_DEVIATION, correlations, couplings, log_positive, pool_channels, standardise
from .settings import DescriptorSettings

# Pairs in one batch: some milliseconds of work, beside which the interpreter's share is nothing.
_BATCH = 1e6


def goes_in_batches(m: int, n: int, method: str) -> bool:
    """Whether m points in n dimensions are described here, and not by `describe_cloud`."""
    return n <= 3 and m <= SMALL and surely_dense(method, m, n)


def describe_small(
    clouds: Sequence[Array],
    chosen: Sequence[int],
    settings: DescriptorSettings,
    out: Array,
    extents: Array | None,
    *,
    n_threads: int,
) -> None:
    """Write the rows of the chosen clouds, and their mean spacing and diameter into ``extents`` (N, 2)."""
    load = sum(float(len(clouds[i])) ** 2 for i in chosen)
    ranges = even_pieces([len(clouds[i]) for i in chosen], min(_BATCH, load / (4 * n_threads)))

    def work(first: int, last: int) -> None:
        rows = chosen[first:last]
        table, found = _batch([clouds[i] for i in rows], rows, settings)
        out[rows] = table
        if extents is not None:
            extents[rows] = found

    run_pieces(work, ranges, n_threads, progress="clouds")


def _batch(
    clouds: Sequence[Array], names: Sequence[int], settings: DescriptorSettings
) -> tuple[Array, Array]:
    """Rows, and spacing and diameter, of one batch; ``names`` are the numbers of the clouds in errors."""
    n = settings.n_dims
    sizes = np.array([len(points) for points in clouds])
    ends = np.cumsum(sizes)
    columns = settings.columns
    sources, nearest = np.empty(n * ends[-1]), np.empty(ends[-1])
    boxes = np.empty(2 * n * int((-(-sizes // BLOCK)).sum()))
    extents, exponents = np.empty((len(clouds), 2)), np.empty(len(clouds), np.int64)
    _core.clouds(np.concatenate(clouds), ends, sources, boxes, nearest, extents, exponents)
    times = _times(extents, sizes, names, settings)
    first = [columns.columns[b].start if b in columns.columns else -1 for b in JOINT_BLOCKS]
    count = len(PAPER_BLOCKS)
    rows = np.full((len(clouds), columns.width), np.nan)
    _rows(
        sources, boxes, nearest, ends,
        times, np.ldexp(times, -2 * exponents[:, None]),
        np.stack([(4.0 * np.pi * times) ** (-n / 2), (8.0 * np.pi * times) ** (-n / 2)]),
        np.empty((len(clouds), 0)) if settings.exact else np.diff(np.log(times), axis=1),
        LOG_ACCURACY[settings.precision], np.empty(0, settings.precision),
        settings.with_spectrum, settings.centers, settings.hds_sigma, np.array(first[:count]),
        np.array(first[count:]) if settings.joint else None, rows,
    )  # fmt: skip
    return rows, extents


def _times(extents: Array, sizes: Any, names: Sequence[int], settings: DescriptorSettings) -> Array:
    """The times (N, T) of every cloud, NaN for fewer than two distinct points; an error names the cloud."""
    if settings.lengths is not None:
        times = np.repeat(np.square(settings.lengths)[None, :], len(sizes), axis=0)
        times[np.isnan(extents[:, 0])] = np.nan
    else:
        low, high = settings.c_min * extents[:, :1] ** 2, settings.c_max * extents[:, 1:] ** 2
        times = geometric(low, high, settings.n_scales)
    least, most = time_range(sizes, settings.n_dims)
    for i in np.flatnonzero((times.min(axis=1) < least) | (times.max(axis=1) > most)).tolist():
        try:
            check_times(times[i], int(sizes[i]), settings.n_dims)
        except OutOfRangeError as error:
            raise OutOfRangeError(error.problem, names[i]) from None
    return times


@compiled()
def _rows(
    flat: Any,
    flat_boxes: Any,
    nearest: Any,
    ends: Any,
    times: Any,
    unit_times: Any,
    factors: Any,
    gaps: Any,
    log_accuracy: float,
    like: Any,
    directions: bool,
    centers: Any,
    sigma: float,
    first: Any,
    joint: Any,
    out: Any,
) -> None:
    """Fill the rows of ``out``; a row whose times are NaN stays as it is.

    ``factors`` are (4 pi t)**(-n/2) and (8 pi t)**(-n/2), ``gaps`` the differences of log t, without columns
    where the transition is exact. ``first`` holds the first column of each block of the paper, -1 where it
    was not asked for, ``joint`` those of the others, or None.
    """
    steps = times.shape[1]
    exact = gaps.shape[1] == 0
    begin = last_box = 0
    n = flat.shape[0] // nearest.shape[0]
    for i in range(ends.shape[0]):
        m, row = ends[i] - begin, out[i]
        start, begin = begin, ends[i]
        blocks = (m + BLOCK - 1) // BLOCK
        first_box, last_box = last_box, last_box + 2 * n * blocks
        if not times[i, 0] > 0.0:
            continue
        sources = flat[n * start : n * begin].reshape(n, m)
        boxes = flat_boxes[first_box:last_box].reshape(2, n, blocks)
        unit = unit_times[i : i + 1]
        sums = np.zeros((m, steps, column_count(n, directions)))
        dense_sums(
            sources, boxes, nearest[start:begin], unit, 0, m, log_accuracy, directions, exact, like, sums
        )
        u, d = np.empty((m, steps)), np.empty((m, steps))
        channels = np.empty((3 + n if directions else 3, steps, m))
        _local(sums, unit[0], factors[0, i], gaps[i], u, d, channels)
        if joint is not None:
            for a in range(steps):
                for j in range(m):
                    channels[0, a, j] = log_positive(channels[0, a, j])
        if directions:
            _spectrum(sums, unit, n, channels)
        if first[0] >= 0:
            _global(sums, times[i], unit[0], factors[1, i], n, joint is not None, row[first[0] :])
        if first[1] >= 0:
            composition, contrast = heat_dimension_spectrum(u, d, centers, sigma)
            for k in range(centers.shape[0]):
                for a in range(steps):
                    row[first[1] + k * steps + a] = composition[a, k]
                    row[first[1] + (centers.shape[0] + k) * steps + a] = contrast[a, k]
        for block in range(2, 6):
            if first[block] >= 0:
                last = block - 1 if block < 5 else 3 + n
                pool_channels(channels[block - 2 : last], row[first[block] :])
        if joint is not None:
            _joint_blocks(sources, boxes, unit, sums, channels, log_accuracy, like, joint, row)


@compiled(inner=True)
def _local(sums: Any, unit: Any, factors: Any, gaps: Any, u: Any, d: Any, channels: Any) -> None:
    """Density, dimension and transition, as the formulas of `equations` have them, operation by operation."""
    m, steps = u.shape
    for i in range(m):
        for a in range(steps):
            weight, square, t = sums[i, a, WEIGHT], sums[i, a, SQUARE], unit[a]
            u[i, a] = factors[a] * weight
            d[i, a] = square / (2.0 * t * weight)
            channels[0, a, i] = u[i, a]
            channels[1, a, i] = d[i, a]
            if gaps.shape[0] == 0:
                mean = square / weight
                variance = sums[i, a, FOURTH] / weight - mean * mean
                channels[2, a, i] = variance / (8.0 * (t * t)) - d[i, a]
        if gaps.shape[0]:
            slope = (d[i, 1] - d[i, 0]) / gaps[0]
            channels[2, 0, i] = slope
            for a in range(1, steps - 1):
                before, slope = slope, (d[i, a + 1] - d[i, a]) / gaps[a]
                inner = gaps[a - 1] * slope + gaps[a] * before
                channels[2, a, i] = inner / (gaps[a - 1] + gaps[a])
            channels[2, steps - 1, i] = slope


@compiled(inner=True)
def _spectrum(sums: Any, unit: Any, n: int, channels: Any) -> None:
    """The spectrum into the channels from the fourth on."""
    m, steps = sums.shape[0], sums.shape[1]
    values = np.empty((m * steps, n))
    eigenvalues_up_to_3(_scaled_covariance(sums, unit, n), values)
    for i in range(m):
        for a in range(steps):
            for k in range(n):
                channels[3 + k, a, i] = values[i * steps + a, k] - 1.0


@compiled(inner=True)
def _global(sums: Any, times: Any, unit: Any, factors: Any, n: int, log: bool, out: Any) -> None:
    """E2, C2, Dirichlet energy and its ratio to E2; on demand the logarithms of all but C2."""
    steps = times.shape[0]
    for a in range(steps):
        total = squares = 0.0
        for i in range(sums.shape[0]):
            total += sums[i, a, ROOT_WEIGHT]
            squares += sums[i, a, ROOT_SQUARE]
        energy = factors[a] * total
        response = n / 2 - squares / total / (8.0 * unit[a])
        dirichlet = response * energy / (2.0 * times[a])
        relative = dirichlet / energy
        out[a] = log_positive(energy) if log else energy
        out[steps + a] = response
        out[2 * steps + a] = log_positive(dirichlet) if log else dirichlet
        out[3 * steps + a] = log_positive(relative) if log else relative


@compiled(inner=True)
def _joint_blocks(
    sources: Any, boxes: Any, unit: Any, sums: Any, channels: Any, log_accuracy: float, like: Any, first: Any,
    row: Any,
) -> None:  # fmt: skip
    """Gradient, correlation, coupling and neighbourhood, where their first column is not -1."""
    n, m = sources.shape
    steps = unit.shape[1]
    if first[0] >= 0:
        lengths = np.empty((1, steps, m))
        for i in range(m):
            for a in range(steps):
                total = 0.0
                for k in range(n):
                    total += sums[i, a, FIRST + k] * sums[i, a, FIRST + k]
                lengths[0, a, i] = np.sqrt(total / (2.0 * unit[0, a])) / sums[i, a, WEIGHT]
        pool_channels(lengths, row[first[0] :])
    if first[1] >= 0 or first[2] >= 0:
        standard = standardise(channels, LEAST_DEVIATION)
        if first[1] >= 0:
            correlations(standard, row[first[1] :])
        if first[2] >= 0:
            couplings(standard, row[first[2] :])
    if first[3] >= 0:
        fields = np.empty((2 + n, steps, m))  # all but the transition
        for f in range(2 + n):
            for a in range(steps):
                copy_to(channels[f if f < 2 else f + 1, a], fields[f, a], 0)
        deviation = neighbourhood_deviation(
            sources, boxes, unit, sums[:, :, WEIGHT], fields, log_accuracy, like
        )
        pool_deviation(deviation, steps, row[first[3] :])
