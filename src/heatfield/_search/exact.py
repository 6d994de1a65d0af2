"""The nearest rows, exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array
from .._base.threads import stop_if_asked
from .space import Rows

_TABLE = 1 << 26  # squared distances that are held at a time
_ROUNDING = float(np.finfo(np.float32).eps)


def nearest(queries: Rows, rows: Rows, k: int) -> tuple[NDArray[np.int64], Array]:
    """The k nearest rows of each query and their squared distances, nearest first; among equals the earlier.

    A matrix product, quick but with cancellation, leaves out the rows that are too far beyond doubt: the
    k-th distance and twice the largest error that it can have. Distances of the others are
    sums of squared differences in double precision, and these alone decide.
    """
    k = min(k, len(rows))
    index = np.empty((len(queries), k), dtype=np.int64)
    squared = np.empty((len(queries), k))
    lengths = np.einsum("ij,ij->i", rows, rows)
    longest = float(lengths.max())
    together = max(1, _TABLE // len(rows))
    for first in range(0, len(queries), together):
        stop_if_asked()
        some = queries[first : first + together]
        own = np.einsum("ij,ij->i", some, some)
        table = some @ rows.T
        table *= -2.0
        table += lengths
        table += own[:, None]
        kth = np.partition(table, k - 1, axis=1)[:, k - 1]
        # Of a sum of w products the error is at most w eps times the sum of their sizes.
        error = 2.0 * (rows.shape[1] + 4) * _ROUNDING * (own + longest)
        for i, query in enumerate(some):
            candidates = np.flatnonzero(table[i] <= kth[i] + error[i])
            index[first + i], squared[first + i] = closest(query, rows, candidates, k)
    return index, squared


def closest(
    query: Rows, rows: Rows, candidates: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], Array]:
    """The k nearest of some rows, which are in order, by differences in double precision."""
    difference = rows[candidates].astype(np.float64) - query
    squared = np.einsum("ij,ij->i", difference, difference)
    best = np.argsort(squared, kind="stable")[:k]
    return candidates[best], squared[best]
