"""What a user calls: run tables, show them. What is done is left alone, the rest goes on in order of value.

What was asked for is checked before anything is computed. Cells are computed here or by the workers of an
executor; the caller alone writes them, and holds the folder of results while it does. Workers need the data
sets under the same paths, but no folder of results.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

from heatfield import jobs as engine
from heatfield._base.check import check_choice, check_count, thread_count
from heatfield._base.summary import plural
from heatfield.options import Run, takes

from ._evaluate import Kept
from ._grid import Grid, mean_of
from ._jobs import Context, Job, method_named
from ._methods import BUDGETS, METHODS
from ._results import Store, machine, same_data
from ._sets import DATA_SETS, GROUPED, check_name
from .tables import TABLES, table
from .tables.dimension import ESTIMATORS, skdim

# What one job may run into without ending the others.
PROBLEMS = (ValueError, OSError, RuntimeError, ArithmeticError, ImportError)
METRICS = {"oa": "overall accuracy", "macc": "mean class accuracy"}


@takes(Run)
def run(
    tables: str | Sequence[str] | None = None,
    *,
    budget: str = "smoke",
    data: Mapping[str, str | Path] | None = None,
    groups: Mapping[str, str | Path | Mapping[str, str]] | None = None,
    results: str | Path = "heatfield-experiments",
    features: str | Path | None = None,
    sets: str | Sequence[str] | None = None,
    methods: str | Sequence[str] | None = None,
    splits: int | None = None,
    again: bool = False,
    run: Run,
) -> dict[str, int]:
    """Compute the cells of tables that are not done yet.

    Guide: ``heatfield docs results/experiments``.

    Parameters
    ----------
    tables : str or sequence of str, optional
        Of `TABLES`; all if not given. A table that is named must have one of the methods and data sets.
    budget : "smoke", "reduced" or "paper"
    data : mapping, optional
        Folder of each data set that is read; an unknown name is a data set of your own, with fewer than five
        folds where its smallest class has fewer clouds.
    groups : mapping, optional
        Of a data set in folders of classes, a table with the columns file (in its folder) and group, or a
        mapping: laboratories, animals, sites, families. No fold splits a group, and the results are a column
        of their own.
    results : path-like
        Folder of the results, of one run at a time. A run goes on with what is there.
    features : path-like, optional
        Folder that keeps the features of descriptors from run to run; those of other code of the library are
        computed again.
    sets, methods : str or sequence of str, optional
        Only these. The table "dimension" has manifolds of its own and is passed over where sets are given.
    splits : int, optional
        Only the first so many splits or folds of each data set: a later run computes the others.
    again : bool
        Compute all of it again; a result counts when it is finished.
    executor : str, distributed.Client or concurrent.futures.Executor, optional
        Workers that compute cells side by side, as of `heatfield.describe_files`. They need the folders of
        ``data`` under the same paths; results are written here.
    progress : bool, optional
        False to print nothing.
    {options}

    Returns
    -------
    counts : dict
        Cells ``computed``, done ``before``, and ``failed``.

    Examples
    --------
    >>> import tempfile
    >>> import heatfield_bench as hb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     counts = hb.run(
    ...         ["main"], sets=["processes"], methods=["HFS-simple"], results=folder, progress=False
    ...     )
    ...     grid, = hb.show(["main"], budget="smoke", results=folder)
    >>> counts["computed"], grid.columns
    (2, ('Processes',))
    """
    context = new_context(budget, data, results, sets, methods, groups)
    context.kept = Kept(features)
    if splits is not None:
        check_count(splits, "splits", 1)
    jobs = [replace(job, splits=job.splits[:splits]) for job in asked_jobs(context, tables)]
    for line in () if run.progress is False else (*remarks(context), *context.store.problems()):
        print(line, file=sys.stderr)
    return run_jobs(context, jobs, again=again, options=run)


def show(
    tables: str | Sequence[str] | None = None,
    *,
    budget: str = "paper",
    results: str | Path = "heatfield-experiments",
) -> list[Grid]:
    """The tables as they are now; those without any result are left out.

    Guide: ``heatfield docs results/experiments``.

    Parameters
    ----------
    tables : str or sequence of str, optional
        Of `TABLES`; all if not given.
    budget : str
        "smoke" shows what was computed at that budget; otherwise every cell is the paper's budget where that
        was run, else the reduced one, and says which.
    results : path-like

    Returns
    -------
    grids : list of Grid

    Examples
    --------
    >>> import tempfile
    >>> import heatfield_bench as hb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hb.show(["main"], results=folder)  # nothing was computed yet
    []
    """
    context = new_context(budget, None, results, None, None)
    names = names_of("tables", tables) or TABLES
    return [grid for name in names for grid in table(name).grids(context) if grid.filled]


# --- what was asked for --------------------------------------------------------------


def names_of(what: str, given: str | Sequence[str] | None) -> list[str] | None:
    """Names, given as one or as a list; None for all there are."""
    if given is None:
        return None
    names: Any = [given] if isinstance(given, str) else given
    if isinstance(names, Mapping) or not hasattr(names, "__iter__"):
        raise ValueError(f"{what} must be a list of names, got {given!r}")
    names = list(names)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{what} must be a list of at least one name, or left out for all, got {given!r}")
    return names


def new_context(
    budget: str,
    data: Mapping[str, str | Path] | None,
    results: str | Path,
    sets: str | Sequence[str] | None,
    methods: str | Sequence[str] | None,
    groups: Mapping[str, str | Path | Mapping[str, str]] | None = None,
) -> Context:
    """A context whose names are checked."""
    check_choice(budget, "budget", BUDGETS)
    _check_entries()
    folders = {name: Path(folder) for name, folder in (data or {}).items()}
    for name, folder in folders.items():
        check_name(name)
        if not folder.is_dir():
            raise ValueError(f"the folder of {name} must exist, got {str(folder)!r}")
        if name in DATA_SETS and not DATA_SETS[name].folder:
            raise ValueError(f"{name} is made, not read: it takes no folder, got {str(folder)!r}")
    rows, columns = names_of("methods", methods), names_of("sets", sets)
    for name in rows or ():
        if name not in ESTIMATORS:  # rows of one table alone
            method_named(name)
    for name in columns or ():
        if name not in DATA_SETS and name not in folders:
            known = ", ".join([*DATA_SETS, *folders])
            raise ValueError(f"there is no data set {name!r}; there are {known}")
    for name in groups or ():
        if name not in folders:
            raise ValueError(f"groups of {name!r}, which has no folder: give --data {name}=FOLDER")
    own = {name: f"{name}{GROUPED}" if name in (groups or {}) else name for name in folders}
    folders = {own[name]: folder for name, folder in folders.items()}
    columns = None if columns is None else [own.get(name, name) for name in columns]
    tables = {own[name]: table for name, table in (groups or {}).items()}
    context = Context(Store(results), budget, folders, columns, rows, tables)
    context.known()  # folders of too few clouds are complained of now
    return context


def _check_entries() -> None:
    """Registries are dictionaries that users write to: what stands in them is checked when it is used."""
    for title, registry in (("METHODS", METHODS), ("DATA_SETS", DATA_SETS)):
        for name, entry in registry.items():
            if name != entry.name:
                raise ValueError(f"{title}[{name!r}] must have that name too, got {entry.name!r}")
    for name in DATA_SETS:
        check_name(name)


def asked_jobs(context: Context, tables: str | Sequence[str] | None) -> list[Job]:
    """The jobs of the tables that were asked for, each of which must have some; or of all."""
    names = names_of("tables", tables)
    if names is not None and "dimension" in names:
        if context.sets is not None:
            raise ValueError(
                "the table dimension has manifolds of its own: leave out the sets (--sets), or it"
            )
        if find_spec("skdim") is None:
            skdim()  # says what to install
    # Where data sets were chosen, the table that has none is passed over.
    all_ = [name for name in TABLES if name != "dimension" or context.sets is None]
    jobs = {name: table(name).jobs(context) for name in names or all_}
    empty = [f"the table {name}" for name in names or () if not jobs[name]]
    if empty or not any(jobs.values()):
        where = empty[0] if empty else "any table"
        reasons = [_lacking(context) if context.methods else "", _absent(context) if context.sets else ""]
        raise ValueError(
            "; ".join([f"none of these methods and data sets is in {where}", *filter(None, reasons)])
        )
    return [job for own in jobs.values() for job in own]


def remarks(context: Context) -> list[str]:
    """What is left out here, and why: one line for methods, one for data sets; and folds that are fewer."""
    return [line for line in (_lacking(context), _absent(context), *context.known()[1]) if line]


def _lacking(context: Context) -> str:
    wanted = [METHODS[name] for name in context.methods or METHODS if name in METHODS]
    needs = [f"{m.name} needs {', '.join(m.missing())}" for m in wanted if m.missing()]
    return f"left out, not installed: {'; '.join(needs)}" if needs else ""


def _absent(context: Context) -> str:
    known = context.sets or DATA_SETS
    there = {name.removesuffix(GROUPED) for name in context.folders}
    names = [n for n in known if n in DATA_SETS and DATA_SETS[n].folder and n not in there]
    return f"left out, no --data NAME=FOLDER: {', '.join(names)}" if names else ""


# --- the run -------------------------------------------------------------------------


@dataclass
class _Run:
    """What a run was asked for, and what became of its cells so far."""

    context: Context
    again: bool
    options: Run
    metadata: dict[str, dict[str, Any]] = field(default_factory=dict)  # of the data, by name of the record
    counts: dict[str, int] = field(default_factory=lambda: {"computed": 0, "before": 0, "failed": 0})
    total: int = 0  # cells that are to be computed
    left: float = 0.0  # their cost
    done: int = 0
    spent: float = 0.0  # seconds, and
    cost: float = 0.0  # what was computed in them

    def open_splits(self, job: Job, splits: Sequence[int]) -> list[int]:
        """Splits that are not done yet."""
        done = set() if self.again else self.context.store.done(job.key, self.metadata[job.key.name])
        return [split for split in splits if split not in done]

    def say(self, words: str) -> None:
        """A line that ends with how far the run is, and how long the rest takes at the cost so far."""
        if self.options.progress is False:
            return
        words += f"; {self.done} of {plural(self.total, 'cell')}"
        if self.counts["failed"]:
            words += f", {self.counts['failed']} failed"
        if self.cost:
            minutes = max(0.0, self.left) * self.spent / self.cost / 60.0
            words += f", about {f'{minutes:.0f} min' if minutes >= 1.5 else f'{60.0 * minutes:.0f} s'} left"
        print(words, flush=True)


def run_jobs(
    context: Context, jobs: Sequence[Job], *, again: bool = False, options: Run | None = None
) -> dict[str, int]:
    """Compute all cells that are not done, or with ``again`` all cells; how many, as `run` says.

    Jobs are taken in their order. An error of one job is reported and the others go on. Ctrl-C ends the run:
    what was finished is kept. A cell is replaced when the new one is finished, never before.
    """
    store = context.store
    run = _Run(context, again, options or Run())
    with engine.lock(store.folder, store.folder):
        store.refresh()
        for name in sorted({job.key.table for job in jobs}):
            store.check(name)
        # Tables share cells, and what gives cells of two records comes before what gives one of them.
        unique = {job.key.name: job for job in sorted(jobs, key=lambda job: job.also is None)}
        tasks = _tasks(run, _readable(run, list(unique.values())))
        run.total = sum(len(task.splits) for task in tasks)
        run.left = sum(task.job.cost * len(task.splits) for task in tasks)
        before = time.perf_counter()
        for task, found in _computed(run, tasks):
            # Between two arrivals, not in the worker: the time left is that of all workers together.
            now = time.perf_counter()
            _keep(run, task, found, now - before)
            before = now
    return run.counts


def _readable(run: _Run, jobs: Sequence[Job]) -> list[Job]:
    """The jobs whose data can be had; what their data are goes to the run."""
    unread: set[tuple[Any, ...]] = set()
    # By data set and size: the context holds the last one, so that each is read once.
    for job in sorted(jobs, key=lambda job: (job.key.data, str(job.key.size))):
        data = job.key.data, job.key.size
        if data not in unread:
            try:
                run.metadata[job.key.name] = job.metadata(run.context)
                continue
            except PROBLEMS as error:
                unread.add(data)
                print(f"{job.key.data}: {type(error).__name__}: {error}", file=sys.stderr)
        run.counts["failed"] += len(job.splits)
    return [job for job in jobs if job.key.name in run.metadata]


@dataclass(frozen=True)
class Task:
    """Splits of a job, and what its run needs to know. ``run`` tells one run from the next."""

    job: Job
    splits: list[int]
    metadata: Mapping[str, Any]
    context: Context
    run: str


def _tasks(run: _Run, jobs: Sequence[Job]) -> list[Task]:
    """What is to be computed: all splits of a descriptor at once, split by split what takes hours."""
    context, mark = run.context, uuid4().hex
    if run.options.executor is not None:  # that means the same in every process: paths are absolute
        folders = {name: Path(os.path.abspath(folder)) for name, folder in context.folders.items()}
        place, kept = Store(os.path.abspath(context.store.folder)), Kept(context.kept.folder)
        context = Context(place, context.budget, folders, kept=kept)
    found = []
    for job in jobs:
        wanted = run.open_splits(job, job.splits)
        run.counts["before"] += len(job.splits) - len(wanted)
        groups = [wanted] if job.together and wanted else [[split] for split in wanted]
        found += [Task(job, group, run.metadata[job.key.name], context, mark) for group in groups]
    return found


def _computed(run: _Run, tasks: Sequence[Task]) -> Iterator[tuple[Task, Found]]:
    """What becomes of each task."""
    if run.options.executor is not None:
        with engine.Job(None, run=run.options) as workers:
            for number, found in workers.each(compute, tasks):  # type: ignore[arg-type]
                yield tasks[number], found
        return
    for task in tasks:  # in this thread, so that Ctrl-C ends also a training of hours
        wanted = run.open_splits(task.job, task.splits)
        came = len(task.splits) - len(wanted)  # with the cells of another record
        run.counts["before"] += came
        run.done += came
        run.left -= task.job.cost * came
        if wanted:
            task = replace(task, splits=wanted)
            yield task, compute(task, thread_count(run.options.n_jobs))


@dataclass
class Found:
    """What became of a task: cells that were finished, and what went wrong after them."""

    cells: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    machine: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


def compute(task: Task, n_threads: int) -> Found:
    """The cells of a task, perhaps in a worker."""
    if getattr(_last, "run", None) != task.run:
        _last.run, _last.context = task.run, task.context
    context: Context = _last.context
    context.n_jobs = n_threads
    found = Found(machine=machine())
    try:
        if not same_data(task.job.metadata(context), task.metadata):
            raise ValueError("the data that the worker reads are not those of the caller")
        for split, cell in task.job.run(context, task.splits):
            found.cells.append((split, cell))
    except PROBLEMS as error:
        found.problem = f"{type(error).__name__}: {error}"
    return found


# The data set and the features of the last task are held in memory, by each thread of a worker; never those
# of an earlier run, between which files may change.
_last = threading.local()


def _keep(run: _Run, task: Task, found: Found, seconds: float) -> None:
    """Write cells, and the part of each that is one of another record, unless that is there; and say it."""
    job, store, metadata = task.job, run.context.store, run.metadata[task.job.key.name]
    for split, cell in found.cells:
        store.add(job.key, split, cell, metadata, here=found.machine)
        if job.also is not None and (run.again or split not in store.done(job.also, metadata)):
            part = {name: value for name, value in cell.items() if name not in ("changed", "deviation")}
            part["scores"] = {"none": cell["scores"]["none"]}
            store.add(job.also, split, part, metadata, here=found.machine)
    computed, asked = len(found.cells), len(task.splits)
    run.counts["computed"] += computed
    run.done += computed
    run.left -= job.cost * asked
    if computed:  # the seconds of a job that failed at once say nothing of what cells cost
        run.spent += seconds
        run.cost += job.cost * computed
    if not found.problem:
        run.say(title_of(job) + score_so_far(run.context, job))
        return
    run.counts["failed"] += asked - computed
    print(f"{job.key.data} / {job.key.method}: {found.problem}", file=sys.stderr)
    run.say(f"{title_of(job)}: {asked - computed} of {plural(asked, 'split')} failed")


def title_of(job: Job) -> str:
    """Table, data set, method and budget, and what else tells the records of one table apart."""
    recipe, more = job.key.recipe, [job.key.budget]
    if "train_per_class" in recipe:
        more.append(f"{plural(recipe['train_per_class'], 'training cloud')} per class")
    if "condition" in recipe:
        more.append(recipe["condition"])
    return f"{job.key.task} / {job.key.data} / {job.key.method} ({', '.join(more)})"


def score_so_far(context: Context, job: Job) -> str:
    """The mean over the splits of a record, where it is one number; else nothing."""
    record = context.store.read(job.key)
    if record is None or any("scores" not in cell for cell in record.cells.values()):
        return ""
    metric = record.metadata["protocol"]["metric"]
    found = mean_of(record.values())
    spread = f" ± {found.sd:.2f}" if found.n > 1 else ""
    return f": {METRICS.get(metric, metric)} {found.mean:.2f}{spread}, {plural(found.n, 'split')}"
