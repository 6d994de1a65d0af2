"""Order statistics in place, for the median splits and the percentiles; maximum and copy of an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compile import compiled


# Numba's own copies, minima and maxima of arrays serve every shape and layout: one of them takes the compiler
# as long as a kernel. These are the same, for one axis.
@compiled({"nnan", "nsz"}, inner=True)  # without NaN, a maximum is vector code
def largest_of(values: Any, lo: int, hi: int) -> float:
    """The largest of ``values[lo:hi]``, which holds at least one and no NaN."""
    largest = values[lo]
    for j in range(lo + 1, hi):
        largest = max(largest, values[j])
    return largest


@compiled(inner=True)
def copy_to(values: Any, out: Any, at: int) -> None:
    """The values into ``out``, from ``at`` on."""
    for j in range(values.shape[0]):
        out[at + j] = values[j]


@compiled(inline=True, inner=True)  # so that ``below`` is a constant in the loop
def _split(values: Any, order: Any, lo: int, hi: int, pivot: float, below: bool) -> int:
    """Move what is smaller than the pivot (or, not ``below``, not larger) to the front.

    The loop has no branch: every value is swapped and a counter moves or does
    not, which the processor predicts perfectly whatever the data.
    """
    front = lo
    for j in range(lo, hi):
        value = values[j]
        values[j] = values[front]
        values[front] = value
        if order is not None:
            index = order[j]
            order[j] = order[front]
            order[front] = index
        front += (value < pivot) if below else (value <= pivot)
    return front


@compiled()
def select(values: Any, order: Any, lo: int, hi: int, k: int) -> None:
    """Rearrange ``values[lo:hi]`` so that ``values[k]`` is the one that sorting would put there.

    All before it are then no larger, all behind it no smaller. ``order``, if not
    None, is rearranged along.
    """
    while hi - lo > 1:
        a, b, c = values[lo], values[(lo + hi) // 2], values[hi - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        middle = _split(values, order, lo, hi, pivot, True)
        if k < middle:
            hi = middle
            continue
        # The values equal to the pivot are where they belong: step over them,
        # or a cloud of equal values would take quadratic time.
        above = _split(values, order, middle, hi, pivot, False)
        if k < above:
            return
        lo = above


@compiled()
def percentile(values: Any, lo: int, hi: int, fraction: float) -> tuple[float, int]:
    """The percentile with linear interpolation, and its lower rank, behind which nothing is smaller.

    ``values[lo:hi]`` must hold the ranks lo to hi of the whole array (its
    beginning at rank 0); it is rearranged.
    """
    position = fraction * (values.shape[0] - 1)
    rank = int(np.floor(position))
    select(values, None, lo, hi, rank)
    below = values[rank]
    if rank + 1 >= values.shape[0]:
        return below, rank
    above = values[rank + 1]
    for j in range(rank + 2, hi):
        above = min(above, values[j])
    # The form np.percentile uses: exact at both ends, monotone in between.
    weight = position - rank
    step = above - below
    value = below + step * weight if weight < 0.5 else above - step * (1.0 - weight)
    return value, rank
