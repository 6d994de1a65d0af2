"""The descriptor of one cloud: signatures, and their pooling into one row.

Every step is one compiled call, so that a cloud of a hundred points spends its time
there and threads over clouds hardly meet in the interpreter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import _equations as equations
from ._check import Array
from ._dense import FIRST, WEIGHT, column_count
from ._layout import NEED_SPECTRUM, Layout
from ._moments import DIGITS, Cloud, sum_rows
from ._neighbourhood import neighbourhood_spread, pool_spread
from ._pooling import correlations, couplings, pool_channels, standardise
from ._scales import geometric


@dataclass(frozen=True)
class Recipe:
    """All that decides the numbers of a descriptor."""

    columns: Layout
    n_scales: int
    c_min: float
    c_max: float
    joint: bool
    exact: bool
    centers: Array
    sigma: float
    dtype: np.dtype

    @property
    def with_spectrum(self) -> bool:
        """Whether any chosen block is read from the sums of w r and w r r'."""
        return not NEED_SPECTRUM.isdisjoint(self.columns.columns)


def describe_cloud(points: Array, recipe: Recipe, out: Array) -> None:
    """Write the descriptor of one cloud; all NaN if it has fewer than two distinct points."""
    out[:] = np.nan
    m, n = points.shape
    if m < 2:
        return
    cloud = Cloud.of(points)
    spacing = cloud.spacing
    if not spacing > 0.0:
        return
    steps = recipe.n_scales
    scales = geometric(recipe.c_min * spacing**2, recipe.c_max * cloud.diameter**2, steps)[None, :]
    unit = cloud.unit_scales(scales)
    sums = np.zeros((m, steps, column_count(n, recipe.with_spectrum)))
    sum_rows(cloud, unit, 0, m, sums, spectrum=recipe.with_spectrum, fourth=recipe.exact, dtype=recipe.dtype)
    u = equations.density(sums, scales, n)
    d = equations.dimension(sums, unit)
    if recipe.exact:
        tau = equations.transition_exact(sums, unit, d)
    else:
        tau = equations.transition_by_difference(d, scales)

    columns = recipe.columns.columns
    if "global" in columns:
        out[columns["global"]] = _global_block(sums, scales, unit, n, recipe.joint)
    if "hds" in columns:
        parts = equations.heat_dimension_spectrum(u, d, recipe.centers, recipe.sigma)
        out[columns["hds"]] = np.concatenate([part.T.ravel() for part in parts])
    channels = _channels(
        u, d, tau, equations.spectrum(sums, unit, n) if recipe.with_spectrum else None, recipe.joint
    )
    for block, rows in (
        ("density", (0, 1)),
        ("dimension", (1, 2)),
        ("transition", (2, 3)),
        ("spectrum", (3, 3 + n)),
    ):
        if block in columns:
            pool_channels(channels[rows[0] : rows[1]], out[columns[block]])
    if "gradient" in columns:
        pool_channels(_gradient_length(sums, unit, n), out[columns["gradient"]])
    if "correlation" in columns or "coupling" in columns:
        standard = standardise(channels)
        if "correlation" in columns:
            correlations(standard, out[columns["correlation"]])
        if "coupling" in columns:
            couplings(standard, out[columns["coupling"]])
    if "neighbourhood" in columns:
        fields = np.delete(channels, 2, axis=0)  # all but the transition
        spread = neighbourhood_spread(
            cloud.sources,
            cloud.boxes,
            unit,
            sums[:, :, WEIGHT],
            fields,
            DIGITS[recipe.dtype],
            np.empty(0, recipe.dtype),
        )
        pool_spread(spread, steps, out[columns["neighbourhood"]])


def _global_block(sums: Array, scales: Array, unit: Array, n: int, log: bool) -> Array:
    """E2, C2, Dirichlet energy and its ratio to E2; on demand the logarithms of all but C2."""
    e2 = equations.energy(sums, scales, n)
    c2 = equations.response(sums, unit, n)
    dirichlet = equations.roughness(e2, c2, scales)
    relative = equations.relative_roughness(e2, dirichlet)
    if log:
        e2, dirichlet, relative = _log(e2), _log(dirichlet), _log(relative)
    return np.concatenate([e2, c2, dirichlet, relative])


def _channels(u: Array, d: Array, tau: Array, spectrum: Array | None, log: bool) -> Array:
    """The local signatures as (channels, T, m): pooling reads a channel scale by scale."""
    m, steps = u.shape
    n = 0 if spectrum is None else spectrum.shape[2]
    out = np.empty((3 + n, steps, m))
    out[0] = (_log(u) if log else u).T
    out[1] = d.T
    out[2] = tau.T
    if spectrum is not None:
        out[3:] = spectrum.transpose(2, 1, 0)
    return out


def _log(values: Array) -> Array:
    """Logarithm of positive numbers; NaN elsewhere."""
    return np.log(values, out=np.full(values.shape, np.nan), where=values > 0.0)


def _gradient_length(sums: Array, unit_scales: Array, n: int) -> Array:
    """sqrt(2t) |grad log u|, (1, T, m): how far to one side, in units of the kernel, the neighbours lie.

    From the sums of w r themselves, not from d - n - sum of the spectrum, which equals
    its square but has lost half of the digits where it is small.
    """
    length = np.sqrt((sums[:, :, FIRST : FIRST + n] ** 2).sum(axis=2) / (2.0 * unit_scales))
    return np.ascontiguousarray((length / sums[:, :, WEIGHT]).T)[None]
