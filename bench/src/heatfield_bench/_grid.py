"""A table as data: rows, columns, and in each cell ours beside the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heatfield._base.summary import plural

from ._jobs import Context, evaluation_key
from ._methods import METHODS, TRAINERS, Method, Plan
from ._results import Record, same_data
from ._sets import DataSet
from ._statistics import Mean, mean_of

FITTED = 95.0  # percent of its training clouds that a network must know before it counts as trained


@dataclass(frozen=True)
class Cell:
    """One entry of a table.

    Guide: ``heatfield docs results/experiments``.

    Attributes
    ----------
    ours : Mean, optional
        None where nothing was computed.
    paper : float, optional
        The paper's figure for the same data set or its reconstruction.
    remarks : tuple of str
        How it was computed, where that was not as in the paper.
    expected : int
        Splits that the protocol has; ``ours.n`` are done.
    digits : int
    text : str
        Shown instead of a number.
    source : str
        The table whose file holds the result.

    Examples
    --------
    >>> from heatfield_bench import Cell, mean_of
    >>> Cell(mean_of({0: 90.0, 1: 92.0}), paper=90.5).difference
    0.5
    """

    ours: Mean | None = None
    paper: float | None = None
    remarks: tuple[str, ...] = ()
    expected: int = 0
    digits: int = 1
    text: str = ""
    source: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, where there are both."""
        return None if self.ours is None or self.paper is None else self.ours.mean - self.paper


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
    source : str
        The file of results that most of it comes from.

    Examples
    --------
    >>> from heatfield_bench import Cell, Grid
    >>> Grid("main", "Accuracy", ("Orbit5k",), [("HFS", [Cell(paper=93.2)])]).filled
    False
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, list[Cell]]]
    notes: list[str] = field(default_factory=list)
    source: str = ""

    @property
    def filled(self) -> bool:
        """Whether anything in it was computed."""
        return any(c.ours is not None or c.text for _, cells in self.rows for c in cells)


def found_record(
    context: Context,
    task: str,
    entry: DataSet,
    method: Method,
    *,
    plan: Callable[[Method, DataSet, str], Plan] = Method.plan,
    **more: Any,
) -> Record | None:
    """The record that a table shows: of a network the one that was trained longest, else the paper's budget
    before a reduced one; of the smallest budget only if that was asked for."""
    if context.budget != "smoke" and plan is Method.plan and "steps" in method.reduced:
        found = [r for r in context.store.records() if _is_of(r, task, entry, method, more)]
        return max(found, key=lambda r: (r.epochs, r.date), default=None)
    for budget in ("smoke",) if context.budget == "smoke" else ("paper", "reduced"):
        for own in _by_any_trainer(plan(method, entry, budget)):
            record = context.store.read(evaluation_key(task, entry, method, own, **more))
            if record is not None and record.cells:
                return record
    return None


def _is_of(record: Record, task: str, entry: DataSet, method: Method, more: Mapping[str, Any]) -> bool:
    key = record.key
    same = (key.task, key.data, key.method) == (task, entry.name, method.name) and key.budget != "smoke"
    return same and key.recipe.get("train_per_class") == more.get("train_per_class")


def _by_any_trainer(plan: Plan) -> Iterator[Plan]:
    """A plan, and what it is where the other implementation trains: records are shown on any machine."""
    yield plan
    for name in TRAINERS:
        if name != plan.recipe.get("trainer", name):
            yield replace(plan, recipe=plan.recipe | {"trainer": name})


def is_fitted(record: Record) -> bool:
    """Whether a network knows its training clouds; True of what is no network."""
    known = [cell["train_accuracy"] for cell in record.cells.values() if "train_accuracy" in cell]
    return not known or min(known) >= FITTED


def remarks_on(record: Record) -> tuple[str, ...]:
    """How it was computed, where that was not as in the paper."""
    found = []
    if record.key.budget != "paper":
        shortened = record.epochs and record.key.budget != "smoke"
        found.append(plural(record.epochs, "epoch") if shortened else record.key.budget)
    if "drawn" in record.facts["protocol"]:
        found.append("other folds")
    return (*found, *(() if is_fitted(record) else ("underfit",)))


def paired_values(a: Record | None, b: Record | None) -> tuple[dict[int, float], dict[int, float]]:
    """The scores of two records, to form their difference; none where one is missing or of other data."""
    if a is None or b is None or not same_data(a.facts, b.facts):
        return {}, {}
    return a.values(), b.values()


def score_cell(
    context: Context, entry: DataSet, method: Method, paper: Mapping[str, float], **more: Any
) -> Cell:
    """The accuracy of a method on a data set beside the paper's."""
    published = paper.get(entry.paper or "")
    record = found_record(context, "accuracy", entry, method, **more)
    if record is None:
        return Cell(paper=published)
    expected = record.facts["protocol"]["count"]
    return Cell(mean_of(record.values()), published, remarks_on(record), expected, source=record.key.table)


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
    filled = [(label, cells) for label, cells in shown if any(c.ours is not None for c in cells)]
    sources = Counter(cell.source for _, cells in filled for cell in cells if cell.source)
    source = f"{sources.most_common(1)[0][0]}.jsonl" if sources else ""
    return Grid(name, title, tuple(sets[i].title for i in kept), filled, source=source)


def noted(grids: Sequence[Grid], notes: Sequence[str]) -> list[Grid]:
    """Tables of one kind, those without rows left out, with notes below the last."""
    filled = [grid for grid in grids if grid.rows]
    return [*filled[:-1], *(replace(grid, notes=list(notes)) for grid in filled[-1:])]
