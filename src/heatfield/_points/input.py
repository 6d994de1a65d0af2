"""Clouds, their columns and the labels of their points, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array, as_points
from .._classifier.labels import checked_labels
from ..io import Cloud, columns_of, with_files_read

Columns = Mapping[str, Any]


def unpacked(clouds: Any, columns: Sequence[Columns] | None = None) -> tuple[list[Array], list[Columns]]:
    """Points and columns of each cloud; files, tables and what `read_cloud` returned bring their columns."""
    clouds, _ = with_files_read(clouds)
    if hasattr(clouds, "points") or getattr(clouds, "ndim", 0) == 2 or not hasattr(clouds, "__len__"):
        raise ValueError(f"clouds must be a list of clouds, got one {type(clouds).__name__}; pass [cloud]")
    points: list[Array] = []
    found: list[Columns] = []
    for i, cloud in enumerate(clouds):
        points.append(as_points(cloud.points if isinstance(cloud, Cloud) else cloud, f"clouds[{i}]"))
        found.append(columns_of(cloud))
    if columns is not None:
        if len(columns) != len(points):
            raise ValueError(f"columns must hold one mapping per cloud, got {len(columns)} for {len(points)}")
        found = [{**own, **given} for own, given in zip(found, columns, strict=True)]
    if not points:
        raise ValueError("clouds is empty: at least one cloud is needed")
    for i, own in enumerate(points):
        if own.shape[1] != points[0].shape[1]:
            raise ValueError(
                f"clouds[{i}] has {own.shape[1]} coordinates per point, clouds[0] has {points[0].shape[1]}"
            )
    return points, found


def labels_of_points(labels: Any, points: Sequence[Array], ignore: Sequence[Any]) -> list[NDArray]:
    """One array of labels per cloud, all words or all numbers, of two classes or more besides the ignored."""
    labels = labels if hasattr(labels, "__len__") else list(labels)
    if len(labels) != len(points):
        raise ValueError(f"labels must hold one array per cloud, got {len(labels)} for {len(points)} clouds")
    found = [np.asarray(own) for own in labels]
    for i, (own, cloud) in enumerate(zip(found, points, strict=True)):
        if own.shape != (len(cloud),):
            raise ValueError(f"labels[{i}] must hold {len(cloud)} labels, got shape {own.shape}")
        if own.dtype.kind == "f" and not np.isfinite(own).all():
            row = int(np.argmin(np.isfinite(own)))
            raise ValueError(f"labels[{i}] has {own[row]} in row {row}; name labels to ignore instead")
    every = np.concatenate([own.astype(object) if own.dtype.kind == "O" else own for own in found])
    kept = every[known(every, ignore)]
    if len(kept) == 0:
        raise ValueError(f"every label is ignored: {list(ignore)!r}")
    dtype = checked_labels(kept).dtype
    return [own if own.dtype.kind != "O" else np.array(own.tolist(), dtype=dtype) for own in found]


def known(labels: NDArray, ignore: Sequence[Any]) -> NDArray[np.bool_]:
    """Which labels count."""
    out = np.ones(len(labels), bool)
    for value in ignore:
        if (labels.dtype.kind == "U") == isinstance(value, str):
            out &= labels != value
    return out
