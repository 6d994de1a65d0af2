"""The second layer of a cloud, pooled or at every point, by the path that its signatures took."""

from __future__ import annotations

import numpy as np

from .._base.check import Array, check_dtype, check_tol
from .._cloud.cloud import ArrangedCloud
from .._signatures.signatures import Signatures
from .._sums.columns import DIGITS, Request
from .neighbourhood_kernels import has_p10, neighbourhood_deviation, pool_deviation
from .neighbourhood_to_tolerance import deviations_to_tolerance
from .pooling import pool


def pool_neighbourhood(
    cloud: ArrangedCloud,
    scales: Array,
    mass: Array,
    fields: Array,
    request: Request,
    out: Array,
    *,
    dense: bool,
) -> None:
    """Statistics of the deviations, pair by pair; ``mass`` (m, T) and ``fields`` (F, T, m) are in kd order.

    On the fast path one field and pair of scales is in memory at a time.
    """
    unit = cloud.unit_scales(scales)
    if dense:
        pool_deviation(_dense(cloud, unit, mass, fields, request.dtype), unit.shape[1], out)
        return
    scratch = np.empty(cloud.order.size)
    place = 0
    for b, deviation in deviations_to_tolerance(cloud, unit[0], mass, fields, request):
        mean, _, p10, _, p90 = pool(deviation, scratch)
        kept = (mean, p10, p90) if has_p10(b) else (mean, p90)
        out[place : place + len(kept)] = kept
        place += len(kept)


def deviation_at_points(points: Array, s: Signatures, tol: float | None, dtype: str) -> Array:
    """Deviation (m, fields x pairs of scales) of log u, d_heat and 2t lambda_k around each point of a cloud.

    ``s`` are the signatures of the same points.
    """
    assert s.spectrum is not None
    assert s.plan is not None
    cloud = ArrangedCloud.of(points)
    m, n = points.shape
    fields = np.stack([np.log(s.density).T, s.dimension.T, *s.spectrum.transpose(2, 1, 0)])
    fields = np.ascontiguousarray(fields[:, :, cloud.order])
    mass = (s.density * (4.0 * np.pi * s.scales) ** (n / 2))[cloud.order]
    unit = cloud.unit_scales(s.scales[None, :])
    precision = check_dtype(dtype)
    if s.plan.tol is None:  # dense
        found = _dense(cloud, unit, mass, fields, precision).reshape(-1, m)
    else:
        request = Request(tol=check_tol(tol, precision), dtype=precision)
        found = np.stack([f for _, f in deviations_to_tolerance(cloud, unit[0], mass, fields, request)])
    out = np.empty((m, len(found)))
    out[cloud.order] = found.T
    return out


def _dense(cloud: ArrangedCloud, unit: Array, mass: Array, fields: Array, dtype: np.dtype) -> Array:
    return neighbourhood_deviation(
        cloud.points, cloud.boxes, unit, mass, fields, DIGITS[dtype], np.empty(0, dtype)
    )
