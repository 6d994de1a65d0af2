"""Many clouds: which of them are computed side by side, and which one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array, OutOfRangeError
from .._base.threads import even_pieces, run_pieces
from .._base.warn import warn_caller
from ..core.dense_or_fast import surely_dense


def each_cloud(
    work: Callable[[int, int], object],
    clouds: Sequence[Array],
    *,
    method: str,
    n_threads: int,
    chosen: Iterable[int] | None = None,
) -> None:
    """Call ``work(i, threads)`` for every cloud, or for the chosen ones.

    Small clouds are distributed over the threads. Those that may take the fast path get all threads, one
    after the other: their memory is O(m T).
    """

    def named(i: int, threads: int) -> None:
        try:
            work(i, threads)
        except OutOfRangeError as error:
            raise OutOfRangeError(error.problem, i) from None

    indices = range(len(clouds)) if chosen is None else list(chosen)
    if not indices:
        return
    small = [i for i in indices if surely_dense(method, *clouds[i].shape)]
    large = sorted(set(indices) - set(small))

    def piece(first: int, last: int) -> None:
        for i in small[first:last]:
            named(i, 1)

    run_pieces(piece, even_pieces([len(clouds[i]) for i in small]), n_threads, progress="clouds")
    for i in large:
        named(i, n_threads)


def warn_of_empty(table: NDArray[Any], consequence: str) -> None:
    """Name the clouds that have no scale schedule, and so no number in their row of ``table``."""
    found = np.flatnonzero(np.isnan(table).all(axis=1))
    if found.size:
        shown = ", ".join(map(str, found[:10])) + (", ..." if found.size > 10 else "")
        warn_caller(
            f"{found.size} of {len(table)} clouds have fewer than two distinct points, "
            f"so {consequence}: clouds {shown}"
        )
