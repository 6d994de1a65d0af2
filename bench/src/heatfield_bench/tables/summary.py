"""The benchmark summary: classes, clouds, points, protocol, and how far clouds share an orientation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from .._evaluate import alignment
from .._grid import Cell, Grid
from .._jobs import Context, Job
from .._methods import SMOKE
from .._published import ALIGNMENT, SUMMARY
from .._results import Key
from .._sets import DataSet, Size
from .._statistics import Mean


def _key(entry: DataSet, budget: str) -> Key:
    size = SMOKE if budget == "smoke" else Size()
    label = "smoke" if budget == "smoke" else "paper"
    return Key("summary", entry.name, "data", {}, (size.clouds, size.points), label, "summary")


def _run(entry: DataSet, context: Context, splits: list[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    size = SMOKE if context.budget == "smoke" else Size()
    data = context.load(entry, size)
    counts = np.array([len(cloud) for cloud in data.clouds])
    per_class = np.unique(data.labels, return_counts=True)[1]
    for split in splits:
        yield (
            split,
            {
                "classes": len(per_class),
                "clouds": len(counts),
                "per_class": [int(per_class.min()), int(per_class.max())],
                "points": [int(counts.min()), int(np.median(counts)), int(counts.max())],
                "dimensions": data.n_dims,
                "alignment": round(alignment(data.clouds), 4),
            },
        )


def _facts(entry: DataSet, context: Context) -> dict[str, Any]:
    return context.load(entry, SMOKE if context.budget == "smoke" else Size()).facts()


def jobs(context: Context) -> list[Job]:
    """One cell per data set."""
    return [
        Job(
            _key(entry, context.budget), (0,), 0.1, partial(_run, entry),
            partial(_facts, entry), True,
        )
        for entry in context.available()
    ]  # fmt: skip


def facts_cell(context: Context, entry: DataSet) -> dict[str, Any]:
    """What is known of a data set; empty where it was not summarised."""
    record = context.store.read(_key(entry, context.budget))
    return {} if record is None else record.cells.get(0, {})


def _published(data: str) -> tuple[str, str, str]:
    classes, clouds, points = SUMMARY[data]
    return str(classes), f"{clouds:,}", points


def grids(context: Context) -> list[Grid]:
    """One row per data set."""
    rows = []
    for entry in context.recorded():
        found = facts_cell(context, entry)
        if not found:
            continue
        protocol = entry.protocol
        how = "folds" if protocol.kind == "folds" else f"splits, {protocol.share:.0%} tested"
        score = Cell(Mean(found["alignment"], float("nan"), 1), ALIGNMENT.get(entry.paper or ""), digits=2)
        least, median, most = found["points"]
        own = (
            str(found["classes"]), f"{found['clouds']:,}",
            f"{least}" if least == most else f"{least} to {most}, median {median}",
        )  # fmt: skip
        paper = (
            [f" ({text})" for text in _published(entry.paper)] if entry.paper in SUMMARY else [""] * len(own)
        )
        texts = (
            entry.domain, *(a + b for a, b in zip(own, paper, strict=True)),
            {"oa": "accuracy", "macc": "mean class accuracy"}[protocol.metric], f"{protocol.count} {how}",
        )  # fmt: skip
        rows.append((entry.title, [*(Cell(text=str(text)) for text in texts), score]))
    columns = ("domain", "classes", "clouds", "points", "score", "evaluation", "alignment")
    return [Grid("summary", "Data sets", columns, rows, source="summary.jsonl")]
