"""Data sets whose labels are carried by rigid or local shape: mean class accuracy and macro-F1."""

from __future__ import annotations

from dataclasses import replace

from .._grid import Grid, found_record, score_grid
from .._jobs import Context, Job, evaluation
from .._methods import METHODS
from .._published import BOUNDARY_F1, PUBLISHED
from .._sets import DataSet
from .._statistics import mean_of
from .main import ROWS, SHOWN


def _sets(entries: list[DataSet]) -> list[DataSet]:
    return [entry for entry in entries if entry.boundary]


def jobs(context: Context) -> list[Job]:
    """The rows of Table 1."""
    return [
        evaluation(context, "accuracy", entry, METHODS[name])
        for entry in _sets(context.available())
        for name in ROWS
        if context.wants(METHODS[name])
    ]


def grids(context: Context) -> list[Grid]:
    """Two tables: one for each score."""
    entries = _sets(context.recorded())
    first = score_grid(
        context, "boundary", "Rigid and local shape, mean class accuracy", SHOWN, PUBLISHED["boundary"],
        entries,
    )  # fmt: skip
    by_title = {entry.title: entry for entry in entries}
    rows = []
    for label, cells in first.rows:
        own = []
        for title, cell in zip(first.columns, cells, strict=True):
            entry = by_title[title]
            paper = BOUNDARY_F1.get(label, {}).get(entry.paper or "")
            found = found_record(context, "accuracy", entry, METHODS[label])
            ours = None if found is None else mean_of(found.values(metric="f1"))
            own.append(replace(cell, ours=ours, paper=paper))
        rows.append((label, own))
    second = Grid("boundary_f1", "Rigid and local shape, macro-F1", first.columns, rows, source=first.source)
    return [first, second]
