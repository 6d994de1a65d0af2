"""A landscape with trees in map coordinates, cut into tiles: any number of points, made tile by tile."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import heatfield as hf

ORIGIN = np.array([412_000.0, 5_318_000.0, 600.0])
DENSITY = 8.0  # points per square metre, half of them on trees
TREE = 300  # points per tree
SIDE = 8  # tiles along each side


def tile_size(m: int) -> float:
    """Metres along a tile's side."""
    return float(np.sqrt(m / DENSITY)) / SIDE


def trees_of(m: int, row: int, column: int) -> list[np.ndarray]:
    """The points of the trees that stand in a tile, also those that reach over its border."""
    size = tile_size(m)
    rng = np.random.default_rng([m, row % (1 << 30), column % (1 << 30), 1])
    if not (0 <= row < SIDE and 0 <= column < SIDE):
        return []
    count = max(1, round(0.5 * m / SIDE**2 / TREE))
    trees = []
    for foot in rng.random((count, 2)) * size + size * np.array([column, row]):
        height, radius = 8.0 + 12.0 * rng.random(), 1.0 + 1.5 * rng.random()
        turn, up = rng.random(TREE) * 2 * np.pi, rng.random(TREE)
        trunk = np.c_[0.2 * np.cos(turn), 0.2 * np.sin(turn), 0.6 * height * up]
        crown = rng.normal(size=(TREE, 3))
        crown *= (rng.random((TREE, 1)) ** (1 / 3)) / np.linalg.norm(crown, axis=1, keepdims=True)
        crown = crown * [radius, radius, 0.35 * height] + [0, 0, 0.65 * height]
        part = np.where(rng.random((TREE, 1)) < 0.15, trunk, crown)
        part[:, :2] += foot
        part[:, 2] += ground(part[:, :2])
        trees.append(part)
    return trees


def ground(plane: np.ndarray) -> np.ndarray:
    """Hills of some metres."""
    x, y = plane[:, 0], plane[:, 1]
    return 5.0 * np.sin(x / 61.0) * np.cos(y / 47.0) + 1.5 * np.sin((x + 2 * y) / 19.0)


def make_tile(m: int, row: int, column: int) -> np.ndarray:
    """The points of one tile of a landscape of about m points, rounded to millimetres."""
    size, low = tile_size(m), tile_size(m) * np.array([column, row])
    rng = np.random.default_rng([m, row, column, 0])
    plane = low + rng.random((round(0.5 * m / SIDE**2), 2)) * size
    parts = [np.c_[plane, ground(plane) + 0.02 * rng.normal(size=len(plane))]]
    for r in (row - 1, row, row + 1):
        for c in (column - 1, column, column + 1):
            for tree in trees_of(m, r, c):
                inside = ((tree[:, :2] >= low) & (tree[:, :2] < low + size)).all(axis=1)
                parts.append(tree[inside])
    parts.append(np.c_[low + rng.random((2, 2)) * size, 80 + 100 * rng.random(2)])  # birds
    return np.round(np.concatenate(parts), 3) + ORIGIN


def make_tiles(folder: Path, m: int) -> list[Path]:
    """All tiles as LAS files, those that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for row in range(SIDE):
        for column in range(SIDE):
            path = folder / f"tile_{row}_{column}.las"
            if not path.exists():
                points = make_tile(m, row, column)
                notes = {"scales": np.full(3, 1e-3), "offsets": ORIGIN}
                hf.write_points(path, points, notes=notes)
            paths.append(path)
    return paths
