"""``heatfield search add`` and ``search remove``: an index with more clouds, or with fewer."""

from __future__ import annotations

import argparse
import difflib
import glob
import os
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from .._base.check import thread_count
from .._base.summary import plural
from .._search.index import HFSIndex
from ._collect import collect
from ._lock import alone
from ._ours import is_errors, may_replace
from ._parts import clear_parts, parts_of
from ._reading import saved_reading
from ._search_source import Source, from_files, from_table, say_broken, table_of

# Settings of the descriptor that change no number.
_HOW = ("n_jobs", "n_dims")
# Options of reading that decide which points a file gives.
_DECIDING = ("budget", "sampling", "seed", "atoms", "chain", "soma", "skeleton", "invalid")


def add(options: argparse.Namespace) -> int:
    """See `_search.run`."""
    if options.label is not None and options.labels is not None:
        raise ValueError("--label gives one class to all files, --labels a table of them: give one only")
    place = _checked(options.index)
    beside = place.with_name(place.name + ".csv")
    may_replace(beside.with_suffix(".errors.csv"), is_errors, "a list of failed files")
    table = table_of(options.paths)
    workers = thread_count(options.jobs)
    with alone(parts_of(place), place):
        index = HFSIndex.load(place)
        reading = saved_reading(index.notes_, place)
        settings = _settings(index)
        if table is not None:
            found = from_table(table, options.labels)
            _check_same(table, found, index, settings, reading)
        else:
            index.members_.check_new(collect(options.paths)[0])  # before the work
            found = from_files(
                options.paths, settings, reading, out=place, labels=options.labels, workers=workers,
                quiet=options.quiet, dims=index.descriptor_.n_dims_,
            )  # fmt: skip
        labels = _labels(options, found, index)
        had_classes = index.members_.classes() is not None
        index.add_features(found.features, labels=labels, names=found.files, sketches=found.sketches)
        index.save(place)
        clear_parts(parts_of(place))
    if not options.quiet:
        print(f"{plural(len(found.files), 'cloud')} added\n{index!r}\nindex -> {place}")
    if had_classes and index.members_.classes() is None:
        print(
            "heatfield search: files without a class were added to an index of classes; "
            "--label WORD or --labels TABLE gives them one",
            file=sys.stderr,
        )
    return say_broken(found, beside)


def remove(options: argparse.Namespace) -> int:
    """See `_search.run`."""
    place = _checked(options.index)
    with alone(parts_of(place), place):
        index = HFSIndex.load(place)
        gone = _meant(options.names, index.names)
        index.remove(gone).save(place)
    if not options.quiet:
        print(f"{plural(len(gone), 'cloud')} removed\n{index!r}\nindex -> {place}")
    return 0


def _checked(place: Path) -> Path:
    """The folder of an index; loading it says what is wrong with one that exists."""
    if not place.is_dir():
        HFSIndex.load(place)  # a ValueError: before a lock would make a folder beside it
    return place


def _settings(index: HFSIndex) -> dict[str, Any]:
    """The arguments of the descriptor of an index, as plain values."""
    given = index.descriptor_.get_params(deep=False)
    plain = {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in given.items()}
    return {name: value for name, value in plain.items() if name not in _HOW}


def _check_same(
    table: Path, found: Source, index: HFSIndex, settings: dict[str, Any], reading: dict[str, Any]
) -> None:
    """A ValueError where the features of a table are not what the index would have computed."""
    if found.dims != index.descriptor_.n_dims_:
        raise ValueError(
            f"{str(table)!r} describes points of {found.dims} coordinates, "
            f"the index those of {index.descriptor_.n_dims_}"
        )
    described = found.descriptor.get_params(deep=False)
    _same(table, {name: described[name] for name in settings}, settings, "described")
    if reading:
        asked = {name: reading[name] for name in _DECIDING if name in reading}
        _same(table, {name: found.reading.get(name) for name in asked}, asked, "read")


def _same(table: Path, theirs: dict[str, Any], ours: dict[str, Any], how: str) -> None:
    for name, value in ours.items():
        if _plain(theirs[name]) != _plain(value):
            raise ValueError(
                f"{str(table)!r} was {how} with {name}={theirs[name]!r}, the index with {name}={value!r}; "
                "describe the files again, or add them instead of the table"
            )


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(value) if isinstance(value, (list, tuple)) else value


def _labels(options: argparse.Namespace, found: Source, index: HFSIndex) -> list[Any] | None:
    """The class of each file; words that stand for a number of the index are that number."""
    words: Sequence[str | None] = [found.labels.get(file) for file in found.files]
    if options.label is not None:
        words = [options.label] * len(found.files)
    elif not found.labels and len(options.paths) == 1 and Path(options.paths[0]).is_dir():
        # One class folder alone does not tell classes apart; it does where the index knows its name.
        known = {str(label) for label in index.labels}
        parts = [Path(file).relative_to(options.paths[0]).parts for file in found.files]
        if all(len(part) > 1 and part[0] in known for part in parts):
            words = [part[0] for part in parts]
    if all(word is None for word in words):
        return None
    same = {str(label): label for label in index.labels if label is not None}
    return [None if word is None else same.get(word, word) for word in words]


def _meant(words: list[str], names: list[str]) -> list[str]:
    """Names of the index that are asked for: exact, as a path, or by a pattern."""
    known, gone = {*names}, dict[str, None]()
    for word in words:
        plain = os.path.normpath(word)
        if word in known or plain in known:
            gone[word if word in known else plain] = None
            continue
        matches = [name for name in names if fnmatchcase(name, word)] if glob.has_magic(word) else []
        if not matches:
            near = difflib.get_close_matches(word, names, n=1, cutoff=0.3)
            raise ValueError(
                f"{word!r} is not in the index; nothing was removed"
                + (f" (the nearest name is {near[0]!r})" if near else "")
            )
        gone |= dict.fromkeys(matches)
    return list(gone)
