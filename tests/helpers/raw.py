"""Reading with the nodes of skeletons and the vertices of meshes as they stand in the file."""

from __future__ import annotations

from typing import Any

import heatfield as hf


def read_cloud(path: Any, **options: Any) -> hf.Cloud:
    """`heatfield.read_cloud` with nodes=True."""
    return hf.read_cloud(path, **{"nodes": True, **options})


def read_points(path: Any, **options: Any) -> Any:
    """`heatfield.read_points` with nodes=True."""
    return hf.read_points(path, **{"nodes": True, **options})
