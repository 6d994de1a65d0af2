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
    """Heads, steps of the learned pooling, and the earlier rows."""
    tables = _tables(show(["variants"], results=RECORDS), [])
    return _introduction("learned") + tables


def _scales(found: dict[str, Any]) -> str:
    """Changed test clouds, without isolated points and with them; in brackets how many points these are."""
    head, rows = ["data set", "isolated points"], []
    for name in (name for name, own in found.items() if "drop" in own):
        for way, words in (("drop", "left out"), ("keep", "kept")):
            own = found[name].get(way, {})
            head[2:] = [label.replace("none", "as they are") for label in own] or head[2:]
            cells = [f"{row['accuracy']:.1f}" for row in own.values()]
            if way == "drop":
                cells = [f"{c} ({r['isolated']:.2g} %)" for c, r in zip(cells, own.values(), strict=True)]
            rows += [[name, words, *cells]] if own else []
    return f"`python -m benchmarks.robust_scales`, {when(found)}; percent right:\n\n{table(head, rows)}\n"


def _introduction(name: str) -> str:
    return (INTRODUCTIONS / f"{name}.md").read_text() + "\n"


def _tables(grids: list[Grid], found: list[str]) -> str:
    """The part after the title, with links that hold in the folder of the documentation."""
    return markdown(grids, found, folder="../../bench/results/").split("\n", 4)[4]
