"""Four kinds of shapes that every classifier of clouds should tell apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from .._base.check import Array, check_count

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
        Every cloud has a stream of its own, so that cloud i of a class is the same whatever the number of
        clouds.

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
    if isinstance(noise, bool) or not isinstance(noise, (int, float)) or not 0.0 <= noise < np.inf:
        raise ValueError(f"noise must be a number of at least 0, got {noise!r}")
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


def _sphere(m: int, rng: Generator) -> Array:
    points = rng.standard_normal((m, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points * rng.uniform(0.8, 1.2, 3)


def _torus(m: int, rng: Generator) -> Array:
    tube = rng.uniform(0.25, 0.5)
    angle = np.empty(0)
    while angle.size < m:  # a ring of the tube is as long as it is far from the axis: keep it as often
        drawn = rng.uniform(0.0, 2.0 * np.pi, 2 * m)
        angle = np.r_[angle, drawn[rng.uniform(0.0, 1.0 + tube, 2 * m) < 1.0 + tube * np.cos(drawn)]]
    angle, turn = angle[:m], rng.uniform(0.0, 2.0 * np.pi, m)
    distance = 1.0 + tube * np.cos(angle)
    return np.c_[distance * np.cos(turn), distance * np.sin(turn), tube * np.sin(angle)]


def _box(m: int, rng: Generator) -> Array:
    half = rng.uniform(0.7, 1.3, 3)
    area = np.prod(half) / half  # of the faces across each axis
    axis = rng.choice(3, m, p=area / area.sum())
    points = rng.uniform(-1.0, 1.0, (m, 3)) * half
    rows = np.arange(m)
    points[rows, axis] = half[axis] * rng.choice([-1.0, 1.0], m)
    return points


def _helices(m: int, rng: Generator) -> Array:
    strands, turns = rng.integers(3, 6), rng.uniform(1.0, 2.0)
    height, radius = rng.uniform(1.0, 1.4), rng.uniform(0.5, 0.8)
    along = rng.uniform(-1.0, 1.0, m)
    angle = np.pi * turns * along + 2.0 * np.pi * rng.integers(0, strands, m) / strands
    return np.c_[radius * np.cos(angle), radius * np.sin(angle), height * along]


_SHAPES: dict[str, Callable[[int, Generator], Array]] = {
    "sphere": _sphere,
    "torus": _torus,
    "box": _box,
    "helices": _helices,
}
