"""Sums over the sources of a heat field, exact or to a tolerance, and what is read from them.

To a tolerance, places take the sums of `core.query_points`: neighbours or transforms, whichever is cheaper.
Far from the data, where sums would underflow, and where no tolerance is sharp enough, every place has its own
reference (cpp/field.cpp).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._base.check import GREATEST_LENGTH, Array
from ._base.progress import Bar, progress_bar
from ._base.threads import pieces, run_pieces
from .core.clouds import ArrangedCloud
from .core.moments import FIRST, LOG_ACCURACY, WEIGHT
from .core.planner import Request
from .core.query_points import largest_sum, query_point_sums

if TYPE_CHECKING:
    from .field import HeatField

_PIECE = 1e8  # places times sources times times that one thread sums in roughly a quarter of a second
_FAR_PLACES = 512  # far places that one thread takes at a time


class Evaluation:
    """The sums at q places and T times, and what is read from them, in original units."""

    def __init__(self, field: HeatField, at: ArrayLike, t: ArrayLike, *, moments: bool) -> None:
        self.n = field.points.shape[1]
        self.times, self.single = as_times(t)
        cloud = field._cloud
        exponent = cloud.exponent
        places = np.ldexp(as_places(at, self.n) - cloud.origin, -exponent)
        check_reach(places, at)
        unit = np.ldexp(self.times, -2 * exponent)
        bad = ~((unit > 1e-300) & (unit < 1e300))
        if bad.any():
            raise ValueError(
                f"t = {self.times[bad][0]} is out of all proportion to the extent of points, "
                f"about {math.ldexp(1.0, exponent):.3g}"
            )
        self._unit = unit[None, :, None]
        q, m, steps = places.shape[0], field.points.shape[0], self.times.size
        self._log_unit = field._log_unit
        self._length = math.ldexp(1.0, exponent)
        n_threads = field._n_threads
        if field._uses_fast(q):
            self._rows = field._fast.sums(cloud.arranged(places), unit, moments, field._tol, n_threads)
            return
        self._rows = np.empty((q, steps, field_columns(self.n, moments)))

        def work(first: int, last: int) -> None:
            _core.field(
                cloud.points, cloud.boxes, field._logs, field._heaviest, unit, places, first, last,
                LOG_ACCURACY[np.dtype(np.float64)], moments, self._rows,
            )  # fmt: skip

        size = min(max(1, int(_PIECE / (m * steps))), math.ceil(q / (4 * n_threads)) or 1)
        run_pieces(work, pieces(q, size), n_threads, progress="places")

    def shaped(self, table: Array) -> Array:
        """(q, T, ...), or (q, ...) where t was a number."""
        return table[:, 0] if self.single else table

    @property
    def log_value(self) -> Array:
        """log u, (q, T)."""
        return self._rows[:, :, 0] + (self._log_unit - 0.5 * self.n * np.log(4.0 * np.pi * self.times))

    @property
    def log_gradient(self) -> Array:
        """Gradient of log u, (q, T, n)."""
        return self._rows[:, :, 1 : 1 + self.n] * (self._length / (2.0 * self.times[:, None]))

    @property
    def log_hessian(self) -> Array:
        """Second derivatives of log u, (q, T, n, n)."""
        n = self.n
        upper = np.triu_indices(n)
        scaled = np.empty((*self._rows.shape[:2], n, n))
        scaled[:, :, upper[0], upper[1]] = self._rows[:, :, 1 + n :] / (2.0 * self._unit)
        scaled[:, :, upper[1], upper[0]] = scaled[:, :, upper[0], upper[1]]
        scaled -= np.eye(n)
        return scaled / (2.0 * self.times[:, None, None])

    @property
    def dimension(self) -> Array:
        """Heat dimension, (q, T)."""
        return dimension_of(self._rows, self.n, self._unit[:, :, 0])


# --- to a tolerance -------------------------------------------------------------------


def field_columns(n: int, moments: bool) -> int:
    """log sum, then the mean of x_j - y and the upper triangle of the covariance."""
    return 1 + n + n * (n + 1) // 2 if moments else 1


@dataclass(frozen=True)
class FastField:
    """The sources of a heat field as the fast path takes them."""

    cloud: ArrangedCloud
    logs: Array  # half the base-two logarithm of each weight, relative to the largest
    heaviest: Array  # its largest value in each node
    weights: Array | None  # relative to the largest; None where all are equal
    uneven: float  # mean weight over the smallest
    largest: dict[float, float]  # about the largest sum, by time

    @classmethod
    def of(cls, cloud: ArrangedCloud, logs: Array, heaviest: Array) -> FastField:
        """From the arrays that `HeatField` keeps."""
        weights = None if (logs == 0.0).all() else np.exp2(2.0 * logs)
        uneven = 1.0 if weights is None else float(weights.mean() / max(weights.min(), 1e-300))
        in_nodes = np.empty(len(cloud.tree[1]))
        _core.heaviest(*cloud.tree, heaviest, in_nodes)
        return cls(cloud, logs, in_nodes, weights, uneven, {})

    def sums(self, targets: ArrangedCloud, times: Array, moments: bool, tol: float, n_threads: int) -> Array:
        """The sums (q, T, `field_columns`) in the caller's order; times in normalised units."""
        n, q = targets.points.shape
        out = np.empty((q, times.size, field_columns(n, moments)))
        if q == 0:
            return out
        offsets, nearest = self.cloud.nearest_to(targets.points, n_threads)
        if self.weights is not None:
            nearest[:] = -1  # the strongest may be another one
        request = Request(tol=tol, directions=moments, n_threads=n_threads)
        with progress_bar(total=q * times.size, unit="places", unit_scale=True) as bar:
            for a, t in enumerate(times):
                out[targets.order, a] = self._rows(targets, offsets, nearest, float(t), request, bar)
        return out

    def _rows(
        self,
        targets: ArrangedCloud,
        offsets: Array,
        nearest: np.ndarray,
        t: float,
        request: Request,
        bar: Bar,
    ) -> Array:
        """The rows at one time, in the order of the targets."""
        n, q = targets.points.shape
        moments = request.directions
        out = np.empty((q, field_columns(n, moments)))

        def largest() -> float:
            if t not in self.largest:
                self.largest[t] = largest_sum(self.cloud, t, request, self.weights)
            return self.largest[t]

        sums, good, _ = query_point_sums(
            targets, self.cloud, t, request, offsets, largest,
            moments=moments, weights=self.weights, uneven=self.uneven, advance=bar.update,
        )  # fmt: skip
        if good.any():
            out[good] = _read(sums[good], n, moments)
        if not good.all():
            places = np.ascontiguousarray(targets.points[:, ~good].T)
            out[~good] = self._far(places, nearest[~good], t, request, bar)
        return out

    def _far(self, places: Array, nearest: np.ndarray, t: float, request: Request, bar: Bar) -> Array:
        """Far places, each with the strongest source as its reference."""
        moments = request.directions
        out = np.empty((places.shape[0], field_columns(places.shape[1], moments)))
        log_accuracy = math.log(1.0 / request.tol) + 2.0

        def work(first: int, last: int) -> None:
            _core.field_by_tree(
                self.cloud.points, self.logs, *self.cloud.tree, self.heaviest, t,
                places, nearest, first, last, log_accuracy, moments, out,
            )  # fmt: skip
            bar.update(last - first)

        run_pieces(work, pieces(places.shape[0], _FAR_PLACES), request.n_threads)
        return out


def dimension_of(rows: Array, n: int, t: Any) -> Array:
    """<|r|**2> / 2t = (|<r>|**2 + trace of the covariance) / 2t, of which no term is negative."""
    diagonal = 1 + n + np.flatnonzero(np.equal(*np.triu_indices(n)))
    return ((rows[..., 1 : 1 + n] ** 2).sum(axis=-1) + rows[..., diagonal].sum(axis=-1)) / (2.0 * t)


def _read(sums: Array, n: int, moments: bool) -> Array:
    """From a table of sums to log sum, mean of x_j - y and upper triangle of the covariance."""
    weight = sums[:, WEIGHT]
    out = np.empty((weight.size, field_columns(n, moments)))
    out[:, 0] = np.log(weight)
    if moments:
        mean = sums[:, FIRST : FIRST + n] / weight[:, None]
        out[:, 1 : 1 + n] = mean
        rows, columns = np.triu_indices(n)
        out[:, 1 + n :] = sums[:, FIRST + n :] / weight[:, None] - mean[:, rows] * mean[:, columns]
    return out


# --- places and times, checked ---------------------------------------------------------


def as_times(t: ArrayLike) -> tuple[Array, bool]:
    """Diffusion times as (T,), in any order, and whether a single number was given."""
    times = as_numbers(t, "t", "be a number or a list of numbers")
    if times.ndim > 1:
        raise ValueError(f"t must be a number or have shape (T,), got shape {times.shape}")
    if times.size == 0:
        raise ValueError("t is empty: at least one diffusion time is needed")
    single = times.ndim == 0
    times = np.atleast_1d(times)
    bad = np.flatnonzero(~(np.isfinite(times) & (times > 0.0)))
    if bad.size:
        where = "t" if single else f"t[{bad[0]}]"
        raise ValueError(f"t must be positive and finite, got {where} = {times[bad[0]]}")
    return times, single


def as_places(at: ArrayLike, n: int) -> Array:
    """Like `as_points`, but n is known: nothing is guessed, and any extent is allowed."""
    places = as_numbers(at, "at", f"be a (q, n) array of numbers with n = {n}")
    if places.ndim != 2 or places.shape[1] != n:
        raise ValueError(
            f"at must have shape (q, n) with n = {n} as the points have, got shape {places.shape}"
        )
    bad = ~np.isfinite(places)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(f"at has {places[row, column]} in row {row}, column {column}")
    return places


def check_reach(places: Array, at: Any) -> None:
    """Squared distances must stay in the range of float64."""
    far = np.flatnonzero(~(np.abs(places) < GREATEST_LENGTH).all(axis=1))
    if far.size:
        raise ValueError(
            f"at has row {far[0]}, {np.asarray(at)[far[0]].tolist()}, "
            "more than 1e140 times the extent of points away"
        )


def as_numbers(values: ArrayLike, name: str, must: str) -> Array:
    """A float64 array, or a ValueError that says what ``name`` must be."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiu":
            raise TypeError
    except (TypeError, ValueError):
        text = repr(values)
        shown = text if len(text) <= 60 else text[:57] + "..."
        raise ValueError(f"{name} must {must}, got {type(values).__name__} {shown}") from None
    return (
        np.ascontiguousarray(array, dtype=np.float64) if array.ndim else np.asarray(array, dtype=np.float64)
    )
