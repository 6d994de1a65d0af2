"""Points written as tables of text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cloud import coordinate_names
from ._text import shown


def table_bytes(points: NDArray[np.float64], columns: dict[str, NDArray[Any]], suffix: str) -> bytes:
    """Text with as many digits as give every number back exactly."""
    comma = suffix in (".csv", ".tsv")
    mark = {".csv": ",", ".tsv": "\t"}.get(suffix, " ")
    names = [*coordinate_names(points.shape[1]), *columns]
    for name, column in columns.items():
        words = [name, *(column.tolist() if column.dtype.kind == "U" else [])]
        for word in words:
            if (not comma and (not word or re.search(r"\s", word))) or set(word) & set('\n\r\t",;\0'):
                raise ValueError(
                    f"column {name!r}: {shown(word)} cannot be written to {suffix}; use .parquet or .npz"
                )
        if column.dtype.kind not in "fiubU":
            raise ValueError(f"column {name!r} of {column.dtype} cannot be written to {suffix}")
    if suffix == ".pts":
        if names[3:] not in ([], ["intensity"], ["intensity", "red", "green", "blue"]) or len(names) < 3:
            raise ValueError(f"PTS holds x y z, then intensity, red, green, blue; got {', '.join(names)}")
        head = f"{len(points)}\n"
    elif comma:
        head = mark.join(names) + "\n"
    else:
        head = "# " + " ".join(names) + "\n"
    lists = [_cells(column) for column in [*points.T, *columns.values()]]
    body = "".join(mark.join(row) + "\n" for row in zip(*lists, strict=True))
    return (head + body).encode("utf-8")


def _cells(column: NDArray[Any]) -> list[str]:
    if column.dtype.kind == "b":
        column = column.astype(np.uint8)
    if column.dtype.kind == "f" and column.dtype.itemsize < 8:
        return [str(v) for v in column]  # the shortest digits of the narrow type
    return [repr(v) for v in column.tolist()] if column.dtype.kind != "U" else column.tolist()
