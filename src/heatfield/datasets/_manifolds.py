"""Manifolds on which everything is known: points uniform by area, dimension, reach and area."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from .._base.check import Array, check_choice, check_count

# All four have reach 1, so that one diffusion time means the same on each of them.
TORUS_RADIUS, TUBE_RADIUS = 2.0, 1.0  # reach: the tube's radius, and half the width of the hole
ROLL_BASE = 1.0 / np.pi  # the roll unwinds from a circle of this radius; its sheets are 2 pi times it apart
ROLL_ANGLES = (1.5 * np.pi, 4.5 * np.pi)  # one and a half turns
ROLL_WIDTH = 6.0
ROLL_MARGIN = 2.0  # interior of the roll: at least two reaches from its edges


@dataclass(frozen=True)
class Manifold:
    """Points drawn evenly from a manifold, and what is known of it.

    Guide: ``heatfield docs theory/theorem1``.

    Attributes
    ----------
    points : (m, n)
    dimension : int
        The intrinsic dimension d.
    reach : float
        Up to this distance from the manifold, the nearest point on it is unique.
    area : float
        Length for a curve; the density of the points is p = 1 / area.
    interior : (m,) bool
        False near an edge, where the theorem does not hold; all True on a closed manifold.

    Examples
    --------
    >>> import heatfield as hf
    >>> circle = hf.datasets.sample_manifold("circle", 1000, random_state=0)
    >>> low, high = circle.window()
    >>> round(low, 5), high, round(float(circle.mu(0.01)), 1)
    (0.00054, 1.0, 56.4)
    """

    points: Array
    dimension: int
    reach: float
    area: float
    interior: NDArray[np.bool_]

    def mu(self, t: ArrayLike) -> Array:
        """(m - 1) p (4 pi t)**(d/2), the heat that the other points bring to one of them.

        Parameters
        ----------
        t : float or array_like

        Returns
        -------
        mu : array of the shape of t
        """
        m = len(self.points)
        return np.asarray((m - 1) / self.area * (4 * np.pi * np.asarray(t)) ** (self.dimension / 2))

    def window(self, delta: float = 0.05) -> tuple[float, float]:
        """Theorem 1's window of times, from (log(2/delta) / (m p))**(2/d) to reach**2.

        The density is even, so its variation L is 0 and (1/reach + L)**-2 is reach**2.
        With few points the first exceeds the second: then there is no window.

        Parameters
        ----------
        delta : float
            One minus the probability with which the bound holds.

        Returns
        -------
        low, high : float
        """
        if not 0.0 < delta < 1.0:
            raise ValueError(f"delta must lie between 0 and 1, got {delta!r}")
        low = (np.log(2 / delta) * self.area / len(self.points)) ** (2 / self.dimension)
        return float(low), self.reach**2


def sample_manifold(name: str, m: int, *, random_state: int | Generator | None = 0) -> Manifold:
    """m points, independent and uniform by area, on a manifold of reach 1.

    ========== === ======= ========= ==================================================
    name       n   d       area      what it is
    ========== === ======= ========= ==================================================
    circle     2   1       2 pi      radius 1
    sphere     3   2       4 pi      radius 1
    torus      3   2       8 pi**2   radius 2, tube 1
    swiss_roll 3   2       54 pi     width 6, one and a half turns, sheets 2 apart
    ========== === ======= ========= ==================================================

    The roll is the involute of a circle: its sheets are exactly parallel, its arc length is
    base * angle**2 / 2, and its reach is half the gap between two sheets. It has edges;
    ``interior`` marks the points two reaches or more from them.

    Guide: ``heatfield docs theory/theorem1``.

    Parameters
    ----------
    name : "circle", "sphere", "torus" or "swiss_roll"
    m : int
        At least 1.
    random_state : int, numpy Generator or None
        An integer gives the same points every time.

    Returns
    -------
    manifold : Manifold

    Examples
    --------
    >>> import heatfield as hf
    >>> torus = hf.datasets.sample_manifold("torus", 500, random_state=0)
    >>> torus.points.shape, torus.dimension, torus.reach, round(torus.area, 2)
    ((500, 3), 2, 1.0, 78.96)
    """
    check_choice(name, "name", tuple(_SAMPLERS))
    count = check_count(m, "m", 1)
    return _SAMPLERS[name](count, np.random.default_rng(random_state))


def _circle(m: int, rng: Generator) -> Manifold:
    angle = rng.uniform(0, 2 * np.pi, m)
    return Manifold(np.c_[np.cos(angle), np.sin(angle)], 1, 1.0, 2 * np.pi, np.full(m, True))


def _sphere(m: int, rng: Generator) -> Manifold:
    height, angle = rng.uniform(-1, 1, m), rng.uniform(0, 2 * np.pi, m)  # even in height: Archimedes
    radius = np.sqrt(1 - height**2)
    points = np.c_[radius * np.cos(angle), radius * np.sin(angle), height]
    return Manifold(points, 2, 1.0, 4 * np.pi, np.full(m, True))


def _torus(m: int, rng: Generator) -> Manifold:
    angle = np.empty(0)  # around the tube
    while angle.size < m:  # a ring of the tube is as long as it is far from the axis: keep it as often
        drawn = rng.uniform(0, 2 * np.pi, 2 * m)
        level = rng.uniform(0, TORUS_RADIUS + TUBE_RADIUS, 2 * m)
        angle = np.r_[angle, drawn[level < TORUS_RADIUS + TUBE_RADIUS * np.cos(drawn)]]
    angle, turn = angle[:m], rng.uniform(0, 2 * np.pi, m)
    distance = TORUS_RADIUS + TUBE_RADIUS * np.cos(angle)  # from the axis
    points = np.c_[distance * np.cos(turn), distance * np.sin(turn), TUBE_RADIUS * np.sin(angle)]
    reach = min(TUBE_RADIUS, TORUS_RADIUS - TUBE_RADIUS)
    return Manifold(points, 2, reach, 4 * np.pi**2 * TORUS_RADIUS * TUBE_RADIUS, np.full(m, True))


def _swiss_roll(m: int, rng: Generator) -> Manifold:
    first, last = (ROLL_BASE / 2 * angle**2 for angle in ROLL_ANGLES)  # arc length from the involute's cusp
    arc, height = rng.uniform(first, last, m), rng.uniform(0, ROLL_WIDTH, m)
    angle = np.sqrt(2 * arc / ROLL_BASE)
    x = ROLL_BASE * (np.cos(angle) + angle * np.sin(angle))
    y = ROLL_BASE * (np.sin(angle) - angle * np.cos(angle))
    to_edge = np.minimum.reduce([arc - first, last - arc, height, ROLL_WIDTH - height])
    reach = np.pi * ROLL_BASE  # half the gap; the tightest bend, at the inner edge, has radius 1.5 times that
    return Manifold(
        np.c_[x, y, height], 2, reach, (last - first) * ROLL_WIDTH, to_edge >= ROLL_MARGIN * reach
    )


_SAMPLERS = {"circle": _circle, "sphere": _sphere, "torus": _torus, "swiss_roll": _swiss_roll}
