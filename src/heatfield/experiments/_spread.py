"""Cells computed by the workers of a cluster; the caller alone claims and writes them.

Workers need the data sets under the same paths, but no results folder: what can be made again is kept in that
of the caller where a worker sees it, else in a folder of its own, which is removed when it ends.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from ._jobs import Context, Job
from ._machine import machine
from ._store import Store

# What one job may run into without ending the others.
PROBLEMS = (ValueError, OSError, RuntimeError, ArithmeticError, ImportError)


class Executor(Protocol):
    """That part of `heatfield.cluster.Executor` which is needed here."""

    def map(self, work: Any, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Run ``work(task, threads)`` for every task; position and result as tasks are finished."""
        ...


@dataclass(frozen=True)
class Task:
    """Splits of a job, and what its run needs to know. ``run`` tells one run from the next."""

    job: Job
    splits: list[int]
    context: Context
    run: str


@dataclass
class Found:
    """What became of a task: cells that were finished, and what went wrong after them."""

    cells: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


def tasks_of(context: Context, groups: Sequence[tuple[Job, list[int]]]) -> list[Task]:
    """Tasks that mean the same in every process: paths are absolute."""
    folders = {name: Path(os.path.abspath(folder)) for name, folder in context.folders.items()}
    own = Context(Store(os.path.abspath(context.store.folder)), context.budget, folders)
    run = uuid4().hex
    return [Task(job, splits, own, run) for job, splits in groups]


def compute(task: Task, n_threads: int) -> Found:
    """In a worker: the cells of a task."""
    context = _held_context(task)
    context.n_jobs = n_threads
    found = Found(machine=machine())
    try:
        found.facts = task.job.facts(context)
        for split, cell in task.job.run(context, task.splits):
            found.cells.append((split, cell))
    except PROBLEMS as error:
        found.problem = f"{type(error).__name__}: {error}"
    return found


# The data set of the last task is held in memory, by each thread of a worker; never that of an earlier run,
# between which files may change.
_last = threading.local()


def _held_context(task: Task) -> Context:
    if getattr(_last, "run", None) != task.run:
        folder = task.context.store.folder
        if not folder.is_dir():
            _last.folder = tempfile.TemporaryDirectory(prefix="heatfield-worker-")
            folder = Path(_last.folder.name)
        _last.run, _last.context = task.run, replace(task.context, store=Store(folder))
    context: Context = _last.context
    return context
