"""Accuracy against the number of training clouds per class."""

from __future__ import annotations

from dataclasses import replace

from .._grid import Cell, Grid, score_cell
from .._jobs import Context, Job, evaluation
from .._methods import METHODS
from .._sets import DataSet

ROWS = ("HFS-simple", "HFS-desc", "HFS-joint", "HFS-joint, LDA", "FPFH", "LocalCovariance", "HKS")
SPLITS = 5  # the first so many
COUNTS = (2, 5, 10, 20, 50)
SMOKE_COUNTS = (2, 5)


def _counts(context: Context) -> tuple[int, ...]:
    return SMOKE_COUNTS if context.budget == "smoke" else COUNTS


def jobs(context: Context) -> list[Job]:
    """The first five splits; the last column is the row of Table 1."""
    return [
        evaluation(context, "accuracy", entry, METHODS[name], splits=SPLITS, train_per_class=count)
        for entry in context.available()
        for name in ROWS
        for count in _counts(context)
        if context.wants(METHODS[name])
    ]


def grids(context: Context) -> list[Grid]:
    """One table per data set."""
    return [_grid(context, entry) for entry in context.recorded()]


def _grid(context: Context, entry: DataSet) -> Grid:
    rows: list[tuple[str, list[Cell]]] = []
    for name in ROWS:
        cells = [
            replace(score_cell(context, entry, METHODS[name], {}, train_per_class=count), expected=SPLITS)
            for count in _counts(context)
        ]
        if any(cell.ours is not None for cell in cells):
            rows.append((name, [*cells, score_cell(context, entry, METHODS[name], {})]))
    columns = (*map(str, _counts(context)), "all")
    title = f"Training clouds per class: {entry.title}"
    return Grid(f"curve_{entry.name}", title, columns, rows, source="curve.jsonl")
