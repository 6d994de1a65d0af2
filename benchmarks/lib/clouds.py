"""Clouds that several benchmarks measure, the same in every run."""

from __future__ import annotations

import numpy as np

LARGE_CLOUDS = ("sphere", "ball", "curves", "clustered", "tree")


def make_cloud(kind: str, m: int) -> np.ndarray:
    """A seeded cloud: points on a sphere, in a ball, on a knotted curve, or along an orbit in the plane."""
    rng = np.random.default_rng(m)
    if kind == "sphere":
        points = rng.standard_normal((m, 3))
        return points / np.linalg.norm(points, axis=1, keepdims=True)
    if kind == "ball":
        return make_cloud("sphere", m) * rng.random((m, 1)) ** (1 / 3)
    if kind == "curve":
        s = rng.random(m) * 2 * np.pi
        return np.c_[np.sin(s) + 2 * np.sin(2 * s), np.cos(s) - 2 * np.cos(2 * s), -np.sin(3 * s)]
    if kind == "orbit":
        points = np.empty((m, 2))
        x, y = rng.random(2)
        for i in range(m):
            x = (x + 4.1 * y * (1 - y)) % 1
            y = (y + 4.1 * x * (1 - x)) % 1
            points[i] = x, y
        return points
    raise ValueError(f"kind must be 'sphere', 'ball', 'curve' or 'orbit', got {kind!r}")


def make_large_cloud(name: str, m: int) -> np.ndarray:
    """A cloud of m points in space; its name is one of LARGE_CLOUDS."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(m, 3))
    if name in ("sphere", "ball"):
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        return points if name == "sphere" else points * rng.random((m, 1)) ** (1 / 3)
    if name == "clustered":  # half of the points in a tight cluster inside a wide extent
        points[: m // 2] *= 1e-3
        return points
    if name == "curves":  # fifty closed curves with a little noise
        which, s = rng.integers(50, size=m), rng.random((m, 1)) * 2 * np.pi
        shift, phase = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
        return shift[which] + np.sin(s + phase[which]) + 1e-3 * points
    # What a scanner sees of a tree: a trunk's bark, branches off it, and leaves as small balls at their ends.
    height, part = rng.random(m), rng.random(m)
    turn = rng.random(m) * 2 * np.pi
    radius = 0.25 * (1.2 - height)
    trunk = np.c_[radius * np.cos(turn), radius * np.sin(turn), 8 * height] + 0.005 * points
    branch = rng.integers(60, size=m)
    foot = np.c_[np.zeros((60, 2)), 2 + 6 * rng.random(60)]
    tip = foot + np.c_[rng.normal(size=(60, 2)) * 1.5, rng.random(60)]
    along = foot[branch] + (tip - foot)[branch] * rng.random((m, 1)) + 0.02 * points
    leaves = tip[branch] + 0.3 * points
    return np.where(part[:, None] < 0.2, trunk, np.where(part[:, None] < 0.4, along, leaves))
