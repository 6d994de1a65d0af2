"""What people pass instead of arrays: paths of files, which are read here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ._cloud import Cloud
from ._read import read_cloud


def with_files_read(clouds: Any, **options: Any) -> tuple[Any, list[str] | None]:
    """The clouds with every path read, and the paths as words where all are paths, else None.

    ``options`` are those of `read_cloud`.
    One path stands for a list of one. What holds no path is returned as it is; iterators become lists.

    Examples
    --------
    >>> with_files_read(range(2))
    (range(0, 2), None)
    """
    if isinstance(clouds, (str, os.PathLike)):
        clouds = [clouds]
    elif isinstance(clouds, Iterator):
        clouds = list(clouds)
    if not isinstance(clouds, (list, tuple)):
        return clouds, None
    paths = [os.fspath(one) if isinstance(one, (str, os.PathLike)) else None for one in clouds]
    if all(path is None for path in paths):
        return clouds, None
    read = [
        one if path is None else read_cloud(path, **options) for one, path in zip(clouds, paths, strict=True)
    ]
    names = [os.path.normpath(path) for path in paths if path is not None]
    return read, names if len(names) == len(read) else None


def points_of_file(points: Any) -> Any:
    """The points of a file where a path is given; all else as it is."""
    return read_cloud(os.fspath(points)).points if isinstance(points, (str, os.PathLike)) else points


def columns_of(cloud: Any) -> dict[str, Any]:
    """What stands beside the coordinates, by name: of a `Cloud`, a table (pandas) or an object of laspy."""
    if isinstance(cloud, Cloud):
        return cloud.columns
    if hasattr(cloud, "columns") and hasattr(cloud, "to_numpy"):
        return {str(name): cloud[name].to_numpy() for name in cloud.columns}
    names = getattr(getattr(cloud, "point_format", None), "dimension_names", ())
    return {str(name): cloud[name] for name in names}
