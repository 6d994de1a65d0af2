"""Columns that are derived from spectrum and directions, under the names that the field uses for them.

With e_k = 1 + 2t lambda_k, the eigenvalues of the weighted covariance around a point in units of 2t, largest
first: linearity = (e_1 - e_2) / e_1, planarity = (e_2 - e_3) / e_1, sphericity = e_n / e_1. In space they add
up to 1. The normal is the direction of the smallest eigenvalue, and verticality = 1 - |n_z|.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.check import Array


def linearity(s: Any) -> Array | None:
    """(e_1 - e_2) / e_1; None without a spectrum, or where points have one coordinate."""
    e = _extents(s, 2)
    return None if e is None else _over(e[..., 0] - e[..., 1], e[..., 0])


def planarity(s: Any) -> Array | None:
    """(e_2 - e_3) / e_1, of points in space."""
    e = _extents(s, 3)
    return None if e is None else _over(e[..., 1] - e[..., 2], e[..., 0])


def sphericity(s: Any) -> Array | None:
    """e_n / e_1."""
    e = _extents(s, 2)
    return None if e is None else _over(e[..., -1], e[..., 0])


def normals(s: Any) -> Array | None:
    """The direction of the smallest eigenvalue, (m, T, n), pointing up; None without directions."""
    vectors = s.directions
    return None if vectors is None or vectors.shape[-1] < 2 else vectors[:, :, -1, :]


def verticality(s: Any) -> Array | None:
    """1 - |last coordinate of the normal|: 0 on level ground, 1 on a wall."""
    normal = normals(s)
    return None if normal is None else 1.0 - np.abs(normal[..., -1])


def _extents(s: Any, least: int) -> Array | None:
    """The eigenvalues of the covariance; rounding may put that of a flat cloud below 0."""
    n = 0 if s.spectrum is None else s.spectrum.shape[2]
    return None if not least <= n <= 3 else np.maximum(1.0 + s.spectrum, 0.0)


def _over(part: Array, whole: Array) -> Array:
    """NaN at a point without neighbours, which has no extent."""
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0.0)
