"""Whether data are those of the records: other clouds or other splits under the same name."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ._jobs import Context, Job
from ._sets import SHIPPED
from ._spread import PROBLEMS
from ._store import same_data


def facts_of_now(
    context: Context, jobs: Sequence[Job], wanted: Mapping[str, Sequence[int]]
) -> dict[str, dict[str, Any]]:
    """Facts of the data of now, by name of the record; without those that need not or cannot be compared.

    Data have to be read or made to be compared, which takes seconds, of large sets minutes. Those of a folder
    and of entries that users have added are always compared, since files change. Those that this library
    makes come from a seed: they are compared only where some of their cells are wanted, for which they are
    made anyway, so that a run that finds all done stays short.

    Parameters
    ----------
    context : Context
    jobs : sequence of Job
    wanted : mapping
        By name of the record, the splits that are open whatever the data are.
    """
    made_anyway = {_data(job) for job in jobs if wanted[job.key.name]}
    found: dict[str, dict[str, Any]] = {}
    unread = set()
    # By data set and size: the context holds the last one, so that each is read once.
    for job in sorted(jobs, key=lambda job: (job.key.data, str(job.key.size))):
        data = _data(job)
        asked = job.key.data in context.folders or job.key.data not in SHIPPED or data in made_anyway
        if data in unread or not asked or not context.store.cells(job.key):
            continue
        try:
            found[job.key.name] = job.facts(context)
        except PROBLEMS as error:
            unread.add(data)
            if data not in made_anyway:  # else the job that needs them says so
                said = f"{type(error).__name__}: {error}"
                print(f"{job.key.data}: cannot be compared with its records: {said}", file=sys.stderr)
    return found


def changed_data(context: Context, jobs: Sequence[Job], facts: Mapping[str, dict[str, Any]]) -> list[str]:
    """Names of the data sets of which there are records of other data."""
    names = []
    for job in jobs:
        record = context.store.read(job.key) if job.key.name in facts else None
        if record is not None and not same_data(record["facts"], facts[job.key.name]):
            names.append(job.key.data)
    return sorted(set(names))


def _data(job: Job) -> tuple[Any, ...]:
    return job.key.data, job.key.size
