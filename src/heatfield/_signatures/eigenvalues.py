"""Eigenvalues of small symmetric matrices, largest first, accurate also where they coincide.

The closed form with arc cosines loses half of the digits when two eigenvalues
coincide, as they do on an ideal flat patch. Jacobi rotations have an error of a few
units in the last place of the norm whatever the spectrum; written without
branches, a fixed number of them runs over all matrices in vector code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import EXACT, compiled

# Cyclic Jacobi on 3 x 3 matrices converges cubically at the end: five sweeps reach
# round-off from anywhere (tests/_signatures/test_eigenvalues.py tries the worst cases).
_LANES = 64
_TINY = 1e-300


@compiled(EXACT, inner=True)
def _rotate(p: float, q: float, pq: float) -> tuple[float, float, float, float]:
    """The rotation that clears pq: the new diagonal, cosine and sine."""
    gap = q - p
    root = np.sqrt(gap * gap + 4.0 * pq * pq)
    tangent = 2.0 * pq / (abs(gap) + root + _TINY)
    tangent = tangent if gap >= 0.0 else -tangent
    cosine = 1.0 / np.sqrt(tangent * tangent + 1.0)
    return p - tangent * pq, q + tangent * pq, cosine, tangent * cosine


@compiled(EXACT, inner=True)
def _sweep(xx: float, xy: float, xz: float, yy: float, yz: float, zz: float) -> Any:
    """One rotation for each pair of axes."""
    xx, yy, c, s = _rotate(xx, yy, xy)
    xz, yz = c * xz - s * yz, s * xz + c * yz
    xx, zz, c, s = _rotate(xx, zz, xz)
    xy, yz = -s * yz, c * yz
    yy, zz, c, s = _rotate(yy, zz, yz)
    xy, xz = c * xy, s * xy
    return xx, xy, xz, yy, 0.0, zz


@compiled(EXACT, inner=True)
def _solve3(lanes: Any) -> None:
    """Many 3 x 3 matrices at once, in place: entry c of matrix j is ``lanes[c * _LANES + j]``.

    The sweeps are written out because only an innermost loop becomes vector code,
    and there is one array because the compiler then knows where each entry is.
    """
    for j in range(_LANES):
        a = (
            lanes[j],
            lanes[_LANES + j],
            lanes[2 * _LANES + j],
            lanes[3 * _LANES + j],
            lanes[4 * _LANES + j],
            lanes[5 * _LANES + j],
        )
        a = _sweep(a[0], a[1], a[2], a[3], a[4], a[5])
        a = _sweep(a[0], a[1], a[2], a[3], a[4], a[5])
        a = _sweep(a[0], a[1], a[2], a[3], a[4], a[5])
        a = _sweep(a[0], a[1], a[2], a[3], a[4], a[5])
        a = _sweep(a[0], a[1], a[2], a[3], a[4], a[5])
        x, y, z = a[0], a[3], a[5]
        lanes[j] = max(max(x, y), z)
        lanes[_LANES + j] = max(min(x, y), min(max(x, y), z))
        lanes[2 * _LANES + j] = min(min(x, y), z)


@compiled(inner=True)
def _eigenvalues3(packed: Any, out: Any) -> None:
    lanes = np.zeros(6 * _LANES)
    for start in range(0, packed.shape[0], _LANES):
        count = min(_LANES, packed.shape[0] - start)
        for j in range(count):
            for c in range(6):
                lanes[c * _LANES + j] = packed[start + j, c]
        _solve3(lanes)
        for j in range(count):
            for c in range(3):
                out[start + j, c] = lanes[c * _LANES + j]


@compiled(EXACT, inner=True)
def _eigenvalues2(packed: Any, out: Any) -> None:
    for i in range(packed.shape[0]):
        first, second, _, _ = _rotate(packed[i, 0], packed[i, 2], packed[i, 1])
        out[i, 0] = max(first, second)
        out[i, 1] = min(first, second)


@compiled()
def eigenvalues_up_to_3(packed: Any, out: Any) -> None:
    """`eigenvalues` in one, two or three dimensions, into ``out`` (count, n)."""
    if out.shape[1] == 3:
        _eigenvalues3(packed, out)
    elif out.shape[1] == 2:
        _eigenvalues2(packed, out)
    else:
        for i in range(packed.shape[0]):  # a copy of arrays takes the compiler as long as all else here
            out[i, 0] = packed[i, 0]


def eigenvalues(packed: Any, n: int) -> Any:
    """Eigenvalues (count, n) of matrices given by their upper triangles, row by row, (count, n (n+1) / 2)."""
    out = np.empty((packed.shape[0], n))
    if n <= 3:
        eigenvalues_up_to_3(packed, out)
    else:
        matrices = np.zeros((packed.shape[0], n, n))
        rows, columns = np.triu_indices(n)
        matrices[:, rows, columns] = packed
        out[:] = np.nan
        finite = np.isfinite(packed).all(axis=1)  # one bad matrix would fail them all
        out[finite] = np.linalg.eigvalsh(matrices[finite], UPLO="U")[:, ::-1]
    return out
