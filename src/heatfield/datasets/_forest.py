"""A synthetic forest with a label for every point, as a laser scanner on the ground would see it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array, check_count, check_number

FOREST_CLASSES = ("ground", "trunk", "branch", "leaf", "outlier")
_GROUND, _TRUNK, _BRANCH, _LEAF, _OUTLIER = range(5)
_BEFORE = 12  # surface points before scanning, per point that is wanted: most are hidden or far away
_SHARES = (0.34, 0.16, 0.16, 0.34)  # of the surface points on ground, trunks, branches and leaves
_OUTLIERS = 0.003
_CONE = 0.006  # radians: one third of a degree
_BEHIND = 0.08  # so far behind the nearest point in its cone a point still belongs to the same surface
_THROUGH = 0.2  # chance that a pulse which met a leaf goes on to a point behind
_NEAR = 1.5  # nearer than this the density does not rise


def make_forest(
    n_plots: int = 4,
    *,
    n_points: int = 20_000,
    n_trees: int = 5,
    size: float = 12.0,
    n_scans: int = 2,
    random_state: int = 0,
) -> tuple[list[Array], list[NDArray[np.int64]]]:
    """Square plots of forest, scanned from the ground; coordinates in metres.

    Ground is a slope with bumps. A tree has a tapered, slightly bent trunk of 6 to 14 m, branches that leave
    it above a third of its height and fork once, and leaves: small discs in clumps along the branches.
    Scanners stand 1.5 m above the ground. The chance of a point falls with the square of its distance from
    them, and what lies behind something else, in a cone of a third of a degree, is not seen; leaves let a
    part through. Ranges have an error of 1 cm. Some points are outliers anywhere in the plot, also below the
    ground.

    Guide: ``heatfield docs guide/points``.

    Parameters
    ----------
    n_plots : int
    n_points : int
        Points per plot.
    n_trees : int
    size : float
        Side of the plot.
    n_scans : int
        Scanners per plot.
    random_state : int
        Plot i is the same whatever the number of plots.

    Returns
    -------
    clouds : list of (n_points, 3) arrays
    labels : list of (n_points,) int arrays
        Positions in ``FOREST_CLASSES``: ground, trunk, branch, leaf, outlier.

    Examples
    --------
    >>> from heatfield.datasets import FOREST_CLASSES, make_forest
    >>> clouds, labels = make_forest(1, n_points=2000)
    >>> clouds[0].shape, [FOREST_CLASSES[k] for k in sorted(set(labels[0].tolist()))]
    ((2000, 3), ['ground', 'trunk', 'branch', 'leaf', 'outlier'])
    """
    plots = check_count(n_plots, "n_plots", 1)
    m = check_count(n_points, "n_points", 100)
    trees = check_count(n_trees, "n_trees", 1)
    scans = check_count(n_scans, "n_scans", 1)
    seed = check_count(random_state, "random_state", 0)
    side = check_number(size, "size", least=1, below=1e6)
    made = [_plot(np.random.default_rng([seed, i]), m, trees, side, scans) for i in range(plots)]
    return [points for points, _ in made], [labels for _, labels in made]


def _plot(
    rng: np.random.Generator, m: int, trees: int, size: float, scans: int
) -> tuple[Array, NDArray[np.int64]]:
    bumps = [(rng.uniform(0.3, 1.2, 2), rng.uniform(0, 6.3), rng.uniform(0.02, 0.12)) for _ in range(6)]
    slope = rng.uniform(-0.15, 0.15, 2)

    def floor(xy: Array) -> Array:
        return xy @ slope + sum(h * np.sin(xy @ k + phase) for k, phase, h in bumps)

    counts = [int(share * m * _BEFORE) for share in _SHARES]
    xy = rng.uniform(0, size, (counts[0], 2))
    stems = _spread(rng, trees, size)
    made = [_tree(rng, np.r_[stem, floor(stem[None])[0]]) for stem in stems]
    trunks, branches, leaves = (np.concatenate(part) for part in zip(*made, strict=True))
    parts = [np.c_[xy, floor(xy)], _on_cones(rng, trunks, counts[1]), _on_cones(rng, branches, counts[2])]
    points = np.concatenate([*parts, _on_discs(rng, leaves, counts[3])])
    labels = np.repeat([_GROUND, _TRUNK, _BRANCH, _LEAF], counts)
    lost = max(1, round(_OUTLIERS * m))
    eyes = rng.uniform(0.1 * size, 0.9 * size, (scans, 2))
    eyes = np.c_[eyes, floor(eyes) + 1.5]
    rows = _seen_by_scanners(rng, points, labels == _LEAF, eyes, m - lost)
    away = points[rows] - eyes[rng.integers(scans, size=len(rows))]
    away /= np.sqrt((away**2).sum(axis=1, keepdims=True))
    seen = points[rows] + 0.01 * rng.normal(size=(len(rows), 1)) * away
    margin = np.array([0.0, 0.0, 1.0])
    low, high = seen.min(axis=0) - margin, seen.max(axis=0) + margin
    every = np.concatenate([seen, rng.uniform(low, high, (lost, 3))])
    order = rng.permutation(len(every))
    return every[order], np.concatenate([labels[rows], np.full(lost, _OUTLIER)])[order].astype(np.int64)


def _spread(rng: np.random.Generator, count: int, size: float) -> Array:
    """Places of stems; of twenty tries each takes the one farthest from the others."""
    places = [rng.uniform(0.1 * size, 0.9 * size, 2)]
    for _ in range(count - 1):
        tries = rng.uniform(0.1 * size, 0.9 * size, (20, 2))
        gaps = ((tries[:, None] - np.array(places)) ** 2).sum(axis=2).min(axis=1)
        places.append(tries[gaps.argmax()])
    return np.array(places)


def _tree(rng: np.random.Generator, foot: Array) -> tuple[Array, Array, Array]:
    """Cones (k, 8) of trunk and branches: both ends, their radii; centres of clumps of leaves (c, 4)."""
    height, radius = rng.uniform(6, 14), rng.uniform(0.1, 0.25)
    knots = foot + np.c_[np.zeros((9, 2)), np.linspace(0, height, 9)]
    knots[1:, :2] += np.cumsum(rng.normal(0, 0.06, (8, 2)), axis=0)
    taper = radius * np.linspace(1.0, 0.2, 9)
    trunk = np.c_[knots[:-1], knots[1:], taper[:-1], taper[1:]]
    branches, clumps = [], []
    for _ in range(int(rng.integers(12, 20))):
        at = rng.uniform(0.35, 0.97)
        start = np.array([np.interp(at, np.linspace(0, 1, 9), knots[:, k]) for k in range(3)])
        angle, lean = rng.uniform(0, 2 * np.pi), rng.uniform(0.2, 1.1)
        out = np.array([np.cos(angle) * np.cos(lean), np.sin(angle) * np.cos(lean), np.sin(lean)])
        length, thick = rng.uniform(0.6, 1.0) * 0.35 * height * (1.15 - at), 0.35 * radius * (1.2 - at)
        middle = start + 0.55 * length * out
        branches.append(np.r_[start, middle, thick, 0.6 * thick])
        for _ in range(2):
            turned = out + rng.normal(0, 0.45, 3)
            end = middle + 0.55 * length * turned / np.sqrt(turned @ turned)
            branches.append(np.r_[middle, end, 0.6 * thick, 0.25 * thick])
            along = rng.uniform(0.4, 1.1, (4, 1))
            clumps.append(np.c_[middle + along * (end - middle), rng.uniform(0.15, 0.45, 4)])
    return trunk, np.array(branches), np.concatenate(clumps)


def _frames(axis: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two unit vectors across each axis."""
    side = np.cross(axis, rng.normal(size=axis.shape))
    side /= np.sqrt((side**2).sum(axis=1, keepdims=True))
    return side, np.cross(axis, side)


def _on_cones(rng: np.random.Generator, cones: Array, count: int) -> Array:
    """Points on the mantles of cones, uniform by area but for the taper."""
    a, b, ra, rb = cones[:, :3], cones[:, 3:6], cones[:, 6], cones[:, 7]
    length = np.sqrt(((b - a) ** 2).sum(axis=1))
    area = length * (ra + rb)
    k = rng.choice(len(cones), size=count, p=area / area.sum())
    axis = (b - a)[k] / length[k, None]
    one, two = _frames(axis, rng)
    share, turn = rng.random((count, 1)), rng.uniform(0, 2 * np.pi, (count, 1))
    radius = ra[k, None] + share * (rb - ra)[k, None]
    return a[k] + share * (b - a)[k] + radius * (np.cos(turn) * one + np.sin(turn) * two)


def _on_discs(rng: np.random.Generator, clumps: Array, count: int) -> Array:
    """Points on leaves, discs of 3 to 6 cm in all directions, about 40 points each, in clumps."""
    leaves = max(1, count // 40)
    k = rng.choice(len(clumps), size=leaves, p=clumps[:, 3] ** 2 / (clumps[:, 3] ** 2).sum())
    centres = clumps[k, :3] + clumps[k, 3:] * rng.normal(0, 0.6, (leaves, 3))
    normal = rng.normal(size=(leaves, 3))
    one, two = _frames(normal / np.sqrt((normal**2).sum(axis=1, keepdims=True)), rng)
    radius = rng.uniform(0.03, 0.06, leaves)
    own = rng.integers(leaves, size=count)
    far, turn = radius[own] * np.sqrt(rng.random(count)), rng.uniform(0, 2 * np.pi, count)
    return centres[own] + (far * np.cos(turn))[:, None] * one[own] + (far * np.sin(turn))[:, None] * two[own]


def _seen_by_scanners(
    rng: np.random.Generator, points: Array, leaf: NDArray[np.bool_], eyes: Array, count: int
) -> NDArray[np.int64]:
    """``count`` rows of points that a scanner at one of the ``eyes`` sees, sorted; fewer where less is seen.

    Near points have more chance; those that are a ``leaf`` let a part of the light through.
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
