"""Objects of other libraries that hold points: what their coordinates are called."""

from __future__ import annotations

from typing import Any

import numpy as np


def coordinates_of(thing: Any) -> Any:
    """The coordinates of an object that holds points; anything else comes back as it is.

    Known are `heatfield.Cloud`, open3d (point clouds and meshes, also its tensor classes), trimesh, navis,
    laspy and pyntcloud, by the names of their attributes: none of these libraries is imported. A tensor on
    another device is copied to memory. As from files, a mesh gives 1,024 points even by area, and a skeleton
    (a neuron of navis) as many by arc length; for others pass its vertices or nodes.

    Examples
    --------
    >>> class Scan:
    ...     points = [[0.0, 1.0], [2.0, 3.0]]
    >>> coordinates_of(Scan())
    [[0.0, 1.0], [2.0, 3.0]]
    >>> coordinates_of([[1.0]])
    [[1.0]]
    """
    if isinstance(thing, (np.ndarray, list, tuple)) or hasattr(thing, "to_numpy"):
        return thing
    if hasattr(thing, "detach") and hasattr(thing, "cpu"):
        return thing.cpu() if getattr(getattr(thing, "device", None), "type", "cpu") != "cpu" else thing
    if hasattr(thing, "__array__"):
        return thing
    if hasattr(thing, "xyz") and hasattr(thing, "header"):  # laspy
        return np.asarray(thing.xyz)
    for name in ("point", "vertex"):  # open3d.t
        held = getattr(thing, name, None)
        if held is not None and hasattr(held, "primary_key"):
            return held[held.primary_key].cpu().numpy()
    sampled = _of_mesh(thing)
    if sampled is None:
        sampled = _of_skeleton(thing)
    if sampled is not None:
        return sampled
    for name in ("vertices", "points"):  # trimesh and meshes of open3d; open3d, pyntcloud, Cloud
        held = getattr(thing, name, None)
        if held is not None and not callable(held):
            return held if hasattr(held, "to_numpy") or isinstance(held, list) else np.asarray(held)
    return thing


def _of_mesh(thing: Any) -> Any:
    """Points on the triangles of a mesh (trimesh, navis, open3d); None where there are none."""
    if hasattr(thing, "notes") and hasattr(thing, "parents"):  # our own: it was sampled when it was read
        return None
    faces = getattr(thing, "faces", None)
    faces = getattr(thing, "triangles", None) if faces is None else faces
    vertices = getattr(thing, "vertices", None)
    if vertices is None:
        vertices = getattr(thing, "points", None)
    if faces is None or vertices is None or callable(faces) or callable(vertices):
        return None
    corners = np.asarray(faces)
    if corners.ndim != 2 or corners.shape[1] != 3 or not len(corners):
        return None
    from ..options import SKELETON_POINTS
    from ..sampling import sample_surface

    rng = np.random.default_rng(0)
    return sample_surface(np.asarray(vertices, dtype=float), corners.astype(np.int64), SKELETON_POINTS, rng)[
        0
    ]


def _of_skeleton(thing: Any) -> Any:
    """Points along a table of nodes with node_id, parent_id, x, y, z (navis); None where there is none."""
    nodes: Any = getattr(thing, "nodes", None)
    names = {str(name) for name in getattr(nodes, "columns", ())}
    if not names >= {"node_id", "parent_id", "x", "y", "z"}:
        return None
    from ..options import SKELETON_POINTS
    from ..sampling import sample_skeleton

    row = {node: i for i, node in enumerate(nodes["node_id"].to_numpy().tolist())}
    parents = np.array([row.get(p, -1) for p in nodes["parent_id"].to_numpy().tolist()], dtype=np.int64)
    points = nodes[["x", "y", "z"]].to_numpy().astype(float)
    return sample_skeleton(points, parents, SKELETON_POINTS, np.random.default_rng(0))[0]
