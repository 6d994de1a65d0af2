"""Tables of one data set each (rotation, changed clouds, runtime, training clouds), and that of all sets."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._evaluate import NONE, ROBUSTNESS, ROTATION, alignment, evaluate
from .._grid import Cell, Grid, Mean, found_record, mean_of, noted, published, record_cell
from .._jobs import Context, Job, evaluation, evaluation_key, metadata_of
from .._methods import METHODS, SMOKE, Method, Plan
from .._results import Key, Record, load_average
from .._sets import DataSet, Size, load
from .accuracy import Table


class PerSet(Table):
    """One table per data set, with columns of its own."""

    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def has(self, method: Method) -> bool:
        return super().has(method) and method.family == "descriptor"

    def record(self, context: Context, entry: DataSet, method: Method) -> Record | None:
        """What a row shows."""
        return found_record(context, self.task, entry, method)

    def cells(self, record: Record, entry: DataSet, method: Method) -> list[Cell]:
        """A row."""
        raise NotImplementedError

    def title_of(self, context: Context, entry: DataSet) -> str:  # noqa: ARG002
        """Above the table of a data set."""
        return f"{self.title}: {entry.title}"

    def grids(self, context: Context) -> list[Grid]:
        return noted([self.grid(context, entry) for entry in context.recorded()], self.notes)

    def grid(self, context: Context, entry: DataSet) -> Grid:
        """Of a data set."""
        found = [(name, self.record(context, entry, METHODS[name])) for name, _ in self.rows()]
        rows = [(name, self.cells(r, entry, METHODS[name])) for name, r in found if r is not None]
        title = self.title_of(context, entry)
        return Grid(f"{self.name}_{entry.name}", title, self.columns, rows, source=f"{self.name}.jsonl")


def in_space(entries: Sequence[DataSet]) -> list[DataSet]:
    """Of all sets that are made, the one for tests."""
    return [entry for entry in entries if entry.real or entry.name == "four_shapes"]


class Rotation(PerSet):
    """Table 3: every method on the same test clouds before and after a rotation of each.

    Descriptors on all splits, networks on the first: the paper uses one. Clouds in space only.
    """

    name = task = "rotation"
    title, changes = "Rotation", (NONE, ROTATION)
    columns = ("before", "after", "lost", "predictions changed, %", "deviation of features")
    notes = (
        "Descriptors on all splits, networks on the first, as in the paper. Deviation: "
        "|F(X) - F(RX)| / |F(X)|, mean over clouds; the paper states 1e-7 to 4e-6 for HFS.",
    )

    def has(self, method: Method) -> bool:
        return self.name in method.beside

    def sets(self, entries: Sequence[DataSet]) -> list[DataSet]:
        return in_space(entries)

    def jobs_of(self, context: Context, entry: DataSet, method: Method) -> list[Job]:
        splits = None if method.family == "descriptor" else 1
        return [evaluation(context, self.task, entry, method, changes=self.changes, splits=splits)]

    def title_of(self, context: Context, entry: DataSet) -> str:
        score = summary_of(context, entry).get("alignment")
        known = "" if score is None else f", alignment of the data set {score:.2f}"
        return super().title_of(context, entry) + known

    def cells(self, record: Record, entry: DataSet, method: Method) -> list[Cell]:
        moved, tested, lost = changed_predictions(record)
        own = record.cells.values()
        before = record_cell(record, published("before_rotation", method, entry))
        after = replace(record_cell(record, change="rotation"), remarks=())
        deviations = {i: cell["deviation"]["rotation"] for i, cell in enumerate(own) if "deviation" in cell}
        return [
            before,
            after,
            Cell(lost, published("rotation", method, entry), expected=before.expected),
            Cell(text=f"{100.0 * moved / tested:.2f} ({moved} of {tested})"),
            Cell(text=f"{mean_of(deviations).mean:.1e}" if deviations else ""),
        ]


def changed_predictions(record: Record) -> tuple[int, int, Mean]:
    """Predictions changed by rotation, of how many, and the accuracy lost."""
    cells = record.cells.values()
    before, after = record.values(), record.values("rotation")
    return (
        sum(cell["changed"]["rotation"] for cell in cells),
        sum(cell["test"] for cell in cells),
        mean_of({k: before[k] - after[k] for k in before}),
    )


class Robustness(PerSet):
    """Accuracy of models trained on clean clouds where test clouds have noise, missing points or outliers."""

    name = task = "robustness"
    title, changes, splits = "Changed test clouds", (NONE, *ROBUSTNESS), 5
    columns = ("clean", *(change.label for change in ROBUSTNESS))
    notes = (
        "noise: standard deviation as a share of the root mean square radius; missing: share of points left "
        "out; outliers: points added uniformly in the box, as a share.",
    )

    def cells(self, record: Record, _entry: DataSet, _method: Method) -> list[Cell]:
        found = [record_cell(record, change=change.label) for change in self.changes]
        return [replace(cell, expected=self.splits) for cell in found]


class Curve(PerSet):
    """Accuracy against the number of training clouds per class; the last column is the row of Table 1."""

    name, title, splits = "curve", "Training clouds per class", 5
    counts = (2, 5, 10, 20, 50)

    def counts_of(self, context: Context) -> tuple[int, ...]:
        """Fewer at the smallest budget."""
        return self.counts[:2] if context.budget == "smoke" else self.counts

    def jobs_of(self, context: Context, entry: DataSet, method: Method) -> list[Job]:
        return [
            evaluation(context, "accuracy", entry, method, splits=self.splits, train_per_class=count)
            for count in self.counts_of(context)
        ]

    def grids(self, context: Context) -> list[Grid]:
        return [self.grid(context, entry) for entry in context.recorded()]

    def grid(self, context: Context, entry: DataSet) -> Grid:
        rows: list[tuple[str, list[Cell]]] = []
        for name, _ in self.rows():
            find = partial(found_record, context, "accuracy", entry, METHODS[name])
            records = [find(train_per_class=count) for count in self.counts_of(context)]
            if any(record is not None for record in records):
                cells = [replace(record_cell(record), expected=self.splits) for record in records]
                rows.append((name, [*cells, record_cell(find())]))
        columns = (*map(str, self.counts_of(context)), "all")
        title = self.title_of(context, entry)
        return Grid(f"curve_{entry.name}", title, columns, rows, source="curve.jsonl")


# An epoch takes as long as the next: at the reduced budget few of them are timed, of the paper's network on
# clouds of the paper's size, and the table says what all would take.
TIMED_EPOCHS = 3


class Runtime(PerSet):
    """Table 2: seconds of extraction, training and inference on the first split, one thread, nothing kept."""

    name = task = "runtime"
    title = "Runtime"
    columns = (
        "extraction", "training", "inference", "total", "at the published epochs", "speed-up over DGCNN",
    )  # fmt: skip
    notes = (
        "Seconds on one thread, beside whatever else ran (the load average is with the results); the paper's "
        "are of a GPU and 16 CPU workers. Speed-up at the published epochs; the paper's is the median over "
        "its data sets.",
        f"Networks and learned pooling: {TIMED_EPOCHS} epochs were run, on clouds of the paper's size.",
    )

    def has(self, method: Method) -> bool:
        return self.name in method.beside

    def sets(self, entries: Sequence[DataSet]) -> list[DataSet]:
        return in_space(entries)

    def jobs_of(self, context: Context, entry: DataSet, method: Method) -> list[Job]:
        plan = timed_plan(method, entry, context.budget)
        key = evaluation_key("runtime", entry, method, plan)
        like = evaluation(context, "runtime", entry, method, splits=1)
        return [Job(key, (0,), like.cost, partial(_timed, entry, method, plan), like.metadata)]

    def record(self, context: Context, entry: DataSet, method: Method) -> Record | None:
        return found_record(context, self.task, entry, method, plan=timed_plan)

    def cells(self, record: Record, entry: DataSet, method: Method) -> list[Cell]:
        (cell,) = record.cells.values()
        seconds = cell["seconds"]
        longer = method.epochs / cell["epochs"] if cell.get("epochs") else 1.0
        extract, train, predict = (seconds[name] for name in ("extract", "train", "predict"))
        total, own = extract + train * longer + predict, [extract, train, predict, extract + train + predict]
        return [*(Cell(_one(value)) for value in own), Cell(_one(total), published("runtime", method, entry))]

    def grid(self, context: Context, entry: DataSet) -> Grid:
        grid = super().grid(context, entry)
        totals = {name: cells[-1].ours.mean for name, cells in grid.rows if cells[-1].ours}
        base = totals.get("DGCNN", float("nan"))
        for name, cells in grid.rows:
            paper = METHODS[name].published.get("speed_up", {}).get("median") if entry.paper else None
            cells.append(Cell(_one(base / totals[name]), paper))
        return grid


def timed_plan(method: Method, entry: DataSet, budget: str) -> Plan:
    """As of the budget, but for networks at a reduced one: the paper's clouds, and few epochs."""
    if budget != "reduced" or method.family not in ("network", "learned"):
        return method.plan(entry, budget)
    paper = method.plan(entry, "paper")
    options = paper.recipe["options"] | {"epochs": TIMED_EPOCHS}
    return replace(paper, recipe=paper.recipe | {"options": options}, label="reduced")


def _timed(
    entry: DataSet, method: Method, plan: Plan, context: Context, splits: list[int]
) -> Iterator[tuple[int, dict[str, Any]]]:
    if method.family != "network":  # what is compiled is compiled before the clock starts
        few = load(entry, context.folders.get(entry.name), SMOKE)
        deque(evaluate(method, plan.recipe, few, splits, (NONE,)), maxlen=0)
    data = context.load(entry, plan.size)
    before = load_average()
    for split, cell in evaluate(method, plan.recipe, data, splits, (NONE,)):
        yield split, cell | {"load_average": [before, load_average()]}


def _one(value: float) -> Mean:
    return Mean(float(value), float("nan"), int(np.isfinite(value)))


# --- the data sets themselves --------------------------------------------------------

# Of the paper: classes, clouds and points per cloud, and the alignment score of Appendix C.4.
SUMMARY = {
    "Processes": (4, 4000, "105 to 321"),
    "Orbit5k": (5, 5000, "1000"),
    "DisksAnnuli": (5, 5000, "874 to 2717"),
    "NeuroMorpho": (9, 6198, "1024"),
    "Allen": (7, 8400, "1024"),
    "FOR-species": (15, 3435, "1024"),
    "SCOP": (15, 1455, "128"),
}
ALIGNMENT = {"FOR-species": 0.94, "SCOP": 0.44}


class Summary(Table):
    """Classes, clouds, points, protocol, and how far clouds share an orientation."""

    name, title = "summary", "Data sets"
    columns = ("domain", "classes", "clouds", "points", "score", "evaluation", "alignment")

    def jobs(self, context: Context) -> list[Job]:
        """One cell per data set."""
        size = _size(context.budget)
        return [
            Job(
                _summary_key(entry, context.budget), (0,), 0.1, partial(_summary, entry),
                partial(metadata_of, entry, size), True,
            )
            for entry in context.available()
        ]  # fmt: skip

    def grids(self, context: Context) -> list[Grid]:
        """One row per data set."""
        rows = []
        for entry in context.recorded():
            found, protocol, paper = summary_of(context, entry), entry.protocol, entry.paper or ""
            if not found:
                continue
            least, median, most = found["points"]
            own = (
                str(found["classes"]), f"{found['clouds']:,}",
                f"{least}" if least == most else f"{least} to {most}, median {median}",
            )  # fmt: skip
            theirs = SUMMARY.get(paper, ())
            beside = [f" ({one:,})" if isinstance(one, int) else f" ({one})" for one in theirs]
            how = "folds" if protocol.kind == "folds" else f"splits, {protocol.share:.0%} tested"
            texts = (
                entry.domain, *(a + b for a, b in zip(own, beside or [""] * len(own), strict=True)),
                {"oa": "accuracy", "macc": "mean class accuracy"}[protocol.metric], f"{protocol.count} {how}",
            )  # fmt: skip
            score = Cell(_one(found["alignment"]), ALIGNMENT.get(paper), digits=2)
            rows.append((entry.title, [*(Cell(text=text) for text in texts), score]))
        return [Grid("summary", self.title, self.columns, rows, source="summary.jsonl")]


def _size(budget: str) -> Size:
    return SMOKE if budget == "smoke" else Size()


def _summary_key(entry: DataSet, budget: str) -> Key:
    size, label = _size(budget), "smoke" if budget == "smoke" else "paper"
    return Key("summary", entry.name, "data", {}, (size.clouds, size.points), label, "summary")


def _summary(entry: DataSet, context: Context, splits: list[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    data = context.load(entry, _size(context.budget))
    counts = np.array([len(cloud) for cloud in data.clouds])
    per_class = np.unique(data.labels, return_counts=True)[1]
    for split in splits:
        found = {
            "classes": len(per_class), "clouds": len(counts),
            "per_class": [int(per_class.min()), int(per_class.max())],
            "points": [int(counts.min()), int(np.median(counts)), int(counts.max())],
            "dimensions": data.n_dims, "alignment": round(alignment(data.clouds), 4),
        }  # fmt: skip
        yield split, found


def summary_of(context: Context, entry: DataSet) -> dict[str, Any]:
    """What is known of a data set; empty where it was not summarised."""
    record = context.store.read(_summary_key(entry, context.budget))
    return {} if record is None else record.cells.get(0, {})


ALL = (Rotation, Robustness, Curve, Runtime, Summary)
