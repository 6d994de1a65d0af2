"""Descriptors of many clouds in one compiled call.

A cloud of a hundred points takes a fraction of a millisecond, so nothing between the
points and the finished row may go back to Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _equations as equations
from ._arrange import arrange
from ._dense import FIRST, WEIGHT, column_count, dense_sums
from ._jit import compiled
from ._neighbourhood import neighbourhood_spread, scale_pairs
from ._pooling import correlations, couplings, pool, pool_channel, standardise
from ._scales import geometric
from ._spacing import diameter_squared, mean_spacing, nearest_distinct

# Places in the array of first columns, in the order of `_layout.JOINT_BLOCKS`.
GLOBAL, HDS, DENSITY, DIMENSION, TRANSITION, SPECTRUM, GRADIENT, CORRELATION, COUPLING, NEIGHBOURHOOD = range(10)


@compiled()
def _log(values: Any) -> Any:
    """Logarithm of positive numbers; NaN elsewhere."""
    out = np.empty_like(values)
    for i in range(values.size):
        out.flat[i] = np.log(values.flat[i]) if values.flat[i] > 0.0 else np.nan
    return out


@compiled()
def _gradient_length(sums: Any, unit_scales: Any, n: int) -> Any:
    """sqrt(2t) |grad log u| (T, m): how far, in units of the kernel, the mean neighbour lies to one side."""
    m, steps = sums.shape[0], sums.shape[1]
    out = np.empty((steps, m))
    for i in range(m):
        for a in range(steps):
            square = 0.0
            for k in range(n):
                square += sums[i, a, FIRST + k] ** 2
            out[a, i] = np.sqrt(square / (2.0 * unit_scales[0, a])) / sums[i, a, WEIGHT]
    return out


@compiled()
def describe_cloud(
    points: Any,
    n_scales: int,
    c_min: float,
    c_max: float,
    joint: bool,
    exact: bool,
    with_spectrum: bool,
    centers: Any,
    sigma: float,
    starts: Any,
    digits: float,
    like: Any,
    out: Any,
) -> None:
    """Write the descriptor of one cloud; all NaN if it has fewer than two distinct points."""
    m, n = points.shape
    out[:] = np.nan
    if m < 2:
        return
    sources, boxes, _, exponent = arrange(points)
    nearest, same = nearest_distinct(sources, boxes)
    spacing = mean_spacing(nearest, same)
    if not spacing > 0.0:
        return
    unit = geometric(c_min * spacing**2, c_max * diameter_squared(sources, boxes), n_scales).reshape((1, n_scales))
    scales = unit * 4.0**exponent
    sums = np.zeros((m, n_scales, column_count(n, with_spectrum)))
    dense_sums(sources, boxes, nearest, unit, 0, m, digits, with_spectrum, exact, like, sums)

    u = equations.density(sums, scales, n)
    d = equations.dimension(sums, unit)
    if exact:
        tau = equations.transition_exact(sums, unit, d)
    else:
        tau = equations.transition_by_difference(d, scales)
    if starts[GLOBAL] >= 0:
        e2 = equations.energy(sums, scales, n)
        c2 = equations.response(sums, unit, n)
        dirichlet = equations.roughness(e2, c2, scales)
        at = starts[GLOBAL]
        out[at : at + n_scales] = _log(e2) if joint else e2
        out[at + n_scales : at + 2 * n_scales] = c2
        out[at + 2 * n_scales : at + 3 * n_scales] = _log(dirichlet) if joint else dirichlet
        out[at + 3 * n_scales : at + 4 * n_scales] = _log(dirichlet / e2) if joint else dirichlet / e2
    if starts[HDS] >= 0:
        composition, contrast = equations.heat_dimension_spectrum(u, d, centers, sigma)
        size = composition.size
        out[starts[HDS] : starts[HDS] + size] = composition.T.copy().reshape(size)
        out[starts[HDS] + size : starts[HDS] + 2 * size] = contrast.T.copy().reshape(size)

    # One row a scale from here on: pooling reads a channel scale by scale.
    channels = np.empty((3 + n if with_spectrum else 3, n_scales, m))
    channels[0] = _log(u).T if joint else u.T
    channels[1] = d.T
    channels[2] = tau.T
    if with_spectrum:
        lambdas = equations.spectrum(sums, unit, n)
        for k in range(n):
            channels[3 + k] = lambdas[:, :, k].T
    scratch = np.empty(m)
    width = 5 * n_scales
    for c in range(channels.shape[0]):
        block = min(DENSITY + c, SPECTRUM)
        if starts[block] >= 0:
            at = starts[block] + width * max(0, c - 3)
            pool_channel(channels[c], scratch, out[at : at + width])
    if starts[GRADIENT] >= 0:
        at = starts[GRADIENT]
        pool_channel(_gradient_length(sums, unit, n), scratch, out[at : at + width])
    if starts[CORRELATION] >= 0 or starts[COUPLING] >= 0:
        standard = np.empty_like(channels)
        for c in range(channels.shape[0]):
            standard[c] = standardise(channels[c])
        if starts[CORRELATION] >= 0:
            correlations(standard, out[starts[CORRELATION] :])
        if starts[COUPLING] >= 0:
            couplings(standard, out[starts[COUPLING] :])
    if starts[NEIGHBOURHOOD] >= 0:
        fields = np.empty((channels.shape[0] - 1, n_scales, m))  # all channels but the transition
        fields[0:2] = channels[0:2]
        fields[2:] = channels[3:]
        spread = neighbourhood_spread(sources, boxes, unit, sums[:, :, WEIGHT], fields, digits, like)
        _pool_spread(spread, n_scales, scratch, out[starts[NEIGHBOURHOOD] :])


@compiled()
def _pool_spread(spread: Any, n_scales: int, scratch: Any, out: Any) -> None:
    """Mean, 10th (from the fourth scale on) and 90th percentile, in the order of `_layout`."""
    pairs = scale_pairs(n_scales)
    place = 0
    for f in range(spread.shape[0]):
        for p in range(spread.shape[1]):
            mean, _, p10, _, p90 = pool(spread[f, p], scratch)
            out[place] = mean
            place += 1
            if pairs[p, 1] >= 3:
                out[place] = p10
                place += 1
            out[place] = p90
            place += 1


@compiled()
def describe_clouds(
    points: Any,
    offsets: Any,
    first: int,
    last: int,
    n_scales: int,
    c_min: float,
    c_max: float,
    joint: bool,
    exact: bool,
    with_spectrum: bool,
    centers: Any,
    sigma: float,
    starts: Any,
    digits: float,
    like: Any,
    out: Any,
) -> None:
    """Rows first..last of ``out``; cloud i is ``points[offsets[i]:offsets[i + 1]]``."""
    for i in range(first, last):
        describe_cloud(
            points[offsets[i] : offsets[i + 1]],
            n_scales,
            c_min,
            c_max,
            joint,
            exact,
            with_spectrum,
            centers,
            sigma,
            starts,
            digits,
            like,
            out[i],
        )
