"""What a run is asked for, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .._base.check import check_choice, thread_count
from ._dimension import ESTIMATORS, skdim
from ._jobs import Context, Job, method_named
from ._methods import BUDGETS
from ._own import check_name
from ._registry import METHODS
from ._sets import DATA_SETS
from ._store import Store
from .tables import TABLES, table


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
