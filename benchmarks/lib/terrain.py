"""A landscape with trees in map coordinates, cut into tiles: any number of points, made tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import heatfield as hf

ORIGIN = np.array([412_000.0, 5_318_000.0, 600.0])
DENSITY = 8.0  # points per square metre, half of them on trees
TREE = 300  # points per tree
WIDEST = 2.5  # metres from the foot of a tree to its outermost point
SIDE = 8  # tiles along each side
_TREES_AT_ONCE = 500  # as many as a processor's cache holds
_GROUND, _FEET, _EDGE, _INSIDE = range(4)  # streams of random numbers of a tile


def tile_size(m: int) -> float:
    """Metres along a tile's side."""
    return float(np.sqrt(m / DENSITY)) / SIDE


def _stream(m: int, row: int, column: int, kind: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence([m, row, column, kind])))


def trees_of(m: int, row: int, column: int, *, edge_only: bool) -> Iterator[np.ndarray]:
    """The points (k, 3) of the trees that stand in a tile; only of those that may reach over its border.

    Trees near the border have random numbers of their own, so that a neighbour makes these alone.
    """
    if not (0 <= row < SIDE and 0 <= column < SIDE):
        return
    size = tile_size(m)
    rng = _stream(m, row, column, _FEET)
    count = max(1, round(0.5 * m / SIDE**2 / TREE))
    feet, heights, radii = (
        rng.random((count, 2)) * size,
        8 + 12 * rng.random(count),
        1 + 1.5 * rng.random(count),
    )
    edge = (np.minimum(feet, size - feet) < WIDEST).any(axis=1)
    feet += size * np.array([column, row])
    for kind, chosen in ((_EDGE, edge), (_INSIDE, ~edge)):
        if kind == _INSIDE and edge_only:
            continue
        rng, rows = _stream(m, row, column, kind), np.flatnonzero(chosen)
        for first in range(0, rows.size, _TREES_AT_ONCE):
            some = rows[first : first + _TREES_AT_ONCE]
            yield _trees(rng, feet[some], heights[some], radii[some])


def _trees(rng: np.random.Generator, feet: np.ndarray, heights: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Crowns that are filled ellipsoids, each with a trunk below."""
    shape = (len(feet), TREE)
    turn, level = 2 * np.pi * rng.random(shape), 2 * rng.random(shape) - 1
    out = np.cbrt(rng.random(shape))  # evenly in the volume
    wide = out * np.sqrt(1 - level * level)
    trunk = rng.random(shape) < 0.15
    wide = np.where(trunk, 0.2, wide * radii[:, None])
    up = heights[:, None] * np.where(trunk, 0.3 * (level + 1), 0.65 + 0.35 * out * level)
    plane = np.stack([wide * np.cos(turn), wide * np.sin(turn)], axis=2) + feet[:, None, :]
    plane = plane.reshape(-1, 2)
    return np.c_[plane, up.ravel() + ground(plane)]


def ground(plane: np.ndarray) -> np.ndarray:
    """Hills of some metres."""
    x, y = plane[:, 0], plane[:, 1]
    return 5.0 * np.sin(x / 61.0) * np.cos(y / 47.0) + 1.5 * np.sin((x + 2 * y) / 19.0)


def make_tile(m: int, row: int, column: int) -> np.ndarray:
    """The points of one tile of a landscape of about m points, rounded to millimetres."""
    size, low = tile_size(m), tile_size(m) * np.array([column, row])
    rng = _stream(m, row, column, _GROUND)
    plane = low + rng.random((round(0.5 * m / SIDE**2), 2)) * size
    parts = [np.c_[plane, ground(plane) + 0.02 * rng.normal(size=len(plane))]]
    for r in (row - 1, row, row + 1):
        for c in (column - 1, column, column + 1):
            for trees in trees_of(m, r, c, edge_only=(r, c) != (row, column)):
                inside = ((trees[:, :2] >= low) & (trees[:, :2] < low + size)).all(axis=1)
                parts.append(trees[inside])
    parts.append(np.c_[low + rng.random((2, 2)) * size, 80 + 100 * rng.random(2)])  # birds
    return np.round(np.concatenate(parts), 3) + ORIGIN


def tile_paths(folder: Path) -> list[Path]:
    """Where the tiles are, or will be."""
    return [folder / f"tile_{row}_{column}.las" for row in range(SIDE) for column in range(SIDE)]


def make_tiles(folder: Path, m: int, say: Callable[[str], object] = lambda _: None) -> list[Path]:
    """All tiles as LAS files, those that are not there yet; ``say`` hears how far it is."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = tile_paths(folder)
    for number, path in enumerate(paths):
        if not path.exists():
            notes = {"scales": np.full(3, 1e-3), "offsets": ORIGIN}
            hf.write_points(path, make_tile(m, *divmod(number, SIDE)), notes=notes)
            say(f"tile {number + 1} of {len(paths)} made")
    return paths
