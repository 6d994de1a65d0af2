"""Accuracy of models trained on clean clouds where test clouds have noise, missing points or outliers."""

from __future__ import annotations

from typing import Any

from .._changes import NONE, ROBUSTNESS
from .._grid import Cell, Grid, found_key, is_stale, values_of
from .._jobs import Context, Job, evaluation
from .._registry import METHODS
from .._sets import DataSet
from .._statistics import mean_of

ROWS = ("HFS-simple", "HFS-desc", "HFS-joint", "FPFH", "LocalCovariance", "HKS")
SPLITS = 5  # the first so many
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
    return [_grid(context, entry) for entry in context.recorded()]


def _grid(context: Context, entry: DataSet) -> Grid:
    rows = []
    for name in ROWS:
        found = found_key(context, "robustness", entry, METHODS[name])
        if found is not None:
            key, record = found
            about: dict[str, Any] = {
                "budget": key.budget,
                "record": key.name,
                "stale": is_stale(record, METHODS[name]),
                "expected": SPLITS,
            }
            rows.append((name, [Cell(mean_of(values_of(record, c.label)), **about) for c in CHANGES]))
    columns = tuple("clean" if c == NONE else c.label for c in CHANGES)
    notes = [
        "noise: standard deviation as a share of the root mean square radius; missing: share of points left "
        "out; outliers: points added uniformly in the box, as a share."
    ]
    return Grid(
        f"robustness_{entry.name}",
        f"Changed test clouds: {entry.title}",
        columns,
        rows,
        notes if rows else [],
    )
