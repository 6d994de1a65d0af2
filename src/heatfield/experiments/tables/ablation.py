"""Table 5: each block of the descriptor alone, all but one, and all but the local ones."""

from __future__ import annotations

from .._grid import Grid, score_grid
from .._jobs import Context, Job, evaluation
from .._published import PUBLISHED
from .._registry import METHODS

ROWS = ("HFS-desc", *(name for name, method in METHODS.items() if method.group == "ablation"))


def jobs(context: Context) -> list[Job]:
    """All rows; their features are columns of those of HFS-desc."""
    return [
        evaluation(context, "accuracy", entry, METHODS[name])
        for entry in context.available()
        for name in ROWS
        if context.wants(METHODS[name])
    ]


def grids(context: Context) -> list[Grid]:
    """Accuracy beside the paper's."""
    return [score_grid(context, "ablation", "Blocks of the descriptor", ROWS, PUBLISHED["ablation"])]
