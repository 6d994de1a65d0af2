"""The block of orientation coherence: how well the local axes of neighbours agree.

S_i(a) is the covariance of r under w at scale a, divided by 2t, without its trace: it has the axes of the
neighbourhood and vanishes where no direction is preferred. E_i^b f is the heat-weighted mean of f around
point i at scale b, and G = sqrt(2t) grad log u. All products are Frobenius products of whole tensors, not
angles between eigenvectors, so that they stay smooth where two eigenvalues meet.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from .. import _core
from .._base.check import Array

# How many scales the averages are coarser than the tensors; by how many two scales differ that are compared.
AROUND, COARSER, ACROSS = (0, 1, 3), (1, 3), (1, 2, 3)
POOLED = ("mean", "p10", "p50", "p90")
_STATISTICS = [0, 2, 3, 4]  # these of mean, std, p10, p50, p90

Means = Callable[[Array, np.ndarray], Array]


@cache
def pairs(n_scales: int, steps: tuple[int, ...]) -> np.ndarray:
    """All (a, a + step), by step and then by scale."""
    found = [(a, a + step) for step in steps for a in range(n_scales - step)]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def entries(n: int, n_scales: int) -> list[str]:
    """Names of the columns, in order."""

    def at(steps: tuple[int, ...]) -> list[str]:
        return [f"s{a}_s{b}" for a, b in pairs(n_scales, steps).tolist()]

    channels = ["density", "dimension", "transition", *(f"spectrum{k + 1}" for k in range(n))]
    return [
        *(f"agreement_{p}" for p in at(AROUND)),
        *(f"share_{p}" for p in at(AROUND)),
        *(f"{what}_{s}_{p}" for what in ("cosine", "length") for p in at(AROUND) for s in POOLED),
        *(f"coarser_{p}" for p in at(COARSER)),
        *(f"{what}_{p}" for what in ("axes", "slope") for p in at(ACROSS)),
        *(f"slope_along_axes_{p}" for p in at((0, 1))),
        *(f"slope_{channel}_s{a}" for channel in channels for a in range(n_scales)),
        *(f"slope_slope_{p}" for p in at((1, 2))),
    ]


def product(one: Array, two: Array, n: int) -> Array:
    """The Frobenius product of symmetric tensors given as upper triangles, row by row, on the first axis."""
    found, entry = np.zeros(()), 0
    for k in range(n):
        for l in range(k, n):
            both = one[entry] * two[entry]
            found = found + (both if k == l else 2.0 * both)
            entry += 1
    return found


def deviator(covariance: Array, n: int) -> Array:
    """Symmetric tensors (n (n+1) / 2, ...) without their trace."""
    diagonal = np.cumsum([0, *range(n, 1, -1)])
    out = np.array(covariance)
    out[diagonal] -= out[diagonal].sum(axis=0) / n
    return out


def values(
    tensors: Array, slopes: Array, channels: Array, ends: np.ndarray, means: Means, least: float
) -> Array:
    """The columns (N, ...) of N clouds whose points stand side by side.

    ``tensors`` S (n (n+1) / 2, T, total), ``slopes`` G (n, T, total), ``channels`` (C, T, total). ``means``
    gives (.., K, total), the means of fields of scale a around each point at scale b, for K pairs (a, b).
    What is smaller than ``least`` has no direction, and what depends on it is NaN.
    """
    n, steps, total = slopes.shape
    sizes = np.diff(ends, prepend=0)

    def totals(field: Array) -> Array:
        """Rows (K, total) summed over each cloud, (N, K)."""
        out = np.empty((len(ends), len(field)))
        _core.segment_sums(np.ascontiguousarray(field), ends, out)
        return out

    def ratio(top: Array, bottom: Array, *known: Array) -> Array:
        """NaN where one of the mean squares is that of a tensor without direction."""
        ok = np.logical_and.reduce([square > least * least for square in known])
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(ok, top / bottom, np.nan)

    def agreement(dots: Array, one: Array, two: Array) -> Array:
        return ratio(dots, np.sqrt(one * two), one / count, two / count)

    count = sizes[:, None].astype(float)
    squares = product(tensors, tensors, n)  # (T, total)
    size = np.sqrt(squares)
    square_totals, size_means = totals(squares), totals(size) / count
    around = pairs(steps, AROUND)
    a, b = around.T
    mean = means(tensors, around)  # (n (n+1) / 2, K, total)
    mean_squares = product(mean, mean, n)
    mean_size = np.sqrt(mean_squares)
    mean_totals = totals(mean_squares)
    dots = product(tensors[:, a], mean, n)
    known = (size[a] > least) & (mean_size > least)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosines = np.where(known, dots / (size[a] * mean_size), np.nan)
    lengths = np.empty((len(ends), len(a), 5))
    _core.pool(np.ascontiguousarray(mean_size), ends, lengths)
    coarser = [np.flatnonzero((a == p) & (b == q))[0] for p, q in pairs(steps, COARSER)]
    p, q = pairs(steps, COARSER).T
    parts = [
        agreement(totals(dots), mean_totals, square_totals[:, a]),
        np.sqrt(ratio(mean_totals, square_totals[:, a], square_totals[:, a] / count)),
        _pooled_where_known(cosines, known, ends),
        ratio(lengths[:, :, _STATISTICS], size_means[:, a, None], size_means[:, a, None] ** 2).reshape(
            len(ends), -1
        ),
        agreement(
            totals(product(mean[:, coarser], tensors[:, q], n)), mean_totals[:, coarser], square_totals[:, q]
        ),
    ]
    slope_squares = (slopes * slopes).sum(axis=0)
    slope_totals = totals(slope_squares)
    p, q = pairs(steps, ACROSS).T
    parts.append(
        agreement(totals(product(tensors[:, p], tensors[:, q], n)), square_totals[:, p], square_totals[:, q])
    )
    dots = (slopes[:, p] * slopes[:, q]).sum(axis=0)
    parts.append(agreement(totals(dots), slope_totals[:, p], slope_totals[:, q]))
    p, q = pairs(steps, (0, 1)).T
    outer = np.stack([slopes[k] * slopes[l] for k in range(n) for l in range(k, n)])
    along = totals(product(outer[:, p], tensors[:, q], n)) / count
    slope_means = slope_totals / count
    parts.append(ratio(along, slope_means[:, p] * size_means[:, q], slope_means[:, p], size_means[:, q] ** 2))
    slope = np.sqrt(slope_squares)
    flat = np.concatenate([slope[None], channels]).reshape(-1, total)
    wanted = [(s, (c + 1) * steps + s) for c in range(len(channels)) for s in range(steps)]
    wanted += pairs(steps, (1, 2)).tolist()
    beside = np.empty((len(ends), len(wanted)))
    _core.correlate(np.ascontiguousarray(flat), ends, np.array(wanted, dtype=np.int64), least, beside)
    parts.append(beside)
    return np.concatenate(parts, axis=1)


def _pooled_where_known(rows: Array, known: Array, ends: np.ndarray) -> Array:
    """`POOLED` statistics (N, rows x 4) over the points of each cloud that have a value."""
    out = np.full((len(ends), len(rows), 5), np.nan)
    for k, (row, some) in enumerate(zip(rows, known, strict=True)):
        left = np.cumsum(some)[ends - 1]
        filled = np.diff(left, prepend=0) > 0
        if filled.any():
            found = np.empty((int(filled.sum()), 1, 5))
            _core.pool(np.ascontiguousarray(row[some])[None], np.ascontiguousarray(left[filled]), found)
            out[filled, k] = found[:, 0]
    return out[:, :, _STATISTICS].reshape(len(ends), -1)
