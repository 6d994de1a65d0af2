"""The second layer on large clouds: deviations around each point from weighted sums of the fast path.

For one field f and the weights w = exp(-D**2 / 4t) at a point,

    deviation**2 = sum w f**2 / W - (sum w f / W)**2,

two more sets of sums with f and f**2 as the heat of the sources. Heat is positive, so f is
moved and scaled to lie between 1/2 and 3/2. Each sum is right to ``tol`` relative to itself, and so the
*square* of the deviation to 16 tol times the square of the field's range (`promise.DEVIATION_SQUARED`),
wherever the point lies. It remains a difference of nearly equal sums: where the field hardly varies around
a point, the deviation has only 4 sqrt(tol) of the range for certain. The dense path takes differences from
the point's own value instead, which no transform can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .._base.check import Array
from .._base.progress import Bar, progress_bar
from .._cloud.cloud import ArrangedCloud
from .._sums.columns import WEIGHT, Request
from .._sums.one_scale import scale_sums
from .neighbourhood_kernels import scale_pairs


def deviations_to_tolerance(
    cloud: ArrangedCloud, unit: Array, weight_sums: Array, fields: Array, request: Request
) -> Iterator[tuple[int, Array]]:
    """The coarser scale b and the deviation (m,), field by field and pair by pair, all in kd order."""
    # Deviations need no moments, and single precision would leave nothing of a difference.
    request = replace(
        request,
        directions=False,
        fourth_moment=False,
        energy=False,
        gradient=False,
        dtype=np.dtype(np.float64),
    ).priced(cloud.order.size)
    pairs = scale_pairs(unit.size)
    total = 2 * cloud.order.size * fields.shape[0] * pairs.shape[0]
    # disable=None: no bar where standard error is not a terminal.
    with progress_bar(total=total, unit="sums", unit_scale=True) as bar:
        for field in fields:
            for a, b in pairs:
                yield b, _deviation(cloud, float(unit[b]), weight_sums[:, b], field[a], request, bar)


def _deviation(
    cloud: ArrangedCloud, t: float, weight_sums: Array, field: Array, request: Request, bar: Bar
) -> Array:
    """The deviation of one field around every point."""
    low, high = float(field.min()), float(field.max())
    if not high > low:  # constant, or NaN
        bar.update(2 * field.size)
        return np.full(field.size, high - low)
    heat = 1.0 + (field - 0.5 * (low + high)) / (high - low)
    time = np.array([t])
    means = []
    for weights in (heat, heat * heat):
        sums, _ = scale_sums(cloud, cloud, time, request, weights=weights, advance=bar.update)
        means.append(sums[:, WEIGHT] / weight_sums)
    return (high - low) * np.sqrt(np.maximum(means[1] - means[0] ** 2, 0.0))
