"""Orbit5k: five classes of orbits of a linked twist map on the torus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._base.check import Array, check_count

PARAMETERS = (2.5, 3.5, 4.0, 4.1, 4.3)
_STEPS = 16


def _orbits(starts: Array, rates: Array, out: Array) -> None:
    """Step by step, all orbits at once. They are chaotic: another order of operations makes other orbits."""
    x, y = starts.T.copy()
    rest = np.empty_like(x)
    steps = np.empty((min(_STEPS, out.shape[1]), 2, len(x)))  # turned in blocks: single numbers lie far apart
    for first in range(0, out.shape[1], _STEPS):
        some = steps[: out.shape[1] - first]
        for step in some:
            step[0], step[1] = x, y
            for moved, other in ((x, y), (y, x)):  # (moved + rate other (1 - other)) mod 1
                rise = rates * other
                rise *= np.subtract(1.0, other, out=rest)
                moved += rise
                moved -= np.floor(moved, out=rest)
        out[:, first : first + len(some)] = some.transpose(2, 0, 1)


def make_orbit5k(
    n_per_class: int = 1000,
    n_points: int = 1000,
    *,
    parameters: Sequence[float] = PARAMETERS,
    random_state: int = 0,
) -> tuple[list[Array], np.ndarray]:
    """Clouds of Orbit5k and their labels 0..4, class by class.

    An orbit starts at a uniform point of the unit square, which is its first point, and
    follows x' = x + r y (1 - y) mod 1, then y' = y + r x' (1 - x') mod 1.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    n_per_class, n_points : int
        The benchmark has 1,000 clouds of 1,000 points per class.
    parameters : sequence of float
        r of each class.
    random_state : int
        Every cloud has its own random stream, so that cloud i of a class is the same
        whatever the number of clouds.

    Returns
    -------
    clouds : list of (n_points, 2) arrays
    labels : (N,) int array

    Examples
    --------
    >>> from heatfield.datasets import make_orbit5k
    >>> clouds, labels = make_orbit5k(n_per_class=2, n_points=100)
    >>> len(clouds), clouds[0].shape, labels.tolist()
    (10, (100, 2), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    """
    count = check_count(n_per_class, "n_per_class", 1)
    length = check_count(n_points, "n_points", 1)
    seed = check_count(random_state, "random_state", 0)
    rates = np.array([float(r) for r in parameters])
    if rates.size == 0 or not np.isfinite(rates).all():
        raise ValueError(f"parameters must be finite numbers, one per class, got {parameters!r}")
    labels = np.repeat(np.arange(rates.size), count)
    starts = np.array(
        [np.random.default_rng([seed, c, i]).uniform(size=2) for c in range(rates.size) for i in range(count)]
    )
    out = np.empty((labels.size, length, 2))
    _orbits(starts, rates[labels], out)
    return list(out), labels
