"""Described clouds for an index: from files, or from a table of features."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._base.check import Array
from .._features.descriptor import HFSDescriptor
from ._collect import collect
from ._described import describe_files, sketches_of
from ._features import TABLES, is_features, read_features, write_errors
from ._labels import class_labels


@dataclass
class Source:
    """Described clouds, wherever they come from."""

    files: list[str]
    features: Array
    descriptor: HFSDescriptor
    dims: int
    reading: dict[str, Any]
    labels: dict[str, str]
    sketches: list[Array] | None
    broken: list[tuple[str, str, str]]


def say_broken(found: Source, beside: Path) -> int:
    """List the files that could not be used beside the index; the exit code of the command."""
    path = write_errors(beside, found.broken)
    if found.broken:
        total = len(found.files) + len(found.broken)
        print(
            f"heatfield search: {len(found.broken)} of {total} files could not be used, see {path}",
            file=sys.stderr,
        )
    return 1 if found.broken else 0


def table_of(paths: list[str]) -> Path | None:
    """The table of features that the only path is; None where files are meant."""
    table = Path(paths[0]) if len(paths) == 1 else None
    if table is None or not table.is_file() or table.suffix not in TABLES or not is_features(table):
        return None
    return table


def from_files(
    paths: list[str],
    settings: dict[str, Any],
    reading: dict[str, Any],
    *,
    out: Path,
    labels: Path | None,
    workers: int,
    quiet: bool,
    dims: int | None = None,
) -> Source:
    """Read and describe files; ``settings`` are arguments of `HFSDescriptor`.

    What is described is kept beside ``out``, as long as the command is not done.
    """
    files, _ = collect(paths)
    whole = Path(paths[0]) if len(paths) == 1 and Path(paths[0]).is_dir() else None
    known: dict[str, str] = {}
    if whole is not None or labels is not None:
        known = class_labels(whole or Path(), files, labels)
    found = describe_files(files, settings, reading, out=out, workers=workers, quiet=quiet, dims=dims)
    return Source(
        found.files,
        found.features,
        HFSDescriptor(**settings),
        found.dims,
        reading,
        known,
        sketches_of(found.files, reading, quiet)[0],
        found.broken,
    )


def from_table(table: Path, labels: Path | None) -> Source:
    """The rows of a table that 'heatfield describe' wrote."""
    found = read_features(table)
    known = np.asarray(np.isfinite(found.features).any(axis=1))
    broken = [
        (file, "", "it has no features") for file, good in zip(found.files, known, strict=True) if not good
    ]
    files = [file for file, good in zip(found.files, known, strict=True) if good]
    if not files:
        raise ValueError(f"{str(table)!r} holds no row with features")
    classes = found.labels or {}
    if labels is not None or not classes:
        root = os.path.commonpath([os.path.dirname(file) or "." for file in files]) if not labels else ""
        classes = class_labels(Path(root), files, labels)
    return Source(
        files, found.features[known], found.descriptor, found.dims, found.reading, classes, None, broken
    )
