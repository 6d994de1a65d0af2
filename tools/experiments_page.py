"""The pages of the experiments, from their results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.lib.results import RESULTS, ROOT
from heatfield_bench import TABLES, Grid, show
from heatfield_bench._findings import findings
from heatfield_bench._page import markdown

from .site.figure_tables import table, when

RECORDS = ROOT / "bench" / "results"
GAP = RESULTS / "learned_gap.json"
SCALES = RESULTS / "robust_scales.json"
INTRODUCTIONS = Path(__file__).parent / "pages"  # what is written by hand
# Tables of the paper that the results here can fill with its own data; the others are beyond it.
PAPER = ("main", "ablation", "scales", "rotation", "persistence", "summary", "runtime")


def experiments_page() -> str:
    """The paper's tables and findings."""
    grids = [grid for grid in show(PAPER, results=RECORDS) if grid.name != "differences"]
    return _introduction("experiments") + _tables(grids, findings(RECORDS))


def beyond_page() -> str:
    """Tables that the paper does not have, and differences on common splits."""
    names = [name for name in TABLES if name not in (*PAPER, "variants")]
    grids = [grid for grid in show(["main"], results=RECORDS) if grid.name == "differences"]
    scales = _scales(json.loads(SCALES.read_text()))
    introduction = _introduction("beyond").replace("SCALES", scales)
    return introduction + _tables([*grids, *show(names, results=RECORDS)], [])


def protocol_page() -> str:
    """How it is measured, and where ours differs from the paper."""
    return _introduction("protocol").rstrip() + "\n"


def learned_page() -> str:
    """Heads, steps of the learned pooling, its need of clouds, and the earlier rows."""
    tables = _tables(show(["variants"], results=RECORDS), [])
    return _introduction("learned") + _need_of_clouds(json.loads(GAP.read_text())) + tables


def _scales(found: dict[str, Any]) -> str:
    """Changed test clouds, by the scales that they are described at."""
    rows = [
        [label.replace("none", "as they are"), *(f"{row[way]:.1f}" for way in ("own", "clean", "median"))]
        for label, row in found["neurons4"].items()
    ]
    head = ("neurons4", "scales of the changed cloud", "of the cloud before", "by the median distance")
    return f"`python -m benchmarks.robust_scales`, {when(found)}; percent right:\n\n{table(head, rows)}\n"


def _need_of_clouds(found: dict[str, Any]) -> str:
    """Learned pooling beside the descriptor, against the number of training clouds."""
    head = (
        "training clouds", "HFS-desc", "no whole epochs", "difference", "from drawn points",
        "last 6 epochs whole", "difference",
    )  # fmt: skip
    rows = []
    for count, row in found["rows"].items():
        cells = [f"{int(count):,}", f"{row['desc']:.1f}"]
        for way in ("full", "whole"):
            own = row.get(way)
            cells += ["", ""] if own is None else [f"{own['accuracy']:.1f}", _difference(own)]
            if way == "full":
                drawn = (own or {}).get("of_drawn_points")
                cells.append("" if drawn is None else f"{drawn:.1f}")
        rows.append(cells)
    return (
        "On the balanced disks and annuli the class is a count of shapes. "
        f"`python -m benchmarks.learned_gap`, {when(found)}; one draw,\n"
        f"the same {found['test_clouds']:,} test clouds, {found['epochs']} epochs of {found['points']} points"
        f" per cloud; accuracy in percent:\n\n{table(head, rows)}\n\n"
        "The cause of the gap is the drawing of points. `from drawn points`: the network without whole\n"
        "epochs predicts from as many points as it was trained with, mean of five draws, and is right far\n"
        "more often than from all points. What it pools depends on the number of points: a maximum over\n"
        "all is larger than one over some. With all points in the last epochs, which is the default\n"
        "(`whole_epochs`), HFS-full is far ahead of the descriptor.\n\n"
    )


def _difference(own: dict[str, float]) -> str:
    return f"{own['minus_desc']:+.1f} ± {own['standard_error']:.1f}"


def _introduction(name: str) -> str:
    return (INTRODUCTIONS / f"{name}.md").read_text() + "\n"


def _tables(grids: list[Grid], found: list[str]) -> str:
    """The part after the title, with links that hold in the folder of the documentation."""
    return markdown(grids, found, folder="../../bench/results/").split("\n", 4)[4]
