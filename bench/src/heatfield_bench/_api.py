"""What a user calls: run tables, show them. What was asked for is checked before anything is computed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heatfield._base.check import check_choice, check_count, thread_count

from ._grid import Grid
from ._jobs import Context, Job, method_named
from ._methods import BUDGETS, METHODS
from ._results import Store
from ._run import run_jobs
from ._sets import DATA_SETS, check_name
from .tables import TABLES, table
from .tables.dimension import ESTIMATORS, skdim


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
        Folder of the results. A run goes on with what is there; several may share it.
    sets, methods : str or sequence of str, optional
        Only these. The table "dimension" has manifolds of its own and is passed over where sets are given.
    splits : int, optional
        Only the first so many splits or folds of each data set: a later run computes the others.
    n_jobs : int
        Threads of feature extraction; -1 for all cores.
    again : bool
        Compute all of it again; a result is replaced when the new one is finished.
    quiet : bool
        Print nothing.
    client : distributed.Client, Executor or str, optional
        Workers that compute the cells, as of `heatfield.cluster.survey`; each on one thread. They need the
        folders of ``data`` under the same paths; results are written here.

    Returns
    -------
    counts : dict
        Cells ``computed``, done ``before``, left ``elsewhere`` to another run, and ``failed``.

    Examples
    --------
    >>> import tempfile
    >>> import heatfield_bench as hb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     counts = hb.run(
    ...         ["main"], sets=["processes"], methods=["HFS-simple"], results=folder, quiet=True
    ...     )
    ...     grid, = hb.show(["main"], budget="smoke", results=folder)
    >>> counts["computed"], grid.columns
    (2, ('Processes',))
    """
    context = new_context(budget, data, results, sets, methods, n_jobs)
    if splits == 0:
        raise ValueError("splits must be at least 1, got 0")
    if splits is not None:
        check_count(splits, "splits", 1)
    jobs = [replace(job, splits=job.splits[:splits]) for job in asked_jobs(context, tables)]
    for line in () if quiet else (*remarks(context), *context.store.problems()):
        print(line, file=sys.stderr)
    if client is None:
        return run_jobs(context, jobs, again=again, quiet=quiet)
    from heatfield.cluster._connect import executor_of

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
    >>> import tempfile
    >>> import heatfield_bench as hb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hb.show(["main"], results=folder)  # nothing was computed yet
    []
    """
    context = new_context(budget, None, results, None, None, 1)
    names = names_of("tables", tables) or TABLES
    return [grid for name in names for grid in table(name).grids(context) if grid.filled]


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
    n_jobs: int | None,
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
    try:
        thread_count(n_jobs)
    except ValueError:
        raise ValueError(f"n_jobs must be at least 1, or -1 for all cores, got {n_jobs!r}") from None
    context = Context(Store(results), budget, folders, columns, rows, 1 if n_jobs is None else n_jobs)
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


def jobs_of(context: Context, tables: Sequence[str]) -> list[Job]:
    """The jobs of some tables, in the order of the tables."""
    return [job for name in tables for job in table(name).jobs(context)]


def asked_jobs(context: Context, tables: str | Sequence[str] | None) -> list[Job]:
    """The jobs of the tables that were asked for, each of which must have some; or of all."""
    names = names_of("tables", tables)
    if names is None:
        # Where data sets were chosen, the table that has none is passed over.
        found = jobs_of(context, [name for name in TABLES if name != "dimension" or context.sets is None])
        if not found:
            raise ValueError(_nothing(context, "any table"))
        return found
    if "dimension" in names and context.sets is not None:
        raise ValueError("the table dimension has manifolds of its own: leave out the sets (--sets), or it")
    if "dimension" in names and find_spec("skdim") is None:
        skdim()  # says what to install
    jobs = {name: table(name).jobs(context) for name in names}
    for name, own in jobs.items():
        if not own:
            raise ValueError(_nothing(context, f"the table {name}"))
    return [job for own in jobs.values() for job in own]


def _nothing(context: Context, where: str) -> str:
    reasons = [_lacking(context) if context.methods else "", _absent(context) if context.sets else ""]
    return "; ".join([f"none of these methods and data sets is in {where}", *filter(None, reasons)])


def remarks(context: Context) -> list[str]:
    """What is left out here, and why: one line for methods, one for data sets; and folds that are fewer."""
    return [line for line in (_lacking(context), _absent(context), *context.known()[1]) if line]


def _lacking(context: Context) -> str:
    wanted = [METHODS[name] for name in context.methods or METHODS if name in METHODS]
    needs = [f"{m.name} needs {', '.join(m.missing())}" for m in wanted if m.missing()]
    return f"left out, not installed: {'; '.join(needs)}" if needs else ""


def _absent(context: Context) -> str:
    known = context.sets or DATA_SETS
    names = [n for n in known if n in DATA_SETS and DATA_SETS[n].folder and n not in context.folders]
    return f"left out, no --data NAME=FOLDER: {', '.join(names)}" if names else ""
