"""Table 5: each block of the descriptor alone, all but one, and all but the local ones."""

from __future__ import annotations

from .._grid import Grid, score_grid
from .._jobs import Context, Job, evaluation
from .._methods import METHODS, SPATIAL
from .._published import PUBLISHED

ROWS = ("HFS-desc", *(name for name, method in METHODS.items() if method.group == "ablation"))
PLANAR = tuple(name for name, method in METHODS.items() if method.group == "planar")


def jobs(context: Context) -> list[Job]:
    """All rows; their features are columns of those of HFS-desc. The made sets lie in the plane."""
    return [
        evaluation(context, "accuracy", entry, METHODS[name])
        for entry in context.available()
        for name in (ROWS if entry.real or entry.boundary else (*ROWS, *PLANAR))
        if context.wants(METHODS[name])
    ]


def grids(context: Context) -> list[Grid]:
    """Accuracy beside the paper's."""
    published = dict(PUBLISHED["ablation"])
    published |= {name: published[name.removesuffix(SPATIAL)] for name in PLANAR}
    return [score_grid(context, "ablation", "Blocks of the descriptor", (*ROWS, *PLANAR), published)]
