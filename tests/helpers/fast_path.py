"""Clouds on which a tolerance is hard to keep, and costs that force either way of the fast path."""

import numpy as np

from heatfield.core.planner import Costs

# Costs at which transforms are taken at most scales, costs at which none is, and the default ones.
COSTS = {
    "transforms": Costs(pair=6e-8, ring=3e-8, call=1e-6),
    "neighbours": Costs(call=1e3),
    "default": Costs(),
}


def heavy_cluster(rng, n, m):
    """Half of the points in a tight cluster inside a large sparse extent, and far outliers."""
    points = rng.normal(size=(m, n))
    points[: m // 2] *= 1e-3
    points[m // 2 : m // 2 + 5] *= 300.0
    return points


def duplicates(rng, n, m):
    points = rng.normal(size=(m, n))
    points[: m // 2] = points[0]
    return points


def sphere(rng, n, m):
    points = rng.normal(size=(m, n))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points[0] = 40.0
    return points if n > 1 else points + 0.1 * rng.normal(size=(m, n))


def curves(rng, n, m):
    s = rng.random((m, 1)) * 2 * np.pi
    bundle = rng.integers(5, size=(m, 1))
    points = np.sin(s * (1 + np.arange(n)) + bundle) + 0.05 * bundle
    points[:3] += 20.0
    return points


def lattice(rng, n, m):
    points = np.floor(rng.random((m, n)) * (2 * m) ** (1 / n))
    points[: m // 2] = np.floor(points[: m // 2] / 8)
    points[-1] = 1e3
    return points


MAKERS = {make.__name__: make for make in (heavy_cluster, duplicates, sphere, curves, lattice)}
