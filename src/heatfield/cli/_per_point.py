"""Signatures at every point, written beside the points, so that a viewer can colour by them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import HeatFieldWarning
from .._signatures.channels import file_columns
from .._signatures.signatures import signatures
from ..io import Cloud, write_points


def write_per_point(cloud: Cloud, target: str, descriptor: dict[str, Any]) -> None:
    """``density_s0 .. dimension_s0 .. transition_s0 .. spectrum1_s0 ..`` as columns of a point file.

    In LAS they are extra dimensions, in PLY vertex properties. Columns of the source stay where the
    format can hold them.
    """
    own = "exact" if descriptor["variant"] == "joint" else "difference"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeatFieldWarning)  # a cloud without scales has NaN signatures
        s = signatures(
            cloud.points,
            n_scales=descriptor["n_scales"],
            c_min=descriptor["c_min"],
            c_max=descriptor["c_max"],
            transition=descriptor["transition"] or own,
            method=descriptor["method"],
            tol=descriptor["tol"],
        )
    made = file_columns(s)
    kept = {name: c for name, c in _holdable(cloud.columns, Path(target).suffix).items() if name not in made}
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    write_points(target, cloud.points, {**kept, **made}, notes=cloud.notes)


def _holdable(columns: dict[str, NDArray[Any]], suffix: str) -> dict[str, NDArray[Any]]:
    """The columns that the format can hold, integers as floats where PLY has none so wide."""
    if suffix not in (".ply", ".las", ".laz"):
        return columns
    kept = {}
    for name, column in columns.items():
        if column.dtype.kind not in "fiub" or not name.isascii() or " " in name or len(name) > 31:
            continue
        wide = suffix == ".ply" and column.dtype.kind in "iu" and column.dtype.itemsize == 8 and len(column)
        if wide and (column.min() < -(2**31) or column.max() >= 2**31):
            column = column.astype(np.float64)
        kept[name] = column
    return kept
