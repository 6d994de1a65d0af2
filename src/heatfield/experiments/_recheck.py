"""Stale cells that are the same by the code of now: one of a record is computed again and compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._jobs import Context, Job
from ._machine import now


def recheck(context: Context, jobs: Sequence[Job], *, quiet: bool = False) -> dict[str, int]:
    """Compute the first stale cell of each record again; where it is the same, the code of now is noted.

    The code of a method may change without a change of what it computes. Then the other cells need not be
    computed again. Where the scores differ, all stay stale, and ``--again`` is what helps.

    Returns
    -------
    counts : dict
        Records that are the ``same``, and those that ``differ``.
    """
    counts = {"same": 0, "differ": 0}
    for job in {job.key.name: job for job in jobs}.values():
        stale = [k for k, cell in context.store.cells(job.key).items() if cell["code"] != job.code]
        if not stale:
            continue
        first = min(stale)
        ((_, again),) = job.run(context, [first])
        before = context.store.cells(job.key)[first]
        same = all(
            _same(before[part], again[part]) for part in ("scores", "estimates", "changed") if part in before
        )
        counts["same" if same else "differ"] += 1
        if same:
            _note(context, job, stale)
        if not quiet:
            word = "the same" if same else "DIFFERENT"
            print(f"{job.key.task} / {job.key.data} / {job.key.method}, split {first}: {word}", flush=True)
    return counts


def _same(before: Any, again: Any) -> bool:
    """Whether all numbers that were kept are found again; what was not kept does not count."""
    if isinstance(before, dict):
        return isinstance(again, dict) and all(k in again and _same(v, again[k]) for k, v in before.items())
    return bool(before == again)


def _note(context: Context, job: Job, splits: list[int]) -> None:
    with context.store.lock():
        record = context.store.read(job.key)
        assert record is not None
        for split in splits:
            record["splits"][str(split)] |= {"code": job.code, "rechecked": now()}
        context.store.replace(job.key, record)
