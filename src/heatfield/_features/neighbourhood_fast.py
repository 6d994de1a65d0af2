"""The second layer on large clouds: spreads around each point from weighted sums of the fast path.

For one field f and the weights w = exp(-D**2 / 4t) at a point,

    spread**2 = sum w f**2 / W - (sum w f / W)**2,

two more sets of sums with f and f**2 as the heat of the sources. Heat is positive, so f is
moved and scaled to lie between 1/2 and 3/2. Each sum is right to ``tol`` relative to itself, and so the
*square* of the spread to 16 tol times the square of the field's range, wherever the point lies. A difference
of nearly equal sums it remains: where the field hardly varies around a point, the spread has only
4 sqrt(tol) of the range for certain. The dense path takes differences from the point's own value
instead, which no transform can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .._base.check import Array
from .._base.progress import Bar, progress_bar
from .._sums.dense_kernels import WEIGHT
from .._sums.one_scale import Places, Wish, scale_sums
from .neighbourhood import has_p10, scale_pairs
from .pooling import pool


def pool_spread_fast(
    places: Places, order: np.ndarray, unit: Array, weights: Array, fields: Array, wish: Wish, out: Array
) -> None:
    """`neighbourhood_spread` and `pool_spread` to a tolerance, one field and pair of scales at a time.

    ``weights`` (m, T) are the sums of w and ``fields`` (F, T, m), both in the caller's order, of
    which ``order`` gives the place of each column of ``places``; ``unit`` is (T,).
    """
    scratch = np.empty(order.size)
    place = 0
    for b, spread in spreads_fast(places, order, unit, weights, fields, wish):
        mean, _, p10, _, p90 = pool(spread, scratch)
        kept = (mean, p10, p90) if has_p10(b) else (mean, p90)
        out[place : place + len(kept)] = kept
        place += len(kept)


def spreads_fast(
    places: Places, order: np.ndarray, unit: Array, weights: Array, fields: Array, wish: Wish
) -> Iterator[tuple[int, Array]]:
    """The coarser scale b and the spread (m,) in kd order, field by field and pair by pair."""
    # Spreads need no moments, and single precision would leave nothing of a difference.
    wish = replace(wish, spectrum=False, fourth=False, half=False, dtype=np.dtype(np.float64))
    pairs = scale_pairs(unit.size)
    total = 2 * order.size * fields.shape[0] * pairs.shape[0]
    # disable=None: no bar where standard error is not a terminal.
    with progress_bar(total=total, unit="sums", unit_scale=True) as bar:
        for field in fields:
            for a, b in pairs:
                yield b, _spread(places, float(unit[b]), weights[order, b], field[a][order], wish, bar)


def _spread(places: Places, t: float, mass: Array, field: Array, wish: Wish, bar: Bar) -> Array:
    """The spread of one field around every point, all in kd order."""
    low, high = float(field.min()), float(field.max())
    if not high > low:  # constant, or NaN
        bar.update(2 * field.size)
        return np.full(field.size, high - low)
    heat = 1.0 + (field - 0.5 * (low + high)) / (high - low)
    time = np.array([t])
    means = []
    for weights in (heat, heat * heat):
        sums, _ = scale_sums(places, places, time, wish, weights=weights, advance=bar.update)
        means.append(sums[:, WEIGHT] / mass)
    return (high - low) * np.sqrt(np.maximum(means[1] - means[0] ** 2, 0.0))
