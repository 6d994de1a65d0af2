"""Table 1: every method on every data set."""

from __future__ import annotations

from .._grid import Grid, score_grid
from .._jobs import Context, Job, evaluation
from .._methods import METHODS
from .._published import PUBLISHED

TITLE = "Classification accuracy"
# Cheapest first; the paper's baselines, ours, and what is beyond the paper.
ROWS = (
    "HFS-simple", "HFS-desc", "HFS-joint", "FPFH", "LocalCovariance", "HKS", "HFS-desc, LDA",
    "HFS-joint, LDA", "WKS", "HFS-full", "PointNet", "DGCNN", "HFS+DGCNN", "PointNet++", "Point Tr",
    "DGCNN-SO(3)", "VN-DGCNN",
)  # fmt: skip
SHOWN = (
    "FPFH", "HKS", "WKS", "LocalCovariance", "PointNet", "PointNet++", "DGCNN", "Point Tr",
    "DGCNN-SO(3)", "VN-DGCNN", "HFS-simple", "HFS-desc", "HFS-joint", "HFS-desc, LDA", "HFS-joint, LDA",
    "HFS-full", "HFS+DGCNN",
)  # fmt: skip


def jobs(context: Context) -> list[Job]:
    """All rows on all data sets that can be had."""
    return [
        evaluation(context, "accuracy", entry, METHODS[name])
        for entry in context.available()  # all rows of a data set, which is then read once
        for name in ROWS
        if context.wants(METHODS[name])
    ]


def grids(context: Context) -> list[Grid]:
    """Accuracy beside the paper's."""
    return [score_grid(context, "main", TITLE, SHOWN, PUBLISHED["main"])]
