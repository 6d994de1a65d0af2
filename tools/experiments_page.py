"""The pages of the experiments, from their records."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.lib.results import RESULTS
from heatfield.experiments import TABLES, show
from heatfield.experiments._findings import findings
from heatfield.experiments._page import markdown

RECORDS = RESULTS / "experiments"
INTRODUCTIONS = Path(__file__).parent / "pages"  # what is written by hand


def experiments_page() -> str:
    """All tables but those of the learned pooling, and the paper's findings."""
    names = [name for name in TABLES if name != "variants"]
    return _introduction("experiments") + _tables(markdown(show(names, results=RECORDS), findings(RECORDS)))


def learned_page() -> str:
    """Heads, steps of the learned pooling, and the earlier rows."""
    return _introduction("learned") + _tables(markdown(show(["variants"], results=RECORDS), []))


def _introduction(name: str) -> str:
    return (INTRODUCTIONS / f"{name}.md").read_text() + "\n"


def _tables(text: str) -> str:
    """The part after the title, with links that hold in the folder of the documentation."""
    body = text.split("\n", 4)[4]
    return re.sub(r"\]\(([^)]+\.json)\)", r"](../../benchmarks/results/experiments/\1)", body)
