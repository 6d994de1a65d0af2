"""``read_points`` and ``read_cloud``: any file in, points out."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, overload

from numpy.typing import NDArray

from .._base.check import OutOfRangeError, check_choice, check_count
from ..options import Reading, takes
from ..sampling import seed_from_name
from ..sampling._sample import resample
from ._arrays import all_clouds
from ._atoms import AtomChoice
from ._cif import read_cif
from ._cloud import Array, Cloud, require_finite
from ._detect import FORMATS, detect
from ._error import ReadError
from ._hdf5 import hdf5_arrays, read_hdf5
from ._las import read_las
from ._mesh import read_obj, read_stl
from ._numpy import npz_arrays, read_npy, read_npz
from ._off import read_off
from ._parquet import read_parquet
from ._pcd import read_pcd
from ._pdb import read_pdb
from ._ply import read_ply
from ._source import Source, open_source
from ._swc import read_swc
from ._table import read_table
from ._xyz import read_xyz

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class _Options:
    """What some readers ask for."""

    atoms: AtomChoice
    soma: str
    dims: int | None


# A new format is an entry here, and one in `_detect` that says how it is known.
READERS: dict[str, Callable[[Source, _Options], Cloud]] = {
    "ply": lambda source, _: read_ply(source),
    "pcd": lambda source, _: read_pcd(source),
    "las": lambda source, _: read_las(source),
    "swc": lambda source, own: read_swc(source, own.soma),
    "pdb": lambda source, own: read_pdb(source, own.atoms),
    "cif": lambda source, own: read_cif(source, own.atoms),
    "xyz": lambda source, own: read_xyz(source, own.atoms.model),
    "table": lambda source, own: read_table(source, own.dims),
    "npy": lambda source, own: read_npy(source, own.dims),
    "npz": lambda source, own: read_npz(source, own.dims),
    "hdf5": lambda source, own: read_hdf5(source, own.dims),
    "off": lambda source, _: read_off(source),
    "obj": lambda source, _: read_obj(source),
    "stl": lambda source, _: read_stl(source),
    "parquet": lambda source, _: read_parquet(source),
}


@takes(Reading)
def read_cloud(path: PathLike, *, format: str | None = None, reading: Reading) -> Cloud:
    """Read a file with everything in it.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    path : path-like
        PLY, PCD, LAS, LAZ, COPC, SWC, PDB, mmCIF, XYZ, TXT, CSV, PTS, NPY, NPZ, HDF5, OFF, OBJ, STL
        or Parquet, plain or gzipped. The content decides, the suffix only where the content is silent.
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
    own = reading
    source = open_source(path, own.max_bytes)
    options = _Options(AtomChoice(own.atoms, own.chain, own.model, own.altloc), own.soma, own.dims)
    try:
        cloud = require_finite(source, READERS[format or detect(source)](source, options), own.invalid)
        cloud.notes["points_in_file"] = len(cloud.points)
        return resample(cloud, own, seed_from_name(Path(source.path).name, own.seed))
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
        NPZ or HDF5 with an array (N, m, n), as ModelNet40 is distributed (``data``, ``label``), or with all
        points in one array (total, n) and ``offsets`` (N + 1,) at which clouds begin and end.
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
    source = open_source(path, max_bytes)
    kind = detect(source)
    opened = {"npz": npz_arrays, "hdf5": hdf5_arrays}.get(kind)
    if opened is None:
        raise source.error(f"is a {kind.upper()} file of one cloud; many are read from NPZ and HDF5")
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
