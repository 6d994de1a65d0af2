"""The time that signatures would take, before they are computed: the prices by which the path is chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._base.check import as_points, as_scales, check_choice, check_count, check_range, check_tol
from ..core.cloud import ArrangedCloud
from ..core.dense_or_fast import dense_seconds, fast_seconds, surely_dense, use_dense
from ..core.moments import Request
from ..options import Scales, Sums, choices_of
from .scales import schedule_of

# Beyond three dimensions (`core.dense_any_dimension`): seconds per pair and scale, and per product of two of
# its coordinates. Fitted to 4, 5, 10 and 30 dimensions relative to a pair in three dimensions.
_PAIR_BEYOND = 2.5e-8
_PRODUCT_BEYOND = 3.3e-10


@dataclass(frozen=True)
class Forecast:
    """Seconds on one core, and which path takes them: "dense" or "fast"."""

    seconds: float
    path: str


def expected_seconds(
    points: ArrayLike,
    scales: ArrayLike | None = None,
    *,
    n_scales: int = Scales.n_scales,
    c_min: float = Scales.c_min,
    c_max: float = Scales.c_max,
    method: str = Sums.method,
    tol: float | None = Sums.tol,
) -> Forecast:
    """What `signatures` with these arguments would take on one core.

    It is the price that the choice between dense and fast compares, and the sum of
    ``s.plan.scales[...].expected_seconds`` on the fast path. Where no price is needed to choose, as for
    small clouds, it is that of a common machine, and nothing is measured.

    Returns
    -------
    forecast : Forecast
        NaN seconds where there are no scales: of fewer than two distinct points.

    Examples
    --------
    >>> import numpy as np
    >>> from heatfield._signatures.forecast import expected_seconds
    >>> forecast = expected_seconds(np.random.default_rng(0).random((1000, 3)))
    >>> forecast.path, 0.001 < forecast.seconds < 1.0
    ('dense', True)
    """
    checked = as_points(points)
    m, n = checked.shape
    cloud = ArrangedCloud.of(checked)
    if scales is None:
        count = check_count(n_scales, "n_scales", 2)
        times = schedule_of(cloud, count, *check_range(c_min, c_max))[None, :]
    else:
        times = as_scales(scales, m)
    request = Request(
        tol=check_tol(tol, np.dtype(np.float64)),
        directions=True,
        energy=times.shape[0] == 1,
        method=check_choice(method, "method", choices_of(Sums, "method")),
    )
    if m == 0 or not np.isfinite(times).all():
        return Forecast(float("nan"), "dense")
    surely = surely_dense(method, m, n)
    if surely and n > 3:  # every pair, by matrix products
        return Forecast(m * m * times.shape[1] * (_PAIR_BEYOND + _PRODUCT_BEYOND * n * n), "dense")
    own = times[cloud.order] if times.shape[0] > 1 else times
    unit = np.ldexp(own, -2 * cloud.exponent)
    request = request if surely else request.priced(m)
    if surely or use_dense(cloud, unit, request):
        return Forecast(dense_seconds(cloud, unit, request), "dense")
    return Forecast(fast_seconds(cloud, unit, request), "fast")
