"""Points of a tile among which the ends of the largest distance must lie: the vertices of its convex hull."""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from .._base.check import Array

# Up to so many points nothing is left out.
_FEW = 64
# Extent across a plane or a line, relative to that along it, below which points count as lying on it.
_FLAT = 1e-13


def hull_vertices(points: Array) -> Array:
    """Some of the points (k, n), all vertices of their convex hull among them.

    The largest distance from anywhere to the points is that to one of these. Points on a plane or a line
    are projected to it first; what they deviate, below 1e-13 of their extent, is the error of a distance.

    Examples
    --------
    >>> import numpy as np
    >>> inside = np.random.default_rng(0).random((1000, 2))
    >>> square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> sorted(map(tuple, hull_vertices(np.concatenate([inside, square])).tolist()))
    [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
    """
    if len(points) <= _FEW:
        return np.array(points)
    shifted = points - points.min(axis=0)
    return np.asarray(points[_vertices(shifted)])


def _vertices(points: Array) -> np.ndarray:
    n = points.shape[1]
    extent = np.ptp(points, axis=0)
    if n == 1 or not extent.max() > 0.0:
        return np.unique([points[:, 0].argmin(), points[:, 0].argmax()])
    try:
        return np.asarray(ConvexHull(points).vertices)
    except QhullError:
        centred = points - points.mean(axis=0)
        _, sizes, axes = np.linalg.svd(centred.T @ centred)
        kept = max(1, min(n - 1, int((np.sqrt(sizes / sizes[0]) > _FLAT**0.5).sum())))
        # The covariance knows sizes to the root of the rounding only: the extent itself decides.
        along = centred @ axes[:kept].T
        across = np.ptp(centred @ axes[kept:].T, axis=0).max()
        if across > _FLAT * np.ptp(along[:, 0]):
            return np.arange(len(points))  # flat for Qhull, not for us: nothing is left out
        return _vertices(along)
