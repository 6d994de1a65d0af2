"""PLY written: binary, little-endian, with coordinates in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cloud import coordinate_names

_NAMES = {
    "i1": "char",
    "u1": "uchar",
    "i2": "short",
    "u2": "ushort",
    "i4": "int",
    "u4": "uint",
    "f4": "float",
    "f8": "double",
}


def ply_bytes(
    points: NDArray[np.float64], columns: dict[str, NDArray[Any]], descriptions: dict[str, str] | None = None
) -> bytes:
    """A binary little-endian PLY with coordinates in double precision."""
    names = coordinate_names(points.shape[1])
    fields = [(name, "<f8") for name in names]
    for name, column in columns.items():
        kind = _written_type(name, column)
        if not name.isascii() or not name.isprintable() or " " in name or not name:
            raise ValueError(f"PLY cannot hold a column named {name!r}: one word of ASCII is needed")
        fields.append((name, "<" + kind))
    rows = np.empty(len(points), np.dtype(fields))
    for axis, name in enumerate(names):
        rows[name] = points[:, axis]
    for name, column in columns.items():
        rows[name] = column
    lines = ["ply", "format binary_little_endian 1.0"]
    for name, text in (descriptions or {}).items():
        lines.append(f"comment {name}: {' '.join(text.encode('ascii', 'replace').decode().split())}")
    lines.append(f"element vertex {len(points)}")
    lines += [f"property {_NAMES[kind[1:]]} {name}" for name, kind in fields]
    return ("\n".join([*lines, "end_header"]) + "\n").encode("ascii") + rows.tobytes()


def _written_type(name: str, column: NDArray[Any]) -> str:
    """The PLY type of a column; 64-bit integers, which PLY lacks, are narrowed where their values allow."""
    kind = {"b1": "u1", "f2": "f4"}.get(column.dtype.str[1:], column.dtype.str[1:])
    if kind in ("i8", "u8"):
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        for narrow in ("i4", "u4"):
            if np.iinfo(narrow).min <= low and high <= np.iinfo(narrow).max:
                return narrow
        raise ValueError(
            f"PLY has no 64-bit integers, and column {name!r} holds {low} to {high}; use .parquet"
        )
    if kind not in _NAMES:
        raise ValueError(f"PLY has no type for column {name!r} of {column.dtype}")
    return kind
