"""`evaluate`: local and global signatures from the sums, by the dense or the fast path.

The fast path goes scale by scale, so that only one scale's table of sums is ever in memory. Arrays have the
scales first, (T, q), which is how sums are found and pooled; `Outputs.turn_round` puts the points first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._base.check import Array, check_times
from .._base.progress import progress_bar
from .._base.threads import pieces, run_pieces
from . import formulas
from .clouds import ArrangedCloud, Batch, Buffers, Targets
from .moments import ROOT_SQUARE, ROOT_WEIGHT, Sums, column_count
from .per_point_times import per_point_sums
from .planner import Plan, Request, ScaleParts, split_scale, use_dense
from .query_points import sums_of_targets
from .sums import dense_sums, scale_sums

if TYPE_CHECKING:
    from ..channels import Channel

# Points whose signatures are computed at a time: their sums and outputs stay in the cache.
PIECE = 8_192
# Points whose memberships are in memory together.
_TOGETHER = 65_536


class Outputs(dict[str, Array]):
    """Signatures of q targets at T scales: (T, q), (n, T, q) or (n, n, T, q) by channel, or as attributes."""

    channels: tuple[Channel, ...]

    @classmethod
    def empty(
        cls, n: int, steps: int, q: int, request: Request, given: Mapping[str, Array] | None = None
    ) -> Outputs:
        """Arrays with any numbers in them for the channels of a request, of which some may be ``given``."""
        own = given or {}
        found = cls(
            (c.name, own[c.name] if c.name in own else np.empty((*c.shape(n), steps, q)))
            for c in request.channels
        )
        found.channels = request.channels
        return found

    def __getattr__(self, name: str) -> Array:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{name!r} was not asked for") from None

    def part(self, scales: slice, points: slice) -> Outputs:
        """Views of some scales and points."""
        part = Outputs((name, values[..., scales, points]) for name, values in self.items())
        part.channels = self.channels
        return part

    def turn_round(self, rows: np.ndarray, n_threads: int) -> None:
        """Points first, (q, T), (q, T, n) or (q, T, n, n), each target in its row.

        One after the other, so that only one of them is in memory twice.
        """
        for name in self:
            self[name] = _by_point(self[name], rows, n_threads)


def _by_point(values: Array, rows: np.ndarray, n_threads: int) -> Array:
    *inner, steps, q = values.shape
    flat = values.reshape(-1, steps, q)
    out = np.empty((q, steps, len(flat)))
    places = np.ascontiguousarray(rows, dtype=np.int64)
    run_pieces(
        lambda first, last: _core.by_point(flat, places, first, last, out), pieces(q, PIECE), n_threads
    )
    return out.reshape(q, steps, *inner)


class PointSums(Sums):
    """What the formula of a channel is made of: sums (..., T, q) by their moments, times, and what follows.

    ``t`` is in the unit of length of the sums; ``factor`` is `formulas.heat_factor` in that of the caller.
    """

    def __init__(self, table: Any, n: int, t: Any, factor: Any) -> None:
        super().__init__(table, n)
        self.n, self.t, self.factor = n, t, factor

    @cached_property
    def variance(self) -> Any:
        """Of D**2 under the weights."""
        return formulas.square_variance(self.weight, self.square, self.fourth)

    @cached_property
    def packed(self) -> Any:
        """Upper triangles of the scaled covariance; they take the place of the second moments."""
        second = self.second
        del self.second
        entries = formulas.scaled_covariance(self.weight, self.first, second, self.t, self.n)
        for row, entry in zip(second, entries, strict=True):
            row[...] = entry
        return second

    @cached_property
    def extents(self) -> Any:
        """The eigenvalues of the scaled covariance, largest first."""
        return eigenvalues(self.packed.reshape(len(self.packed), -1), self.n).reshape(
            -1, *self.packed.shape[1:]
        )

    @property
    def frames(self) -> Any:
        """Its unit eigenvectors."""
        found = eigenvectors(self.packed.reshape(len(self.packed), -1), self.n)
        return found.reshape(self.n, self.n, *self.packed.shape[1:])


def signatures_from_sums(table: Array, unit: Array, factor: Array, n: int, out: Outputs) -> None:
    """Fill ``out`` from sums (columns, T, q) at the times ``unit``; all but what is found by differences.

    ``factor`` is `formulas.heat_factor`; it and ``unit`` are (T, 1) or (T, q). The table is used up.
    """
    sums = PointSums(table, n, unit, factor)
    # Where the heat at a far place is 0, dimension and spectrum are 0 / 0: NaN, as they should be.
    with np.errstate(invalid="ignore", divide="ignore"):
        for channel in out.channels:
            if channel.formula is not None:
                out[channel.name][...] = channel.formula(sums)


def signatures_of_points(
    sums: Array, unit: Array, times: Array, n: int, out: Outputs, n_threads: int
) -> None:
    """`signatures_from_sums` of a table (columns, T, q), block by block of its points."""

    def work(first: int, last: int) -> None:
        here = slice(first, last)
        own = here if unit.shape[1] > 1 else slice(None)
        factor = formulas.heat_factor(times[:, own], n)
        signatures_from_sums(sums[:, :, here].copy(), unit[:, own], factor, n, out.part(slice(None), here))

    run_pieces(work, pieces(sums.shape[2], PIECE), n_threads)


def signatures_of_scale(
    table: Array, unit: Array, times: Array, a: int, n: int, out: Outputs, n_threads: int
) -> Array:
    """`signatures_from_sums` of scale ``a`` from its table (q, columns), block by block of its points.

    ``unit`` and ``times`` are (1,) or (q,). Returned are the totals of the sums of g and of g D**2.
    """
    ranges = pieces(len(table), PIECE)
    both = np.zeros((len(ranges), 2))

    def work(first: int, last: int) -> None:
        here = slice(first, last)
        own = here if unit.shape[0] > 1 else slice(None)
        sums = np.ascontiguousarray(table[here].T)[:, None]
        both[first // PIECE] = sums[ROOT_WEIGHT : ROOT_SQUARE + 1, 0].sum(axis=1)
        factor = formulas.heat_factor(times[None, own], n)
        signatures_from_sums(sums, unit[None, own], factor, n, out.part(slice(a, a + 1), here))

    run_pieces(work, ranges, n_threads)
    return both.sum(axis=0)


def fill_differences(out: Outputs, log_times: Array, n_threads: int = 1) -> None:
    """The transition by differences across the scales; ``log_times`` (T, 1) or (T, q)."""

    def work(first: int, last: int) -> None:
        own = log_times[:, first:last] if log_times.shape[1] > 1 else log_times
        found = formulas.transition_by_difference(values[:, first:last], own)
        np.concatenate(found, out=out[channel.name][:, first:last])

    for channel in out.channels:
        if channel.formula is None:
            values = out[channel.differences]
            run_pieces(work, pieces(values.shape[1], PIECE), n_threads)


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


# --- all of them ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Evaluation:
    """All outputs at all scales; local ones in the kd order of the targets, ``rows`` in the caller's."""

    local: Outputs
    energy: Array  # (T,)
    response: Array
    plan: Plan
    rows: np.ndarray


def evaluate(cloud: ArrangedCloud, targets: Targets | None, times: Array, request: Request) -> Evaluation:
    """All outputs at the targets, None for every point; the only place where dense or fast is chosen.

    ``times`` is (1, T), or (q, T) with one time per target, in the caller's order.
    """
    n, m = cloud.points.shape
    check_times(times, m, n)
    where = Targets.every(cloud) if targets is None else targets
    own = np.ascontiguousarray((times[where.cloud.order] if times.shape[0] > 1 else times).T)  # (T, 1 or q)
    unit = np.ldexp(own, -2 * cloud.exponent)
    dense = targets is None and use_dense(cloud, unit.T, request)
    q, steps = where.cloud.order.size, len(unit)
    out = Outputs.empty(n, steps, q, request)
    # The scales of a dense plan are made where they are shown: see `dense_plan`.
    plan = Plan(None if dense else request.tol)
    nothing = np.full((2, steps), np.nan)
    found = Evaluation(out, nothing[0], nothing[1], plan, where.cloud.order)
    if dense:
        _dense(cloud, own, unit, request, found)
    else:
        _fast(cloud, where, own, unit, request, found)
    if len(own) > 1:
        fill_differences(out, np.log(own), request.n_threads)
    return found


def _dense(cloud: ArrangedCloud, times: Array, unit: Array, request: Request, found: Evaluation) -> None:
    """Fill all outputs from one table of exact sums."""
    n = len(cloud.points)
    batch = Batch.one(cloud)
    sums = dense_sums(batch, unit, request)
    signatures_of_points(sums, unit, times, n, found.local, request.n_threads)
    if request.energy:
        both = totals(sums[ROOT_WEIGHT : ROOT_SQUARE + 1], batch.ends)[0]
        found.energy[:] = formulas.energy(both[0], formulas.heat_factor(2.0 * times[:, 0], n))
        found.response[:] = formulas.response(both[0], both[1], unit[:, 0], n)


def _fast(
    cloud: ArrangedCloud, targets: Targets, times: Array, unit: Array, request: Request, found: Evaluation
) -> None:
    """Fill all outputs to a tolerance, scale by scale."""
    n = cloud.points.shape[0]
    q, steps = targets.cloud.order.size, len(unit)
    per_point, anywhere = unit.shape[1] > 1, targets.offsets.size > 0
    parts: list[ScaleParts | None] = [None] * steps
    if not per_point and not anywhere:

        def split(a: int, _: int) -> None:
            parts[a] = split_scale(targets.cloud, cloud, unit[a], request)

        _ = cloud.tree, targets.cloud.tree  # grown once, before the threads ask for them
        run_pieces(split, pieces(steps, 1), request.n_threads)
    buffers, room = Buffers(), np.empty((q, column_count(n, request.directions)))
    with progress_bar(total=q * steps, unit="sums", unit_scale=True) as bar:
        for a in range(steps):
            t, time = unit[a], times[a : a + 1]
            if per_point:
                table, report = per_point_sums(
                    targets.cloud, cloud, t, request, advance=bar.update, buffers=buffers, out=room
                )
            elif anywhere:
                table, report = sums_of_targets(targets, cloud, float(t[0]), request, bar.update)
            else:
                table, report = scale_sums(
                    targets.cloud, cloud, t, request,
                    advance=bar.update, buffers=buffers, out=room, parts=parts[a],
                )  # fmt: skip
            report.t = float(np.median(time))
            found.plan.scales.append(report)
            both = signatures_of_scale(table, t, time[0], a, n, found.local, request.n_threads)
            if request.energy:
                found.energy[a] = formulas.energy(both[0], formulas.heat_factor(2.0 * time[0, 0], n))
                found.response[a] = formulas.response(both[0], both[1], t[0], n)
