"""Eigenvectors of small symmetric matrices: cyclic Jacobi rotations, as accurate as LAPACK's and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.check import Array
from .._base.compile import EXACT, compiled
from .eigenvalues import _rotate

# Jacobi converges quadratically: a 3 x 3 matrix needs five sweeps, one of 16 x 16 about eight.
_MOST_SWEEPS = 30


@compiled(EXACT)
def _eigenvectors(packed: Any, n: int, out: Any) -> None:
    """Rows of out[i]: unit eigenvectors of matrix i, that of the largest eigenvalue first."""
    a = np.empty((n, n))
    taken = np.empty(n, np.bool_)
    for i in range(packed.shape[0]):
        c, finite = 0, True
        for p in range(n):
            for q in range(p, n):
                a[p, q] = a[q, p] = packed[i, c]
                finite = finite and np.isfinite(packed[i, c])
                c += 1
        v = np.eye(n)
        if not finite:
            out[i] = np.nan
            continue
        for _ in range(_MOST_SWEEPS):
            rotated = False
            for p in range(n - 1):
                for q in range(p + 1, n):
                    # What is lost in rounding beside both diagonal entries rotates by no angle that matters.
                    if abs(a[p, q]) <= 1e-17 * (abs(a[p, p]) + abs(a[q, q])):
                        continue
                    rotated = True
                    first, second, cosine, sine = _rotate(a[p, p], a[q, q], a[p, q])
                    a[p, p], a[q, q] = first, second
                    a[p, q] = a[q, p] = 0.0
                    for k in range(n):
                        if k != p and k != q:
                            x, y = a[k, p], a[k, q]
                            a[k, p] = a[p, k] = cosine * x - sine * y
                            a[k, q] = a[q, k] = sine * x + cosine * y
                        x, y = v[p, k], v[q, k]
                        v[p, k] = cosine * x - sine * y
                        v[q, k] = sine * x + cosine * y
            if not rotated:
                break
        taken[:] = False
        for row in range(n):
            best = -1
            for k in range(n):
                if not taken[k] and (best < 0 or a[k, k] > a[best, best]):
                    best = k
            taken[best] = True
            out[i, row] = v[best]


@compiled(EXACT)
def _fix_signs(vectors: Any) -> None:
    """The last coordinate that is not 0 is positive: an eigenvector has no sign of its own."""
    count, n = vectors.shape
    for i in range(count):
        for k in range(n - 1, -1, -1):
            if vectors[i, k] != 0.0:
                if vectors[i, k] < 0.0:
                    for j in range(n):
                        vectors[i, j] = -vectors[i, j]
                break


def eigenvectors(packed: Array, n: int) -> Array:
    """Unit eigenvectors (count, n, n) of matrices given by upper triangles (count, n (n+1) / 2).

    Row k belongs to the k-th largest eigenvalue. Its last coordinate that is not 0 is positive.

    Examples
    --------
    >>> eigenvectors(np.array([[1.0, 0.0, 2.0]]), 2)[0].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    out = np.empty((packed.shape[0], n, n))
    _eigenvectors(packed, n, out)
    _fix_signs(out.reshape(-1, n))
    return out
