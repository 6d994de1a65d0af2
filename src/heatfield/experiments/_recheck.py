"""Stale cells that are the same by the code of now: one of a record is computed again and compared."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ._jobs import Context, Job
from ._machine import now
from ._progress import title_of
from ._spread import PROBLEMS
from ._store import same_data

# What a cell says of how it was made; all else is compared.
BOOKKEEPING = {"seconds", "load_average", "seed", "code", "machine", "date", "rechecked"}
# Of round-off. What is kept is rounded to 3 or 4 digits and has to be found again exactly; a deviation after
# a rotation is not rounded, and may be nothing but round-off.
TOLERANCE = 1e-9


def recheck(context: Context, jobs: Sequence[Job], *, quiet: bool = False) -> dict[str, int]:
    """Compute a stale cell of each record again; where it is the same, the code of now is noted.

    The code of a method may change without a change of what it computes. Then the other cells need not be
    computed again. Of cells of several older codes, the first of each is computed. Where one differs, all
    stay stale, and ``--again`` is what helps. An error of one record is reported and the others go on.

    Returns
    -------
    counts : dict
        Records that are the ``same``, that ``differ``, that are ``unchecked`` since they hold seconds, and
        of which the check ``failed``.
    """
    counts = {"same": 0, "differ": 0, "unchecked": 0, "failed": 0}
    for job in {job.key.name: job for job in jobs}.values():
        record = context.store.read(job.key)
        cells = {} if record is None else record["splits"]
        stale = {int(k): cell for k, cell in cells.items() if cell["code"] != job.code}
        if record is None or not stale:
            continue
        try:
            verdict, words = _verdict(context, job, record["facts"], stale)
        except PROBLEMS as error:
            verdict, words = "failed", f": {type(error).__name__}: {error}"
        counts[verdict] += 1
        if verdict == "same":
            _note(context, job, stale)
        if verdict == "failed" or not quiet:
            place = sys.stderr if verdict == "failed" else sys.stdout
            print(title_of(job) + words, file=place, flush=True)
    return counts


def _verdict(
    context: Context, job: Job, facts: Mapping[str, Any], stale: Mapping[int, dict[str, Any]]
) -> tuple[str, str]:
    """A name of the counts, and the end of a line."""
    if job.key.task == "runtime":
        return "unchecked", ": seconds cannot be checked, use --again"
    if not same_data(facts, job.facts(context)):
        return "differ", ": the data are DIFFERENT"
    firsts = sorted({cell["code"]: split for split, cell in sorted(stale.items(), reverse=True)}.values())
    found = dict(job.run(context, firsts))
    for split in firsts:
        before = {name: value for name, value in stale[split].items() if name not in BOOKKEEPING}
        if not before:
            return "differ", f", split {split}: DIFFERENT, nothing in it can be compared"
        if not _same(before, found.get(split)):
            return "differ", f", split {split}: DIFFERENT"
    return "same", f", {'splits' if len(firsts) > 1 else 'split'} {', '.join(map(str, firsts))}: the same"


def _same(before: Any, again: Any) -> bool:
    """Whether all that was kept is found again; what was not kept does not count."""
    if isinstance(before, dict):
        return isinstance(again, dict) and all(k in again and _same(v, again[k]) for k, v in before.items())
    if isinstance(before, list):
        return (
            isinstance(again, list | tuple) and len(before) == len(again) and all(map(_same, before, again))
        )
    if isinstance(before, float) and isinstance(again, int | float):
        both_unknown = math.isnan(before) and math.isnan(again)
        return both_unknown or math.isclose(before, again, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(before == again)


def _note(context: Context, job: Job, stale: Mapping[int, dict[str, Any]]) -> None:
    with context.store.lock():
        record = context.store.read(job.key)
        assert record is not None
        for split, cell in stale.items():
            if record["splits"].get(str(split)) == cell:  # else another process has replaced it meanwhile
                record["splits"][str(split)] = cell | {"code": job.code, "rechecked": now()}
        context.store.replace(job.key, record)
