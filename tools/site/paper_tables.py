"""The paper's tables of figures with ours beside them, from the results of ``heatfield bench``.

Published figures are those of `heatfield_bench`; ours are read from the result files and nowhere typed.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from benchmarks.lib.results import ROOT
from heatfield_bench import DATA_SETS, METHODS
from heatfield_bench._grid import found_record, mean_of, remarks_on
from heatfield_bench._jobs import Context
from heatfield_bench._methods import SETS, SPATIAL
from heatfield_bench._results import Record, Store
from heatfield_bench.tables import table as table_of

RECORDS = ROOT / "bench" / "results"
# Number in the paper: table of `heatfield bench`, what its figures are.
TABLES = {
    1: ("main", "Classification accuracy, per cent"),
    2: (
        "runtime",
        "Seconds from features to predictions on an H200 with 16 workers; ours, on one thread, are in the"
        " [tables of runtime](../results/experiments.md)",
    ),
    3: ("rotation", "Mean accuracy over classes lost under random rotations, points"),
    4: ("persistence", "Multiparameter persistence: accuracy, per cent"),
    5: ("ablation", "Blocks of HFS-desc: accuracy, per cent"),
    8: (
        "boundary",
        "Boundary sets: mean accuracy over classes, per cent",
    ),
    9: ("scales", "Number and range of scales: accuracy, per cent"),
}


def published(name: str) -> dict[str, dict[str, float]]:
    """The paper's figures in a table, by row and data set."""
    rows = {label: METHODS[method].published.get(name) for label, method in table_of(name).rows()}
    return {label: dict(found) for label, found in rows.items() if found and not label.endswith(SPATIAL)}


def section(number: int) -> list[str]:
    """A table of the paper: published, and ours on the same or rebuilt data."""
    name, what = TABLES[number]
    rows, sets = published(name), SETS[name]
    lines = [f"## Table {number}: {name}", "", f"{what}. `heatfield bench {name}`.", ""]
    lines += [f"| | {' | '.join(sets)} |", "|---|" + "---|" * len(sets)]
    for row, figures in rows.items():
        cells = (f"{figures[data]}{_ours(name, row, data)}" for data in sets)
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return [*lines, ""]


def _ours(table: str, row: str, data: str) -> str:
    """What was computed for a cell on the paper's data set or its reconstruction; may be empty."""
    if table == "runtime":
        return ""
    task = "rotation" if table == "rotation" else "accuracy"
    context, method = _context(RECORDS), dict(table_of(table).rows())[row]
    records = (
        found_record(context, task, entry, METHODS[method])
        for entry in DATA_SETS.values()
        if entry.paper == data
    )
    return "".join(f"; {_shown(record, task)}" for record in records if record is not None)


@cache
def _context(folder: Path) -> Context:
    return Context(Store(folder), "paper")


def _shown(record: Record, task: str) -> str:
    """Mean over the splits, their deviation and number, and what was not as in the paper."""
    if task == "rotation":
        plain, turned = record.values("none", "macc"), record.values("rotation", "macc")
        values = {split: plain[split] - turned[split] for split in plain}
    else:
        values = record.values()
    found = mean_of(values)
    spread = f" ± {found.sd:.1f}" if found.n > 1 else ""
    return f"**{found.mean:.1f}**{spread} ({'; '.join([str(found.n), *remarks_on(record)])})"
