"""The run: jobs in order of value, what is done left alone, progress with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ._claims import Claims
from ._jobs import Context, Job
from ._spread import PROBLEMS, Executor, compute, tasks_of
from ._statistics import mean_of


@dataclass
class Progress:
    """Cells done, and how long the rest will take if cells go on to cost what they did."""

    total: int
    left: float  # cost of the cells that are to be computed
    done: int = 0
    spent: float = 0.0
    cost: float = 0.0

    def add(self, count: int, cost: float, seconds: float) -> None:
        """Some cells were computed."""
        self.done += count
        self.spent += seconds
        self.cost += cost
        self.left = max(0.0, self.left - cost)

    def words(self) -> str:
        """For the end of a line."""
        if self.cost == 0.0:
            return f"{self.done} of {self.total} cells"
        minutes = self.left * self.spent / self.cost / 60.0
        shown = f"{minutes:.0f} min" if minutes >= 1.5 else f"{60.0 * minutes:.0f} s"
        return f"{self.done} of {self.total} cells, about {shown} left"


def open_cells(context: Context, job: Job, *, again: bool = False) -> list[int]:
    """Splits of a job that are not done; with ``again`` also those done by other code."""
    done = context.store.cells(job.key)
    return [k for k in job.splits if k not in done or (again and done[k]["code"] != job.code)]


def run_jobs(
    context: Context, jobs: Sequence[Job], *, again: bool = False, quiet: bool = False,
    executor: Executor | None = None,
) -> dict[str, int]:  # fmt: skip
    """Compute all cells that are not done.

    Jobs are taken in their order; cells that another process has claimed are left to it. An error of one
    job is reported and the others go on. Ctrl-C ends the run: what was finished is kept, and the claims are
    given back. With an executor all cells that are open are claimed at once, and computed by its workers.

    Returns
    -------
    counts : dict
        Cells ``computed``, ``before`` (done before), ``elsewhere`` (claimed by another process), ``failed``.
    """
    # Tables share cells, and what gives cells of two records comes before what gives one of them.
    unique = {job.key.name: job for job in sorted(jobs, key=lambda job: job.also is None)}
    open_ = {name: open_cells(context, job, again=again) for name, job in unique.items()}
    counts = {"computed": 0, "before": 0, "elsewhere": 0, "failed": 0}
    counts["before"] = sum(len(job.splits) - len(open_[name]) for name, job in unique.items())
    total = sum(map(len, open_.values()))
    progress = Progress(total, sum(job.cost * len(open_[name]) for name, job in unique.items()))
    claims = Claims(context.store)
    work = [(job, group) for name, job in unique.items() for group in _groups(job, open_[name])]
    try:
        if executor is not None:
            for job, group in work if again else ():
                _forget(context, job, group)
            _spread(context, work, claims, progress, counts, quiet, executor)
        else:
            for job, group in work:
                if again:  # one after the other: a run that is stopped has lost no cell that it did not reach
                    _forget(context, job, group)
                _one(context, job, group, claims, progress, counts, quiet)
    finally:
        claims.release_all()
    return counts


def _groups(job: Job, wanted: list[int]) -> list[list[int]]:
    """Splits that are computed together.

    What takes hours is claimed split by split, so that another process finds work in it.
    """
    if job.together:
        return [wanted] if wanted else []
    return [[split] for split in wanted]


def _one(
    context: Context, job: Job, group: list[int], claims: Claims, progress: Progress,
    counts: dict[str, int], quiet: bool,
) -> None:  # fmt: skip
    taken = _claimed(context, job, group, claims, progress, counts)
    if not taken:
        return
    started = time.perf_counter()
    try:
        facts = job.facts(context)
        for split, cell in job.run(context, taken):
            _keep(context, job, split, cell, facts)
            claims.release(job.key, split)
            counts["computed"] += 1
    except PROBLEMS as error:
        counts["failed"] += len([k for k in taken if k not in context.store.cells(job.key)])
        _complain(job, f"{type(error).__name__}: {error}")
    finally:
        for split in taken:
            claims.release(job.key, split)
    _report(context, job, len(taken), time.perf_counter() - started, progress, quiet)


def _claimed(
    context: Context, job: Job, group: list[int], claims: Claims, progress: Progress, counts: dict[str, int]
) -> list[int]:
    """The splits of a group that are this process's now; those that came with another record are done."""
    done = context.store.cells(job.key)
    left = [split for split in group if split not in done]
    counts["before"] += len(group) - len(left)
    progress.add(len(group) - len(left), job.cost * (len(group) - len(left)), 0.0)
    taken = claims.take(job.key, left)
    counts["elsewhere"] += len(left) - len(taken)
    return taken


def _keep(
    context: Context, job: Job, split: int, cell: dict[str, Any], facts: dict[str, Any],
    *, here: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Write a cell, and the part of it that is one of another record, unless that is there by this code."""
    context.store.add(job.key, split, cell, facts, job.code, here=here)
    if job.also is not None and context.store.cells(job.also).get(split, {}).get("code") != job.code:
        part = {name: value for name, value in cell.items() if name not in ("changed", "deviation")}
        part["scores"] = {"none": cell["scores"]["none"]}
        context.store.add(job.also, split, part, facts, job.code, here=here)


def _spread(
    context: Context, work: Sequence[tuple[Job, list[int]]], claims: Claims, progress: Progress,
    counts: dict[str, int], quiet: bool, executor: Executor,
) -> None:  # fmt: skip
    taken = [(job, _claimed(context, job, group, claims, progress, counts)) for job, group in work]
    tasks = tasks_of(context, [(job, mine) for job, mine in taken if mine])
    before = time.perf_counter()
    for number, found in executor.map(compute, tasks) if tasks else ():
        job, splits = tasks[number].job, tasks[number].splits
        for split, cell in found.cells:
            _keep(context, job, split, cell, found.facts, here=found.machine)
            counts["computed"] += 1
        if found.problem:
            counts["failed"] += len(splits) - len(found.cells)
            _complain(job, found.problem)
        for split in splits:
            claims.release(job.key, split)
        # Between two arrivals, not in the worker: the time left is that of all workers together.
        now = time.perf_counter()
        _report(context, job, len(splits), now - before, progress, quiet)
        before = now


def _complain(job: Job, problem: str) -> None:
    print(f"{job.key.data} / {job.key.method}: {problem}", file=sys.stderr)


def _report(context: Context, job: Job, count: int, seconds: float, progress: Progress, quiet: bool) -> None:
    progress.add(count, job.cost * count, seconds)
    if not quiet:
        print(f"{_line(context, job)}; {progress.words()}", flush=True)


def _line(context: Context, job: Job) -> str:
    """Data set, method, and the score so far where it is one number."""
    start = f"{job.key.task} / {job.key.data} / {job.key.method} ({job.key.budget})"
    cells = context.store.cells(job.key)
    record = context.store.read(job.key)
    if record is None or not cells or "scores" not in next(iter(cells.values())):
        return start
    metric = record["facts"]["protocol"]["metric"]
    found = mean_of({k: c["scores"]["none"][metric] for k, c in cells.items()})
    spread = f" ± {found.sd:.2f}" if found.n > 1 else ""
    return f"{start}: {metric} {found.mean:.2f}{spread}, {found.n} splits"


def _forget(context: Context, job: Job, splits: Iterable[int]) -> None:
    """Take stale cells out of their record, so that they are claimed and computed like missing ones."""
    store = context.store
    with store.lock():
        record = store.read(job.key)
        if record is None:
            return
        for split in splits:
            if (
                record["splits"].get(str(split), {}).get("code") != job.code
            ):  # else it came with another record
                record["splits"].pop(str(split), None)
        store.replace(job.key, record)
