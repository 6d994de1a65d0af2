"""Shapes in space, and manifolds on which everything is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from .._base.check import Array, check_choice, check_count, check_number

FOUR_SHAPES = ("sphere", "torus", "box", "helices")


def make_four_shapes(
    n_per_class: int = 100,
    n_points: int = 128,
    *,
    noise: float = 0.02,
    rotation: str | None = "z",
    random_state: int = 0,
) -> tuple[list[Array], np.ndarray]:
    """Spheres, tori, surfaces of boxes and bundles of helices, and their labels 0..3, class by class.

    No two are alike: a sphere has axes of 0.8 to 1.2, a torus of radius 1 a tube of 0.25 to 0.5, a box sides
    of 0.7 to 1.3 (half of them), a bundle 3 to 5 strands of one to two turns. Points are drawn evenly by area
    or length (on the sphere before its axes are stretched).

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    n_per_class, n_points : int
    noise : float
        Spread of the normal noise on every coordinate.
    rotation : "z", "so3" or None
        How each cloud is turned: about the z axis, by any rotation, or not.
    random_state : int
        Cloud i of a class is the same whatever the number of clouds.

    Returns
    -------
    clouds : list of (n_points, 3) arrays
    labels : (4 * n_per_class,) int array
        Positions in `FOUR_SHAPES`.

    Examples
    --------
    >>> from heatfield.datasets import make_four_shapes
    >>> clouds, labels = make_four_shapes(n_per_class=2, n_points=50)
    >>> len(clouds), clouds[0].shape, labels.tolist()
    (8, (50, 3), [0, 0, 1, 1, 2, 2, 3, 3])
    """
    count = check_count(n_per_class, "n_per_class", 1)
    length = check_count(n_points, "n_points", 1)
    seed = check_count(random_state, "random_state", 0)
    check_number(noise, "noise", least=0)
    if rotation not in ("z", "so3", None):
        raise ValueError(f"rotation must be one of 'z', 'so3' or None, got {rotation!r}")
    clouds = []
    for label, shape in enumerate(FOUR_SHAPES):
        for number in range(count):
            rng = np.random.default_rng([seed, label, number])
            points = _SHAPES[shape](length, rng)
            turn = _turn(rotation, rng)
            clouds.append(points @ turn.T + noise * rng.standard_normal(points.shape))
    return clouds, np.repeat(np.arange(len(FOUR_SHAPES)), count)


def _turn(rotation: str | None, rng: Generator) -> Array:
    if rotation == "so3":  # a unit quaternion, even on its sphere
        w, *axis = (q := rng.standard_normal(4)) / np.linalg.norm(q)
        x, y, z = axis
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return np.eye(3) + 2.0 * (w * cross + cross @ cross)
    angle = rng.uniform(0.0, 2.0 * np.pi) if rotation == "z" else 0.0
    return np.array(
        [[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]]
    )


def _ellipsoid(m: int, rng: Generator) -> Array:
    points = rng.standard_normal((m, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points * rng.uniform(0.8, 1.2, 3)


def _on_torus(m: int, rng: Generator, radius: float, tube: float) -> Array:
    angle = np.empty(0)  # around the tube
    while angle.size < m:  # a ring of the tube is as long as it is far from the axis: keep it as often
        drawn = rng.uniform(0.0, 2.0 * np.pi, 2 * m)
        level = rng.uniform(0.0, radius + tube, 2 * m)
        angle = np.r_[angle, drawn[level < radius + tube * np.cos(drawn)]]
    angle, turn = angle[:m], rng.uniform(0.0, 2.0 * np.pi, m)
    distance = radius + tube * np.cos(angle)  # from the axis
    return np.c_[distance * np.cos(turn), distance * np.sin(turn), tube * np.sin(angle)]


def _box(m: int, rng: Generator) -> Array:
    half = rng.uniform(0.7, 1.3, 3)
    area = np.prod(half) / half  # of the faces across each axis
    axis = rng.choice(3, m, p=area / area.sum())
    points = rng.uniform(-1.0, 1.0, (m, 3)) * half
    points[np.arange(m), axis] = half[axis] * rng.choice([-1.0, 1.0], m)
    return points


def _helices(m: int, rng: Generator) -> Array:
    strands, turns = rng.integers(3, 6), rng.uniform(1.0, 2.0)
    height, radius = rng.uniform(1.0, 1.4), rng.uniform(0.5, 0.8)
    along = rng.uniform(-1.0, 1.0, m)
    angle = np.pi * turns * along + 2.0 * np.pi * rng.integers(0, strands, m) / strands
    return np.c_[radius * np.cos(angle), radius * np.sin(angle), height * along]


_SHAPES: dict[str, Callable[[int, Generator], Array]] = {
    "sphere": _ellipsoid,
    "torus": lambda m, rng: _on_torus(m, tube=rng.uniform(0.25, 0.5), radius=1.0, rng=rng),
    "box": _box,
    "helices": _helices,
}


MIXED_SHAPE_PARTS = ("sheet", "filament", "junction", "ball")


def make_mixed_shape(
    n_points: int = 3000, *, noise: float = 0.004, random_state: int = 0
) -> tuple[Array, np.ndarray]:
    """A sheet and a solid ball joined by a filament that forks, and the part of each point.

    Lengths are of order one: a sheet of side 2, filaments 1 to 2 long, a ball of radius
    0.6. Points within 0.12 of the fork are the junction.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    n_points : int
    noise : float
        Standard deviation of a Gaussian in each coordinate.
    random_state : int

    Returns
    -------
    points : ndarray (m, 3)
    parts : ndarray (m,) of str
        One of "sheet", "filament", "junction", "ball".

    Examples
    --------
    >>> from heatfield.datasets import make_mixed_shape
    >>> points, parts = make_mixed_shape(500)
    >>> points.shape, sorted(set(parts.tolist()))
    ((500, 3), ['ball', 'filament', 'junction', 'sheet'])
    """
    m = check_count(n_points, "n_points", 20)
    rng = np.random.default_rng(random_state)
    sheet_count, ball_count = np.floor(m * np.array([0.36, 0.30])).astype(int).tolist()
    line_count = m - sheet_count - ball_count

    square = rng.uniform(-1.0, 1.0, size=(sheet_count, 2))
    sheet = np.c_[square[:, 0] - 2.2, square[:, 1], 0.12 * np.sin(1.5 * square[:, 1])]

    direction = rng.normal(size=(ball_count, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    center = np.array([2.3, 0.0, -0.6])
    ball = center + 0.6 * direction * rng.uniform(size=(ball_count, 1)) ** (1 / 3)

    fork = np.array([0.3, 0.0, 0.2])
    ends = np.array([[-1.2, 0.0, 0.0], [1.72, 0.0, -0.45], [1.3, 0.3, 1.7]])
    lengths = np.linalg.norm(ends - fork, axis=1)
    arm = rng.choice(3, size=line_count, p=lengths / lengths.sum())
    along = rng.uniform(size=(line_count, 1))
    # A gentle bend that vanishes at both ends, so that the arms still meet.
    bend = np.array([[0.0, 0.25, 0.1], [0.0, -0.2, 0.15], [-0.2, 0.0, 0.0]])[arm] * np.sin(np.pi * along)
    lines = fork + along * (ends[arm] - fork) + bend

    points = np.concatenate([sheet, lines, ball])
    parts = np.repeat(["sheet", "filament", "ball"], [sheet_count, line_count, ball_count])
    parts[(np.linalg.norm(points - fork, axis=1) < 0.12) & (parts == "filament")] = "junction"
    return points + noise * rng.normal(size=points.shape), parts


def make_branching_tree(
    n_points: int = 2000,
    *,
    n_forks: int = 6,
    noise: float = 0.01,
    random_state: int = 0,
) -> tuple[Array, Array]:
    """Straight filaments that fork in two, again and again, and the places where they fork.

    Branches are 1 to 2 long. A branch forks into two that lean 25 to 70 degrees to either side of
    it, in a plane turned at random, and that keep away from all branches before them.
    Points lie at random along the whole length.

    Guide: ``heatfield docs guide/local_type``.

    Parameters
    ----------
    n_points : int
    n_forks : int
    noise : float
        Standard deviation of the Gaussian noise added to every coordinate.
    random_state : int

    Returns
    -------
    points : ndarray (m, 3)
    forks : ndarray (n_forks, 3)

    Examples
    --------
    >>> from heatfield.datasets import make_branching_tree
    >>> points, forks = make_branching_tree(500, n_forks=3)
    >>> points.shape, forks.shape
    ((500, 3), (3, 3))
    """
    m = check_count(n_points, "n_points", 2)
    count = check_count(n_forks, "n_forks", 0)
    rng = np.random.default_rng(random_state)
    starts, ends = [np.zeros(3)], [np.array([0.0, 0.0, rng.uniform(1.0, 2.0)])]
    tips, forks = [0], []
    for _ in range(count):
        tip = tips.pop(int(rng.integers(len(tips))))
        pair = _pair(rng, starts, ends, tip)
        forks.append(ends[tip])
        tips += [len(ends), len(ends) + 1]
        starts += [ends[tip]] * 2
        ends += pair
    begin, step = np.array(starts), np.array(ends) - np.array(starts)
    lengths = np.sqrt((step**2).sum(axis=1))
    branch = rng.choice(len(lengths), size=m, p=lengths / lengths.sum())
    points = begin[branch] + rng.uniform(size=(m, 1)) * step[branch]
    return points + noise * rng.normal(size=points.shape), np.array(forks).reshape(-1, 3)


def _pair(rng: np.random.Generator, starts: list[Array], ends: list[Array], parent: int) -> list[Array]:
    """Ends of two branches that fork off the parent's end; of 60 pairs the one farthest from all branches."""
    fork = ends[parent]
    axis = fork - starts[parent]
    axis /= np.sqrt(axis @ axis)
    best, distance = [], -1.0
    for _ in range(60):
        side = np.cross(axis, rng.normal(size=3))
        side /= np.sqrt(side @ side)
        lean, length = np.radians(rng.uniform(25.0, 70.0, size=2)), rng.uniform(1.0, 2.0, size=2)
        pair = [
            fork + length[k] * (np.cos(lean[k]) * axis + (1 - 2 * k) * np.sin(lean[k]) * side) for k in (0, 1)
        ]
        along = np.linspace(0.3, 1.0, 8)[:, None]
        trial = np.concatenate([fork + along * (end - fork) for end in pair])
        others = np.concatenate(
            [
                a + np.linspace(0.0, 1.0, 12)[:, None] * (b - a)
                for i, (a, b) in enumerate(zip(starts, ends, strict=True))
                if i != parent
            ]
            or [fork[None] + 9.0]
        )
        gap = float(np.sqrt(((trial[:, None] - others[None]) ** 2).sum(axis=2)).min())
        if gap > distance:
            best, distance = pair, gap
        if distance > 0.8:
            break
    return best


# --- manifolds -----------------------------------------------------------------------


# All four have reach 1, so that one diffusion time means the same on each of them.
_BASE = 1.0 / np.pi  # the roll unwinds from a circle of this radius; its sheets are 2 pi times it apart
_ANGLES = (1.5 * np.pi, 4.5 * np.pi)  # one and a half turns
_WIDTH = 6.0
_MARGIN = 2.0  # interior of the roll: at least two reaches from its edges


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
        check_number(delta, "delta", above=0, below=1)
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
    # Reach: the tube's radius, and half the width of the hole.
    return Manifold(_on_torus(m, rng, 2.0, 1.0), 2, 1.0, 8 * np.pi**2, np.full(m, True))


def _swiss_roll(m: int, rng: Generator) -> Manifold:
    first, last = (_BASE / 2 * angle**2 for angle in _ANGLES)  # arc length from the involute's cusp
    arc, height = rng.uniform(first, last, m), rng.uniform(0, _WIDTH, m)
    angle = np.sqrt(2 * arc / _BASE)
    x = _BASE * (np.cos(angle) + angle * np.sin(angle))
    y = _BASE * (np.sin(angle) - angle * np.cos(angle))
    to_edge = np.minimum.reduce([arc - first, last - arc, height, _WIDTH - height])
    reach = np.pi * _BASE  # half the gap; the tightest bend, at the inner edge, has radius 1.5 times that
    return Manifold(np.c_[x, y, height], 2, reach, (last - first) * _WIDTH, to_edge >= _MARGIN * reach)


_SAMPLERS = {"circle": _circle, "sphere": _sphere, "torus": _torus, "swiss_roll": _swiss_roll}
