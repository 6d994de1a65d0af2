"""The backward pass at a point: from gradients with respect to signatures to those with respect to the sums.

The formulas are the derivatives of `_signatures.equations`. With W, S, F, R, Q the sums of w, w D**2, w D**4,
w r and w r r', and t in the unit of length of the sums:

    u = c W, d = S / 2tW, tau = (F / W - S**2 / W**2) / 8t**2 - d, 2t lambda + 1 = eig(C),
    C = (Q / W - R R' / W**2) / 2t.

Eigenvalues with gradients g pass V diag(g) V' on to C: finite, also where they coincide.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import EXACT, compiled
from .._signatures.eigenvalues import _rotate
from .._sums.columns import FIRST, FOURTH, SQUARE, WEIGHT

# Matrices that are worked on at once, in vector code.
_LANES = 64


@compiled(EXACT, inline=True)
def _turn(a: float, b: float, cosine: float, sine: float) -> tuple[float, float]:
    return cosine * a - sine * b, sine * a + cosine * b


@compiled(EXACT, inline=True)
def _sweep(m: Any) -> Any:
    """One Jacobi rotation for each pair of axes, of a matrix (6 numbers) and its eigenvectors (9)."""
    xx, xy, xz, yy, yz, zz, ax, ay, az, bx, by, bz, cx, cy, cz = m
    xx, yy, c, s = _rotate(xx, yy, xy)
    xz, yz = _turn(xz, yz, c, s)
    ax, bx = _turn(ax, bx, c, s)
    ay, by = _turn(ay, by, c, s)
    az, bz = _turn(az, bz, c, s)
    xx, zz, c, s = _rotate(xx, zz, xz)
    xy, yz = -s * yz, c * yz
    ax, cx = _turn(ax, cx, c, s)
    ay, cy = _turn(ay, cy, c, s)
    az, cz = _turn(az, cz, c, s)
    yy, zz, c, s = _rotate(yy, zz, yz)
    xy, xz = c * xy, s * xy
    bx, cx = _turn(bx, cx, c, s)
    by, cy = _turn(by, cy, c, s)
    bz, cz = _turn(bz, cz, c, s)
    return xx, xy, xz, yy, 0.0, zz, ax, ay, az, bx, by, bz, cx, cy, cz


@compiled(EXACT, inline=True)
def _ranked(ahead: Any, g: float, h: float, k: float) -> float:
    return g if ahead == 0 else (h if ahead == 1 else k)


@compiled(EXACT)
def _spread3(lanes: Any) -> None:
    """V diag(g) V' of many matrices at once: rows 0..5 of ``lanes`` hold them, 6..8 g, largest first.

    The sweeps are written out because only an innermost loop becomes vector code.
    """
    for j in range(_LANES):
        m = (
            lanes[0, j], lanes[1, j], lanes[2, j], lanes[3, j], lanes[4, j], lanes[5, j],
            1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0,
        )  # fmt: skip
        m = _sweep(m)
        m = _sweep(m)
        m = _sweep(m)
        m = _sweep(m)
        m = _sweep(m)
        x, _, _, y, _, z, ax, ay, az, bx, by, bz, cx, cy, cz = m
        g, h, k = lanes[6, j], lanes[7, j], lanes[8, j]
        a = _ranked((y > x) + (z > x), g, h, k)
        b = _ranked((x >= y) + (z > y), g, h, k)
        c = _ranked((x >= z) + (y >= z), g, h, k)
        lanes[0, j] = a * ax * ax + b * bx * bx + c * cx * cx
        lanes[1, j] = a * ax * ay + b * bx * by + c * cx * cy
        lanes[2, j] = a * ax * az + b * bx * bz + c * cx * cz
        lanes[3, j] = a * ay * ay + b * by * by + c * cy * cy
        lanes[4, j] = a * ay * az + b * by * bz + c * cy * cz
        lanes[5, j] = a * az * az + b * bz * bz + c * cz * cz


@compiled(EXACT)
def _spread2(lanes: Any) -> None:
    """The same in the plane: rows 0..2 and 6, 7."""
    for j in range(_LANES):
        x, y, c, s = _rotate(lanes[0, j], lanes[2, j], lanes[1, j])
        g, h = lanes[6, j], lanes[7, j]
        a, b = (g, h) if x >= y else (h, g)
        # Eigenvectors (c, -s) and (s, c).
        lanes[0, j] = a * c * c + b * s * s
        lanes[1, j] = (b - a) * c * s
        lanes[2, j] = a * s * s + b * c * c


@compiled()
def _spread(lanes: Any, n: int) -> None:
    if n == 3:
        _spread3(lanes)
    elif n == 2:
        _spread2(lanes)
    else:
        lanes[0] = lanes[6]


@compiled()
def radial_gradients(
    sums: Any, scales: Any, n: int, factors: Any, by_u: Any, by_d: Any, by_tau: Any,
    out: Any, out4: Any, by_t: Any,
) -> None:  # fmt: skip
    """Gradients with respect to W, S (out[:, 0], out[:, 1]) and F, (T, 2, m) and (T, m), and to the times.

    Inputs are (m, T); ``by_tau`` may be empty. ``factors`` (T,) is c, by which a sum becomes a density.
    """
    m, steps = sums.shape[0], sums.shape[1]
    for i in range(m):
        for a in range(steps):
            t = scales[a]
            inverse = 1.0 / sums[i, a, WEIGHT]
            mean = sums[i, a, SQUARE] * inverse
            d = mean / (2.0 * t)
            given = by_d[i, a]
            weight = by_u[i, a] * factors[a]
            square = 0.0
            time = -by_u[i, a] * factors[a] * sums[i, a, WEIGHT] * (0.5 * n) / t
            if by_tau.shape[0]:
                fourth = sums[i, a, FOURTH] * inverse
                p = by_tau[i, a] / (8.0 * t * t)
                given = given - by_tau[i, a]
                weight += p * (2.0 * mean * mean - fourth) * inverse
                square -= 2.0 * p * mean * inverse
                out4[a, i] = p * inverse
                time -= 2.0 * p * (fourth - mean * mean) / t
            weight -= given * d * inverse
            square += given * inverse / (2.0 * t)
            time -= given * d / t
            out[a, 0, i] = weight
            out[a, 1, i] = square
            by_t[a] += time


@compiled()
def spectral_gradients(sums: Any, scales: Any, by_spectrum: Any, radial: Any, out: Any, by_t: Any) -> None:
    """``out`` (T, coefficients, m) of `pair_gradients`: the radial parts with those of the spectrum."""
    m, steps, n = by_spectrum.shape
    lanes = np.zeros((9, _LANES))
    mean, flow = np.empty(n), np.empty(n)
    for a in range(steps):
        half = 0.5 / scales[a]
        for start in range(0, m, _LANES):
            count = min(_LANES, m - start)
            for j in range(count):
                i = start + j
                inverse = 1.0 / sums[i, a, WEIGHT]
                c = 0
                for k in range(n):
                    mean_k = sums[i, a, FIRST + k] * inverse
                    for l in range(k, n):
                        moment = sums[i, a, FIRST + n + c] * inverse
                        lanes[c, j] = half * (moment - mean_k * sums[i, a, FIRST + l] * inverse)
                        c += 1
                    lanes[6 + k, j] = by_spectrum[i, a, k]
            _spread(lanes, n)
            for j in range(count):
                i = start + j
                inverse = 1.0 / sums[i, a, WEIGHT]
                for k in range(n):
                    mean[k] = sums[i, a, FIRST + k] * inverse
                    flow[k] = 0.0
                weight, c = 0.0, 0
                for k in range(n):
                    for l in range(k, n):
                        matrix = lanes[c, j] * half
                        moment = sums[i, a, FIRST + n + c] * inverse
                        flow[k] += matrix * mean[l]
                        weight -= matrix * moment
                        if l != k:
                            flow[l] += matrix * mean[k]
                            weight -= matrix * moment
                        diagonal = radial[a, 1, i] if l == k else 0.0
                        out[a, 1 + n + c, i] = matrix * inverse + diagonal
                        c += 1
                time = weight
                for k in range(n):
                    weight += 2.0 * flow[k] * mean[k]
                    time += flow[k] * mean[k]
                    out[a, 1 + k, i] = -2.0 * flow[k] * inverse
                out[a, 0, i] = radial[a, 0, i] + weight * inverse
                by_t[a] += time / scales[a]
