"""``write_points`` and ``write_signatures``: points and columns out, whole or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import channels as registry
from .._base.check import as_points
from .._base.files import write_atomically
from ..heat_signatures import Signatures
from ..local_type import LOCAL_TYPES, local_type_codes
from .cloud import Cloud, coordinate_names
from .formats import WRITABLE, WRITERS
from .formats.las import Record, length_unit

# LAS has 32 bytes for the meaning of a dimension: the names of local types, cut to fit.
_SHORT_TYPES = "0pt 1fil 2surf 3vol 4junc 5undef"
# Formats that say themselves what unit their coordinates have.
_UNITS = {"pdb": "Å", "cif": "Å"}


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
    data = WRITERS[suffix[0]](
        array, table, suffix=suffix[0], notes=dict(notes or {}), descriptions=dict(descriptions or {})
    )
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


def coordinate_unit(cloud: Cloud) -> str:
    """The unit of the coordinates: by the coordinate system (LAS) or the format; "" where it is not known.

    Examples
    --------
    >>> coordinate_unit(Cloud(np.zeros((1, 3)), format="pdb")), coordinate_unit(Cloud(np.zeros((1, 3))))
    ('Å', '')
    """
    return length_unit(cloud.notes.get("vlrs", [])) or _UNITS.get(cloud.format, "")


def channel_names() -> tuple[str, ...]:
    """What can be written: the channels of the registry, those on request too, and the local type.

    Guide: ``heatfield docs guide/describe``.

    Returns
    -------
    names : tuple of str

    Examples
    --------
    >>> from heatfield.io import channel_names
    >>> channel_names()[:4]
    ('density', 'dimension', 'transition', 'spectrum')
    """
    return (*(channel.name for channel in registry.CHANNELS if channel.in_table), "local_type")


def write_signatures(
    target: str,
    cloud: Cloud,
    s: Signatures,
    *,
    channels: tuple[str, ...] | None = None,
    dtype: str = "float64",
    note: str = "",
) -> None:
    """``density_s0 .. dimension_s0 .. transition_s0 .. spectrum1_s0 .. local_type_s0`` as columns of a file.

    In LAS they are extra dimensions, in PLY vertex properties, each described by its length √t. A local
    type is an integer, the place of its name in ``LOCAL_TYPES``. Columns of the source stay where the
    format can hold them. ``note`` is a line for the record of the LAS file that describes them.

    Guide: ``heatfield docs guide/describe``.

    Parameters
    ----------
    target : str
        The file; its suffix is the format.
    cloud : Cloud
        What was read.
    s : Signatures
        At its points.
    channels : tuple of str, optional
        Of `channel_names`; density, dimension, transition and spectrum if not given.
    dtype : str
        Of the columns.
    note : str

    Examples
    --------
    >>> import tempfile, heatfield as hf
    >>> points, _ = hf.datasets.make_mixed_shape()
    >>> cloud, s = hf.Cloud(points[:50]), hf.signatures(points[:50], lengths=[0.1, 0.2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.io.write_signatures(f"{folder}/a.ply", cloud, s, channels=("dimension", "local_type"))
    ...     sorted(hf.read_cloud(f"{folder}/a.ply").columns)
    ['dimension_s0', 'dimension_s1', 'local_type_s0', 'local_type_s1']
    """
    suffix = Path(target).suffix
    made = {
        name: column if column.dtype.kind == "u" else column.astype(dtype)
        for name, column in _channels(s, channels).items()
    }
    unit = coordinate_unit(cloud)
    descriptions = {name: _meaning(name, s, unit, suffix in (".las", ".laz")) for name in made}
    kept = {name: c for name, c in holdable_columns(cloud.columns, suffix).items() if name not in made}
    notes = dict(cloud.notes)
    if suffix in (".las", ".laz"):  # in full: a dimension holds 32 bytes
        full = "\n".join(f"{name}: {_meaning(name, s, unit, False)}" for name in made) + note
        others = [r for r in notes.get("vlrs", []) if r.user != "heatfield"]
        notes["vlrs"] = [*others, Record("heatfield", 1, "signatures at every point", full.encode()[:65_000])]
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    write_points(target, cloud.points, {**kept, **made}, notes=notes, descriptions=descriptions)


def _channels(s: Signatures, channels: tuple[str, ...] | None) -> dict[str, NDArray[Any]]:
    """The columns of the chosen channels; None is all but the local type."""
    names = None if channels is None else [name for name in channels if name != "local_type"]
    made: dict[str, NDArray[Any]] = {} if names == [] else {**registry.file_columns(s, names)}
    if s.spectrum is not None and channels is not None and "local_type" in channels:
        codes = local_type_codes(s.dimension, s.transition, s.spectrum)
        made |= {f"local_type_s{a}": codes[:, a].astype(np.uint8) for a in range(codes.shape[1])}
    return made


def _meaning(name: str, s: Signatures, unit: str, short: bool) -> str:
    """What a column is: its length √t in the unit of the coordinates, the names of its codes."""
    length = float(np.sqrt(np.atleast_2d(s.scales)[0, int(name.rpartition("_s")[2])]))
    plain = unit.replace("Å", "angstrom")  # headers of PLY and LAS are ASCII
    at = f"sqrt(t)={length:.5g}{' ' * bool(plain)}{plain}"
    if not name.startswith("local_type"):
        return at
    return _SHORT_TYPES if short else ", ".join(f"{i} {t}" for i, t in enumerate(LOCAL_TYPES)) + f"; {at}"


def holdable_columns(columns: dict[str, NDArray[Any]], suffix: str) -> dict[str, NDArray[Any]]:
    """The columns that the format can hold, integers as floats where PLY has none so wide."""
    if suffix not in (".ply", ".las", ".laz", ".pcd"):
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
