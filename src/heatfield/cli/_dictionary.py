"""What stands in a table of features beside the features, and a dictionary of all its columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.files import write_atomically
from .._features.column_words import BESIDE, BESIDE_LENGTH, BLOCKS
from .._features.descriptor import HFSDescriptor
from .._signatures.scales import geometric

COLUMNS = b"column,block,scales,meaning"


def facts_of(
    extents: NDArray[np.float64], descriptor: dict[str, Any], labels: Sequence[str] | None
) -> dict[str, NDArray[Any]]:
    """``label``, ``r_nn``, ``diameter`` and the lengths of all scales, ``length_s0 ..``, a row per cloud."""
    facts: dict[str, NDArray[Any]] = {} if labels is None else {"label": np.array(labels, dtype=str)}
    facts |= {"r_nn": extents[:, 0], "diameter": extents[:, 1]}
    if descriptor["lengths"] is not None:
        table = np.tile(descriptor["lengths"], (len(extents), 1))
    else:
        low, high = descriptor["c_min"] * extents[:, 0] ** 2, descriptor["c_max"] * extents[:, 1] ** 2
        count = descriptor["n_scales"]
        rows = [
            geometric(a, b, count) if a > 0.0 else np.full(count, np.nan)
            for a, b in zip(low, high, strict=True)
        ]
        table = np.sqrt(np.array(rows).reshape(-1, count))
    return facts | {f"length_s{a}": table[:, a] for a in range(table.shape[1])}


def write_dictionary(target: Path, facts: dict[str, NDArray[Any]], descriptor: HFSDescriptor) -> Path:
    """``features.columns.csv`` beside the table: every column, its block, its scales and what it means."""
    path = dictionary_path(target)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS.decode().split(","))
    for name in ("file", "points_in_file", "points", *facts):
        length = re.fullmatch(r"length_s(\d+)", name)
        meaning = BESIDE_LENGTH if length else BESIDE[name]
        writer.writerow([name, "", length[1] if length else "", meaning])
    layout = descriptor.layout()
    for block, place in layout.columns.items():
        for name in layout.names[place]:
            scales = " ".join(re.findall(r"_s(\d+)", name))
            writer.writerow([name, block, scales, BLOCKS[block]])
    write_atomically(path, out.getvalue().encode())
    return path


def dictionary_path(target: Path) -> Path:
    """Where the dictionary of a table lies."""
    return target.with_suffix(".columns.csv")
