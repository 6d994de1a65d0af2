"""One cloud with parts of every kind: a sheet, a filament, a junction, a ball."""

from __future__ import annotations

import numpy as np

from .._base.check import Array, check_count

PARTS = ("sheet", "filament", "junction", "ball")


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
    sizes = np.floor(m * np.array([0.36, 0.30])).astype(int)
    sheet_count, ball_count = int(sizes[0]), int(sizes[1])
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
    parts = np.array(["sheet"] * sheet_count + ["filament"] * line_count + ["ball"] * ball_count, dtype="<U8")
    parts[(np.linalg.norm(points - fork, axis=1) < 0.12) & (parts == "filament")] = "junction"
    return points + noise * rng.normal(size=points.shape), parts
