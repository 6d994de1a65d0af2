"""``write_points``: points and columns out, whole or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.check import as_points
from .._base.files import write_atomically
from ._cloud import coordinate_names
from ._las_write import las_bytes
from ._numpy import npy_bytes, npz_bytes
from ._parquet import parquet_bytes
from ._pcd import pcd_bytes
from ._ply_write import ply_bytes
from ._table_write import table_bytes

WRITABLE = (
    ".ply",
    ".pcd",
    ".las",
    ".laz",
    ".xyz",
    ".txt",
    ".csv",
    ".tsv",
    ".pts",
    ".npy",
    ".npz",
    ".parquet",
)


def write_points(
    path: str | os.PathLike[str],
    points: ArrayLike,
    columns: Mapping[str, ArrayLike] | None = None,
    *,
    notes: Mapping[str, Any] | None = None,
    descriptions: Mapping[str, str] | None = None,
) -> None:
    """Write points, and columns of the same length, in the format of the suffix.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    path : path-like
        Ends in one of .ply .pcd .las .laz .xyz .txt .csv .tsv .pts .npy .npz .parquet, and .gz after it
        if it is to be gzipped. An existing file is replaced in one step, when the new one is complete.
    points : (m, n) array
        Coordinates; every format but LAS keeps all digits of float64.
    columns : mapping of str to (m,) array, optional
        Anything that goes with the points.
    notes : mapping, optional
        ``Cloud.notes`` of what was read: gives LAS its old scale and offset, point format and coordinate
        reference system.
    descriptions : mapping of str to str, optional
        What columns mean: kept by LAS (the first 32 bytes), PLY (comments) and Parquet (field metadata).

    Raises
    ------
    ValueError
        Where the format cannot hold a column, by its name, type or meaning.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.write_points(f"{folder}/a.ply", np.eye(3), {"height": np.array([0.0, 0.5, 1.0])})
    ...     hf.read_cloud(f"{folder}/a.ply").columns["height"].tolist()
    [0.0, 0.5, 1.0]
    """
    target = Path(path)
    suffixes = [s.lower() for s in target.suffixes]
    packed = suffixes[-1:] == [".gz"]
    suffix = (suffixes[:-1] if packed else suffixes)[-1:]
    if not suffix or suffix[0] not in WRITABLE:
        raise ValueError(
            f"cannot write {str(target)!r}: the name must end in one of {' '.join(WRITABLE)} (and .gz)"
        )
    array = as_points(points)
    table = _columns(array, columns or {})
    data = _encode(suffix[0], array, table, dict(notes) if notes else None, dict(descriptions or {}))
    write_atomically(target, gzip.compress(data, mtime=0) if packed else data)


def _columns(points: NDArray[np.float64], columns: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
    table: dict[str, NDArray[Any]] = {}
    for name, values in columns.items():
        column = np.asarray(values)
        if column.shape != (len(points),):
            raise ValueError(f"column {name!r} must have shape ({len(points)},), got {column.shape}")
        if not isinstance(name, str) or name.lower() in coordinate_names(points.shape[1]):
            raise ValueError(f"a column cannot be named {name!r}: that is a coordinate")
        table[name] = column
    return table


def _encode(
    suffix: str,
    points: NDArray[np.float64],
    columns: dict[str, NDArray[Any]],
    notes: dict[str, Any] | None,
    descriptions: dict[str, str],
) -> bytes:
    if suffix == ".ply":
        return ply_bytes(points, columns, descriptions)
    if suffix == ".pcd":
        return pcd_bytes(points, columns)
    if suffix in (".las", ".laz"):
        return las_bytes(points, columns, suffix == ".laz", notes, descriptions)
    if suffix == ".npy":
        return npy_bytes(points, columns)
    if suffix == ".npz":
        return npz_bytes(points, columns)
    if suffix == ".parquet":
        return parquet_bytes(points, columns, descriptions=descriptions)
    return table_bytes(points, columns, suffix)
