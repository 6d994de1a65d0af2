"""Diffusion times at which the heat field of a cloud is evaluated, and the options that go with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, asdict, dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base.check import (
    Array,
    as_lengths,
    as_points,
    check_choice,
    check_count,
    check_dtype,
    check_number,
    check_range,
    check_tol,
    thread_count,
    warn_caller,
)
from .channels import request_for
from .core.clouds import ArrangedCloud
from .core.planner import Request
from .options import Features, Scales, Spectrum, Sums, Threads, choices_of


def geometric(low: Any, high: Any, n_scales: int) -> Array:
    """``n_scales`` times with equal ratios from low to high: numbers, or columns (N, 1) for N rows."""
    out: Array = low * np.exp(np.log(high / low) * np.arange(n_scales) / (n_scales - 1))
    out[..., -1:] = high
    return out


def scale_schedule(
    points: ArrayLike,
    n_scales: int = Scales.n_scales,
    *,
    c_min: float = Scales.c_min,
    c_max: float = Scales.c_max,
) -> Array:
    """The paper's schedule: T log-spaced times from ``c_min r_nn**2`` to ``c_max diam**2``.

    r_nn is the mean nearest-neighbour distance over *distinct* points and diam the
    exact largest distance between two points; no table of distances is made.

    Guide: ``heatfield docs theory/signatures``.

    Parameters
    ----------
    points : array_like (m, n)
    n_scales : int, default 8
        T, at least 2.
    c_min, c_max : float
        Multipliers of the two ends, 0 < c_min < c_max.

    Returns
    -------
    scales : ndarray (T,)
        NaN, with a warning, for a cloud of fewer than two distinct points.

    Examples
    --------
    >>> import heatfield as hf
    >>> hf.scale_schedule([[0, 0], [1, 0], [0, 1], [1, 1]], n_scales=3).round(4).tolist()
    [0.05, 0.1581, 0.5]
    """
    checked = as_points(points)
    count = check_count(n_scales, "n_scales", 2)
    return schedule_of(ArrangedCloud.of(checked), count, *check_range(c_min, c_max))


def isolated_points(points: ArrayLike) -> NDArray[np.bool_]:
    """Which points are isolated: the features of ``joint`` and ``oriented`` leave them out.

    These are the points whose nearest other point is more than twice as far away as that of 90 % of the
    points; copies of a point count once, and of fewer than 8 distinct points none is isolated.

    Guide: ``heatfield docs theory/choices``.

    Parameters
    ----------
    points : array_like (m, n)

    Returns
    -------
    isolated : (m,) bool array

    Examples
    --------
    >>> import heatfield as hf
    >>> hf.isolated_points([[float(x)] for x in (0, 1, 2, 3, 4, 5, 6, 7, 9, 90)]).nonzero()[0].tolist()
    [9]
    """
    checked = as_points(points)
    found = np.zeros(len(checked), bool)
    found[ArrangedCloud.of(checked).isolated] = True
    return found


def schedule_of(
    cloud: ArrangedCloud, n_scales: int, c_min: float, c_max: float, name: str = "points"
) -> Array:
    """`scale_schedule` of a cloud already arranged."""
    spacing = cloud.spacing
    if not spacing > 0.0:
        m = cloud.points.shape[1]
        warn_caller(
            f"{name} has {min(m, 1)} distinct point{'s' if m == 0 else ''} of {m}: "
            "a scale schedule needs two, so its scales and all that follows from them are NaN"
        )
        return np.full(n_scales, np.nan)
    return geometric(c_min * (spacing * spacing), c_max * (cloud.diameter * cloud.diameter), n_scales)


def adaptive_scales(
    points: ArrayLike,
    n_scales: int = Scales.n_scales,
    *,
    k: int = 8,
    multipliers: tuple[float, float] = (0.05, 12.5),
) -> Array:
    """Separate times for each point, t_{i,a} = c_a r_i(k)**2, for strongly uneven clouds.

    r_i(k) is the distance from point i to its k-th neighbour, itself not counted; c_a are
    ``n_scales`` log-spaced multipliers between the two given. The paper leaves the
    multipliers open; the defaults span the same ratio of lengths, about 16, whatever the cloud.

    Guide: ``heatfield docs theory/choices``.

    Parameters
    ----------
    points : array_like (m, n)
    n_scales : int, default 8
        T, at least 2.
    k : int
        Which neighbour gives the length; smaller than the number of points.
    multipliers : (float, float)
        The first and the last c_a, positive and increasing.

    Returns
    -------
    scales : ndarray (m, T)

    Examples
    --------
    >>> import heatfield as hf
    >>> hf.adaptive_scales([[0.0], [1.0], [3.0]], n_scales=2, k=1, multipliers=(1, 4)).tolist()
    [[1.0, 4.0], [1.0, 4.0], [4.0, 16.0]]
    """
    checked = as_points(points)
    count = check_count(n_scales, "n_scales", 2)
    neighbours = check_count(k, "k", 1)
    low, high = (check_number(value, "multipliers", above=0) for value in multipliers)
    if low >= high:
        raise ValueError(f"multipliers must increase, got {multipliers!r}")
    m = checked.shape[0]
    if neighbours >= m:
        raise ValueError(f"k must be smaller than the number of points, got k={k} for {m} points")
    from scipy.spatial import KDTree

    distance = np.asarray(KDTree(checked).query(checked, k=[neighbours + 1])[0])[:, 0]
    if (distance == 0.0).any():
        row = int(np.argmin(distance))
        raise ValueError(
            f"points has {neighbours} or more copies of row {row}, "
            f"so neighbour {neighbours} is at distance 0; use a larger k or distinct points"
        )
    return geometric(low, high, count)[None, :] * distance[:, None] ** 2


@dataclass(frozen=True)
class SignatureSettings:
    """Options as they were asked for, or a ValueError that repeats the wrong one.

    Two are equal where they give the same numbers: threads do not count.
    """

    own_transition: ClassVar[str] = "difference"  # what transition=None stands for

    n_dims: int
    _: KW_ONLY
    n_scales: int = Scales.n_scales
    c_min: float = Scales.c_min
    c_max: float = Scales.c_max
    lengths: tuple[float, ...] | None = None  # sqrt(t), instead of the cloud's own schedule
    transition: str | None = None
    hds_centers: tuple[float, ...] | None = None
    hds_sigma: float = Spectrum.hds_sigma
    method: str = Sums.method
    tol: float | None = Sums.tol
    dtype: str = Sums.dtype
    n_jobs: int | None = field(default=Threads.n_jobs, compare=False)

    def __post_init__(self) -> None:
        low, high = check_range(self.c_min, self.c_max)
        lengths = as_lengths(self.lengths, least=2)
        transition = self.own_transition if self.transition is None else self.transition
        checked = {
            "n_dims": check_count(self.n_dims, "n_dims", 1),
            "n_scales": check_count(self.n_scales, "n_scales", 2) if lengths is None else len(lengths),
            "lengths": lengths,
            "c_min": low,
            "c_max": high,
            "transition": check_choice(transition, "transition", choices_of(Features, "transition")),
            "hds_centers": _checked_centers(self.hds_centers),
            "hds_sigma": check_number(self.hds_sigma, "hds_sigma", above=0),
            "method": check_choice(self.method, "method", choices_of(Sums, "method")),
            "dtype": check_dtype(self.dtype).name,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        check_tol(self.tol, self.precision)
        thread_count(self.n_jobs)

    @property
    def exact(self) -> bool:
        """Whether the transition is computed in closed form, from the sums of w D**4."""
        return self.transition == "exact"

    @cached_property
    def centers(self) -> Array:
        """Centres of the heat dimension spectrum: 0..n unless others were asked for."""
        return np.arange(self.n_dims + 1.0) if self.hds_centers is None else np.array(self.hds_centers)

    # Read per cloud, which counts for clouds of a hundred points.
    @cached_property
    def precision(self) -> np.dtype:
        """Of the sums over pairs."""
        return np.dtype(self.dtype)

    @cached_property
    def tolerance(self) -> float:
        """What the fast path promises."""
        return check_tol(self.tol, self.precision)

    @property
    def n_threads(self) -> int:
        """``n_jobs`` as a number of threads."""
        return thread_count(self.n_jobs)

    def times(self, cloud: ArrangedCloud) -> Array:
        """The lengths that were asked for, squared, or the schedule of the cloud, (1, T).

        The schedule is NaN, with a warning, for fewer than two distinct points.
        """
        if self.lengths is not None:
            return np.square(self.lengths)[None, :]
        return schedule_of(cloud, self.n_scales, self.c_min, self.c_max)[None, :]

    def request(self, channels: Iterable[str], *, energy: bool, n_threads: int) -> Request:
        """What to sum for these channels, and how accurately."""
        return request_for(
            channels,
            exact=self.exact,
            tol=self.tolerance,
            energy=energy,
            method=self.method,
            dtype=self.precision,
            n_threads=n_threads,
        )

    def identity(self) -> dict[str, Any]:
        """All that decides the numbers, as JSON values: for file names, and to tell trainings apart."""
        found = asdict(self)
        del found["n_jobs"]
        # Left out where they are the default: files written before these options existed stay valid.
        for name in ("hds_centers", "hds_sigma", "lengths"):
            if found[name] == getattr(type(self), name):
                del found[name]
        return found


def _checked_centers(centers: Any) -> tuple[float, ...] | None:
    if centers is None:
        return None
    try:
        chosen = np.asarray(centers, dtype=np.float64)
    except (TypeError, ValueError):
        chosen = np.empty(0)
    if chosen.ndim != 1 or chosen.size == 0 or not np.isfinite(chosen).all():
        raise ValueError(f"hds_centers must be a list of finite numbers, got {centers!r}")
    return tuple(chosen.tolist())
