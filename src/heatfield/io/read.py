"""``read_points`` and ``read_cloud``: any file in, points out; also where a path is given for an array."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from .._base.check import OutOfRangeError, check_choice, check_count
from ..options import Reading, takes
from ..sampling import resample, seed_from_name
from .cloud import Array, Cloud, require_finite
from .formats import FORMATS, REGISTRY, detect
from .formats.arrays import all_clouds
from .limits import ReadError, Source, as_source, local_bytes
from .remote import is_remote, remote_bytes

PathLike = str | os.PathLike[str]


def _open(path: PathLike, max_bytes: int | None) -> Source:
    """The content of a regular file or a URL."""
    name = os.fsdecode(path)
    return as_source(
        name, remote_bytes(name, max_bytes) if is_remote(name) else local_bytes(name, max_bytes), max_bytes
    )


@takes(Reading)
def read_cloud(path: PathLike, *, format: str | None = None, reading: Reading) -> Cloud:
    """Read a file with everything in it.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    path : path-like
        PLY, PCD, LAS, LAZ, COPC, E57, SWC, Neurolucida, NML, PDB, mmCIF, BinaryCIF, XYZ, TXT, CSV, PTS, NPY,
        NPZ, HDF5, OFF, OBJ, STL, glTF, GLB, 3MF, VTK, Parquet, Feather or Arrow, plain or gzipped. The
        content decides, the suffix only where the content is silent.
    format : str, optional
        Skip detection: one of ``heatfield.io.FORMATS``.
    {options}

    Returns
    -------
    Cloud
        ``points``, ``columns``, ``faces``, ``parents``, ``format``.

    Raises
    ------
    ReadError
        For anything that is wrong with the file, with its name and the place in it.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.write_points(f"{folder}/a.ply", np.eye(3), {"charge": np.array([1, -1, 0])})
    ...     cloud = hf.read_cloud(f"{folder}/a.ply")
    >>> cloud.points.shape, cloud.columns["charge"].tolist()
    ((3, 3), [1, -1, 0])
    """
    if format is not None:
        check_choice(format, "format", FORMATS)
    source = replace(_open(path, reading.max_bytes), xyz=reading.xyz)
    try:
        one = REGISTRY[format or detect(source)]
        with np.errstate(all="ignore"):  # numbers that overflow are reported as points that are not finite
            cloud = one.read(source, reading)
        cloud = require_finite(source, cloud, reading.invalid)
        if not len(cloud.points):
            raise source.error("holds no points")
        cloud.notes["points_in_file"] = len(cloud.points)
        return resample(cloud, reading, seed_from_name(Path(source.path).name, reading.seed))
    except ReadError:
        raise
    except ImportError as error:  # a library of the extra "io" is missing
        raise source.error(str(error)) from None
    except MemoryError:
        raise source.error("does not fit in memory") from None
    except Exception as error:  # a fault of the reader: it costs this file, not the whole run
        if isinstance(error, OutOfRangeError):
            raise source.error(str(error)) from None
        raise source.error(f"cannot be read ({type(error).__name__}: {error})") from error


def read_clouds(path: PathLike, *, max_bytes: int | None = None) -> tuple[list[Array], NDArray[Any] | None]:
    """All clouds of a file that holds many, and their labels.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    path : path-like
        NPY, NPZ or HDF5 with an array (N, m, n), as ModelNet40 is distributed (``data``, ``label``), or with
        all points in one array (total, n) and ``offsets`` (N + 1,) at which clouds begin and end.
    max_bytes : int, optional
        As of `read_cloud`.

    Returns
    -------
    clouds : list of (m_i, n) float64 arrays
    labels : (N,) array or None
        ``labels``, ``label`` or ``y`` of the file.

    Raises
    ------
    ReadError
        For anything that is wrong with the file.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/a.npz", points=np.ones((5, 3)), offsets=[0, 2, 5], labels=[7, 9])
    ...     clouds, labels = hf.io.read_clouds(f"{folder}/a.npz")
    >>> [cloud.shape for cloud in clouds], labels.tolist()
    ([(2, 3), (3, 3)], [7, 9])
    """
    if max_bytes is not None:
        check_count(max_bytes, "max_bytes", 1)
    source = _open(path, max_bytes)
    kind = detect(source)
    opened = REGISTRY[kind].arrays
    if opened is None:
        raise source.error(f"is a {kind.upper()} file of one cloud; many are read from NPY, NPZ and HDF5")
    try:
        with opened(source) as arrays:
            return all_clouds(arrays)
    except ReadError:
        raise
    except ImportError as error:
        raise source.error(str(error)) from None
    except Exception as error:  # as in `read_cloud`
        raise source.error(f"cannot be read ({type(error).__name__}: {error})") from error


@overload
def read_points(path: PathLike, *, columns: Literal[False] = False, **options: object) -> Array: ...
@overload
def read_points(
    path: PathLike, *, columns: Literal[True], **options: object
) -> tuple[Array, dict[str, object]]: ...
def read_points(path: PathLike, *, columns: bool = False, **options: object) -> object:
    """The points of a file as an (m, n) float64 array; with ``columns=True`` also the other columns.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    path : path-like
    columns : bool
        Also return the other columns.
    **options :
        Of `read_cloud`.

    Returns
    -------
    points : (m, n) float64
    columns : dict of str to (m,) array
        Only if asked for.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.write_points(f"{folder}/a.csv", np.arange(12.0).reshape(4, 3))
    ...     hf.read_points(f"{folder}/a.csv")[-1]
    array([ 9., 10., 11.])
    """
    cloud = read_cloud(path, **options)
    return (cloud.points, cloud.columns) if columns else cloud.points


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
