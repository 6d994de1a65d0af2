"""Objects of other libraries that hold points: what their coordinates are called."""

from __future__ import annotations

from typing import Any

import numpy as np


def coordinates_of(thing: Any) -> Any:
    """The coordinates of an object that holds points; anything else comes back as it is.

    Known are `heatfield.Cloud`, open3d (point clouds and meshes, also its tensor classes), trimesh, laspy and
    pyntcloud, by the names of their attributes: none of these libraries is imported. A tensor on another
    device is copied to memory.

    Examples
    --------
    >>> class Mesh:
    ...     vertices = [[0.0, 1.0], [2.0, 3.0]]
    >>> coordinates_of(Mesh())
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
    for name in ("vertices", "points"):  # trimesh and meshes of open3d; open3d, pyntcloud, Cloud
        held = getattr(thing, name, None)
        if held is not None and not callable(held):
            return held if hasattr(held, "to_numpy") or isinstance(held, list) else np.asarray(held)
    return thing
