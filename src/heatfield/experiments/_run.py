"""The run: jobs in order of value, what is done left alone, progress with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._base.summary import plural
from ._claims import Claims
from ._compare import changed_data, facts_of_now
from ._jobs import Context, Job
from ._progress import Progress, score_so_far, title_of
from ._spread import PROBLEMS, Executor, compute, tasks_of


def open_cells(
    context: Context, job: Job, *, again: bool = False, facts: dict[str, Any] | None = None
) -> list[int]:
    """Splits of a job that are not done; with ``again`` also those done by other code.

    With the facts of the data of now, cells of other data are not done either.
    """
    done = context.store.done(job.key, code=job.code if again else None, facts=facts)
    return [split for split in job.splits if split not in done]


@dataclass
class _Run:
    """What a run was asked for, and what became of its cells so far."""

    context: Context
    again: bool
    quiet: bool
    facts: Mapping[str, dict[str, Any]]  # of data that are compared, by name of the record
    progress: Progress
    claims: Claims
    counts: dict[str, int] = field(
        default_factory=lambda: {"computed": 0, "before": 0, "elsewhere": 0, "failed": 0}
    )

    def say(self, words: str) -> None:
        if not self.quiet:
            print(f"{words}; {self.progress.words()}", flush=True)


def run_jobs(
    context: Context, jobs: Sequence[Job], *, again: bool = False, quiet: bool = False,
    executor: Executor | None = None,
) -> dict[str, int]:  # fmt: skip
    """Compute all cells that are not done.

    Jobs are taken in their order; cells that another process has claimed are left to it. An error of one
    job is reported and the others go on. Ctrl-C ends the run: what was finished is kept, and the claims are
    given back. With an executor all cells that are open are claimed at once, and computed by its workers.
    A cell of other code or of other data is replaced when the new one is finished, never before.

    Returns
    -------
    counts : dict
        Cells ``computed``, ``before`` (done before), ``elsewhere`` (claimed by another process), ``failed``.
    """
    # Tables share cells, and what gives cells of two records comes before what gives one of them.
    unique = {job.key.name: job for job in sorted(jobs, key=lambda job: job.also is None)}
    open_ = {name: open_cells(context, job, again=again) for name, job in unique.items()}
    facts = facts_of_now(context, list(unique.values()), open_)
    for data in () if quiet else changed_data(context, list(unique.values()), facts):
        print(f"the data of {data} have changed: what was computed is computed again", file=sys.stderr)
    for name in facts:
        open_[name] = open_cells(context, unique[name], again=again, facts=facts[name])
    progress = Progress(
        sum(map(len, open_.values())), sum(job.cost * len(open_[name]) for name, job in unique.items())
    )
    run = _Run(context, again, quiet, facts, progress, Claims(context.store))
    run.counts["before"] = sum(len(job.splits) - len(open_[name]) for name, job in unique.items())
    work = [(job, group) for name, job in unique.items() for group in _groups(job, open_[name])]
    try:
        if executor is not None:
            _spread(run, work, executor)
        else:
            for job, group in work:
                _one(run, job, group)
    finally:
        run.claims.release_all()
    for line in () if quiet else run.claims.left_to_others():
        print(line, file=sys.stderr)
    return run.counts


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
        facts = job.facts(run.context)
        for split, cell in job.run(run.context, taken):
            _keep(run.context, job, split, cell, facts)
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
    code = job.code if run.again else None
    taken = run.claims.take(job.key, group, code=code, facts=run.facts.get(job.key.name))
    away = sum(run.claims.is_elsewhere(job.key, split) for split in group)
    came = len(group) - len(taken) - away  # done since the run began
    run.counts["before"] += came
    run.counts["elsewhere"] += away
    run.progress.come(came, job.cost * came)
    run.progress.leave(away, job.cost * away)
    if away:
        run.say(f"{title_of(job)}: {plural(away, 'split')} left to another process")
    return taken


def _keep(
    context: Context, job: Job, split: int, cell: dict[str, Any], facts: dict[str, Any],
    *, here: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Write a cell, and the part of it that is one of another record, unless that is there by this code."""
    context.store.add(job.key, split, cell, facts, job.code, here=here)
    if job.also is not None and split not in context.store.done(job.also, code=job.code, facts=facts):
        part = {name: value for name, value in cell.items() if name not in ("changed", "deviation")}
        part["scores"] = {"none": cell["scores"]["none"]}
        context.store.add(job.also, split, part, facts, job.code, here=here)


def _spread(run: _Run, work: Sequence[tuple[Job, list[int]]], executor: Executor) -> None:
    taken = [(job, _claimed(run, job, group)) for job, group in work]
    tasks = tasks_of(run.context, [(job, mine) for job, mine in taken if mine])
    before = time.perf_counter()
    for number, found in executor.map(compute, tasks) if tasks else ():
        job, splits = tasks[number].job, tasks[number].splits
        for split, cell in found.cells:
            _keep(run.context, job, split, cell, found.facts, here=found.machine)
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
