"""What a laser scanner sees of a set of surface points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array

_CONE = 0.006  # radians: one third of a degree
_BEHIND = 0.08  # so far behind the nearest point in its cone a point still belongs to the same surface
_THROUGH = 0.2  # chance that a pulse which met a leaf goes on to a point behind
_NEAR = 1.5  # nearer than this the density does not rise


def seen_by_scanners(
    rng: np.random.Generator, points: Array, leaf: NDArray[np.bool_], eyes: Array, count: int
) -> NDArray[np.int64]:
    """``count`` rows of points that some scanner sees, near ones with more chance, each at most once.

    Parameters
    ----------
    rng : numpy.random.Generator
    points : (m, 3) array
    leaf : (m,) bool array
        Which points let a part of the light through.
    eyes : (k, 3) array
        Where the scanners stand.
    count : int
        Fewer where less is seen.

    Returns
    -------
    rows : (count,) int array, sorted

    Examples
    --------
    >>> wall = np.c_[np.full(500, 2.0), np.random.default_rng(0).uniform(-1, 1, (500, 2))]
    >>> hidden = np.concatenate([wall, wall * 2])
    >>> rows = seen_by_scanners(np.random.default_rng(0), hidden, np.zeros(1000, bool), np.zeros((1, 3)), 100)
    >>> len(rows), int((rows >= 500).sum()) < 25
    (100, True)
    """
    chance = np.zeros(len(points))
    for eye in eyes:
        away = points - eye
        distance = np.sqrt((away**2).sum(axis=1))
        turn = np.floor(np.arctan2(away[:, 1], away[:, 0]) / _CONE)
        lift = np.floor(np.arcsin(np.clip(away[:, 2] / np.maximum(distance, 1e-9), -1, 1)) / _CONE)
        _, cone = np.unique(np.c_[turn, lift], axis=0, return_inverse=True)
        cone = cone.ravel()
        nearest = np.full(cone.max() + 1, np.inf)
        np.minimum.at(nearest, cone, distance)
        first = distance <= nearest[cone] + _BEHIND
        # A cone that begins with a leaf lets some of the light through.
        opens = np.zeros(len(nearest), bool)
        opens[cone[first & leaf]] = True
        seen = np.where(first, 1.0, np.where(opens[cone], _THROUGH, 0.0))
        chance = np.maximum(chance, seen / np.maximum(distance, _NEAR) ** 2)
    visible = np.flatnonzero(chance > 0.0)
    take = min(count, len(visible))
    # Weighted draw without replacement: the smallest exponential waits (Efraimidis and Spirakis 2006).
    waits = rng.exponential(size=len(visible)) / chance[visible]
    return np.sort(visible[np.argpartition(waits, take - 1)[:take]])
