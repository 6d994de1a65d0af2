"""Table 2: seconds of extraction, training and inference on one split, one thread, nothing kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._evaluate import NONE, evaluate
from .._grid import Cell, Grid, found_record, noted
from .._jobs import Context, Job, evaluation, evaluation_key
from .._machine import load_average
from .._methods import METHODS, SMOKE, Method, Plan
from .._published import PUBLISHED, SPEED_UP
from .._sets import DataSet, load
from .._statistics import Mean

ROWS = (
    "HFS-simple", "HFS-desc", "HFS-joint", "FPFH", "LocalCovariance", "HKS", "HFS-full", "DGCNN",
    "PointNet", "HFS+DGCNN", "PointNet++", "Point Tr",
)  # fmt: skip
# Of the networks, to say what a shorter run would take at the published length.
EPOCHS = {"Point Tr": 200}
# An epoch takes as long as the next: at the reduced budget few of them are timed, of the paper's network on
# clouds of the paper's size, and the table says what all would take.
TIMED_EPOCHS = 3
NOTES = (
    "Seconds on one thread, beside whatever else ran (the load average is with the results); the paper's are "
    "of a GPU and 16 CPU workers. Speed-up at the published epochs; the paper's is the median over its data "
    "sets.",
    f"Networks and learned pooling: {TIMED_EPOCHS} epochs were run, on clouds of the paper's size.",
)
COLUMNS = ("extraction", "training", "inference", "total", "at the published epochs", "speed-up over DGCNN")


def jobs(context: Context) -> list[Job]:
    """The first split of each data set in space (of all sets that are made, of the one for tests)."""
    return [
        _job(context, entry, METHODS[name])
        for entry in context.available()
        for name in ROWS
        if (entry.real or entry.name == "four_shapes") and context.wants(METHODS[name])
    ]


def _job(context: Context, entry: DataSet, method: Method) -> Job:
    plan = timed_plan(method, entry, context.budget)
    key = evaluation_key("runtime", entry, method, plan)
    like = evaluation(context, "runtime", entry, method, splits=1)
    return Job(key, (0,), like.cost, partial(_run, entry, method, plan), like.facts)


def timed_plan(method: Method, entry: DataSet, budget: str) -> Plan:
    """As of the budget, but for networks at a reduced one: the paper's clouds, and few epochs."""
    if budget != "reduced" or method.family not in ("network", "learned"):
        return method.plan(entry, budget)
    paper = method.plan(entry, "paper")
    options = paper.recipe["options"] | {"epochs": TIMED_EPOCHS}
    return replace(paper, recipe=paper.recipe | {"options": options}, label="reduced")


def _run(
    entry: DataSet, method: Method, plan: Plan, context: Context, splits: list[int]
) -> Iterator[tuple[int, dict[str, Any]]]:
    if method.family != "network":  # what is compiled is compiled before the clock starts
        few = load(entry, context.folders.get(entry.name), SMOKE)
        deque(evaluate(method, plan.recipe, few, splits, (NONE,)), maxlen=0)
    data = context.load(entry, plan.size)
    before = load_average()
    for split, cell in evaluate(method, plan.recipe, data, splits, (NONE,)):
        yield split, cell | {"load_average": [before, load_average()]}


def grids(context: Context) -> list[Grid]:
    """One table per data set."""
    return noted([_grid(context, entry) for entry in context.recorded()], NOTES)


def _grid(context: Context, entry: DataSet) -> Grid:
    rows, totals = [], {}
    for name in ROWS:
        record = found_record(context, "runtime", entry, METHODS[name], plan=timed_plan)
        if record is None:
            continue
        (cell,) = record.cells.values()
        seconds = cell["seconds"]
        trained = cell.get("epochs")
        longer = EPOCHS.get(name, 250) / trained if trained else 1.0
        totals[name] = seconds["extract"] + seconds["train"] * longer + seconds["predict"]
        own = [seconds["extract"], seconds["train"], seconds["predict"], sum(seconds.values())]
        paper = PUBLISHED["runtime"].get(name, {}).get(entry.paper or "")
        cells = [Cell(_one(value)) for value in own]
        rows.append((name, [*cells, Cell(_one(totals[name]), paper)]))
    base = totals.get("DGCNN", float("nan"))
    full = [
        (label, [*cells, Cell(_one(base / totals[label]), SPEED_UP.get(label) if entry.paper else None)])
        for label, cells in rows
    ]
    title = f"Runtime: {entry.title}"
    return Grid(f"runtime_{entry.name}", title, COLUMNS, full, source="runtime.jsonl")


def _one(value: float) -> Mean:
    return Mean(float(value), float("nan"), int(np.isfinite(value)))
