"""The paper's tables of figures with ours beside them, from the records of ``heatfield bench``.

Published figures are those of `heatfield.experiments`; ours are read from the result files and nowhere typed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.lib.results import RESULTS
from heatfield.experiments import DATA_SETS, METHODS
from heatfield.experiments._grid import found_key
from heatfield.experiments._jobs import Context
from heatfield.experiments._published import PUBLISHED
from heatfield.experiments._store import Store

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
    """The record that the tables show; of accuracies, if there is none, that of earlier splits."""
    folder: Path = RESULTS / "experiments"
    found = found_key(Context(Store(folder), "paper"), task, DATA_SETS[key], METHODS[method])
    if found is not None:
        return found[1]
    for name in _EARLIER.get(method, ()) if task == "accuracy" else ():
        for path in sorted((folder / key).glob(f"{name}-earlier-*.json")):
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
    budget = _budget(record) if record["budget"] != "paper" else ""
    spread = (sum((v - mean) ** 2 for v in values) / max(1, count - 1)) ** 0.5
    return f"**{mean:.1f}**" + (f" ± {spread:.1f}" if count > 1 else "") + f" ({count}{budget})"


def _budget(record: dict[str, Any]) -> str:
    """What of the training and of the data was reduced."""
    recipe = record.get("recipe", {})
    options = recipe.get("options", recipe)  # records of earlier splits have no estimator's options apart
    points = options.get("train_points", options.get("n_points"))
    text = f"; {options['epochs']} epochs" if "epochs" in options else ""
    text += f" of {points} points" if points else ""
    text += f", the last {options['whole_epochs']} of all" if options.get("whole_epochs") else ""
    clouds = record.get("size", [None])[0]
    return text + (f"; {clouds} clouds per class" if clouds else "")
