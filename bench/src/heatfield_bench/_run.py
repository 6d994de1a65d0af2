"""The run: jobs in order of value, what is done left alone, progress with the time left.

Cells are computed here or by the workers of a cluster; the caller alone claims and writes them. Workers need
the data sets under the same paths, but no folder of results.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from heatfield._base.summary import plural

from ._jobs import Context, Job
from ._machine import machine
from ._results import Claims, Store, same_data
from ._statistics import mean_of

# What one job may run into without ending the others.
PROBLEMS = (ValueError, OSError, RuntimeError, ArithmeticError, ImportError)
METRICS = {"oa": "overall accuracy", "macc": "mean class accuracy"}


class Executor(Protocol):
    """That part of `heatfield.cluster.Executor` which is needed here."""

    def map(self, work: Any, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Run ``work(task, threads)`` for every task; position and result as tasks are finished."""
        ...


@dataclass
class _Run:
    """What a run was asked for, and what became of its cells so far."""

    context: Context
    again: bool
    quiet: bool
    facts: Mapping[str, dict[str, Any]]  # of the data, by name of the record
    progress: Progress
    claims: Claims
    counts: dict[str, int] = field(
        default_factory=lambda: {"computed": 0, "before": 0, "elsewhere": 0, "failed": 0}
    )

    def say(self, words: str) -> None:
        if not self.quiet:
            print(f"{words}; {self.progress.words()}", flush=True)

    def is_done(self, job: Job, split: int) -> bool:
        return not self.again and split in self.context.store.done(job.key, self.facts[job.key.name])


def run_jobs(
    context: Context, jobs: Sequence[Job], *, again: bool = False, quiet: bool = False,
    executor: Executor | None = None,
) -> dict[str, int]:  # fmt: skip
    """Compute all cells that are not done, or with ``again`` all cells.

    Jobs are taken in their order; cells that another process has claimed are left to it. An error of one
    job is reported and the others go on. Ctrl-C ends the run: what was finished is kept. With an executor all
    cells that are open are claimed at once, and computed by its workers. A cell is replaced when the new one
    is finished, never before.

    Returns
    -------
    counts : dict
        Cells ``computed``, ``before`` (done before), ``elsewhere`` (claimed by another process), ``failed``.
    """
    for table in sorted({job.key.table for job in jobs}):
        context.store.check(table)
    # Tables share cells, and what gives cells of two records comes before what gives one of them.
    unique = {job.key.name: job for job in sorted(jobs, key=lambda job: job.also is None)}
    run = _Run(context, again, quiet, {}, Progress(0, 0.0), Claims(context.store))
    known, wanted = _described(run, list(unique.values()))
    run.facts = known
    open_ = {job.key.name: [k for k in job.splits if not run.is_done(job, k)] for job in wanted}
    run.progress = Progress(
        sum(map(len, open_.values())), sum(job.cost * len(open_[job.key.name]) for job in wanted)
    )
    run.counts["before"] = sum(len(job.splits) - len(open_[job.key.name]) for job in wanted)
    work = [(job, group) for job in wanted for group in _groups(job, open_[job.key.name])]
    try:
        if executor is not None:
            _spread(run, work, executor)
        else:
            for job, group in work:
                _one(run, job, group)
    finally:
        run.claims.release_all()
    if run.counts["elsewhere"] and not quiet:
        left = plural(run.counts["elsewhere"], "cell")
        print(f"{left} left to another run in {context.store.folder}", file=sys.stderr)
    return run.counts


def _described(run: _Run, jobs: Sequence[Job]) -> tuple[dict[str, dict[str, Any]], list[Job]]:
    """What the data of each job are, by name of its record, and the jobs whose data can be had."""
    found: dict[str, dict[str, Any]] = {}
    unread: set[tuple[Any, ...]] = set()
    # By data set and size: the context holds the last one, so that each is read once.
    for job in sorted(jobs, key=lambda job: (job.key.data, str(job.key.size))):
        data = job.key.data, job.key.size
        if data not in unread:
            try:
                found[job.key.name] = job.facts(run.context)
                continue
            except PROBLEMS as error:
                unread.add(data)
                print(f"{job.key.data}: {type(error).__name__}: {error}", file=sys.stderr)
        run.counts["failed"] += len(job.splits)
    return found, [job for job in jobs if job.key.name in found]


def _groups(job: Job, wanted: list[int]) -> list[list[int]]:
    """Splits that are computed together.

    What takes hours is claimed split by split, so that another process finds work in it.
    """
    if job.together:
        return [wanted] if wanted else []
    return [[split] for split in wanted]


def _one(run: _Run, job: Job, group: list[int]) -> None:
    taken = _claimed(run, job, group)
    if not taken:
        return
    started = time.perf_counter()
    computed, problem = 0, ""
    try:
        for split, cell in job.run(run.context, taken):
            _keep(run, job, split, cell)
            run.claims.release(job.key, split)
            computed += 1
    except PROBLEMS as error:
        problem = f"{type(error).__name__}: {error}"
    finally:
        for split in taken:
            run.claims.release(job.key, split)
    _ended(run, job, len(taken), computed, time.perf_counter() - started, problem)


def _claimed(run: _Run, job: Job, group: list[int]) -> list[int]:
    """The splits of a group that are this process's now."""
    taken = run.claims.take(job.key, group, run.facts[job.key.name], again=run.again)
    away = sum((job.key.name, split) in run.claims.elsewhere for split in group)
    came = len(group) - len(taken) - away  # done since the run began
    run.counts["before"] += came
    run.counts["elsewhere"] += away
    run.progress.come(came, job.cost * came)
    run.progress.leave(away, job.cost * away)
    if away:
        run.say(f"{title_of(job)}: {plural(away, 'split')} left to another run")
    return taken


def _keep(run: _Run, job: Job, split: int, cell: dict[str, Any], here: dict[str, Any] | None = None) -> None:
    """Write a cell, and the part of it that is one of another record, unless that is there."""
    store, facts = run.context.store, run.facts[job.key.name]
    store.add(job.key, split, cell, facts, here=here)
    if job.also is not None and (run.again or split not in store.done(job.also, facts)):
        part = {name: value for name, value in cell.items() if name not in ("changed", "deviation")}
        part["scores"] = {"none": cell["scores"]["none"]}
        store.add(job.also, split, part, facts, here=here)


def _spread(run: _Run, work: Sequence[tuple[Job, list[int]]], executor: Executor) -> None:
    taken = [(job, _claimed(run, job, group)) for job, group in work]
    tasks = _tasks(run, [(job, mine) for job, mine in taken if mine])
    before = time.perf_counter()
    for number, found in executor.map(compute, tasks) if tasks else ():
        job, splits = tasks[number].job, tasks[number].splits
        for split, cell in found.cells:
            _keep(run, job, split, cell, found.machine)
        for split in splits:
            run.claims.release(job.key, split)
        # Between two arrivals, not in the worker: the time left is that of all workers together.
        now = time.perf_counter()
        _ended(run, job, len(splits), len(found.cells), now - before, found.problem)
        before = now


def _ended(run: _Run, job: Job, asked: int, computed: int, seconds: float, problem: str) -> None:
    """Count what became of the splits of a job, and say it."""
    run.counts["computed"] += computed
    run.progress.add(computed, job.cost * computed, seconds)
    if not problem:
        run.say(title_of(job) + score_so_far(run.context, job))
        return
    missing = asked - computed
    run.counts["failed"] += missing
    run.progress.fail(missing, job.cost * missing)
    print(f"{job.key.data} / {job.key.method}: {problem}", file=sys.stderr)
    run.say(f"{title_of(job)}: {missing} of {plural(asked, 'split')} failed")


@dataclass(frozen=True)
class Task:
    """Splits of a job, and what its run needs to know. ``run`` tells one run from the next."""

    job: Job
    splits: list[int]
    facts: Mapping[str, Any]
    context: Context
    run: str


@dataclass
class Found:
    """What became of a task: cells that were finished, and what went wrong after them."""

    cells: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    machine: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


def _tasks(run: _Run, groups: Sequence[tuple[Job, list[int]]]) -> list[Task]:
    """Tasks that mean the same in every process: paths are absolute."""
    context = run.context
    folders = {name: Path(os.path.abspath(folder)) for name, folder in context.folders.items()}
    own = Context(Store(os.path.abspath(context.store.folder)), context.budget, folders)
    mark = uuid4().hex
    return [Task(job, splits, run.facts[job.key.name], own, mark) for job, splits in groups]


def compute(task: Task, n_threads: int) -> Found:
    """In a worker: the cells of a task."""
    if getattr(_last, "run", None) != task.run:
        _last.run, _last.context = task.run, task.context
    context: Context = _last.context
    context.n_jobs = n_threads
    found = Found(machine=machine())
    try:
        if not same_data(task.job.facts(context), task.facts):
            raise ValueError("the data that the worker reads are not those of the caller")
        for split, cell in task.job.run(context, task.splits):
            found.cells.append((split, cell))
    except PROBLEMS as error:
        found.problem = f"{type(error).__name__}: {error}"
    return found


# The data set and the features of the last task are held in memory, by each thread of a worker; never those
# of an earlier run, between which files may change.
_last = threading.local()


@dataclass
class Progress:
    """Cells done, and how long the rest will take if cells go on to cost what they did."""

    total: int
    left: float  # cost of the cells that are to be computed
    done: int = 0
    failed: int = 0
    spent: float = 0.0
    cost: float = 0.0

    def add(self, count: int, cost: float, seconds: float) -> None:
        """Some cells were computed."""
        if count:  # the seconds of a job that failed at once say nothing of what cells cost
            self.spent += seconds
            self.cost += cost
        self.come(count, cost)

    def come(self, count: int, cost: float) -> None:
        """Some cells need not be computed: they came with another record, or by another process."""
        self.done += count
        self.left = max(0.0, self.left - cost)

    def leave(self, count: int, cost: float) -> None:
        """Some cells are being computed by another process."""
        self.total -= count
        self.left = max(0.0, self.left - cost)

    def fail(self, count: int, cost: float) -> None:
        """Some cells could not be computed."""
        self.failed += count
        self.left = max(0.0, self.left - cost)

    def words(self) -> str:
        """For the end of a line."""
        start = f"{self.done} of {plural(self.total, 'cell')}"
        if self.failed:
            start += f", {self.failed} failed"
        if self.cost == 0.0:
            return start
        minutes = self.left * self.spent / self.cost / 60.0
        shown = f"{minutes:.0f} min" if minutes >= 1.5 else f"{60.0 * minutes:.0f} s"
        return f"{start}, about {shown} left"


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
    metric = record.facts["protocol"]["metric"]
    found = mean_of(record.values())
    spread = f" ± {found.sd:.2f}" if found.n > 1 else ""
    return f": {METRICS.get(metric, metric)} {found.mean:.2f}{spread}, {plural(found.n, 'split')}"
