"""The neighbourhood block: how much a signature varies around each point.

For a field f known at every point at scale a, its deviation around point i at a coarser scale b is the
standard deviation of f_a under the weights exp(-D**2 / 4 t_b).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from ... import _core
from ..._base.check import LEAST_TOL, Array
from ..._base.progress import Bar, progress_bar
from ...core import formulas
from ...core.clouds import ArrangedCloud, Batch
from ...core.evaluate import Evaluation
from ...core.moments import WEIGHT
from ...core.planner import Request
from ...core.sums import difference_sums, scale_sums
from . import (
    CHANNEL,
    STATISTIC,
    STATISTICS,
    Around,
    Block,
    Found,
    Meaning,
    Shape,
    channel_name,
    channel_words,
    scale_words,
)

# How many scales the weights are coarser than the field.
_STEPS = (1, 3)


def pairs_of_scales(n_scales: int) -> Iterator[tuple[int, int]]:
    """All (a, b) with b - a in `_STEPS`, by step and then by scale: fields of scale a, weights of scale b."""
    return ((a, a + step) for step in _STEPS for a in range(n_scales - step))


@cache
def scale_pairs(n_scales: int) -> np.ndarray:
    """These pairs as rows."""
    return np.array(list(pairs_of_scales(n_scales)), dtype=np.int64).reshape(-1, 2)


def _kept_statistics(b: int) -> tuple[str, ...]:
    """Of a deviation at scale b; at the first three scales the 10th percentile is 0 nearly always."""
    return ("mean", "p10", "p90") if b >= 3 else ("mean", "p90")


def _names(shape: Shape) -> Iterator[str]:
    for k in range(3 + shape.n):
        if k != 2:  # the transition
            for a, b in pairs_of_scales(shape.n_scales):
                yield from (f"{channel_name(k)}_{s}_s{a}_s{b}" for s in _kept_statistics(b))


@cache
def _kept(fields: int, steps: int) -> np.ndarray:
    """Which statistics (fields, pairs, `STATISTICS`), flat, the block keeps."""
    pairs, statistics = scale_pairs(steps), list(STATISTICS)
    kept = [
        (f * len(pairs) + p) * len(statistics) + statistics.index(name)
        for f in range(fields)
        for p, (_, b) in enumerate(pairs)
        for name in _kept_statistics(b)
    ]
    return np.array(kept, dtype=np.int64)


def _values(found: Found) -> Array:
    fields, count = found.channels[1:], len(found.ends)  # all but the transition
    steps = fields.shape[1]
    statistics = np.empty((count, len(fields) * len(scale_pairs(steps)), len(STATISTICS)))
    for here, deviation in _deviations(found.around, fields):
        some = np.empty((count, len(deviation), len(STATISTICS)))
        _core.pool(deviation, found.ends, some)
        statistics[:, here] = some
    return statistics.reshape(count, -1)[:, _kept(len(fields), steps)]


def _meaning(block: str, f: str, s: str, a: str, b: str) -> Meaning:
    what, unit, _ = channel_words(f)
    what = f"how much {what} of scale {a} varies around a point, weighted at scale {b} (a standard deviation)"
    high = f"{f} is mixed within the reach of scale {b}: different kinds of place lie side by side"
    unit = "pure number" if f == "density" else unit  # the spread of a logarithm
    return Meaning(block, what, STATISTICS[s], scale_words(a, b), unit, high)


BLOCKS = (
    Block(
        "neighbourhood",
        9,
        ("joint",),
        "how much a channel of the first scale varies around a point, weighted at the second",
        _names,
        _values,
        (rf"(?P<f>{CHANNEL})_{STATISTIC}_s(?P<a>\d+)_s(?P<b>\d+)", _meaning),
        order_one=True,
        needs=("spectrum",),
    ),
)


# --- deviations ----------------------------------------------------------------------


def deviation_at_points(cloud: ArrangedCloud, times: Array, found: Evaluation, request: Request) -> Array:
    """Deviation (fields x pairs of scales, m) of log u, d_heat and 2t lambda_k around each point.

    All is in kd order.
    """
    out = found.local
    fields = np.stack([np.log(out.density), out.dimension, *out.spectrum])
    return np.concatenate([rows for _, rows in _deviations(Around.of(cloud, times, found, request), fields)])


def _deviations(at: Around, fields: Array) -> Iterator[tuple[slice, Array]]:
    """Rows (fields x pairs of scales, total) of all deviations of fields (F, T, total), some at a time."""
    if isinstance(at.places, Batch):
        yield from _dense_deviations(at.places, at, fields)
    else:
        yield from _deviations_to_tolerance(at.places, at.unit[:, 0], at.weight(), fields, at.request)


def _dense_deviations(batch: Batch, at: Around, fields: Array) -> Iterator[tuple[slice, Array]]:
    """Field by field, from differences to the point's own value, which do not cancel."""
    pairs = scale_pairs(len(at.unit))
    own = at.weight()[pairs[:, 1]]
    with at.buffers.take((2, len(fields), len(pairs), batch.total)) as sums:
        difference_sums(batch, at.unit, fields, pairs, at.request.dtype, sums, at.request.n_threads)
        for f, (step, step_squared) in enumerate(zip(*sums, strict=True)):
            with np.errstate(invalid="ignore", divide="ignore"):
                found = formulas.deviation(own, step, step_squared)
            yield slice(f * len(pairs), (f + 1) * len(pairs)), found


def _deviations_to_tolerance(
    cloud: ArrangedCloud, unit: Array, weight: Array, fields: Array, request: Request
) -> Iterator[tuple[slice, Array]]:
    """On large clouds: one field and pair of scales at a time, from weighted sums of the fast path.

    With the weights w at a point, deviation**2 = sum w f**2 / W - (sum w f / W)**2: two more sets of sums
    with f and f**2 as the heat of the sources. Heat is positive, so f is moved and scaled to lie between 1/2
    and 3/2. Each sum is right to ``tol`` relative to itself, and so the *square* of the deviation to 16 tol
    times the square of the field's range (`bounds.DEVIATION_SQUARED`). It remains a difference of nearly
    equal sums: where the field hardly varies around a point, the deviation has only 4 sqrt(tol) of the range
    for certain.
    """
    # Deviations need no moments, single precision would leave nothing of a difference, and a root follows.
    request = replace(
        request,
        tol=max(LEAST_TOL[np.dtype(np.float64)], 0.01 * request.tol),
        directions=False,
        fourth_moment=False,
        energy=False,
        channels=(),
        dtype=np.dtype(np.float64),
    )
    pairs = scale_pairs(unit.size)
    total = 2 * cloud.order.size * fields.shape[0] * pairs.shape[0]
    with progress_bar(total=total, unit="sums", unit_scale=True) as bar:
        for f, field in enumerate(fields):
            for p, (a, b) in enumerate(pairs):
                row = _deviation(cloud, float(unit[b]), weight[b], field[a], request, bar)
                yield slice(f * len(pairs) + p, f * len(pairs) + p + 1), row[None]


def _deviation(
    cloud: ArrangedCloud, t: float, weight: Array, field: Array, request: Request, bar: Bar
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
        means.append(sums[:, WEIGHT] / weight)
    return (high - low) * np.sqrt(np.maximum(means[1] - means[0] ** 2, 0.0))
