"""The heat field itself: a smooth function of place and time, with its derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ._base.check import GREATEST_RATIO, Array, as_points, check_choice, check_tol, thread_count
from ._field_sums import Evaluation, FastField, as_numbers
from .core.clouds import BLOCK, ArrangedCloud
from .core.planner import field_uses_fast
from .options import Sums, Threads, choices_of

if TYPE_CHECKING:
    from .heat_body import HeatBody


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
        return FastField.of(self._cloud, self._logs, self._heaviest)

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
