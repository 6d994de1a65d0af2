"""Jobs: the cells of one record that are still to be computed, and how."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ._evaluate import NONE, Change, Kept, evaluate
from ._methods import METHODS, Method, Plan
from ._results import Key, Store
from ._sets import (
    DATA_SETS,
    RESERVED,
    SHIPPED,
    DataSet,
    Loaded,
    Protocol,
    Size,
    any_folder,
    known_sets,
    load,
)  # fmt: skip


@dataclass
class Context:
    """What a run was asked for, and the data set and features at hand, which several tables share."""

    store: Store
    budget: str = "smoke"
    folders: Mapping[str, Path] = field(default_factory=dict)  # of each data set that is read
    sets: Sequence[str] | None = None  # only these
    methods: Sequence[str] | None = None
    groups: Mapping[str, Any] = field(default_factory=dict)  # of files, by data set
    n_jobs: int = 1  # threads of feature extraction
    kept: Kept = field(default_factory=Kept)
    _held: tuple[tuple[str, Size, Protocol], Loaded] | None = None
    _known: tuple[dict[str, DataSet], list[str]] | None = None

    def known(self) -> tuple[dict[str, DataSet], list[str]]:
        """What `known_sets` finds; the folders are looked through once."""
        if self._known is None:
            self._known = known_sets(self.folders, self.groups)
        return self._known

    def available(self) -> list[DataSet]:
        """The data sets that can be had; where some were asked for, those, in their order."""
        known = self.known()[0]
        if self.sets is None:
            return [entry for entry in known.values() if not entry.asked]
        return [known[name] for name in self.sets if name in known]

    def recorded(self) -> list[DataSet]:
        """All data sets of which there are records, the registry's first."""
        found = [record for record in self.store.records() if record.key.data not in RESERVED]
        # Of a smaller budget, which takes fewer clouds, there may be fewer folds.
        found.sort(key=lambda record: (record.key.budget == "smoke") == (self.budget == "smoke"))
        known = {record.key.data: record.metadata for record in found}
        own = [any_folder(name) for name in sorted(known.keys() - set(DATA_SETS))]
        entries = [entry for name, entry in DATA_SETS.items() if name in known] + own
        return [e if e.name in SHIPPED else _as_recorded(e, known[e.name]) for e in entries]

    def wants(self, method: Method) -> bool:
        """Whether a method was asked for and can be run here."""
        return (self.methods is None or method.name in self.methods) and not method.missing()

    def load(self, entry: DataSet, size: Size) -> Loaded:
        """A data set; the last one is held in memory."""
        wanted = entry.name, size, entry.protocol
        if self._held is None or self._held[0] != wanted:
            self._held = None
            self._held = wanted, load(entry, self.folders.get(entry.name), size)
        return self._held[1]


def _as_recorded(entry: DataSet, metadata: Mapping[str, Any]) -> DataSet:
    """Users' own data as its records tell of it, which may have been computed by another process."""
    try:
        protocol = Protocol(**metadata["protocol"])
    except (TypeError, ValueError):
        return entry
    told = (
        {}
        if entry.name in DATA_SETS
        else {n: metadata[n] for n in ("title", "domain", "note") if n in metadata}
    )
    return replace(entry, protocol=protocol, **told)


@dataclass(frozen=True)
class Job:
    """Cells of one record.

    ``run(context, splits)`` gives each split with its cell; ``metadata(context)`` says what the data are.
    """

    key: Key
    splits: tuple[int, ...]
    cost: float  # of one split, in units that only their order and ratio matter of
    run: Callable[[Context, list[int]], Iterator[tuple[int, dict[str, Any]]]]
    metadata: Callable[[Context], dict[str, Any]]
    together: bool = False  # all splits are computed at once
    also: Key | None = None  # a record whose cells are part of these, and need not be trained again


def method_named(name: str) -> Method:
    """An entry of the registry, or a ValueError that lists all."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ";"
        raise ValueError(f"there is no method {name!r}{meant} there are {', '.join(map(repr, METHODS))}")
    return METHODS[name]


def evaluation_key(task: str, entry: DataSet, method: Method, plan: Plan, **more: Any) -> Key:
    """The key of a method on a data set; ``more`` is added to the recipe."""
    table = "curve" if "train_per_class" in more else method.table if task == "accuracy" else task
    size = plan.size.clouds, plan.size.points
    return Key(task, entry.name, method.name, plan.recipe | more, size, plan.label, table)


def evaluation(
    context: Context,
    task: str,
    entry: DataSet,
    method: Method,
    *,
    changes: Sequence[Change] = (NONE,),
    splits: int | None = None,
    plan: Plan | None = None,
    **more: Any,
) -> Job:
    """Train a method on the splits of a data set and test it, after each of the changes too.

    What is tested after changes is also tested as it is: that is a cell of the task "accuracy".
    """
    plan = plan or method.plan(entry, context.budget)
    key = evaluation_key(task, entry, method, plan, **more)
    count = plan.splits if splits is None else min(splits, plan.splits)
    descriptor = method.family == "descriptor"
    also = evaluation_key("accuracy", entry, method, plan, **more) if task == "rotation" else None
    weight = 1.0 if descriptor else {"smoke": 0.02, "reduced": 0.1, "paper": 1.0}[plan.label]
    size = 0.02 if context.budget == "smoke" else (4.0 if not entry.real else 0.6)
    return Job(
        key, tuple(range(count)), method.cost * weight * size * len(changes),
        partial(_evaluate, entry, method, plan.size, key.recipe, changes),
        partial(metadata_of, entry, plan.size), descriptor, also,
    )  # fmt: skip


# Functions of a module: workers of other processes get them by name.


def _evaluate(
    entry: DataSet, method: Method, size: Size, recipe: dict[str, Any], changes: Sequence[Change],
    context: Context, chosen: list[int],
) -> Iterator[tuple[int, dict[str, Any]]]:  # fmt: skip
    data = context.load(entry, size)
    return evaluate(method, recipe, data, chosen, changes, context.kept, n_jobs=context.n_jobs)


def metadata_of(entry: DataSet, size: Size, context: Context) -> dict[str, Any]:
    """What a record says of its data."""
    return context.load(entry, size).metadata()
