"""The data sets: made on the spot, read by their loaders, or any folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heatfield import datasets
from heatfield._base.check import Array
from heatfield.datasets import Dataset, content_hash
from heatfield.datasets._dataset import read_files, take_each
from heatfield.datasets._folder import labelled_files
from heatfield.models.read_out import checked_training
from heatfield.sampling import random_rows

from . import datasets as published
from ._protocol import ORBITS, REAL, SYNTHETIC, Protocol, splits_digest

RESERVED = ("manifolds",)  # what the table "dimension" calls its data
_NAME = re.compile(r"[a-z0-9_]+([.-][a-z0-9_]+)*")
Clouds = tuple[list[Array], NDArray, tuple[NDArray[np.bool_], ...]]


@dataclass(frozen=True)
class Size:
    """How much of a data set is taken: clouds per class and points per cloud; None for all."""

    clouds: int | None = None
    points: int | None = None


@dataclass(frozen=True)
class DataSet:
    """An entry of the registry.

    Guide: ``heatfield docs results/experiments``.

    Attributes
    ----------
    name : str
        Of small letters, digits and ``_``, with single ``.`` or ``-`` between them.
    title : str
        As tables show it.
    domain : str
    load : callable
        ``load(folder, size)`` gives clouds, labels and, where the source prescribes some, test sets. What an
        entry of your own gives beyond ``size`` is cut off.
    protocol : Protocol
    folder : bool
        Whether it is read from a folder that the user has.
    paper : str, optional
        Its column in the paper's tables, where the data are the paper's or rebuilt from its description.
    note : str
        What a reader of its figures should know; printed below the tables.
    real : bool
    boundary : bool
        Labels that rigid or local shape carries.
    points : int, optional
        Points that networks see; their own default otherwise.
    asked : bool
        Taken only where it is asked for by name.

    Examples
    --------
    >>> from heatfield_bench import DATA_SETS
    >>> entry = DATA_SETS["orbit5k"]
    >>> entry.title, entry.protocol.kind, entry.folder
    ('Orbit5k', 'splits', False)
    """

    name: str
    title: str
    domain: str
    load: Callable[[Path | None, Size], Iterable[Any]]
    protocol: Protocol
    folder: bool = False
    paper: str | None = None
    note: str = ""
    real: bool = True
    boundary: bool = False
    points: int | None = None
    asked: bool = False


@dataclass(frozen=True)
class Loaded:
    """A data set in memory, with its splits."""

    entry: DataSet
    size: Size
    clouds: list[Array]
    labels: NDArray
    tests: list[NDArray[np.bool_]]
    content: str

    @property
    def n_dims(self) -> int:
        """Coordinates per point."""
        return int(self.clouds[0].shape[1])

    def facts(self) -> dict[str, Any]:
        """What a record says of its data."""
        own = self.entry.name not in SHIPPED and self.entry.title != self.entry.name
        return {
            "content": self.content[:24],
            "splits": splits_digest(self.tests),
            "clouds": len(self.clouds),
            "classes": len(np.unique(self.labels)),
            "protocol": self.entry.protocol.facts(),
            # Where another process shows the record, there is no entry that would tell these.
            **({"title": self.entry.title, "domain": self.entry.domain} if own else {}),
        }


def load(entry: DataSet, folder: Path | None, size: Size) -> Loaded:
    """Read or make a data set, and fix its splits."""
    if entry.folder and folder is None:
        raise ValueError(f"{entry.name} is read from a folder: give --data {entry.name}=FOLDER")
    if entry.name not in SHIPPED:
        return _load_own(entry, folder, size)
    clouds, labels, folds = entry.load(folder, size)
    # Folds that the source prescribes count for all of it only.
    if folds and size == Size():
        entry = replace(entry, protocol=replace(entry.protocol, kind="folds", count=len(folds)))
        tests = list(folds)
    else:
        tests = entry.protocol.tests(clouds, labels)
    return Loaded(entry, size, clouds, labels, tests, content_hash(clouds, labels))


def _load_own(entry: DataSet, folder: Path | None, size: Size) -> Loaded:
    """As `load`, with what nobody has looked at before: any number of clouds, classes and test sets."""
    found, given, *more = entry.load(folder, size)
    found, given = checked_training(found, given)
    rows = first_rows(given, size.clouds)
    clouds, labels = thinned([found[i] for i in rows], size), given[rows]
    # As above: those of the source count for all of it only.
    tests = [np.asarray(test) for test in more[0]] if more and len(rows) == len(given) else []
    if any(test.shape != labels.shape or test.dtype != bool for test in tests):
        raise ValueError(f"test sets of {entry.name} must be True or False for each of {len(labels)} clouds")
    if tests and len(tests) != entry.protocol.count:
        raise ValueError(f"{entry.name} has {len(tests)} test sets, its protocol {entry.protocol.count}")
    if not tests:
        if entry.protocol.kind == "folds" and size.clouds is not None:  # too small a part for all folds
            count = min(entry.protocol.count, size.clouds)
            entry = replace(entry, protocol=replace(entry.protocol, count=count))
        tests = entry.protocol.tests(clouds, labels)
        check_tests(entry.name, labels, tests)
    return Loaded(entry, size, clouds, labels, tests, content_hash(clouds, labels))


def made_clouds(make: Callable[..., tuple[list[Array], NDArray]], _: Path | None, size: Size) -> Clouds:
    """Of a generator."""
    clouds, labels = make(**({} if size.clouds is None else {"n_per_class": size.clouds}))
    return thinned(clouds, size), labels, ()


def read_clouds(loader: Callable[..., Dataset], folder: Path | None, size: Size) -> Clouds:
    """Of a loader of the package."""
    found = loader(folder)
    rows = first_rows(found.labels, size.clouds)
    clouds = [found.clouds[i] for i in rows]
    return thinned(clouds, size), found.labels[rows], found.folds if size.clouds is None else ()


def folder_clouds(budget: int | None, folder: Path | None, size: Size) -> Clouds:
    """Of any folder with one folder per class; at most ``budget`` points of each file."""
    files, names = labelled_files(folder or "")
    if size.clouds is not None:  # the other files are not even opened
        files, names = take_each(files, names, sorted(set(names)), size.clouds)
    found = read_files(files, names, budget=budget)
    return thinned(found.clouds, size), found.labels, ()


def first_rows(labels: NDArray, count: int | None) -> NDArray:
    """The first so many clouds of each class."""
    rows = [np.flatnonzero(labels == label)[:count] for label in np.unique(labels)]
    return np.sort(np.concatenate(rows))


def thinned(clouds: list[Array], size: Size) -> list[Array]:
    """Clouds of at most so many points."""
    if size.points is None:
        return clouds
    rng = np.random.default_rng(0)
    return [cloud[random_rows(len(cloud), size.points, rng)] for cloud in clouds]


def check_name(name: str) -> None:
    """A ValueError where a data set cannot have this name.

    Examples
    --------
    >>> check_name("my_data-2")
    >>> check_name("My Data")
    Traceback (most recent call last):
    ValueError: the name of a data set must be of a to z, 0 to 9 and _, with single . or - between them, ...
    """
    if name in RESERVED:
        raise ValueError(f"a data set cannot be called {name!r}: that name has another use")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        allowed = "of a to z, 0 to 9 and _, with single . or - between them"
        raise ValueError(f"the name of a data set must be {allowed}, got {name!r}")


def fitting_folds(name: str, protocol: Protocol, labels: Sequence[Any]) -> tuple[Protocol, str]:
    """As many folds as the smallest class has clouds, where those are fewer, and a line that says so."""
    values, counts = np.unique(np.asarray(labels), return_counts=True)
    _check_classes(name, values, counts)
    count = int(counts.min())
    if protocol.kind != "folds" or count >= protocol.count:
        return protocol, ""
    why = f"class {values.tolist()[counts.argmin()]!r} has {count} clouds only"
    line = f"{name}: {count} folds instead of {protocol.count}, {why}"
    return replace(protocol, count=count, share=1.0 / count), line


def check_tests(name: str, labels: NDArray, tests: Sequence[NDArray[np.bool_]]) -> None:
    """A ValueError where a class has no cloud to train on or none to test in one of the splits."""
    values, counts = np.unique(labels, return_counts=True)
    _check_classes(name, values, counts)
    for number, test in enumerate(tests):
        for label, count in zip(values.tolist(), counts.tolist(), strict=True):
            tested = int((labels[test] == label).sum())
            if not 0 < tested < count:
                what = "tested" if not tested else "left to train on"
                raise ValueError(
                    f"{name}: of the {count} clouds of class {label!r} none is {what} in split {number}; "
                    "its protocol needs more clouds, or other folds or shares"
                )


def _check_classes(name: str, values: NDArray, counts: NDArray) -> None:
    if len(values) < 2:
        raise ValueError(f"{name} must hold at least two classes, got {values.tolist()}")
    if counts.min() < 2:
        rare = values.tolist()[counts.argmin()]
        raise ValueError(f"class {rare!r} of {name} has one cloud only: none to train on, or none to test")


def any_folder(name: str, protocol: Protocol = REAL) -> DataSet:
    """The entry of a user's own data: one folder per class, at most 1,024 points, 5 folds."""
    return DataSet(name, name, "own data", partial(folder_clouds, 1024), protocol, folder=True)


_CATH = "folds split superfamilies: relatives of a test domain are among the training domains"


def _entries() -> dict[str, DataSet]:
    made = partial(DataSet, real=False)
    read = partial(DataSet, protocol=REAL, folder=True)
    entries = [
        made("processes", "Processes", "spatial processes", partial(made_clouds, datasets.make_processes),
             SYNTHETIC, paper="Processes", points=256),
        made("orbit5k", "Orbit5k", "dynamical systems", partial(made_clouds, datasets.make_orbit5k),
             ORBITS, paper="Orbit5k", points=1024),
        made("disks_annuli", "DisksAnnuli", "density and topology",
             partial(made_clouds, datasets.make_disks_annuli), SYNTHETIC, paper="DisksAnnuli", points=1024),
        made("disks_annuli_balanced", "DisksAnnuli, balanced", "density and topology",
             partial(made_clouds, partial(datasets.make_disks_annuli, form="balanced")), SYNTHETIC,
             points=1024, asked=True),
        made("four_shapes", "four shapes", "made for tests", partial(made_clouds, datasets.make_four_shapes),
             REAL, boundary=True),
        read("allen", "Allen", "subcellular structures", partial(read_clouds, published.load_allen),
             paper="Allen"),
        read("neuromorpho", "NeuroMorpho", "neurons", partial(read_clouds, published.load_neuromorpho),
             paper="NeuroMorpho"),
        read("for_species20k", "FOR-species20K", "trees", partial(read_clouds, published.load_for_species20k),
             paper="FOR-species"),
        read("scop", "SCOP", "protein folds", partial(read_clouds, published.load_scop), paper="SCOP",
             points=128),
        read("intra", "IntrA", "aneurysms", partial(read_clouds, published.load_intra), paper="IntrA",
             boundary=True),
        read("atlas1", "ATLAS-1", "cells", partial(read_clouds, published.load_atlas1), paper="ATLAS-1",
             boundary=True),
        read("neurons4", "neurons4", "neurons", partial(folder_clouds, 1024),
             note="most neurons of a class come from one laboratory, whose way of tracing tells the class"),
        read("spines3", "spines3", "dendritic spines", partial(folder_clouds, 1024)),
        read("trees8", "trees8", "trees", partial(folder_clouds, 1024),
             note="most trees of a species come from one site, so that its scan tells the species"),
        read("cath15", "cath15", "protein domains", partial(folder_clouds, None), points=128, note=_CATH),
        # As SCOP is in the paper: the descriptors too see 128 points of longer chains.
        read("cath15_128", "cath15, 128 points", "protein domains", partial(folder_clouds, 128),
             points=128, asked=True, note=_CATH),
        read("shapes10", "shapes10", "rigid shapes", partial(folder_clouds, 1024), boundary=True),
    ]  # fmt: skip
    return {entry.name: entry for entry in entries}


DATA_SETS: dict[str, DataSet] = _entries()
SHIPPED = frozenset(DATA_SETS)  # entries that users add are not in it


def known_sets(folders: Mapping[str, Path]) -> tuple[dict[str, DataSet], list[str]]:
    """All that can be had: what is made, and what a folder was given for; unknown names are own data.

    Of own data the smallest class decides how many folds there are; a line each says where they are fewer.
    """
    found = {name: entry for name, entry in DATA_SETS.items() if not entry.folder or name in folders}
    lines = []
    for name, folder in folders.items():
        if name not in DATA_SETS:
            protocol, line = fitting_folds(name, REAL, labelled_files(folder)[1])
            found[name] = any_folder(name, protocol)
            lines += [line] if line else []
    return found, lines
