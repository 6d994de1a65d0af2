"""The heat field itself: a smooth function of place and time, with its derivatives.

To a tolerance, query points take the sums of `core.query_points`: neighbours or transforms, whichever is
cheaper. Far from the data, where sums would underflow, and where no tolerance is sharp enough, every query
point has its own reference (cpp/field.cpp).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._base.check import (
    GREATEST_LENGTH,
    GREATEST_RATIO,
    Array,
    as_points,
    check_choice,
    check_tol,
    thread_count,
)
from ._base.progress import Bar, progress_bar
from ._base.threads import pieces, run_pieces
from .core.clouds import BLOCK, ArrangedCloud
from .core.moments import FIRST, LOG_ACCURACY, WEIGHT
from .core.planner import Request, field_uses_fast
from .core.query_points import largest_sum, query_point_sums
from .options import Sums, Threads, choices_of

if TYPE_CHECKING:
    from .heat_body import HeatBody

_PIECE = 1e8  # places times sources times times that one thread sums in roughly a quarter of a second
_FAR_PLACES = 512  # far places that one thread takes at a time


class HeatField:
    """The heat field of a point cloud, anywhere in space.

    u(y, t) = (4 pi t)**(-n/2) sum_j omega_j exp(-|y - x_j|**2 / 4t)

    is what becomes of heat omega_j released at the points x_j after the time t: it solves
    du/dt = Laplace u. All methods take places ``at`` (q, n) and ``t``, a number or a list
    of T of them, and return (q, ...) or (q, T, ...). Logarithmic quantities (`log_value`,
    `log_hessian`, `dimension`) are right also where u itself underflows to 0.

    Guide: ``heatfield docs theory/signatures``.

    Parameters
    ----------
    points : array_like (m, n)
    weights : array_like (m,), optional
        Heat of each point, 1 if not given. Points of weight 0 are left out.
    method : "auto", "dense" or "fast"
        Dense sums every source that can change a digit of the result. Fast sums neighbours or takes Fourier
        transforms, whichever is cheaper, and far from the data finds through a tree what counts. Auto
        is dense up to 3,600 sources, beyond three dimensions, or where sources times places stay below 1e8.
    tol : float, optional
        What the fast path promises at *every* place, however far: `value` to ``tol`` relative to itself,
        `log_value` to tol absolute, `dimension` to 4 tol relative to 1 + d, 2t `log_hessian` to 16 tol
        absolute; gradient and Hessian to 4 tol u sqrt((1 + d) / 2t) and 16 tol u (1 + d) / 2t. Default 1e-6.
    n_jobs : int
        Threads over the places; -1 for all cores. The result has the same bits for any number of them.

    Attributes
    ----------
    points : ndarray (m, n)
    weights : ndarray (m,)
        The points of positive weight, and their weights.

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> field = hf.HeatField(np.c_[np.cos(angle), np.sin(angle)])
    >>> field.value([[1.0, 0.0], [0.0, 0.0]], t=0.01).round(3).tolist()
    [90.021, 0.0]
    >>> field.dimension([[1.0, 0.0]], t=[0.001, 0.01, 0.1]).round(2).tolist()
    [[1.0, 1.01, 1.07]]
    """

    def __init__(
        self,
        points: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        method: str = Sums.method,
        tol: float | None = Sums.tol,
        n_jobs: int | None = Threads.n_jobs,
    ) -> None:
        checked = as_points(points)
        if checked.shape[0] == 0:
            raise ValueError(
                f"points is empty: a heat field needs at least one point, got shape {checked.shape}"
            )
        heat = _as_weights(weights, checked.shape[0])
        self._method = check_choice(method, "method", choices_of(Sums, "method"))
        self._tol = check_tol(tol, np.dtype(np.float64))
        self._n_threads = thread_count(n_jobs)
        self.points: Array = checked[heat > 0.0]
        self.weights: Array = heat[heat > 0.0]
        self.points.flags.writeable = self.weights.flags.writeable = False

        self._cloud = ArrangedCloud.of(self.points, self._n_threads)
        # Relative to the largest, so that a unit of weight changes no digit.
        self._log_unit = float(np.log(self.weights.max()))
        self._logs = 0.5 * np.log2(self.weights[self._cloud.order] / self.weights.max())
        self._heaviest = np.maximum.reduceat(self._logs, np.arange(0, self._logs.size, BLOCK))

    @functools.cached_property
    def _fast(self) -> FastField:
        return FastField(self._cloud, self._logs, self._heaviest)

    def _uses_fast(self, q: int) -> bool:
        """Whether q places take the fast path."""
        m, n = self.points.shape
        return field_uses_fast(self._method, m, n, q)

    def _error(self, q: int) -> float:
        """What log_value may be off by at q places; 0 where it is exact to rounding."""
        return self._tol if self._uses_fast(q) else 0.0

    def __repr__(self) -> str:
        m, n = self.points.shape
        size = f"{m} point{'s' if m != 1 else ''} in {n} dimension{'s' if n != 1 else ''}"
        return f"HeatField of {size}: method {self._method}, tol {self._tol:g}"

    def log_value(self, at: ArrayLike, t: ArrayLike) -> Array:
        """log u, finite where u underflows. (q,) or (q, T).

        Parameters
        ----------
        at, t : places and times, as of `value`

        Returns
        -------
        log_u : (q,) or (q, T)

        Examples
        --------
        >>> import heatfield as hf
        >>> field = hf.HeatField([[0.0]])
        >>> float(field.value([[99.0]], t=1.0)[0]), field.log_value([[99.0]], t=1.0).round(2).tolist()
        (0.0, [-2451.52])
        """
        found = Evaluation(self, at, t, moments=False)
        return found.shaped(found.log_value)

    def value(self, at: ArrayLike, t: ArrayLike) -> Array:
        """u(y, t), 0 where it is below the smallest number there is. (q,) or (q, T).

        Parameters
        ----------
        at : array_like (q, n)
            Places, anywhere.
        t : float or (T,)
            Diffusion times.

        Returns
        -------
        u : (q,), or (q, T) for several times
        """
        return _in_range(lambda: np.exp(self.log_value(at, t)))

    def gradient(self, at: ArrayLike, t: ArrayLike) -> Array:
        """The gradient of u in space, u <x_j - y> / 2t, <> the mean under the weights at y. (q, [T,] n).

        As `value`, it is 0 where it is below the smallest number there is.

        Parameters
        ----------
        at, t : places and times, as of `value`

        Returns
        -------
        gradient : (q, n) or (q, T, n)

        Examples
        --------
        >>> import heatfield as hf
        >>> hf.HeatField([[0.0, 0.0]]).gradient([[1.0, 2.0]], t=0.5).round(4).tolist()
        [[-0.0131, -0.0261]]
        """
        found = Evaluation(self, at, t, moments=True)
        return found.shaped(_in_range(lambda: np.exp(found.log_value)[..., None] * found.log_gradient))

    def _log_value_and_gradient(self, at: ArrayLike, t: ArrayLike) -> tuple[Array, Array]:
        """log u and its gradient in space, for the price of one."""
        found = Evaluation(self, at, t, moments=True)
        return found.shaped(found.log_value), found.shaped(found.log_gradient)

    def hessian(self, at: ArrayLike, t: ArrayLike) -> Array:
        """The second derivatives of u in space; their trace is du/dt. (q, [T,] n, n).

        Parameters
        ----------
        at, t : places and times, as of `value`

        Returns
        -------
        hessian : (q, n, n) or (q, T, n, n)

        Examples
        --------
        >>> import heatfield as hf
        >>> hf.HeatField([[0.0]], [2.0]).hessian([[0.0]], t=0.5).round(4).tolist()
        [[[-0.7979]]]
        """
        found = Evaluation(self, at, t, moments=True)
        g = found.log_gradient
        inner = found.log_hessian + g[..., :, None] * g[..., None, :]
        return found.shaped(_in_range(lambda: np.exp(found.log_value)[..., None, None] * inner))

    def log_hessian(self, at: ArrayLike, t: ArrayLike) -> Array:
        """The second derivatives Q of log u in space. (q, [T,] n, n).

        2t Q = C / 2t - I, with C the covariance of the points under the weights seen at y.
        The eigenvalues of 2t Q are the ``spectrum`` of `signatures`: 0 along the data, -1 across.

        Parameters
        ----------
        at, t : places and times, as of `value`

        Returns
        -------
        Q : (q, n, n) or (q, T, n, n)

        Examples
        --------
        >>> import numpy as np, heatfield as hf
        >>> line = np.c_[np.linspace(-9, 9, 1000), np.zeros(1000)]  # along x
        >>> Q = hf.HeatField(line).log_hessian([[0.0, 0.0]], t=0.1)[0]
        >>> (1 + 2 * 0.1 * Q).round(3).diagonal().tolist()  # 1 along the data, 0 across
        [1.0, 0.0]
        """
        found = Evaluation(self, at, t, moments=True)
        return found.shaped(found.log_hessian)

    def dimension(self, at: ArrayLike, t: ArrayLike) -> Array:
        """d_heat = n + 2t d/dt log u = <|x_j - y|**2> / 2t. (q,) or (q, T).

        On the data it is the local dimension; away from it the squared distance to the
        data, in units of 2t, is added.

        Parameters
        ----------
        at, t : places and times, as of `value`

        Returns
        -------
        d : (q,) or (q, T)
        """
        found = Evaluation(self, at, t, moments=True)
        return found.shaped(found.dimension)

    def heat_body(self, t: float, alpha: float = 0.5, *, resolution: int | None = None) -> HeatBody:
        """The superlevel set {u >= alpha max_i u(x_i, t)}, for n <= 3, on a grid that holds all of it.

        Parameters
        ----------
        t : float
            One diffusion time. Details finer than sqrt(t) are smoothed away.
        alpha : float, 0 < alpha < 1
        resolution : int, optional
            Grid cells along the longest side; 96 in space, 256 in the plane, 1024 on the line.

        Returns
        -------
        HeatBody
            Mask, volume, and the surface: a mesh, contours or intervals. Beyond the line
            this needs scikit-image (``pip install heatfield[show]``).

        Examples
        --------
        >>> import heatfield as hf
        >>> hf.HeatField([[0.0], [10.0]]).heat_body(t=1.0, alpha=0.5).intervals.round(3).tolist()
        [[-1.665, 1.665], [8.335, 11.665]]
        """
        from .heat_body import heat_body

        return heat_body(self, t, alpha, resolution)


def _as_weights(weights: ArrayLike | None, m: int) -> Array:
    """Heat of each of m points, (m,); 1 if not given."""
    if weights is None:
        return np.ones(m)
    heat = as_numbers(weights, "weights", f"have shape (m,) with m = {m} points")
    if heat.shape != (m,):
        raise ValueError(f"weights must have shape (m,) with m = {m} points, got shape {heat.shape}")
    bad = np.flatnonzero(~(np.isfinite(heat) & (heat >= 0.0)))
    if bad.size:
        raise ValueError(f"weights must be non-negative and finite, got weights[{bad[0]}] = {heat[bad[0]]}")
    if not heat.any():
        raise ValueError(f"weights are all zero: at least one of the {m} points must give heat")
    least, most = int(np.argmin(np.where(heat > 0.0, heat, np.inf))), int(np.argmax(heat))
    if heat[most] * (1.0 / GREATEST_RATIO) > heat[least]:
        raise ValueError(
            f"weights must lie within a factor of {GREATEST_RATIO:g}, "
            f"got weights[{least}] = {heat[least]} and weights[{most}] = {heat[most]}"
        )
    return heat


def _in_range(values: Callable[[], Array]) -> Array:
    """Heat in the caller's unit of length, or a ValueError where double precision has no such number."""
    with np.errstate(over="ignore"):
        found = values()
    if not np.isfinite(found).all():
        raise ValueError(
            "the heat or its derivative is above 1e308 in this unit of length; "
            "change the unit, or use log_value"
        )
    return found


# --- the sums at some places ----------------------------------------------------------


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


class FastField:
    """The sources of a heat field as the fast path takes them."""

    def __init__(self, cloud: ArrangedCloud, logs: Array, heaviest: Array) -> None:
        """``logs``: half of log2 of each weight over the largest; ``heaviest``: the largest in each block."""
        self.cloud, self.logs = cloud, logs
        self.weights = None if (logs == 0.0).all() else np.exp2(2.0 * logs)
        weights = np.ones(1) if self.weights is None else self.weights
        self.uneven = float(weights.mean() / max(weights.min(), 1e-300))  # mean weight over the smallest
        self.heaviest = np.empty(len(cloud.tree[1]))  # in each node
        _core.heaviest(*cloud.tree, heaviest, self.heaviest)
        self.largest: dict[float, float] = {}  # about the largest sum, by time

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
