"""The paper's equations, in its order: from sums over pairs to geometry.

Every function takes the sums that the moments pass left for each point i and scale a
(see `_dense`): W = sum w, the sums of w D**2, w D**4, w r and w r r' with the weight
w = exp(-D**2 / 4t), and those of g = exp(-D**2 / 8t). They are compiled, so that one
cloud at a time and many clouds in one call use the same lines.
``scales`` is (1, T), or (m, T) where every point has times of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._dense import FIRST, FOURTH, HALF_SQUARE, HALF_WEIGHT, SQUARE, WEIGHT
from ._eigen import eigenvalues
from ._jit import compiled

# --- global signatures -------------------------------------------------------------


@compiled()
def energy(sums: Any, scales: Any, n: int) -> Any:
    """E2(t) = (8 pi t)**(-n/2) sum_ij exp(-D**2 / 8t)."""
    out = np.empty(scales.shape[1])
    for a in range(scales.shape[1]):
        out[a] = (8.0 * np.pi * scales[0, a]) ** (-0.5 * n) * sums[:, a, HALF_WEIGHT].sum()
    return out


@compiled()
def response(sums: Any, unit_scales: Any, n: int) -> Any:
    """C2(t) = -t d/dt log E2 = n/2 - mean of D**2 / 8t under exp(-D**2 / 8t)."""
    out = np.empty(unit_scales.shape[1])
    for a in range(unit_scales.shape[1]):
        mean_square = sums[:, a, HALF_SQUARE].sum() / sums[:, a, HALF_WEIGHT].sum()
        out[a] = 0.5 * n - mean_square / (8.0 * unit_scales[0, a])
    return out


@compiled()
def roughness(energies: Any, responses: Any, scales: Any) -> Any:
    """The Dirichlet energy -1/2 dE2/dt = C2 E2 / 2t."""
    return responses * energies / (2.0 * scales[0])


# --- local signatures --------------------------------------------------------------


@compiled()
def density(sums: Any, scales: Any, n: int) -> Any:
    """u(x_i, t) = (4 pi t)**(-n/2) W_i."""
    m, steps = sums.shape[0], sums.shape[1]
    out = np.empty((m, steps))
    factors = (4.0 * np.pi * scales) ** (-0.5 * n)
    for i in range(m):
        row = i if scales.shape[0] > 1 else 0
        for a in range(steps):
            out[i, a] = factors[row, a] * sums[i, a, WEIGHT]
    return out


@compiled()
def dimension(sums: Any, unit_scales: Any) -> Any:
    """d_heat(x_i, t) = n + 2t d/dt log u = sum_j D**2 w / (2 t W_i)."""
    m, steps = sums.shape[0], sums.shape[1]
    out = np.empty((m, steps))
    for i in range(m):
        row = i if unit_scales.shape[0] > 1 else 0
        for a in range(steps):
            out[i, a] = sums[i, a, SQUARE] / (2.0 * unit_scales[row, a] * sums[i, a, WEIGHT])
    return out


@compiled()
def spectrum(sums: Any, unit_scales: Any, n: int) -> Any:
    """2t times the eigenvalues of the log-Hessian Q_i, largest first.

    2t Q = C / 2t - I with C = sum w r r' / W - rbar rbar' the weighted covariance.
    """
    m, steps = sums.shape[0], sums.shape[1]
    scaled = np.empty((m * steps, n * (n + 1) // 2))
    out = np.empty((m * steps, n))
    for i in range(m):
        row = i if unit_scales.shape[0] > 1 else 0
        for a in range(steps):
            mass = 1.0 / sums[i, a, WEIGHT]
            per_time = 1.0 / (2.0 * unit_scales[row, a])
            c = 0
            for k in range(n):
                mean_k = sums[i, a, FIRST + k] * mass
                for l in range(k, n):
                    covariance = sums[i, a, FIRST + n + c] * mass - mean_k * (sums[i, a, FIRST + l] * mass)
                    scaled[i * steps + a, c] = covariance * per_time
                    c += 1
    eigenvalues(scaled, n, out)
    out -= 1.0
    return out.reshape((m, steps, n))


@compiled()
def transition_by_difference(dimensions: Any, scales: Any) -> Any:
    """tau = d(d_heat) / d(log t) by second-order differences across the scales, one-sided at both ends."""
    m, steps = dimensions.shape
    out = np.empty((m, steps))
    logs = np.log(scales)
    for i in range(m):
        x = logs[i if scales.shape[0] > 1 else 0]
        d = dimensions[i]
        out[i, 0] = (d[1] - d[0]) / (x[1] - x[0])
        for a in range(1, steps - 1):
            before, after = x[a] - x[a - 1], x[a + 1] - x[a]
            rise, fall = (d[a + 1] - d[a]) / after, (d[a] - d[a - 1]) / before
            out[i, a] = (before * rise + after * fall) / (before + after)
        out[i, steps - 1] = (d[steps - 1] - d[steps - 2]) / (x[steps - 1] - x[steps - 2])
    return out


@compiled()
def transition_exact(sums: Any, unit_scales: Any, dimensions: Any) -> Any:
    """tau = Var(D**2) / 8t**2 - d_heat, the variance under the weights w around x_i."""
    m, steps = dimensions.shape
    out = np.empty((m, steps))
    for i in range(m):
        row = i if unit_scales.shape[0] > 1 else 0
        for a in range(steps):
            t = unit_scales[row, a]
            mean = sums[i, a, SQUARE] / sums[i, a, WEIGHT]
            variance = sums[i, a, FOURTH] / sums[i, a, WEIGHT] - mean * mean
            out[i, a] = variance / (8.0 * t * t) - dimensions[i, a]
    return out


# --- the heat dimension spectrum ---------------------------------------------------


@compiled()
def heat_dimension_spectrum(densities: Any, dimensions: Any, centers: Any, sigma: float) -> tuple[Any, Any]:
    """p_geo and delta p = p_rho - p_geo, each (T, K), with memberships eta_k(d)."""
    m, steps = dimensions.shape
    count = centers.shape[0]
    composition = np.zeros((steps, count))
    weighted = np.zeros((steps, count))
    eta = np.empty(count)
    for a in range(steps):
        mass = 0.0
        for i in range(m):
            nearest = np.inf
            for k in range(count):
                eta[k] = (dimensions[i, a] - centers[k]) ** 2 / (2.0 * sigma * sigma)
                nearest = min(nearest, eta[k])
            total = 0.0
            for k in range(count):
                eta[k] = np.exp(nearest - eta[k])  # shifted, so that it never underflows to 0/0
                total += eta[k]
            u = densities[i, a]
            mass += u
            for k in range(count):
                composition[a, k] += eta[k] / total
                weighted[a, k] += u * eta[k] / total
        for k in range(count):
            composition[a, k] /= m
            weighted[a, k] = weighted[a, k] / mass - composition[a, k]
    return composition, weighted
