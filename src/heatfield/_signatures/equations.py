"""The paper's equations, in its order: from sums over pairs to geometry.

``sums`` (m, T, columns) is the table of sums for each point x_i and
time t (see `_sums.columns`): W = sum w, the sums of w D**2, w D**4, w r and w r r' with r = x_j - x_i and the
weight w = exp(-D**2 / 4t), and those of g = exp(-D**2 / 8t).
``scales`` is (1, T), or (m, T) where every point has its own times; ``unit_scales`` is
the same in the unit of length in which the sums were taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.check import Array
from .._base.compile import compiled
from .._base.exp2 import LOG2_E, exp2
from .._sums.columns import FIRST, FOURTH, ROOT_SQUARE, ROOT_WEIGHT, SQUARE, WEIGHT
from .eigenvalues import eigenvalues
from .eigenvectors import eigenvectors

# --- global signatures -------------------------------------------------------------


def energy(sums: Array, scales: Array, n: int) -> Array:
    """E2(t) = (8 pi t)**(-n/2) sum_ij exp(-D**2 / 8t)."""
    return (8.0 * np.pi * scales[0]) ** (-n / 2) * sums[:, :, ROOT_WEIGHT].sum(axis=0)


def response(sums: Array, unit_scales: Array, n: int) -> Array:
    """C2(t) = -t d/dt log E2 = n/2 - sum_ij (D**2 / 8t) g / sum_ij g."""
    mean_square = sums[:, :, ROOT_SQUARE].sum(axis=0) / sums[:, :, ROOT_WEIGHT].sum(axis=0)
    return n / 2 - mean_square / (8.0 * unit_scales[0])


def roughness(energies: Array, responses: Array, scales: Array) -> Array:
    """The Dirichlet energy -1/2 dE2/dt = C2 E2 / 2t."""
    return responses * energies / (2.0 * scales[0])


def relative_roughness(energies: Array, dirichlet: Array) -> Array:
    """Dirichlet energy over E2. The paper's guard epsilon is 0 here: E2 is positive for every cloud."""
    return dirichlet / energies


# --- local signatures --------------------------------------------------------------


def density(sums: Array, scales: Array, n: int) -> Array:
    """u(x_i, t) = (4 pi t)**(-n/2) W_i."""
    return (4.0 * np.pi * scales) ** (-n / 2) * sums[:, :, WEIGHT]


def dimension(sums: Array, unit_scales: Array) -> Array:
    """d_heat(x_i, t) = n + 2t d/dt log u = sum_j D**2 w / (2 t W_i)."""
    return sums[:, :, SQUARE] / (2.0 * unit_scales * sums[:, :, WEIGHT])


def spectrum(sums: Array, unit_scales: Array, n: int) -> Array:
    """2t times the eigenvalues of the log-Hessian Q_i, largest first, (m, T, n)."""
    m, steps = sums.shape[:2]
    return eigenvalues(_scaled_covariance(sums, unit_scales, n), n).reshape(m, steps, n) - 1.0


def directions(sums: Array, unit_scales: Array, n: int) -> Array:
    """Unit eigenvectors of Q_i in the order of the spectrum, (m, T, n, n): row k belongs to eigenvalue k."""
    m, steps = sums.shape[:2]
    return eigenvectors(_scaled_covariance(sums, unit_scales, n), n).reshape(m, steps, n, n)


def gradient_length(sums: Array, unit_scales: Array, n: int) -> Array:
    """sqrt(2t) |grad log u|, (m, T): how far to one side, in units of the kernel, the neighbours lie.

    From the sums of w r themselves, not from d - n - sum of the spectrum, which equals
    its square but has lost half of the digits where it is small.
    """
    length = np.sqrt((sums[:, :, FIRST : FIRST + n] ** 2).sum(axis=2) / (2.0 * unit_scales))
    return length / sums[:, :, WEIGHT]


@compiled()
def _scaled_covariance(sums: Any, unit_scales: Any, n: int) -> Any:
    """Upper triangles of 2t Q + I = C / 2t, with C = sum w r r' / W - rbar rbar' the weighted covariance."""
    m, steps = sums.shape[0], sums.shape[1]
    out = np.empty((m * steps, n * (n + 1) // 2))
    for i in range(m):
        row = i if unit_scales.shape[0] > 1 else 0
        for a in range(steps):
            inverse_weight = 1.0 / sums[i, a, WEIGHT]
            per_time = 1.0 / (2.0 * unit_scales[row, a])
            if n == 3:  # written out: the loops below take three times as long
                x = sums[i, a, FIRST] * inverse_weight
                y = sums[i, a, FIRST + 1] * inverse_weight
                z = sums[i, a, FIRST + 2] * inverse_weight
                packed = out[i * steps + a]
                packed[0] = (sums[i, a, FIRST + 3] * inverse_weight - x * x) * per_time
                packed[1] = (sums[i, a, FIRST + 4] * inverse_weight - x * y) * per_time
                packed[2] = (sums[i, a, FIRST + 5] * inverse_weight - x * z) * per_time
                packed[3] = (sums[i, a, FIRST + 6] * inverse_weight - y * y) * per_time
                packed[4] = (sums[i, a, FIRST + 7] * inverse_weight - y * z) * per_time
                packed[5] = (sums[i, a, FIRST + 8] * inverse_weight - z * z) * per_time
                continue
            c = 0
            for k in range(n):
                mean_k = sums[i, a, FIRST + k] * inverse_weight
                for l in range(k, n):
                    covariance = sums[i, a, FIRST + n + c] * inverse_weight - mean_k * (
                        sums[i, a, FIRST + l] * inverse_weight
                    )
                    out[i * steps + a, c] = covariance * per_time
                    c += 1
    return out


def transition_by_difference(dimensions: Array, scales: Array) -> Array:
    """tau = d(d_heat) / d(log t): second-order differences across the scales, one-sided at both ends."""
    gaps = np.diff(np.log(scales), axis=1)
    slopes = np.diff(dimensions, axis=1) / gaps
    before, after = gaps[:, :-1], gaps[:, 1:]
    inner = (before * slopes[:, 1:] + after * slopes[:, :-1]) / (before + after)
    return np.concatenate([slopes[:, :1], inner, slopes[:, -1:]], axis=1)


def transition_exact(sums: Array, unit_scales: Array, dimensions: Array) -> Array:
    """tau = Var(D**2) / 8t**2 - d_heat, the variance under the weights w around x_i."""
    mean = sums[:, :, SQUARE] / sums[:, :, WEIGHT]
    variance = sums[:, :, FOURTH] / sums[:, :, WEIGHT] - mean**2
    return variance / (8.0 * unit_scales**2) - dimensions


# --- the heat dimension spectrum ---------------------------------------------------


@compiled(inner=True)
def _powers(values: Any) -> None:
    """2**y in place, as vector code; 0 from -1000 on, where `exp2` keeps its bound."""
    for j in range(values.shape[0]):
        values[j] = exp2(values[j]) if values[j] > -1000.0 else 0.0


@compiled()
def heat_dimension_spectrum(densities: Any, dimensions: Any, centers: Any, sigma: float) -> tuple[Any, Any]:
    """p_geo and delta p = p_rho - p_geo, each (T, K), with memberships eta_k(d)."""
    m, steps = dimensions.shape
    count = centers.shape[0]
    composition = np.zeros((steps, count))
    weighted = np.zeros((steps, count))
    total_density = np.zeros(steps)
    powers = np.empty(steps * count)
    eta = powers.reshape(steps, count)
    for i in range(m):
        for a in range(steps):
            nearest = np.inf
            for k in range(count):
                eta[a, k] = (dimensions[i, a] - centers[k]) ** 2 / (2.0 * sigma * sigma)
                nearest = min(nearest, eta[a, k])
            for k in range(count):
                eta[a, k] = (nearest - eta[a, k]) * LOG2_E  # shifted, so that it never underflows to 0/0
        _powers(powers)
        for a in range(steps):
            total = 0.0
            for k in range(count):
                total += eta[a, k]
            share = 1.0 / total if dimensions[i, a] == dimensions[i, a] else np.nan
            total_density[a] += densities[i, a]
            for k in range(count):
                composition[a, k] += eta[a, k] * share
                weighted[a, k] += densities[i, a] * (eta[a, k] * share)
    for a in range(steps):
        for k in range(count):
            composition[a, k] /= m
            weighted[a, k] = weighted[a, k] / total_density[a] - composition[a, k]
    return composition, weighted
