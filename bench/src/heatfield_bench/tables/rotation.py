"""Table 3: every method on the same test clouds before and after a rotation of each."""

from __future__ import annotations

from typing import Any

from .._evaluate import NONE, ROTATION
from .._grid import Cell, Grid, found_record, noted, remarks_on
from .._jobs import Context, Job, evaluation
from .._methods import METHODS
from .._published import BEFORE_ROTATION, PUBLISHED
from .._sets import DataSet
from .._statistics import Mean, mean_of
from .summary import facts_cell

ROWS = (
    "HFS-simple", "HFS-desc", "HFS-joint", "FPFH", "LocalCovariance", "HKS", "HFS-full", "DGCNN",
    "DGCNN-SO(3)", "VN-DGCNN", "HFS+DGCNN", "PointNet", "PointNet++", "Point Tr",
)  # fmt: skip
NOTES = (
    "Descriptors on all splits, networks on the first, as in the paper. Deviation: |F(X) - F(RX)| / |F(X)|, "
    "mean over clouds; the paper states 1e-7 to 4e-6 for HFS.",
)
COLUMNS = ("before", "after", "lost", "predictions changed, %", "deviation of features")


def jobs(context: Context) -> list[Job]:
    """Descriptors on all splits, networks on the first: the paper uses one. Clouds in space only."""
    return [
        evaluation(
            context, "rotation", entry, METHODS[name], changes=(NONE, ROTATION),
            splits=None if METHODS[name].family == "descriptor" else 1,
        )
        for entry in context.available()
        for name in ROWS
        if (entry.real or entry.name == "four_shapes") and context.wants(METHODS[name])
    ]  # fmt: skip


def grids(context: Context) -> list[Grid]:
    """One table per data set, the paper's change of accuracy in the column of what is lost."""
    return noted([_grid(context, entry) for entry in context.recorded()], NOTES)


def _grid(context: Context, entry: DataSet) -> Grid:
    rows = []
    for name in ROWS:
        record = found_record(context, "rotation", entry, METHODS[name])
        if record is None:
            continue
        before, after = record.values(), record.values("rotation")
        cells = record.cells.values()
        tested = sum(cell["test"] for cell in cells)
        moved = sum(cell["changed"]["rotation"] for cell in cells)
        data = entry.paper or ""
        paper, first = (t.get(name, {}).get(data) for t in (PUBLISHED["rotation"], BEFORE_ROTATION))
        more: dict[str, Any] = {"remarks": remarks_on(record), "expected": record.facts["protocol"]["count"]}
        deviations = {i: c["deviation"]["rotation"] for i, c in enumerate(cells) if "deviation" in c}
        row = [
            Cell(mean_of(before), first, **more),
            Cell(mean_of(after), expected=more["expected"]),
            Cell(mean_of({k: before[k] - after[k] for k in before}), paper, expected=more["expected"]),
            Cell(text=f"{100.0 * moved / tested:.2f} ({moved} of {tested})"),
            Cell(text=f"{mean_of(deviations).mean:.1e}" if deviations else ""),
        ]
        rows.append((name, row))
    score = facts_cell(context, entry).get("alignment")
    known = "" if score is None else f", alignment of the data set {score:.2f}"
    title = f"Rotation: {entry.title}{known}"
    return Grid(f"rotation_{entry.name}", title, COLUMNS, rows, source="rotation.jsonl")


def changed_predictions(context: Context, entry: DataSet, name: str) -> tuple[int, int, Mean] | None:
    """Predictions changed, of how many, and the accuracy lost; None where it was not run."""
    record = found_record(context, "rotation", entry, METHODS[name])
    if record is None:
        return None
    cells = record.cells.values()
    before, after = record.values(), record.values("rotation")
    return (
        sum(cell["changed"]["rotation"] for cell in cells),
        sum(cell["test"] for cell in cells),
        mean_of({k: before[k] - after[k] for k in before}),
    )
