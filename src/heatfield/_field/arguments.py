"""The arguments of a field, checked: weights, diffusion times, and places anywhere in space."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._base.check import GREATEST_LENGTH, GREATEST_RATIO, Array


def as_weights(weights: ArrayLike | None, m: int) -> Array:
    """Heat of each of m points, (m,); 1 if not given."""
    if weights is None:
        return np.ones(m)
    heat = _as_numbers(weights, "weights", f"have shape (m,) with m = {m} points")
    if heat.shape != (m,):
        raise ValueError(f"weights must have shape (m,) with m = {m} points, got shape {heat.shape}")
    bad = np.flatnonzero(~(np.isfinite(heat) & (heat >= 0.0)))
    if bad.size:
        raise ValueError(f"weights must be non-negative and finite, got weights[{bad[0]}] = {heat[bad[0]]}")
    if not heat.any():
        raise ValueError(f"weights are all zero: at least one of the {m} points must give heat")
    least, most = int(np.argmin(np.where(heat > 0.0, heat, np.inf))), int(np.argmax(heat))
    if heat[most] * (1.0 / GREATEST_RATIO) > heat[least]:
        raise ValueError(
            f"weights must lie within a factor of {GREATEST_RATIO:g}, "
            f"got weights[{least}] = {heat[least]} and weights[{most}] = {heat[most]}"
        )
    return heat


def as_times(t: ArrayLike) -> tuple[Array, bool]:
    """Diffusion times as (T,), in any order, and whether a single number was given."""
    times = _as_numbers(t, "t", "be a number or a list of numbers")
    if times.ndim > 1:
        raise ValueError(f"t must be a number or have shape (T,), got shape {times.shape}")
    if times.size == 0:
        raise ValueError("t is empty: at least one diffusion time is needed")
    single = times.ndim == 0
    times = np.atleast_1d(times)
    bad = np.flatnonzero(~(np.isfinite(times) & (times > 0.0)))
    if bad.size:
        where = "t" if single else f"t[{bad[0]}]"
        raise ValueError(f"t must be positive and finite, got {where} = {times[bad[0]]}")
    return times, single


def as_places(at: ArrayLike, n: int) -> Array:
    """Like `as_points`, but n is known: nothing is guessed, and any extent is allowed."""
    places = _as_numbers(at, "at", f"be a (q, n) array of numbers with n = {n}")
    if places.ndim != 2 or places.shape[1] != n:
        raise ValueError(
            f"at must have shape (q, n) with n = {n} as the points have, got shape {places.shape}"
        )
    bad = ~np.isfinite(places)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(f"at has {places[row, column]} in row {row}, column {column}")
    return places


def check_reach(places: Array, at: Any) -> None:
    """Squared distances must stay in the range of float64."""
    far = np.flatnonzero(~(np.abs(places) < GREATEST_LENGTH).all(axis=1))
    if far.size:
        raise ValueError(
            f"at has row {far[0]}, {np.asarray(at)[far[0]].tolist()}, "
            "more than 1e140 times the extent of points away"
        )


def _as_numbers(values: ArrayLike, name: str, must: str) -> Array:
    """A float64 array, or a ValueError that says what ``name`` must be."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiu":
            raise TypeError
    except (TypeError, ValueError):
        text = repr(values)
        shown = text if len(text) <= 60 else text[:57] + "..."
        raise ValueError(f"{name} must {must}, got {type(values).__name__} {shown}") from None
    return (
        np.ascontiguousarray(array, dtype=np.float64) if array.ndim else np.asarray(array, dtype=np.float64)
    )
