"""A table as data: rows, columns, and in each cell ours beside the paper's, with its record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ._jobs import Context, evaluation_key
from ._methods import TRAINERS, Method, Plan
from ._registry import METHODS
from ._sets import DataSet
from ._statistics import Mean, mean_of
from ._store import Key, same_data


@dataclass(frozen=True)
class Cell:
    """One entry of a table.

    Guide: ``heatfield docs results/experiments``.

    Attributes
    ----------
    ours : Mean, optional
        None where nothing was computed.
    paper : float, optional
    same_data : bool
        Whether the paper's figure belongs to this data set or its reconstruction, so that a difference means
        something.
    budget : str
    record : str
        File in the folder of results.
    stale : bool
        Computed by other code than there is now.
    expected : int
        Splits that the protocol has; ``ours.n`` are done.
    digits : int
    text : str
        Shown instead of a number.

    Examples
    --------
    >>> from heatfield.experiments import Cell, mean_of
    >>> Cell(mean_of({0: 90.0, 1: 92.0}), paper=90.5).difference
    0.5
    """

    ours: Mean | None = None
    paper: float | None = None
    same_data: bool = True
    budget: str = ""
    record: str = ""
    stale: bool = False
    expected: int = 0
    digits: int = 1
    text: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, where both are of the same data."""
        if self.ours is None or self.paper is None or not self.same_data:
            return None
        return self.ours.mean - self.paper


@dataclass(frozen=True)
class Grid:
    """A table.

    Guide: ``heatfield docs results/experiments``.

    Attributes
    ----------
    name, title : str
    columns : tuple of str
    rows : list of (label, cells)
        One `Cell` per column.
    notes : list of str
        Printed below the table.

    Examples
    --------
    >>> from heatfield.experiments import Cell, Grid
    >>> Grid("main", "Accuracy", ("Orbit5k",), [("HFS", [Cell(paper=93.2)])]).filled
    False
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, list[Cell]]]
    notes: list[str] = field(default_factory=list)

    @property
    def filled(self) -> bool:
        """Whether anything in it was computed."""
        return any(c.ours is not None or c.text for _, cells in self.rows for c in cells)


def found_key(
    context: Context,
    task: str,
    entry: DataSet,
    method: Method,
    *,
    plan: Callable[[Method, DataSet, str], Plan] = Method.plan,
    **more: Any,
) -> tuple[Key, dict[str, Any]] | None:
    """The record with the best budget: the paper's before a reduced one; smoke only if asked for."""
    for budget in ("smoke",) if context.budget == "smoke" else ("paper", "reduced"):
        for own in _by_any_trainer(plan(method, entry, budget)):
            key = evaluation_key(task, entry, method, own, **more)
            record = context.store.read(key)
            if record is not None and record["splits"]:
                return key, record
    return None


def _by_any_trainer(plan: Plan) -> Iterator[Plan]:
    """A plan, and what it is where the other implementation trains: records are shown on any machine."""
    yield plan
    for name in TRAINERS:
        if name != plan.recipe.get("trainer", name):
            yield replace(plan, recipe=plan.recipe | {"trainer": name})


def values_of(record: dict[str, Any], change: str = "none", metric: str | None = None) -> dict[int, float]:
    """The scores of a record by split."""
    name = metric or record["facts"]["protocol"]["metric"]
    return {int(k): cell["scores"][change][name] for k, cell in record["splits"].items()}


def paired_values(
    a: dict[str, Any] | None, b: dict[str, Any] | None
) -> tuple[dict[int, float], dict[int, float]]:
    """The scores of two records, to form their difference; none where one is missing or of other data."""
    if a is None or b is None or not same_data(a["facts"], b["facts"]):
        return {}, {}
    return values_of(a), values_of(b)


def score_cell(
    context: Context, entry: DataSet, method: Method, paper: Mapping[str, float], **more: Any
) -> Cell:
    """The accuracy of a method on a data set beside the paper's."""
    published = paper.get(entry.paper or entry.stands_for or "")
    found = found_key(context, "accuracy", entry, method, **more)
    if found is None:
        return Cell(paper=published, same_data=entry.paper is not None)
    key, record = found
    return Cell(
        mean_of(values_of(record)), published, entry.paper is not None, key.budget, key.name,
        is_stale(record, method), record["facts"]["protocol"]["count"],
    )  # fmt: skip


def is_stale(record: dict[str, Any], method: Method) -> bool:
    """Whether any cell was computed by other code than there is now."""
    now = method.code()
    return any(cell["code"] != now for cell in record["splits"].values())


def score_grid(
    context: Context,
    name: str,
    title: str,
    methods: Sequence[str | tuple[str, str]],
    published: Mapping[str, Mapping[str, float]],
    entries: Sequence[DataSet] | None = None,
) -> Grid:
    """Methods by data sets; columns and rows without any result are left out.

    A row may be a pair of its label, by which the paper's figures are found, and the method.
    """
    sets = context.recorded() if entries is None else list(entries)
    named = [(m, m) if isinstance(m, str) else m for m in methods]
    rows = [
        (label, [score_cell(context, e, METHODS[m], published.get(label, {})) for e in sets])
        for label, m in named
    ]
    kept = [i for i in range(len(sets)) if any(cells[i].ours is not None for _, cells in rows)]
    shown = [(label, [cells[i] for i in kept]) for label, cells in rows]
    return Grid(
        name, title, tuple(sets[i].title for i in kept),
        [(label, cells) for label, cells in shown if any(c.ours is not None for c in cells)],
    )  # fmt: skip
