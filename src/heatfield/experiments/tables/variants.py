"""Beyond the paper: other heads of the descriptors, and the steps of the learned pooling.

Results of an earlier protocol, whose splits were drawn by scikit-learn with seed 0, are kept as records of
the task "earlier" and shown apart: their splits are not those of the other tables.
"""

from __future__ import annotations

from typing import Any

from .._grid import Cell, Grid, score_grid
from .._jobs import Context, Job, evaluation
from .._registry import METHODS
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
    for path, record in context.store.records():
        if record["task"] == "earlier":
            earlier.setdefault(record["data"], []).append(_row(context, path, record))
    for data, rows in earlier.items():
        rows.sort(key=lambda row: row[1][0].ours.mean if row[1][0].ours else 0.0)
        title = f"Earlier splits: {data}"
        found.append(Grid(f"earlier_{data}", title, ("ours", "on the training set", "trained with"), rows))
    return found


def _row(context: Context, path: Any, record: dict[str, Any]) -> tuple[str, list[Cell]]:
    protocol, cells = record["facts"]["protocol"], record["splits"]
    ours = mean_of({int(k): c["scores"]["none"][protocol["metric"]] for k, c in cells.items()})
    own = mean_of({int(k): c["train_accuracy"] for k, c in cells.items() if "train_accuracy" in c})
    place = path.relative_to(context.store.folder).as_posix()
    return record["method"], [
        Cell(ours, budget=record["budget"], record=place, stale=True, expected=protocol["count"], digits=2),
        Cell(own) if own.n else Cell(),
        Cell(text=", ".join(f"{k} {v}" for k, v in record["recipe"].items() if k in TOLD)),
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
