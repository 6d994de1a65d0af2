"""What a user calls: run tables, show them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ._dimension import ESTIMATORS
from ._grid import Grid
from ._jobs import Context, Job, method_named
from ._methods import BUDGETS
from ._recheck import recheck
from ._registry import METHODS
from ._run import run_jobs
from ._sets import DATA_SETS
from ._store import Store
from .tables import TABLES, table


def new_context(
    budget: str,
    data: Mapping[str, str | Path] | None,
    results: str | Path,
    sets: Sequence[str] | None,
    methods: Sequence[str] | None,
    n_jobs: int,
) -> Context:
    """A context whose names are checked."""
    if budget not in BUDGETS:
        raise ValueError(f"budget must be one of {', '.join(map(repr, BUDGETS))}, got {budget!r}")
    folders = {name: Path(folder) for name, folder in (data or {}).items()}
    for name, folder in folders.items():
        if not folder.is_dir():
            raise ValueError(f"the folder of {name} must exist, got {str(folder)!r}")
        if name in DATA_SETS and not DATA_SETS[name].folder:
            raise ValueError(f"{name} is made, not read: it takes no folder, got {str(folder)!r}")
    for name in methods or ():
        if name not in ESTIMATORS:  # rows of one table alone
            method_named(name)
    for name in sets or ():
        if name not in DATA_SETS and name not in folders:
            known = ", ".join([*DATA_SETS, *folders])
            raise ValueError(f"there is no data set {name!r}; there are {known}")
    return Context(Store(results), budget, folders, sets, methods, n_jobs)


def jobs_of(context: Context, tables: Sequence[str]) -> list[Job]:
    """The jobs of some tables, in the order of the tables."""
    return [job for name in tables for job in table(name).jobs(context)]


def left_out(context: Context) -> list[str]:
    """What cannot be computed here, and why: one line for methods, one for data sets."""
    lines = []
    wanted = [METHODS[name] for name in context.methods or METHODS if name in METHODS]
    lacking = {m.name: ", ".join(m.missing()) for m in wanted if m.missing()}
    if lacking:
        named = "; ".join(f"{name} needs {what}" for name, what in lacking.items())
        lines.append(f"left out, not installed: {named}")
    known = context.sets or DATA_SETS
    absent = [n for n in known if n in DATA_SETS and DATA_SETS[n].folder and n not in context.folders]
    if absent:
        lines.append(f"left out, no --data NAME=FOLDER: {', '.join(absent)}")
    return lines


def run(
    tables: Sequence[str] | None = None,
    *,
    budget: str = "smoke",
    data: Mapping[str, str | Path] | None = None,
    results: str | Path = "heatfield-experiments",
    sets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    splits: int | None = None,
    n_jobs: int = 1,
    again: bool = False,
    check: bool = False,
    quiet: bool = False,
    client: Any = None,
) -> dict[str, int]:
    """Compute the cells of tables that are not done yet.

    Guide: ``heatfield docs results/experiments``.

    Parameters
    ----------
    tables : sequence of str, optional
        Of `TABLES`; all if not given.
    budget : "smoke", "reduced" or "paper"
    data : mapping, optional
        Folder of each data set that is read; an unknown name is a data set of your own.
    results : path-like
        Folder of the records. A run goes on with what is there; several processes may share it.
    sets, methods : sequence of str, optional
        Only these.
    splits : int, optional
        Only the first so many splits or folds of each data set: a later run computes the others.
    n_jobs : int
        Threads of feature extraction.
    again : bool
        Also compute what other code has computed.
    check : bool
        Instead, compute one cell of each record of other code; where it is the same, all of the record are
        noted as those of the code of now.
    quiet : bool
        Print nothing.
    client : distributed.Client, Executor or str, optional
        Workers that compute the cells, as of `heatfield.cluster.survey`; each on one thread. They need the
        folders of ``data`` under the same paths; results are written here.

    Returns
    -------
    counts : dict
        Cells ``computed``, ``before``, ``elsewhere`` and ``failed``; with ``check`` records that are the
        ``same`` and that ``differ``.

    Examples
    --------
    >>> import tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     counts = hf.experiments.run(
    ...         ["main"], sets=["processes"], methods=["HFS-simple"], results=folder, quiet=True
    ...     )
    ...     grid, = hf.experiments.show(["main"], budget="smoke", results=folder)
    >>> counts["computed"], grid.columns
    (2, ('Processes',))
    """
    context = new_context(budget, data, results, sets, methods, n_jobs)
    if splits is not None and splits < 1:
        raise ValueError(f"splits must be at least 1, got {splits}")
    jobs = [replace(job, splits=job.splits[:splits]) for job in jobs_of(context, tables or list(TABLES))]
    if not quiet:
        for line in left_out(context):
            print(line, file=sys.stderr)
    if check and client is not None:
        raise ValueError("one cell of each record is checked here: leave the client (--cluster) out")
    if check:
        return recheck(context, jobs, quiet=quiet)
    if client is None:
        return run_jobs(context, jobs, again=again, quiet=quiet)
    from ..cluster._connect import executor_of

    with executor_of(client) as executor:
        return run_jobs(context, jobs, again=again, quiet=quiet, executor=executor)


def show(
    tables: Sequence[str] | None = None,
    *,
    budget: str = "paper",
    results: str | Path = "heatfield-experiments",
) -> list[Grid]:
    """The tables as they are now; those without any result are left out.

    Guide: ``heatfield docs results/experiments``.

    Parameters
    ----------
    tables : sequence of str, optional
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
    >>> import tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.experiments.show(["main"], results=folder)  # nothing was computed yet
    []
    """
    context = new_context(budget, None, results, None, None, 1)
    return [grid for name in tables or TABLES for grid in table(name).grids(context) if grid.filled]
