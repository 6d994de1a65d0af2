"""Diffusion times at which the heat field of a cloud is evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._base.check import Array, as_points, check_count, check_number, check_range
from .._base.warn import warn_caller
from ..core.cloud import ArrangedCloud
from ..options import Scales


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
