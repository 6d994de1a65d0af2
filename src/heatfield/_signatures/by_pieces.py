"""What follows from the outputs of many points, in threads: piece by piece, put together in their order."""

from __future__ import annotations

import numpy as np

from .._base.check import Array
from .._base.threads import pieces, run_pieces
from . import equations

# Rows at a time. Up to here all is done at once, as in `equations`.
_PIECE = 65_536


def transition_by_difference(dimensions: Array, times: Array, n_threads: int) -> Array:
    """`equations.transition_by_difference`; each row by itself."""
    out = np.empty_like(dimensions)

    def work(first: int, last: int) -> None:
        own = times[first:last] if times.shape[0] > 1 else times
        out[first:last] = equations.transition_by_difference(dimensions[first:last], own)

    run_pieces(work, pieces(len(out), _PIECE), n_threads)
    return out


def heat_dimension_spectrum(
    densities: Array, dimensions: Array, centers: Array, sigma: float, n_threads: int
) -> tuple[Array, Array]:
    """`equations.heat_dimension_spectrum`; means over pieces, weighted by their points and their density."""
    ranges = pieces(len(densities), _PIECE)
    if len(ranges) <= 1:
        return equations.heat_dimension_spectrum(densities, dimensions, centers, sigma)
    steps = densities.shape[1]
    found = np.empty((len(ranges), 2, steps, centers.size))
    counts, totals = np.empty((len(ranges), 1, 1)), np.empty((len(ranges), steps, 1))

    def work(first: int, last: int) -> None:
        i, u = first // _PIECE, densities[first:last]
        found[i] = equations.heat_dimension_spectrum(u, dimensions[first:last], centers, sigma)
        counts[i], totals[i, :, 0] = last - first, u.sum(axis=0)

    run_pieces(work, ranges, n_threads)
    share, contrast = found[:, 0], found[:, 1]
    composition = (counts * share).sum(axis=0) / counts.sum(axis=0)
    return composition, (totals * (share + contrast)).sum(axis=0) / totals.sum(axis=0) - composition
