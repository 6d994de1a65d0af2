"""From tables of sums to signatures: the formulas applied to blocks of points.

Arrays have the scales first, (T, q), which is how sums are found and pooled; `Outputs.turn_round` puts the
points first.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .._base.check import Array
from .._base.threads import pieces, run_pieces
from . import formulas
from .moments import Request, Sums

# Points read off at a time: their sums and outputs stay in the cache.
PIECE = 8_192
# Points whose memberships are in memory together.
_TOGETHER = 65_536
# The outputs at single targets.
LOCAL = ("density", "dimension", "transition", "spectrum", "directions", "gradient")


@dataclass(eq=False)
class Outputs:
    """Signatures of q targets at T scales; None for what was not asked for."""

    density: Array  # (T, q)
    dimension: Array
    transition: Array
    spectrum: Array | None  # (n, T, q)
    directions: Array | None  # (n, n, T, q): vector k belongs to number k of the spectrum
    gradient: Array | None  # (T, q): sqrt(2t) |grad log u|
    exact: bool  # the transition is in closed form, and not by differences

    @classmethod
    def empty(
        cls,
        n: int,
        steps: int,
        q: int,
        request: Request,
        *,
        vectors: bool = False,
        block: Array | None = None,
    ) -> Outputs:
        """Arrays with any numbers in them; or views of the ``block`` (3 or 3+n, T, q), transition first."""
        one: Any = (np.empty((steps, q)) for _ in range(3)) if block is None else block[:3]
        transition, density, dimension = one
        spectrum = None
        if request.directions:
            spectrum = np.empty((n, steps, q)) if block is None else block[3:]
        return cls(
            density, dimension, transition, spectrum,
            directions=np.empty((n, n, steps, q)) if vectors else None,
            gradient=np.empty((steps, q)) if request.gradient else None,
            exact=request.fourth_moment,
        )  # fmt: skip

    def part(self, scales: slice, points: slice) -> Outputs:
        """Views of some scales and points."""
        part: Any = copy(self)
        for name in LOCAL:
            if getattr(self, name) is not None:
                setattr(part, name, getattr(self, name)[..., scales, points])
        return part

    def turn_round(self, rows: np.ndarray, n_threads: int) -> None:
        """Points first, (q, T), (q, T, n) or (q, T, n, n), each target in its row.

        One after the other, so that only one of them is in memory twice.
        """
        for name in LOCAL:
            if getattr(self, name) is not None:
                setattr(self, name, _by_point(getattr(self, name), rows, n_threads))


def _by_point(values: Array, rows: np.ndarray, n_threads: int) -> Array:
    *inner, steps, q = values.shape
    flat = values.reshape(-1, steps, q)
    out = np.empty((q, steps, len(flat)))
    places = np.ascontiguousarray(rows, dtype=np.int64)
    run_pieces(
        lambda first, last: _core.by_point(flat, places, first, last, out), pieces(q, PIECE), n_threads
    )
    return out.reshape(q, steps, *inner)


def read_off(table: Array, unit: Array, factor: Array, n: int, out: Outputs) -> None:
    """Fill ``out`` from sums (columns, T, q) at the times ``unit``; all but a transition by differences.

    ``factor`` is `formulas.heat_factor`; it and ``unit`` are (T, 1) or (T, q). The table is used up.
    """
    s = Sums(table, n)
    # Where the heat at a far place is 0, dimension and spectrum are 0 / 0: NaN, as they should be.
    with np.errstate(invalid="ignore", divide="ignore"):
        out.density[...] = formulas.density(s.weight, factor)
        out.dimension[...] = formulas.dimension(s.weight, s.square, unit)
        if out.exact:
            out.transition[...] = formulas.transition_exact(s.weight, s.square, s.fourth, unit)
        if out.gradient is not None:
            out.gradient[...] = formulas.gradient_length(s.weight, s.first, unit)
        if out.spectrum is not None:
            entries = formulas.scaled_covariance(s.weight, s.first, s.second, unit, n)
            for row, entry in zip(s.second, entries, strict=True):
                row[...] = entry
            packed = s.second.reshape(len(s.second), -1)
            out.spectrum[...] = formulas.spectrum(eigenvalues(packed, n)).reshape(out.spectrum.shape)
            if out.directions is not None:
                out.directions[...] = eigenvectors(packed, n).reshape(out.directions.shape)


def fill_transition(out: Outputs, log_times: Array, n_threads: int = 1) -> None:
    """The transition by differences across the scales, from the dimension; ``log_times`` (T, 1) or (T, q)."""

    def work(first: int, last: int) -> None:
        own = log_times[:, first:last] if log_times.shape[1] > 1 else log_times
        found = formulas.transition_by_difference(out.dimension[:, first:last], own)
        np.concatenate(found, out=out.transition[:, first:last])

    run_pieces(work, pieces(out.dimension.shape[1], PIECE), n_threads)


def eigenvalues(packed: Array, n: int) -> Array:
    """Eigenvalues (n, count), largest first, of matrices by their upper triangles (n (n+1) / 2, count)."""
    out = np.empty((n, packed.shape[1]))
    if n <= 3:
        _core.eigenvalues(packed, out)
        return out
    matrices = np.zeros((packed.shape[1], n, n))
    rows, columns = np.triu_indices(n)
    matrices[:, rows, columns] = packed.T
    out[:] = np.nan
    finite = np.isfinite(packed).all(axis=0)  # one bad matrix would fail them all
    out[:, finite] = np.linalg.eigvalsh(matrices[finite], UPLO="U")[:, ::-1].T
    return out


def eigenvectors(packed: Array, n: int) -> Array:
    """Unit eigenvectors (n, n, count): vector k belongs to the k-th largest eigenvalue.

    An eigenvector has no sign of its own: its last coordinate that is not 0 is positive.

    Examples
    --------
    >>> eigenvectors(np.array([[1.0], [0.0], [2.0]]), 2)[:, :, 0].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    out = np.empty((n, n, packed.shape[1]))
    _core.eigenvectors(packed, out)
    return out


def totals(values: Array, ends: np.ndarray) -> Array:
    """Sums (N, ...) over the points of each cloud of values (..., total)."""
    flat = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
    out = np.empty((len(ends), len(flat)))
    _core.segment_sums(flat, ends, out)
    return out.reshape(len(ends), *values.shape[:-1])


def heat_dimension_spectrum(
    density: Array,
    dimension: Array,
    ends: np.ndarray,
    centers: Any,
    sigma: float,
    n_threads: int = 1,
    members: Array | None = None,
) -> tuple[Array, Array]:
    """Composition and contrast (N, K, T) of clouds that end at ``ends``, from (T, total).

    ``members`` (K, T, total), if given, is memory for the memberships.
    """
    if len(ends) == 1 and ends[0] > _TOGETHER:
        ranges = pieces(int(ends[0]), _TOGETHER)
        found: list[Any] = [None] * len(ranges)

        def work(first: int, last: int) -> None:
            u, d = (np.ascontiguousarray(v[:, first:last]) for v in (density, dimension))
            room = np.empty((len(centers), len(density), last - first))
            end = np.array([last - first])
            found[first // _TOGETHER] = _membership_totals(u, d, end, centers, sigma, room)

        run_pieces(work, ranges, n_threads)
        plain, weighted, heat = (np.sum(part, axis=0) for part in zip(*found, strict=True))
    else:
        room = np.empty((len(centers), *density.shape)) if members is None else members
        plain, weighted, heat = _membership_totals(density, dimension, ends, centers, sigma, room)
    counts = np.diff(ends, prepend=0)[:, None, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        composition = formulas.composition(plain, counts)
        return composition, formulas.contrast(weighted, heat[:, None], composition)


def _membership_totals(
    density: Array, dimension: Array, ends: np.ndarray, centers: Any, sigma: float, members: Array
) -> tuple[Array, Array, Array]:
    """Memberships, memberships weighted by the density, and densities, each totalled over a cloud."""
    for row, center in zip(members, centers, strict=True):
        row[...] = formulas.log_membership(dimension, center, sigma)
    _core.shares(members.reshape(len(centers), -1))
    plain = totals(members, ends)
    members *= density
    return plain, totals(members, ends), totals(np.ascontiguousarray(density), ends)
