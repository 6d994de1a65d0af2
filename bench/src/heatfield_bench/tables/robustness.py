"""Accuracy of models trained on clean clouds where test clouds have noise, missing points or outliers."""

from __future__ import annotations

from typing import Any

from .._evaluate import NONE, ROBUSTNESS
from .._grid import Cell, Grid, found_record, noted, remarks_on
from .._jobs import Context, Job, evaluation
from .._methods import METHODS
from .._sets import DataSet
from .._statistics import mean_of

ROWS = ("HFS-simple", "HFS-desc", "HFS-joint", "FPFH", "LocalCovariance", "HKS")
SPLITS = 5  # the first so many
NOTES = (
    "noise: standard deviation as a share of the root mean square radius; missing: share of points left out; "
    "outliers: points added uniformly in the box, as a share.",
)
CHANGES = (NONE, *ROBUSTNESS)


def jobs(context: Context) -> list[Job]:
    """The first five splits of the descriptors."""
    return [
        evaluation(context, "robustness", entry, METHODS[name], changes=CHANGES, splits=SPLITS)
        for entry in context.available()
        for name in ROWS
        if context.wants(METHODS[name])
    ]


def grids(context: Context) -> list[Grid]:
    """One table per data set."""
    return noted([_grid(context, entry) for entry in context.recorded()], NOTES)


def _grid(context: Context, entry: DataSet) -> Grid:
    rows = []
    for name in ROWS:
        record = found_record(context, "robustness", entry, METHODS[name])
        if record is not None:
            about: dict[str, Any] = {"remarks": remarks_on(record), "expected": SPLITS}
            rows.append((name, [Cell(mean_of(record.values(c.label)), **about) for c in CHANGES]))
    columns = tuple("clean" if c == NONE else c.label for c in CHANGES)
    title = f"Changed test clouds: {entry.title}"
    return Grid(f"robustness_{entry.name}", title, columns, rows, source="robustness.jsonl")
