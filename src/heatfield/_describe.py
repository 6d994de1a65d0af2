"""The descriptor of one cloud: signatures, and their pooling into one row.

Every step is one compiled call, so that a cloud of a hundred points spends its time
there and threads over clouds hardly meet in the interpreter. A large cloud takes the fast path, scale
by scale, and all threads for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import _equations as equations
from ._check import Array
from ._dense import WEIGHT, empty_sums
from ._fast import Places
from ._layout import NEED_SPECTRUM, Layout
from ._moments import DIGITS, Cloud, pair_sums, sum_rows
from ._neighbourhood import neighbourhood_spread, pool_spread
from ._neighbourhood_fast import pool_spread_fast
from ._outputs import Outputs, Targets, fast_outputs, surely_dense, use_dense, wish_for
from ._plan import Plan
from ._pooling import FLAT, correlations, couplings, pool_channels, standardise
from ._scales import geometric

# A channel that varies less than this many tol is flat as far as the fast path can tell.
_FLAT = 100.0


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
    method: str
    tol: float
    dtype: np.dtype

    @property
    def with_spectrum(self) -> bool:
        """Whether any chosen block is read from the sums of w r and w r r'."""
        return not NEED_SPECTRUM.isdisjoint(self.columns.columns)


def describe_cloud(points: Array, recipe: Recipe, out: Array, n_threads: int = 1) -> None:
    """Write the descriptor of one cloud; all NaN if it has fewer than two distinct points."""
    out[:] = np.nan
    m, n = points.shape
    if m < 2:
        return
    cloud = Cloud.of(points, n_threads)
    spacing = cloud.spacing
    if not spacing > 0.0:
        return
    scales = geometric(recipe.c_min * spacing**2, recipe.c_max * cloud.diameter**2, recipe.n_scales)[None, :]
    unit = cloud.unit_scales(scales)
    columns = recipe.columns.columns
    half = "global" in columns
    dense = surely_dense(recipe.method, m, n)
    if not dense:
        wish = wish_for(m, recipe.tol, recipe.with_spectrum, recipe.exact, half, recipe.dtype, n_threads)
        dense = use_dense(recipe.method, cloud, unit, wish)
    if dense:
        found, weights = _dense_outputs(cloud, scales, unit, recipe, n_threads)
    else:
        found = fast_outputs(cloud, Targets.every(cloud), scales, unit, wish, gradient="gradient" in columns)
    d = found.dimension
    tau = found.transition
    if tau is None:
        tau = equations.transition_by_difference(d, scales)
    if half:
        out[columns["global"]] = _global_block(found.energy, found.response, scales, recipe.joint)
    if "hds" in columns:
        parts = equations.heat_dimension_spectrum(found.density, d, recipe.centers, recipe.sigma)
        out[columns["hds"]] = np.concatenate([part.T.ravel() for part in parts])
    channels = _channels(found.density, d, tau, found.spectrum, recipe.joint)
    for block, rows in (
        ("density", (0, 1)),
        ("dimension", (1, 2)),
        ("transition", (2, 3)),
        ("spectrum", (3, 3 + n)),
    ):
        if block in columns:
            pool_channels(channels[rows[0] : rows[1]], out[columns[block]])
    if found.gradient is not None:
        pool_channels(np.ascontiguousarray(found.gradient.T)[None], out[columns["gradient"]])
    if "correlation" in columns or "coupling" in columns:
        standard = standardise(channels, FLAT if dense else max(FLAT, _FLAT * recipe.tol))
        if "correlation" in columns:
            correlations(standard, out[columns["correlation"]])
        if "coupling" in columns:
            couplings(standard, out[columns["coupling"]])
        del standard
    if "neighbourhood" in columns:
        fields = np.delete(channels, 2, axis=0)  # all but the transition
        target = out[columns["neighbourhood"]]
        if dense:
            digits, like = DIGITS[recipe.dtype], np.empty(0, recipe.dtype)
            spread = neighbourhood_spread(cloud.sources, cloud.boxes, unit, weights, fields, digits, like)
            pool_spread(spread, recipe.n_scales, target)
        else:
            mass = found.density * (4.0 * np.pi * scales) ** (n / 2)
            places = Places.of(cloud.sources, cloud.boxes)
            pool_spread_fast(places, cloud.order, unit[0], mass, fields, wish, target)


def _dense_outputs(
    cloud: Cloud, scales: Array, unit: Array, recipe: Recipe, n_threads: int
) -> tuple[Outputs, Array]:
    """All local and global outputs and the sums of w from one table of exact sums, in kd order."""
    n, m = cloud.sources.shape
    spectrum, columns = recipe.with_spectrum, recipe.columns.columns
    if n_threads == 1:
        sums = empty_sums(m, recipe.n_scales, n, spectrum)
        sum_rows(cloud, unit, 0, m, sums, spectrum=spectrum, fourth=recipe.exact, dtype=recipe.dtype)
    else:
        sums = pair_sums(
            cloud, unit, spectrum=spectrum, fourth=recipe.exact, dtype=recipe.dtype, n_threads=n_threads
        )
    d = equations.dimension(sums, unit)
    half = "global" in columns
    nothing = np.full(recipe.n_scales, np.nan)
    found = Outputs(
        density=equations.density(sums, scales, n),
        dimension=d,
        transition=equations.transition_exact(sums, unit, d) if recipe.exact else None,
        spectrum=equations.spectrum(sums, unit, n) if spectrum else None,
        energy=equations.energy(sums, scales, n) if half else nothing,
        response=equations.response(sums, unit, n) if half else nothing,
        plan=Plan(None),
        gradient=equations.gradient_length(sums, unit, n) if "gradient" in columns else None,
    )
    return found, sums[:, :, WEIGHT]


def _global_block(e2: Array, c2: Array, scales: Array, log: bool) -> Array:
    """E2, C2, Dirichlet energy and its ratio to E2; on demand the logarithms of all but C2."""
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
