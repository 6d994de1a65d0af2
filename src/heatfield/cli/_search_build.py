"""``heatfield search build``: files or a table of features in, an index out."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._base.check import Array, check_count, thread_count
from .._classifier.saving.folder import check_place
from .._features.descriptor import HFSDescriptor
from .._search.index import HFSIndex
from ._collect import collect
from ._described import describe_files, sketches_of
from ._features import TABLES, is_features, read_features, write_errors
from ._labels import class_labels
from ._lock import alone
from ._ours import is_errors, may_replace
from ._parts import clear_parts, parts_of
from ._reading import reading_options


@dataclass
class _Source:
    """Described clouds, wherever they come from."""

    files: list[str]
    features: Array
    descriptor: HFSDescriptor
    dims: int
    reading: dict[str, Any]
    labels: dict[str, str]
    sketches: list[Array] | None
    broken: list[tuple[str, str, str]]


def build(options: argparse.Namespace) -> int:
    """See `_search.run`."""
    out = check_place(options.out)
    errors = out.with_name(out.name + ".csv")
    may_replace(errors.with_suffix(".errors.csv"), is_errors, "a list of failed files")
    if options.metric == "learned" and len(options.paths) > 1 and options.labels is None:
        raise ValueError(
            "--metric learned needs classes: give one folder with a folder per class, or --labels"
        )
    index = HFSIndex(
        metric=options.metric, method=options.search, recall=options.recall, random_state=options.seed
    )
    if not 0.0 < options.recall < 1.0:
        raise ValueError(f"--recall must lie between 0 and 1, got {options.recall}")
    check_count(options.seed, "--seed", 0)
    table = Path(options.paths[0]) if len(options.paths) == 1 else None
    is_table = table is not None and table.is_file() and table.suffix in TABLES and is_features(table)
    with alone(parts_of(out), out):
        found = _from_table(options, table) if is_table and table is not None else _from_files(options, out)
        labels = [found.labels.get(file) for file in found.files] if found.labels else None
        if options.metric == "learned" and (labels is None or None in labels):
            raise ValueError(
                "--metric learned needs a class for every file: a folder per class, or --labels table.csv"
            )
        if options.evaluate and (labels is None or None in labels):
            raise ValueError("--evaluate needs a class for every file: a folder per class, or --labels")
        index.descriptor = found.descriptor
        index.build_features(
            found.features, n_dims=found.dims, labels=labels, names=found.files, sketches=found.sketches
        )
        index.save(out, notes={"reading": found.reading})
        clear_parts(parts_of(out))
    if not options.quiet:
        print(f"{index!r}\nindex -> {out}")
    if options.evaluate:
        print(index.evaluate())
    path = write_errors(errors, found.broken)
    if found.broken:
        total = len(found.files) + len(found.broken)
        print(
            f"heatfield search: {len(found.broken)} of {total} files could not be used, see {path}",
            file=sys.stderr,
        )
    return 1 if found.broken else 0


def _from_files(options: argparse.Namespace, out: Path) -> _Source:
    files, _ = collect(options.paths)
    whole = Path(options.paths[0]) if len(options.paths) == 1 and Path(options.paths[0]).is_dir() else None
    labels: dict[str, str] = {}
    if whole is not None or options.labels is not None:
        labels = class_labels(whole or Path(), files, options.labels)
    settings: dict[str, Any] = {
        "variant": options.variant or "joint",
        "n_scales": 8 if options.scales is None else check_count(options.scales, "--scales", 2),
    }
    reading = reading_options(options)
    found = describe_files(
        files, settings, reading, out=out, workers=thread_count(options.jobs), quiet=options.quiet
    )
    return _Source(
        found.files,
        found.features,
        HFSDescriptor(**settings),
        found.dims,
        reading,
        labels,
        sketches_of(found.files, reading, options.quiet),
        found.broken,
    )


def _from_table(options: argparse.Namespace, table: Path) -> _Source:
    for name in ("variant", "scales"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} belongs to files: {str(table)!r} says itself how it was described")
    found = read_features(table)
    known = np.asarray(np.isfinite(found.features).any(axis=1))
    broken = [
        (file, "", "it has no features") for file, good in zip(found.files, known, strict=True) if not good
    ]
    files = [file for file, good in zip(found.files, known, strict=True) if good]
    if not files:
        raise ValueError(f"{str(table)!r} holds no row with features")
    labels = found.labels or {}
    if options.labels is not None or not labels:
        root = (
            os.path.commonpath([os.path.dirname(file) or "." for file in files]) if not options.labels else ""
        )
        labels = class_labels(Path(root), files, options.labels)
    return _Source(
        files, found.features[known], found.descriptor, found.dims, found.reading, labels, None, broken
    )
