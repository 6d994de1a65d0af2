"""Which point is the nearest of each and which two are farthest apart, compiled: the ends of the schedule.

Of several at the same distance the first counts. Lengths themselves are computed from these indices by torch,
with gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .._base.check import Array
from .._base.compile import compiled
from .._base.threads import pieces, run_pieces

# Minima and maxima vectorise only if the compiler may ignore NaN, and checked points have none.
_ORDERED = {"nnan", "nsz"}
_ROWS = 256


@compiled()
def _squares(sources: Any, i: int, out: Any) -> None:
    n, m = sources.shape
    out[:] = 0.0
    for k in range(n):
        row, at = sources[k], sources[k, i]
        for j in range(m):
            step = row[j] - at
            out[j] += step * step


@compiled(_ORDERED)
def _ends(squares: Any) -> tuple[float, float, int]:
    """The smallest but 0, the largest, and how many are 0."""
    low, high, same = np.inf, 0.0, 0
    for j in range(squares.shape[0]):
        d = squares[j]
        same += d == 0.0
        high = max(high, d)
        low = min(low, d if d > 0.0 else np.inf)
    return low, high, same


@compiled()
def _first(squares: Any, value: float) -> int:
    for j in range(squares.shape[0]):
        if squares[j] == value:
            return j
    return -1


@compiled()
def _search(sources: Any, first: int, last: int, nearest: Any, longest: Any, farthest: Any) -> None:
    """Rows first..last: the nearest elsewhere, -1 for a copy of an earlier point, and the farthest."""
    squares = np.empty(sources.shape[1])
    for i in range(first, last):
        _squares(sources, i, squares)
        low, high, same = _ends(squares)
        copy = same > 1 and _first(squares, 0.0) < i
        nearest[i] = -1 if copy or low == np.inf else _first(squares, low)
        longest[i] = high
        farthest[i] = _first(squares, high)


def _of_cloud(points: Array, n_threads: int) -> tuple[NDArray[np.int64], tuple[int, int]]:
    sources = np.ascontiguousarray(points.T)
    m = len(points)
    nearest, farthest, longest = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m)
    run_pieces(
        lambda first, last: _search(sources, first, last, nearest, longest, farthest),
        pieces(m, _ROWS),
        n_threads,
    )
    one = int(longest.argmax())
    return nearest, (one, int(farthest[one]))


def neighbours(points: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Nearest distinct point (B, m); which points count (first of their place, B, m); the farthest two."""
    table, counted = points.detach().double().numpy(), mask.numpy()
    nearest = np.zeros(counted.shape, np.int64)
    distinct = np.zeros(counted.shape, np.bool_)
    ends = np.zeros((len(table), 2), np.int64)
    for b, real in enumerate(counted):
        rows = np.flatnonzero(real)
        found, pair = _of_cloud(table[b, rows], torch.get_num_threads())
        nearest[b, rows] = rows[np.maximum(found, 0)]
        distinct[b, rows] = found >= 0
        ends[b] = rows[list(pair)]
    return torch.from_numpy(nearest), torch.from_numpy(distinct), torch.from_numpy(ends)
