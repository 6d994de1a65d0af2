"""The paper's tables of figures with ours beside them, from the records of ``heatfield bench``.

Published figures are those of `heatfield.experiments`; ours are read from the result files and nowhere typed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.lib.results import RESULTS
from heatfield.experiments import DATA_SETS
from heatfield.experiments._published import PUBLISHED

# Number in the paper: table of `heatfield bench`, what its figures are.
TABLES = {
    1: ("main", "Classification accuracy, per cent"),
    2: (
        "runtime",
        "Seconds from features to predictions on an H200 with 16 workers; ours were not measured on a machine"
        " without other work ([time per cloud](../results/speed.md))",
    ),
    3: ("rotation", "Mean accuracy over classes lost under random rotations, points"),
    4: ("persistence", "Multiparameter persistence: accuracy, per cent"),
    5: ("ablation", "Blocks of HFS-desc: accuracy, per cent"),
    8: ("boundary", "Boundary sets: mean accuracy over classes, per cent, without the macro-F1 of the paper"),
    9: ("scales", "Number and range of scales: accuracy, per cent"),
}
# Records of splits that were made before the protocol: their names by row.
_EARLIER = {
    "HFS-simple": ("simple-mlp", "simple"),
    "HFS-desc": ("desc-mlp", "desc"),
    "HFS-full": ("full",),
    "HFS+DGCNN": ("dgcnn",),
}
# Rows of the paper that are other rows here.
_SAME = {"8 scales": "HFS-desc", "range 0.05, 0.25": "HFS-desc"}


def section(number: int) -> list[str]:
    """A table of the paper: published, ours on the same or rebuilt data, and on data that stand in for it."""
    name, what = TABLES[number]
    rows = PUBLISHED[name]
    sets = list(next(iter(rows.values())))
    lines = [f"## Table {number}: {name}", "", f"{what}. `heatfield bench {name}`.", ""]
    lines += [f"| | {' | '.join(sets)} |", "|---|" + "---|" * len(sets)]
    for row, figures in rows.items():
        cells = (f"{figures[data]}{_ours(name, row, data)}" for data in sets)
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return [*lines, ""]


def _ours(table: str, row: str, data: str) -> str:
    """What was computed for a cell, each with its data where these are not the paper's; may be empty."""
    found = ""
    for key, entry in DATA_SETS.items():
        if data not in (entry.paper, entry.stands_for) or table == "runtime":
            continue
        task = "rotation" if table == "rotation" else "accuracy"
        read = _lost if table == "rotation" else _score(entry.protocol.metric)
        record = _record(key, _SAME.get(row, row), task)
        if record is not None and (text := _shown(record, read)):
            found += f"; {'' if entry.paper == data else f'{key}: '}{text}"
    return found


def _record(key: str, method: str, task: str) -> dict[str, Any] | None:
    """The record with the best budget; of accuracies, if there is none, that of earlier splits."""
    folder: Path = RESULTS / "experiments" / key
    records = [json.loads(path.read_text()) for path in sorted(folder.glob(f"*-{task}-*.json"))]
    own = [r for r in records if r["method"] == method and r["budget"] in ("paper", "reduced")]
    if own:
        return min(own, key=lambda r: r["budget"])  # "paper" comes first
    for name in _EARLIER.get(method, ()) if task == "accuracy" else ():
        for path in sorted(folder.glob(f"{name}-earlier-*.json")):
            return json.loads(path.read_text())
    return None


def _score(metric: str) -> Callable[[dict[str, Any]], float | None]:
    def read(split: dict[str, Any]) -> float | None:
        return split["scores"]["none"].get(metric)

    return read


def _lost(split: dict[str, Any]) -> float | None:
    return split["scores"]["none"]["macc"] - split["scores"]["rotation"]["macc"]


def _shown(record: dict[str, Any], read: Callable[[dict[str, Any]], float | None]) -> str:
    """Mean over the splits, their deviation and number, and the training where it is not the paper's."""
    values: Sequence[float] = [v for split in record["splits"].values() if (v := read(split)) is not None]
    if not values:
        return ""
    mean, count = sum(values) / len(values), len(values)
    recipe = record.get("recipe", {}) if record["budget"] != "paper" else {}
    budget = f"; {recipe['epochs']} epochs" if "epochs" in recipe else ""
    budget += f" of {recipe['train_points']} points" if "train_points" in recipe else ""
    spread = (sum((v - mean) ** 2 for v in values) / max(1, count - 1)) ** 0.5
    return f"**{mean:.1f}**" + (f" ± {spread:.1f}" if count > 1 else "") + f" ({count}{budget})"
