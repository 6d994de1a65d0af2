"""A table as data: means over splits and differences between methods, cells with ours beside the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from heatfield._base.summary import plural

from ._jobs import Context, evaluation_key
from ._methods import METHODS, Method, Plan
from ._results import Record, same_data
from ._sets import DataSet, Protocol

FITTED = 95.0  # percent of its training clouds that a network must know before it counts as trained


@dataclass(frozen=True)
class Mean:
    """Mean and standard deviation over splits (n - 1 in the denominator; NaN of one split)."""

    mean: float
    sd: float
    n: int


@dataclass(frozen=True)
class Difference:
    """A paired difference: how large, its standard error, and the two-sided probability under none."""

    mean: float
    error: float
    p: float
    n: int

    def clear_of(self, limit: float) -> bool:
        """Whether chance is an unlikely cause of its side of a limit, at 5 %."""
        if self.error == 0.0:
            return self.mean != limit
        ratio = abs(self.mean - limit) / self.error
        return bool(2.0 * (student.sf(ratio, self.n - 1) if self.n > 1 else norm.sf(ratio)) < 0.05)


def mean_of(values: Mapping[int, float]) -> Mean:
    """Over the splits that are done.

    Examples
    --------
    >>> mean_of({0: 90.0, 1: 92.0})
    Mean(mean=91.0, sd=1.4142135623730951, n=2)
    """
    numbers = np.array([values[k] for k in sorted(values)])
    if numbers.size == 0:
        return Mean(float("nan"), float("nan"), 0)
    sd = float(numbers.std(ddof=1)) if numbers.size > 1 else float("nan")
    return Mean(float(numbers.mean()), sd, numbers.size)


def difference(a: Mapping[int, float], b: Mapping[int, float], protocol: Protocol) -> Difference:
    """``a`` minus ``b`` over their common splits.

    Training sets of different splits overlap, so that results vary less over splits than over data sets.
    Nadeau and Bengio (2003) correct the variance of the mean from s^2 / n to
    s^2 (1 / n + n_test / n_train).

    Examples
    --------
    >>> from heatfield_bench import Protocol
    >>> folds = Protocol("folds", 5, 0.2, "macc")
    >>> d = difference({0: 91.0, 1: 92.0, 2: 93.0}, {0: 90.0, 1: 90.0, 2: 90.0}, folds)
    >>> d.mean, round(d.error, 4), d.n
    (2.0, 0.7638, 3)
    """
    gaps = np.array([a[k] - b[k] for k in sorted(set(a) & set(b))])
    mean = float(gaps.mean()) if gaps.size else float("nan")
    if gaps.size < 2:
        return Difference(mean, float("nan"), float("nan"), gaps.size)
    ratio = protocol.share / (1.0 - protocol.share)
    error = float(np.sqrt(gaps.var(ddof=1) * (1.0 / gaps.size + ratio)))
    if error == 0.0:
        return Difference(mean, 0.0, 1.0 if mean == 0.0 else 0.0, gaps.size)
    return Difference(mean, error, float(2.0 * student.sf(abs(mean) / error, gaps.size - 1)), gaps.size)


@dataclass(frozen=True)
class Cell:
    """One entry of a table: ours (None where nothing was computed) beside the paper's figure."""

    ours: Mean | None = None
    paper: float | None = None  # for the same data set or its reconstruction
    remarks: tuple[str, ...] = ()  # how it was computed, where that was not as in the paper
    expected: int = 0  # splits that the protocol has; ``ours.n`` are done
    digits: int = 1
    text: str = ""  # shown instead of a number
    source: str = ""  # the table whose file holds the result

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
        A cell per column, with ``ours`` (``mean``, ``sd`` and ``n`` over splits) and ``paper``, each None
        where there is none.
    notes : list of str
        Printed below the table.
    source : str
        The file of results that most of it comes from.

    Examples
    --------
    >>> from heatfield_bench import Grid
    >>> Grid("main", "Accuracy", ("Orbit5k",), []).filled
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
        key = evaluation_key(task, entry, method, plan(method, entry, budget), **more)
        record = context.store.read(key)
        if record is not None and record.cells:
            return record
    return None


def _is_of(record: Record, task: str, entry: DataSet, method: Method, more: Mapping[str, Any]) -> bool:
    key = record.key
    same = (key.task, key.data, key.method) == (task, entry.name, method.name) and key.budget != "smoke"
    return same and key.recipe.get("train_per_class") == more.get("train_per_class")


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
    if "drawn" in record.metadata["protocol"]:
        found.append("other folds")
    return (*found, *(() if is_fitted(record) else ("underfit",)))


def paired_values(a: Record | None, b: Record | None) -> tuple[dict[int, float], dict[int, float]]:
    """The scores of two records, to form their difference; none where one is missing or of other data."""
    if a is None or b is None or not same_data(a.metadata, b.metadata):
        return {}, {}
    return a.values(), b.values()


def record_cell(
    record: Record | None, paper: float | None = None, change: str = "none", metric: str | None = None
) -> Cell:
    """The score of a record beside the paper's."""
    if record is None:
        return Cell(paper=paper)
    ours, expected = mean_of(record.values(change, metric)), record.metadata["protocol"]["count"]
    return Cell(ours, paper, remarks_on(record), expected, source=record.key.table)


def published(table: str, method: Method, entry: DataSet) -> float | None:
    """The paper's figure in a table."""
    return method.published.get(table, {}).get(entry.paper or "")


def score_grid(
    context: Context,
    name: str,
    title: str,
    rows: Sequence[tuple[str, str]],
    sets: Sequence[DataSet],
    *,
    table: str,
    task: str = "accuracy",
    metric: str | None = None,
) -> Grid:
    """Methods, each with its label, by data sets, beside the figures of one of the paper's tables.

    Columns and rows without any result are left out.
    """
    cells: dict[str, list[Cell]] = {}
    for label, method in ((label, METHODS[name]) for label, name in rows):
        cells[label] = [
            record_cell(found_record(context, task, e, method), published(table, method, e), metric=metric)
            for e in sets
        ]
    kept = [i for i in range(len(sets)) if any(row[i].ours is not None for row in cells.values())]
    shown = [(label, [row[i] for i in kept]) for label, row in cells.items()]
    filled = [(label, row) for label, row in shown if any(cell.ours is not None for cell in row)]
    sources = Counter(cell.source for _, row in filled for cell in row if cell.source)
    source = f"{sources.most_common(1)[0][0]}.jsonl" if sources else ""
    return Grid(name, title, tuple(sets[i].title for i in kept), filled, source=source)


def noted(grids: Sequence[Grid], notes: Sequence[str]) -> list[Grid]:
    """Tables of one kind, those without rows left out, with notes below the last."""
    filled = [grid for grid in grids if grid.rows]
    return [*filled[:-1], *(replace(grid, notes=list(notes)) for grid in filled[-1:])]
