"""What a user calls: run tables, show them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._base.check import check_count
from ._asked import asked_jobs, names_of, new_context, remarks
from ._asked import jobs_of as jobs_of
from ._grid import Grid
from ._recheck import recheck
from ._run import run_jobs
from .tables import TABLES, table


def run(
    tables: str | Sequence[str] | None = None,
    *,
    budget: str = "smoke",
    data: Mapping[str, str | Path] | None = None,
    results: str | Path = "heatfield-experiments",
    sets: str | Sequence[str] | None = None,
    methods: str | Sequence[str] | None = None,
    splits: int | None = None,
    n_jobs: int | None = 1,
    again: bool = False,
    check: bool = False,
    quiet: bool = False,
    client: Any = None,
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
    results : path-like
        Folder of the records. A run goes on with what is there; several processes may share it.
    sets, methods : str or sequence of str, optional
        Only these. The table "dimension" has manifolds of its own and is passed over where sets are given.
    splits : int, optional
        Only the first so many splits or folds of each data set: a later run computes the others.
    n_jobs : int
        Threads of feature extraction; -1 for all cores.
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
        ``same``, that ``differ``, that are ``unchecked`` since they hold seconds, and that ``failed``.

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
    if splits == 0:
        raise ValueError("splits must be at least 1, got 0")
    if splits is not None:
        check_count(splits, "splits", 1)
    if check and again:
        raise ValueError("check and again exclude each other: one cell of each record is computed, or all")
    if check and client is not None:
        raise ValueError("one cell of each record is checked here: leave the client (--cluster) out")
    jobs = [replace(job, splits=job.splits[:splits]) for job in asked_jobs(context, tables)]
    if not quiet:
        for line in remarks(context):
            print(line, file=sys.stderr)
    if check:
        return recheck(context, jobs, quiet=quiet)
    if client is None:
        return run_jobs(context, jobs, again=again, quiet=quiet)
    from ..cluster._connect import executor_of

    with executor_of(client) as executor:
        return run_jobs(context, jobs, again=again, quiet=quiet, executor=executor)


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
    >>> import tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.experiments.show(["main"], results=folder)  # nothing was computed yet
    []
    """
    context = new_context(budget, None, results, None, None, 1)
    names = names_of("tables", tables) or TABLES
    return [grid for name in names for grid in table(name).grids(context) if grid.filled]
