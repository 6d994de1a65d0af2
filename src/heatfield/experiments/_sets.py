"""The data sets: made on the spot, read by their loaders, or any folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import datasets
from .._base.check import Array
from ..datasets import Dataset, content_hash
from ..datasets._dataset import read_files, take_each
from ..datasets._folder import labelled_files
from ..sampling import random_rows
from ._protocol import ORBITS, REAL, SYNTHETIC, Protocol, splits_digest

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
    title : str
        As tables show it.
    domain : str
    load : callable
        ``load(folder, size)`` gives clouds, labels and the test sets that the source prescribes.
    protocol : Protocol
    folder : bool
        Whether it is read from a folder that the user has.
    paper : str, optional
        Its column in the paper's tables, where the data are the paper's or rebuilt from its description.
    stands_for : str, optional
        The published set that it stands in for; its figures are then shown, but no difference is formed.
    real : bool
    boundary : bool
        Labels that rigid or local shape carries.
    points : int, optional
        Points that networks see; their own default otherwise.
    asked : bool
        Taken only where it is asked for by name.

    Examples
    --------
    >>> from heatfield.experiments import DATA_SETS
    >>> entry = DATA_SETS["orbit5k"]
    >>> entry.title, entry.protocol.kind, entry.folder
    ('Orbit5k', 'splits', False)
    """

    name: str
    title: str
    domain: str
    load: Callable[[Path | None, Size], Clouds]
    protocol: Protocol
    folder: bool = False
    paper: str | None = None
    stands_for: str | None = None
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
        return {
            "content": self.content[:24],
            "splits": splits_digest(self.tests),
            "clouds": len(self.clouds),
            "classes": len(np.unique(self.labels)),
            "protocol": self.entry.protocol.facts(),
        }


def load(entry: DataSet, folder: Path | None, size: Size, store: Path | None = None) -> Loaded:
    """Read or make a data set, and fix its splits."""
    if entry.folder and folder is None:
        raise ValueError(f"{entry.name} is read from a folder: give --data {entry.name}=FOLDER")
    clouds, labels, folds = entry.load(folder, size)
    # Folds that the source prescribes count for all of it only.
    if folds and size == Size():
        entry = replace(entry, protocol=replace(entry.protocol, kind="folds", count=len(folds)))
        tests = list(folds)
    else:
        tests = entry.protocol.tests(clouds, labels, store)
    return Loaded(entry, size, clouds, labels, tests, content_hash(clouds, labels))


def _made(make: Callable[..., tuple[list[Array], NDArray]], _: Path | None, size: Size) -> Clouds:
    clouds, labels = make(**({} if size.clouds is None else {"n_per_class": size.clouds}))
    return _thinned(clouds, size), labels, ()


def _read(loader: Callable[..., Dataset], folder: Path | None, size: Size) -> Clouds:
    found = loader(folder)
    rows = _first_rows(found.labels, size.clouds)
    clouds = [found.clouds[i] for i in rows]
    return _thinned(clouds, size), found.labels[rows], found.folds if size.clouds is None else ()


def _folder(budget: int | None, folder: Path | None, size: Size) -> Clouds:
    files, names = labelled_files(folder or "")
    if size.clouds is not None:  # the other files are not even opened
        files, names = take_each(files, names, sorted(set(names)), size.clouds)
    found = read_files(files, names, budget=budget)
    return _thinned(found.clouds, size), found.labels, ()


def _first_rows(labels: NDArray, count: int | None) -> NDArray:
    rows = [np.flatnonzero(labels == label)[:count] for label in np.unique(labels)]
    return np.sort(np.concatenate(rows))


def _thinned(clouds: list[Array], size: Size) -> list[Array]:
    if size.points is None:
        return clouds
    rng = np.random.default_rng(0)
    return [cloud[random_rows(len(cloud), size.points, rng)] for cloud in clouds]


def any_folder(name: str) -> DataSet:
    """The entry of a user's own data: one folder per class, at most 1,024 points, 5 folds."""
    return DataSet(name, name, "own data", partial(_folder, 1024), REAL, folder=True)


def _entries() -> dict[str, DataSet]:
    made = partial(DataSet, real=False)
    read = partial(DataSet, protocol=REAL, folder=True)
    entries = [
        made("processes", "Processes", "spatial processes", partial(_made, datasets.make_processes),
             SYNTHETIC, paper="Processes", points=256),
        made("orbit5k", "Orbit5k", "dynamical systems", partial(_made, datasets.make_orbit5k),
             ORBITS, paper="Orbit5k", points=1024),
        made("disks_annuli", "DisksAnnuli", "density and topology",
             partial(_made, datasets.make_disks_annuli), SYNTHETIC, paper="DisksAnnuli", points=1024),
        made("disks_annuli_balanced", "DisksAnnuli, balanced", "density and topology",
             partial(_made, partial(datasets.make_disks_annuli, form="balanced")), SYNTHETIC, points=1024,
             asked=True),
        made("four_shapes", "four shapes", "made for tests", partial(_made, datasets.make_four_shapes), REAL,
             boundary=True),
        read("allen", "Allen", "subcellular structures", partial(_read, datasets.load_allen), paper="Allen"),
        read("neuromorpho", "NeuroMorpho", "neurons", partial(_read, datasets.load_neuromorpho),
             paper="NeuroMorpho"),
        read("for_species20k", "FOR-species20K", "trees", partial(_read, datasets.load_for_species20k),
             paper="FOR-species"),
        read("scop", "SCOP", "protein folds", partial(_read, datasets.load_scop), paper="SCOP",
             points=128),
        read("intra", "IntrA", "aneurysms", partial(_read, datasets.load_intra), paper="IntrA",
             boundary=True),
        read("atlas1", "ATLAS-1", "cells", partial(_read, datasets.load_atlas1), paper="ATLAS-1",
             boundary=True),
        read("neurons4", "neurons4", "neurons", partial(_folder, 1024), stands_for="NeuroMorpho"),
        read("spines3", "spines3", "dendritic spines", partial(_folder, 1024), stands_for="Allen"),
        read("trees8", "trees8", "trees", partial(_folder, 1024), stands_for="FOR-species"),
        read("cath15", "cath15", "protein domains", partial(_folder, None), stands_for="SCOP",
             points=128),
        # As SCOP is in the paper: the descriptors too see 128 points of longer chains.
        read("cath15_128", "cath15, 128 points", "protein domains", partial(_folder, 128),
             stands_for="SCOP", points=128, asked=True),
        read("shapes10", "shapes10", "rigid shapes", partial(_folder, 1024), boundary=True),
    ]  # fmt: skip
    return {entry.name: entry for entry in entries}


DATA_SETS: dict[str, DataSet] = _entries()


def known_sets(folders: Mapping[str, Path]) -> dict[str, DataSet]:
    """All that can be had: what is made, and what a folder was given for; unknown names are own data."""
    found = {name: entry for name, entry in DATA_SETS.items() if not entry.folder or name in folders}
    return found | {name: any_folder(name) for name in folders if name not in DATA_SETS}
