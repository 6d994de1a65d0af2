"""The second layer at every point: how much density, dimension and spectrum vary around it."""

from __future__ import annotations

import numpy as np

from .._base.check import Array, check_dtype, check_tol
from .._signatures.evaluate import wish_for
from .._signatures.signatures import Signatures
from .._sums.dense import DIGITS, Cloud
from .._sums.one_scale import Places
from .neighbourhood import neighbourhood_spread
from .neighbourhood_fast import spreads_fast


def spread_at_points(points: Array, s: Signatures, tol: float | None, dtype: str) -> Array:
    """Spread (m, fields x pairs of scales) of log u, d_heat and 2t lambda_k around each point of a cloud.

    ``s`` are the signatures of the same points; the spreads take the way that they took.
    """
    assert s.spectrum is not None
    assert s.plan is not None
    cloud = Cloud.of(points, 1)
    unit = cloud.unit_scales(s.scales[None, :])
    m, n = points.shape
    fields = np.stack([np.log(s.density).T, s.dimension.T, *s.spectrum.transpose(2, 1, 0)])
    weights = s.density * (4.0 * np.pi * s.scales) ** (n / 2)
    precision = check_dtype(dtype)
    if s.plan.tol is None:  # dense
        ordered, like = np.ascontiguousarray(fields[:, :, cloud.order]), np.empty(0, precision)
        spread = neighbourhood_spread(
            cloud.sources, cloud.boxes, unit, weights[cloud.order], ordered, DIGITS[precision], like
        ).reshape(-1, m)
    else:
        wish = wish_for(m, check_tol(tol, precision), False, False, False, precision, 1)
        places = Places.of(cloud.sources, cloud.boxes)
        spread = np.stack([f for _, f in spreads_fast(places, cloud.order, unit[0], weights, fields, wish)])
    out = np.empty((m, len(spread)))
    out[cloud.order] = spread.T
    return out
