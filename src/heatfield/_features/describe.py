"""The descriptor of one cloud: signatures, and their pooling into one row.

For clouds that may be large, and beyond three dimensions: a large cloud takes the fast path, scale by scale,
and gets all threads. Small ones are described by `small_clouds`, with the same bits.
"""

from __future__ import annotations

import numpy as np

from .._base.check import Array
from .._cloud.cloud import ArrangedCloud
from .._signatures import equations
from .._signatures.evaluate import evaluate
from .neighbourhood import pool_neighbourhood
from .pooling import LEAST_DEVIATION, correlations, couplings, logs, pool_channels, standardise
from .settings import DescriptorSettings

# On the fast path a channel whose standard deviation is below this many tol may as well be constant.
_LEAST_IN_TOL = 100.0


def describe_cloud(
    points: Array, settings: DescriptorSettings, out: Array, extents: Array | None = None, n_threads: int = 1
) -> None:
    """Write the descriptor of one cloud; all NaN if it has fewer than two distinct points.

    ``extents``, if given, gets the mean spacing and the diameter.
    """
    out[:] = np.nan
    if extents is not None:
        extents[:] = np.nan
    m, n = points.shape
    if m < 2:
        return
    cloud = ArrangedCloud.of(points, n_threads)
    if not cloud.spacing > 0.0:
        return
    if extents is not None:
        extents[:] = cloud.spacing, cloud.diameter
    scales = settings.times(cloud)
    columns = settings.columns.columns
    request = settings.request(
        directions=settings.with_spectrum,
        energy="global" in columns,
        gradient="gradient" in columns,
        n_threads=n_threads,
    )
    found = evaluate(cloud, None, scales, request)
    dense = found.plan.tol is None
    d = found.dimension
    tau = found.transition
    if tau is None:
        tau = equations.transition_by_difference(d, scales)
    if "global" in columns:
        out[columns["global"]] = _global_block(found.energy, found.response, scales, settings.joint)
    if "hds" in columns:
        parts = equations.heat_dimension_spectrum(found.density, d, settings.centers, settings.hds_sigma)
        out[columns["hds"]] = np.concatenate([part.T.ravel() for part in parts])
    channels = _channels(found.density, d, tau, found.spectrum, settings.joint)
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
        standard = standardise(
            channels, LEAST_DEVIATION if dense else max(LEAST_DEVIATION, _LEAST_IN_TOL * settings.tolerance)
        )
        if "correlation" in columns:
            correlations(standard, out[columns["correlation"]])
        if "coupling" in columns:
            couplings(standard, out[columns["coupling"]])
        del standard
    if "neighbourhood" in columns:
        fields = np.delete(channels, 2, axis=0)  # all but the transition
        weight_sums = (
            found.density * (4.0 * np.pi * scales) ** (n / 2)
            if found.weight_sums is None
            else found.weight_sums
        )
        pool_neighbourhood(
            cloud, scales, weight_sums, fields, request, out[columns["neighbourhood"]], dense=dense
        )


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
    found: Array = logs(np.ascontiguousarray(values).ravel())
    return found.reshape(values.shape)
