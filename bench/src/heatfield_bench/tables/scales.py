"""The number of scales and the five ranges of them, for HFS-desc."""

from __future__ import annotations

from .._grid import Grid, score_grid
from .._jobs import Context, Job, evaluation
from .._methods import COUNTS, METHODS, RANGES
from .._published import PUBLISHED


def _rows() -> list[tuple[str, str]]:
    """Label and method; the defaults are HFS-desc itself."""
    rows = [(f"{count} scales", "HFS-desc" if count == 8 else f"{count} scales") for count in COUNTS]
    for low, high in RANGES:
        label = f"range {low:g}, {high:g}"
        rows.append((label, "HFS-desc" if (low, high) == (0.05, 0.25) else label))
    return rows


def jobs(context: Context) -> list[Job]:
    """All rows on all data sets that can be had."""
    names = dict.fromkeys(method for _, method in _rows())
    return [
        evaluation(context, "accuracy", entry, METHODS[name])
        for entry in context.available()
        for name in names
        if context.wants(METHODS[name])
    ]


def grids(context: Context) -> list[Grid]:
    """Accuracy beside the paper's, of Processes and NeuroMorpho."""
    return [score_grid(context, "scales", "Number and range of scales", _rows(), PUBLISHED["scales"])]
