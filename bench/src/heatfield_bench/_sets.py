"""The data sets (made on the spot, read by their loaders, or any folder), and how each is tested."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heatfield import datasets
from heatfield._base.check import Array, check_choice, check_count
from heatfield._base.summary import plural
from heatfield.datasets import content_hash, make_folds, make_splits
from heatfield.datasets._dataset import labelled_files, read_files
from heatfield.models.read_out import checked_training, split_folds
from heatfield.sampling import random_rows
from heatfield.workflows.files import column_of_files

from . import datasets as published

GROUPED = (
    ".grouped"  # ends the name of a data set whose folds split no group: another set for tables and keys
)
RESERVED = ("manifolds",)  # what the table "dimension" calls its data
_NAME = re.compile(r"[a-z0-9_]+([.-][a-z0-9_]+)*")
Clouds = tuple[list[Array], NDArray, tuple[NDArray[np.bool_], ...]]


@dataclass(frozen=True)
class Size:
    """How much of a data set is taken: clouds per class and points per cloud; None for all."""

    clouds: int | None = None
    points: int | None = None


@dataclass(frozen=True)
class Protocol:
    """Random splits or folds, and the score that the tables show.

    Guide: ``heatfield docs results/experiments``.

    Attributes
    ----------
    kind : "splits" or "folds"
    count : int
    share : float
        Part of every class that is tested; of folds that are drawn r times r / count.
    metric : "oa" or "macc"
        Overall accuracy, or its mean over classes.

    Examples
    --------
    >>> import numpy as np
    >>> from heatfield_bench import Protocol
    >>> folds = Protocol("folds", 2, 0.5, "oa")
    >>> tests = folds.tests([np.eye(2) * i for i in range(1, 5)], np.array([0, 0, 1, 1]))
    >>> [int(test.sum()) for test in tests]
    [2, 2]
    """

    kind: str
    count: int
    share: float
    metric: str

    def __post_init__(self) -> None:
        check_choice(self.kind, "kind", ("splits", "folds"))
        check_choice(self.metric, "metric", ("oa", "macc"))
        check_count(self.count, "count", 2 if self.kind == "folds" else 1)
        if not 0.0 < self.share < 1.0:
            raise ValueError(f"share must lie between 0 and 1, got {self.share!r}")

    def tests(self, clouds: Sequence[Array], labels: NDArray) -> list[NDArray[np.bool_]]:
        """For each split, True where a cloud is tested; decided by the content of the data alone.

        Parameters
        ----------
        clouds : sequence of (m_i, n) arrays
        labels : (N,)

        Returns
        -------
        tests : list of (N,) bool arrays
        """
        if self.kind == "folds":
            draws = max(1, int(self.count * self.share + 1e-9))
            folds = self.count // draws
            fold = make_folds(clouds, labels, folds)
            tests = [fold == k for k in range(folds)]
            for seed in range(1, draws):
                drawn = split_folds(labels, folds, random_state=seed)
                tests += [np.isin(np.arange(len(fold)), rows) for _, rows in drawn]
            return tests
        return list(make_splits(clouds, labels, self.count, test_share=self.share))


# The paper's: synthetic sets by overall accuracy over random splits, real ones
# by mean class accuracy over folds.
SYNTHETIC = Protocol("splits", 20, 0.2, "oa")
ORBITS = Protocol("splits", 20, 0.3, "oa")
REAL = Protocol("folds", 5, 0.2, "macc")


def splits_digest(tests: Sequence[NDArray[np.bool_]]) -> str:
    """A hash of all test sets: records of other splits are told apart by it."""
    digest = hashlib.sha256()
    for test in tests:
        digest.update(np.packbits(test).tobytes())
    return digest.hexdigest()[:16]


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

    def metadata(self) -> dict[str, Any]:
        """What a record says of its data."""
        own = self.entry.name not in SHIPPED and self.entry.title != self.entry.name
        return {
            "content": self.content[:24],
            "splits": splits_digest(self.tests),
            "clouds": len(self.clouds),
            "classes": len(np.unique(self.labels)),
            "protocol": asdict(self.entry.protocol),
            # Where another process shows the record, there is no entry that would tell these.
            **({"title": self.entry.title, "domain": self.entry.domain} if own else {}),
            **({"note": self.entry.note} if own and self.entry.note else {}),
        }


def load(entry: DataSet, folder: Path | None, size: Size) -> Loaded:
    """Read or make a data set, and fix its splits."""
    if entry.folder and folder is None:
        raise ValueError(f"{entry.name} is read from a folder: give --data {entry.name}=FOLDER")
    name, protocol, own = entry.name, entry.protocol, entry.name not in SHIPPED
    clouds, labels, *more = entry.load(folder, size)
    tests, whole = [np.asarray(test) for test in more[0]] if more else [], size == Size()
    if own:  # nobody has looked at these before
        clouds, labels = checked_training(clouds, labels)
        rows = first_rows(labels, size.clouds)
        whole = len(rows) == len(labels)
        clouds, labels = thinned([clouds[i] for i in rows], size), labels[rows]
    if tests and (whole or name.endswith(GROUPED)):  # those of the source count for all of it only
        if any(test.shape != labels.shape or test.dtype != bool for test in tests):
            raise ValueError(f"test sets of {name} must be True or False for each of {len(labels)} clouds")
        if own and len(tests) != protocol.count and not name.endswith(GROUPED):
            raise ValueError(f"{name} has {len(tests)} test sets, its protocol {protocol.count}")
        if not own or len(tests) != protocol.count:
            protocol = replace(protocol, kind="folds", count=len(tests))
    else:
        if own and protocol.kind == "folds" and size.clouds is not None:  # too small a part for all folds
            protocol = replace(protocol, count=min(protocol.count, size.clouds))
        tests = protocol.tests(clouds, labels)
        if own:
            check_tests(name, labels, tests)
    content = content_hash(clouds, labels)
    return Loaded(replace(entry, protocol=protocol), size, clouds, labels, tests, content)


def made_clouds(make: Callable[..., tuple[list[Array], NDArray]], _: Path | None, size: Size) -> Clouds:
    """Of a generator."""
    clouds, labels = make(**({} if size.clouds is None else {"n_per_class": size.clouds}))
    return thinned(clouds, size), labels, ()


def read_clouds(name: str, folder: Path | None, size: Size) -> Clouds:
    """Of a published data set."""
    found = published.load(name, folder or "")
    rows = first_rows(found.labels, size.clouds)
    clouds = [found.clouds[i] for i in rows]
    return thinned(clouds, size), found.labels[rows], found.folds if size.clouds is None else ()


def folder_clouds(budget: int | None, folder: Path | None, size: Size) -> Clouds:
    """Of any folder with one folder per class; at most ``budget`` points of each file."""
    files, names = labelled_files(folder or "")
    if size.clouds is not None:  # the other files are not even opened
        files, names = published.take_each(files, names, sorted(set(names)), size.clouds)
    found = read_files(files, names, budget=budget)
    return thinned(found.clouds, size), found.labels, ()


def grouped_clouds(
    budget: int | None, folds: int, groups: Mapping[str, str], folder: Path | None, size: Size
) -> Clouds:
    """Of any folder with one folder per class, with test sets that split no group."""
    root = folder or Path()
    files, names = labelled_files(root)
    own = np.array([groups[_inside(file, root)] for file in files])
    if size.clouds is not None:  # the first of every group, then the second: of a class not one group alone
        seen: Counter[tuple[str, str]] = Counter()
        turns = []
        for pair in zip(names, own.tolist(), strict=True):
            turns.append(seen[pair])
            seen[pair] += 1
        order = np.argsort(turns, kind="stable")
        rows = np.sort(order[first_rows(np.array(names)[order], size.clouds)])
        files, names, own = [files[i] for i in rows], [names[i] for i in rows], own[rows]
    found = read_files(files, names, budget=budget)
    tests = [np.isin(np.arange(len(own)), test) for _, test in split_folds(found.labels, folds, own)]
    return thinned(found.clouds, size), found.labels, tuple(tests)


def _inside(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix()


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
    """A ValueError where a data set cannot have this name."""
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
        read("allen", "Allen", "subcellular structures", partial(read_clouds, "allen"),
             paper="Allen"),
        read("neuromorpho", "NeuroMorpho", "neurons", partial(read_clouds, "neuromorpho"),
             paper="NeuroMorpho"),
        read("for_species20k", "FOR-species20K", "trees", partial(read_clouds, "for_species20k"),
             paper="FOR-species"),
        read("scop", "SCOP", "protein folds", partial(read_clouds, "scop"), paper="SCOP",
             points=128),
        read("intra", "IntrA", "aneurysms", partial(read_clouds, "intra"), paper="IntrA",
             boundary=True),
        read("atlas1", "ATLAS-1", "cells", partial(read_clouds, "atlas1"), paper="ATLAS-1",
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


def grouped(name: str, folder: Path, table: str | Path | Mapping[str, str]) -> DataSet:
    """The entry of a data set in folders of classes, with folds that split no group.

    The groups are a table with the columns file and group, or a mapping. It is a data set of its own, so that
    its results never stand in one column with those of other folds.
    """
    base = DATA_SETS.get(name) or any_folder(name)
    if not isinstance(base.load, partial) or base.load.func is not folder_clouds:
        raise ValueError(f"{name} is not read from one folder per class: it takes no groups")
    files, labels = labelled_files(folder)
    paths = [os.path.normpath(file) for file in files]
    known = column_of_files(table, "group", str(folder), paths)
    missing = next((file for file in paths if file not in known), None)
    if missing is not None:
        raise ValueError(f"the groups of {name} name no group of {missing!r}; every file needs one")
    # By the name in the folder: workers may know it by another path.
    groups = {_inside(file, folder): known[path] for file, path in zip(files, paths, strict=True)}
    try:
        folds = len(split_folds(np.array(labels), base.protocol.count, np.array([*groups.values()])))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return replace(
        base,
        name=f"{name}{GROUPED}",
        title=f"{base.title}, whole groups",
        load=partial(grouped_clouds, base.load.args[0], folds, groups),
        protocol=replace(base.protocol, count=folds, share=1.0 / folds),
        note=f"{plural(folds, 'fold')} of whole groups, of which there are {len(set(groups.values()))}",
        asked=False,
    )


def known_sets(
    folders: Mapping[str, Path], groups: Mapping[str, str | Path | Mapping[str, str]] | None = None
) -> tuple[dict[str, DataSet], list[str]]:
    """All that can be had: what is made, and what a folder was given for; unknown names are own data.

    Of own data the smallest class decides how many folds there are; a line each says where they are fewer.
    Names that end in `GROUPED` have their groups in ``groups``.
    """
    found = {name: entry for name, entry in DATA_SETS.items() if not entry.folder or name in folders}
    lines = []
    for name, folder in folders.items():
        if name in (groups or {}):
            found[name] = grouped(name.removesuffix(GROUPED), folder, (groups or {})[name])
        elif name not in DATA_SETS:
            protocol, line = fitting_folds(name, REAL, labelled_files(folder)[1])
            found[name] = any_folder(name, protocol)
            lines += [line] if line else []
    return found, lines
