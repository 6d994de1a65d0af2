"""Points on a surface of triangles, uniform by area."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sample_surface(
    vertices: Array, faces: NDArray[np.int64], budget: int, rng: np.random.Generator
) -> tuple[Array, NDArray[np.int64]]:
    r"""Points uniform by area.

    Triangles are drawn as lengths are in `sample_skeleton`, by stretches of the cumulated area; in the
    triangle (a, b, c) the point is (1 - √u) a + √u (1 - v) b + √u v c with u, v uniform.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    vertices : (v, 3)
    faces : (f, 3) int
        Triangles, as rows of ``vertices``.
    budget : int
    rng : numpy Generator

    Returns
    -------
    points : (budget, 3) array
        The vertices, without repeats, where no triangle has an area.
    face : (budget,) int array
        The triangle of each point; -1 for a bare vertex.

    Examples
    --------
    >>> square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    >>> points, face = sample_surface(square, np.array([[0, 1, 2], [0, 2, 3]]), 10, np.random.default_rng(0))
    >>> face.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    areas = _areas(b - a, c - a)
    reach = np.cumsum(areas)
    if not len(faces) or not reach[-1] > 0.0:
        _, rows = np.unique(vertices, axis=0, return_index=True)
        rows = np.sort(rows)[:budget]
        return vertices[rows], np.full(len(rows), -1)
    at = (np.arange(budget) + rng.random(budget)) * (reach[-1] / budget)
    face = np.minimum(np.searchsorted(reach, at, side="right"), np.flatnonzero(areas > 0)[-1])
    u, v = np.sqrt(rng.random(budget))[:, None], rng.random(budget)[:, None]
    return (1.0 - u) * a[face] + u * (1.0 - v) * b[face] + u * v * c[face], face


def _areas(u: Array, v: Array) -> Array:
    """Half of each parallelogram, in any number of dimensions."""
    if u.shape[1] == 3:
        return np.asarray(0.5 * np.sqrt((np.cross(u, v) ** 2).sum(axis=1)))
    square = (u * u).sum(axis=1) * (v * v).sum(axis=1) - (u * v).sum(axis=1) ** 2
    return np.asarray(0.5 * np.sqrt(np.maximum(square, 0.0)))
