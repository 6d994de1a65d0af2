"""A tree of filaments whose junctions are known."""

from __future__ import annotations

import numpy as np

from .._base.check import Array, check_count


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
        fork = ends[tip]
        pair = _pair(rng, starts, ends, tip)
        forks.append(fork)
        for end in pair:
            tips.append(len(ends))
            starts.append(fork)
            ends.append(end)
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
