"""The curves of a pattern over distance: heat response and smoothed pair density."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._base.check import Array, as_points, as_scales
from ..core.cloud import ArrangedCloud
from ..core.evaluate import evaluate
from ..core.moments import Request


def response_curve(points: ArrayLike, distances: ArrayLike) -> Array:
    """The heat response C2(t) of a pattern at the distances r = 2 sqrt(t).

    C2(t) = -t d/dt log E2(t), where E2(t) sums exp(-D**2 / 8t) = exp(-D**2 / 2r**2) over all pairs: the
    smooth counterpart of Ripley's K, which counts the pairs with D < r.

    Guide: ``heatfield docs guide/patterns``.

    Parameters
    ----------
    points : (m, n)
    distances : (T,) increasing

    Returns
    -------
    response : (T,)

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> points = np.random.default_rng(0).uniform(size=(200, 2))
    >>> hf.patterns.response_curve(points, [0.01, 0.1]).round(2).tolist()
    [0.87, 0.18]
    """
    return curves(as_points(points), as_scales(distances, 1, "distances")[0])[0]


def curves(points: Array, distances: Array) -> Array:
    """(2, T): the heat response, and the logarithm of the mean of exp(-D**2 / 2r**2) over pairs i < j.

    The second is, but for a constant at each distance, the pair density smoothed by a Gaussian of width r.
    """
    m, n = points.shape
    times = (0.25 * distances**2)[None, :]
    found = evaluate(ArrangedCloud.of(points), None, times, Request(tol=1e-8, energy=True))
    total = found.energy * (8.0 * np.pi * times[0]) ** (
        n / 2
    )  # sum of g over all ordered pairs, own included
    return np.stack([found.response, np.log(np.maximum(total - m, 1e-300) / (m * (m - 1.0)))])
