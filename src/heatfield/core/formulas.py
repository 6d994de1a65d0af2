"""The paper's equations, in its order: from sums over pairs to geometry.

Plain arithmetic on numbers, NumPy arrays and torch tensors alike, element by element, so that no result
depends on the shape of a batch. Arguments named after a moment are its sums (see `moments`): at one point, or
for the global signatures totalled over all points. ``t`` is the time in the unit of length of these sums;
where a formula needs it in the unit of the caller, that is said. All broadcast against each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any


def heat_factor(t: Any, n: int) -> Any:
    """(4 pi t)**(-n/2), the height of the heat kernel in n dimensions; t in the unit of the caller."""
    return (4.0 * math.pi * t) ** (-n / 2)


# --- Section 3.1: global signatures --------------------------------------------------


def energy(root_weight: Any, factor: Any) -> Any:
    """E2(t) = (8 pi t)**(-n/2) sum_ij exp(-D**2 / 8t); ``factor`` is `heat_factor` of 2t."""
    return factor * root_weight


def response(root_weight: Any, root_square: Any, t: Any, n: int) -> Any:
    """C2(t) = -t d/dt log E2 = n/2 - sum_ij (D**2 / 8t) g / sum_ij g."""
    return n / 2 - root_square / root_weight / (8.0 * t)


def roughness(energies: Any, responses: Any, t: Any) -> Any:
    """The Dirichlet energy -1/2 dE2/dt = C2 E2 / 2t; t in the unit of the caller."""
    return responses * energies / (2.0 * t)


def relative_roughness(energies: Any, roughnesses: Any) -> Any:
    """Dirichlet energy over E2. The paper's guard epsilon is 0 here: E2 is positive for every cloud."""
    return roughnesses / energies


# --- Section 3.2: local signatures ---------------------------------------------------


def density(weight: Any, factor: Any) -> Any:
    """u(x_i, t) = (4 pi t)**(-n/2) sum_j w; ``factor`` is `heat_factor` of t."""
    return factor * weight


def dimension(weight: Any, square: Any, t: Any) -> Any:
    """d_heat(x_i, t) = n + 2t d/dt log u = sum_j D**2 w / (2t sum_j w)."""
    return square / (2.0 * t * weight)


def scaled_covariance(weight: Any, first: Any, second: Any, t: Any, n: int) -> Iterator[Any]:
    """The upper triangle of 2t Q + I = C / 2t, row by row, with Q the log-Hessian at x_i.

    C = sum w r r' / sum w - rbar rbar' is the covariance under the weights, around their mean rbar.
    """
    inverse, per_time = 1.0 / weight, 0.5 / t
    mean = [first[k] * inverse for k in range(n)]
    entry = 0
    for k in range(n):
        for l in range(k, n):
            yield (second[entry] * inverse - mean[k] * mean[l]) * per_time
            entry += 1


def spectrum(eigenvalues: Any) -> Any:
    """2t lambda_k, from the eigenvalues of `scaled_covariance`, largest first."""
    return eigenvalues - 1.0


def square_variance(weight: Any, square: Any, fourth: Any) -> Any:
    """The variance of D**2 under the weights w."""
    mean = square / weight
    return fourth / weight - mean * mean


def transition_exact(variance: Any, dimensions: Any, t: Any) -> Any:
    """tau = d(d_heat) / d(log t) = Var(D**2) / 8t**2 - d_heat, with `square_variance`."""
    return variance / (8.0 * (t * t)) - dimensions


def transition_by_difference(dimensions: Any, log_t: Any) -> tuple[Any, Any, Any]:
    """tau by second-order differences across the scales, one-sided at both ends.

    Both arguments have the scales first; returned are the first scale, those between, and the last.
    """
    gaps = log_t[1:] - log_t[:-1]
    slopes = (dimensions[1:] - dimensions[:-1]) / gaps
    before, after = gaps[:-1], gaps[1:]
    inner = (before * slopes[1:] + after * slopes[:-1]) / (before + after)
    return slopes[:1], inner, slopes[-1:]


# --- Section 3.3: the heat dimension spectrum ----------------------------------------


def log_membership(dimensions: Any, center: float, sigma: float) -> Any:
    """log eta_k(d) up to the normalisation: memberships are its exponentials, divided by their sum over k."""
    step = dimensions - center
    return step * step * (-0.5 / (sigma * sigma))


def composition(memberships: Any, count: Any) -> Any:
    """p_geo: the memberships totalled over the points, as shares of their number."""
    return memberships / count


def contrast(weighted: Any, densities: Any, compositions: Any) -> Any:
    """delta p = p_rho - p_geo, with memberships weighted by the density, both totalled over the points."""
    return weighted / densities - compositions


# --- beyond the paper ----------------------------------------------------------------


def scaled_gradient(weight: Any, first: Any, t: Any) -> Iterator[Any]:
    """The components of sqrt(2t) grad log u."""
    root = (2.0 * t) ** 0.5
    return (component / weight / root for component in first)


def gradient_length(weight: Any, first: Any, t: Any) -> Any:
    """sqrt(2t) |grad log u|: how far to one side, in units of the kernel, the neighbours lie.

    From the sums of w r themselves, not from d - n - sum of the spectrum, which equals its square but has
    lost half of the digits where it is small.
    """
    total = first[0] * first[0]
    for component in first[1:]:
        total = total + component * component
    return (total / (2.0 * t)) ** 0.5 / weight


# Of the extents e_k = 1 + 2t lambda_k, the eigenvalues of `scaled_covariance`, largest first on the first
# axis. In space linearity, planarity and sphericity add up to 1.


def linearity(extents: Any) -> Any:
    """(e_1 - e_2) / e_1: 1 on a filament."""
    return (extents[0] - extents[1]) / extents[0]


def planarity(extents: Any) -> Any:
    """(e_2 - e_3) / e_1: 1 on a surface in space."""
    return (extents[1] - extents[2]) / extents[0]


def sphericity(extents: Any) -> Any:
    """e_n / e_1: 1 where all directions are alike."""
    return extents[-1] / extents[0]


def deviation(weight: Any, step: Any, step_squared: Any) -> Any:
    """The standard deviation of a field around x_i, from the sums of w (f_j - f_i) and w (f_j - f_i)**2."""
    mean = step / weight
    variance = step_squared / weight - mean * mean
    return (variance * (variance > 0.0)) ** 0.5
