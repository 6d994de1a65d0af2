"""Molecules chain by chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._base.check import Array

# What --chain says for "every chain as a cloud".
EACH = "each"


def read_chains(
    files: list[str], reading: dict[str, Any], n_dims: int
) -> tuple[list[str], dict[int, Array], list[tuple[str, str, str]]]:
    """Names ``file:chain``, their clouds by position, and what failed. A file without chains is one cloud."""
    import numpy as np

    from .._base.check import as_points
    from ..io import read_cloud
    from ._reading import file_problem, other_dimension

    names: list[str] = []
    clouds: dict[int, Array] = {}
    errors: list[tuple[str, str, str]] = []
    for file in files:
        try:
            cloud = read_cloud(file, **reading)
            points = as_points(cloud.points)
            if points.shape[1] != n_dims:
                raise ValueError(other_dimension(points.shape[1], n_dims, fixed=True))
            chain = cloud.columns.get("chain")
            parts = {"": np.ones(len(points), bool)}
            if chain is not None:
                parts = {f":{name}": chain == name for name in dict.fromkeys(chain.tolist())}
        except Exception as error:  # whatever a file does, it costs that file only
            errors.append((file, *file_problem(error)))
            continue
        for name, rows in parts.items():
            own = points[rows]
            if len(own) < 2 or (own == own[0]).all():
                errors.append((f"{file}{name}", "", "it has fewer than two distinct points"))
                continue
            clouds[len(names)] = own
            names.append(f"{file}{name}")
    return names, clouds, errors
