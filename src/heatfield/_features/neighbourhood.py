"""The second layer of a cloud, pooled or at every point, by the path that its signatures took."""

from __future__ import annotations

import numpy as np

from .._base.check import Array
from .._cloud.cloud import ArrangedCloud
from .._signatures.evaluate import Outputs
from .._sums.columns import LOG_ACCURACY, Request
from .neighbourhood_kernels import has_p10, neighbourhood_deviation, pool_deviation
from .neighbourhood_to_tolerance import deviations_to_tolerance
from .pooling import pool


def pool_neighbourhood(
    cloud: ArrangedCloud,
    scales: Array,
    weight_sums: Array,
    fields: Array,
    request: Request,
    out: Array,
    *,
    dense: bool,
) -> None:
    """Statistics of the deviations, pair by pair; ``weight_sums`` (m, T), ``fields`` (F, T, m) in kd order.

    On the fast path one field and pair of scales is in memory at a time.
    """
    unit = cloud.unit_scales(scales)
    if dense:
        pool_deviation(_dense(cloud, unit, weight_sums, fields, request.dtype), unit.shape[1], out)
        return
    scratch = np.empty(cloud.order.size)
    place = 0
    for b, deviation in deviations_to_tolerance(cloud, unit[0], weight_sums, fields, request):
        mean, _, p10, _, p90 = pool(deviation, scratch)
        kept = (mean, p10, p90) if has_p10(b) else (mean, p90)
        out[place : place + len(kept)] = kept
        place += len(kept)


def deviation_at_points(cloud: ArrangedCloud, scales: Array, found: Outputs, request: Request) -> Array:
    """Deviation (fields x pairs of scales, m) of log u, d_heat and 2t lambda_k around each point.

    ``found`` are the outputs at all points of the cloud; all is in kd order.
    """
    assert found.spectrum is not None
    fields = np.stack([np.log(found.density).T, found.dimension.T, *found.spectrum.transpose(2, 1, 0)])
    weight_sums = found.density * (4.0 * np.pi * scales) ** (len(cloud.points) / 2)
    unit = cloud.unit_scales(scales)
    if found.plan.tol is None:  # dense
        return _dense(cloud, unit, weight_sums, fields, request.dtype).reshape(-1, cloud.order.size)
    return np.stack([f for _, f in deviations_to_tolerance(cloud, unit[0], weight_sums, fields, request)])


def _dense(cloud: ArrangedCloud, unit: Array, weight_sums: Array, fields: Array, dtype: np.dtype) -> Array:
    return neighbourhood_deviation(
        cloud.points, cloud.boxes, unit, weight_sums, fields, LOG_ACCURACY[dtype], np.empty(0, dtype)
    )
