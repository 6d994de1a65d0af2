"""Beyond the paper: other heads of the descriptors, and the steps of the learned pooling.

Results of an earlier protocol, whose splits were drawn by scikit-learn with seed 0, are kept as records of
the task "earlier" and shown apart: their splits are not those of the other tables.
"""

from __future__ import annotations

from .._grid import Cell, Grid, score_grid
from .._jobs import Context, Job, evaluation
from .._methods import METHODS
from .._results import Record
from .._statistics import mean_of

ROWS = (
    "HFS-desc", "HFS-desc, LDA", "HFS-joint", "HFS-joint, LDA", "HFS-joint, SVM", "HFS-full",
    *(name for name, m in METHODS.items() if m.group == "variants" and m.family == "learned"),
)  # fmt: skip


def jobs(context: Context) -> list[Job]:
    """All rows; one for each head in the smallest budget, where all would tell nothing more."""
    rows = ROWS[:7] if context.budget == "smoke" else ROWS
    return [
        evaluation(context, "accuracy", entry, METHODS[name])
        for entry in context.available()
        for name in rows
        if context.wants(METHODS[name])
    ]


def grids(context: Context) -> list[Grid]:
    """The rows, and the earlier ones of each data set."""
    found = [score_grid(context, "variants", "Heads and steps of the learned pooling", ROWS, {})]
    if context.budget == "smoke":
        return found
    earlier: dict[str, list[tuple[str, list[Cell]]]] = {}
    for record in context.store.records():
        if record.key.task == "earlier":
            earlier.setdefault(record.key.data, []).append(_row(record))
    for data, rows in earlier.items():
        rows.sort(key=lambda row: row[1][0].ours.mean if row[1][0].ours else 0.0)
        columns = ("ours", "on the training set", "trained with")
        found.append(
            Grid(f"earlier_{data}", f"Earlier splits: {data}", columns, rows, source="variants.jsonl")
        )
    return found


def _row(record: Record) -> tuple[str, list[Cell]]:
    cells = record.cells.values()
    own = mean_of({i: c["train_accuracy"] for i, c in enumerate(cells) if "train_accuracy" in c})
    return record.key.method, [
        Cell(mean_of(record.values()), expected=record.facts["protocol"]["count"], digits=2),
        Cell(own) if own.n else Cell(),
        Cell(text=", ".join(f"{k} {v}" for k, v in record.key.recipe.items() if k in TOLD)),
    ]


TOLD = (
    "head",
    "epochs",
    "train_points",
    "whole_epochs",
    "label_smoothing",
    "weight_decay",
    "network",
    "n_scales",
)
