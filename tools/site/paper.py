"""The page "paper to command": each equation, figure, theorem and table, what gives it here, and both figures."""

from __future__ import annotations

from . import paper_tables
from .paper_equations import EQUATIONS, FIGURES

_READ = (
    "First the published figure; then ours, bold, with the standard deviation over the splits, in brackets their number and the"
    " training where it is shorter than the paper's. Ours stands only beside the paper's data set or its reconstruction. Processes and DisksAnnuli are"
    " generated from the published descriptions: their clouds are not the paper's. The paper's own real sets need downloads, and"
    " no result file holds them yet. All cells with dates and machines: [experiments](../results/experiments.md)."
)


def page() -> str:
    """The whole page as Markdown."""
    lines = [
        "# Paper to command",
        "",
        "Numbers of sections, equations, figures and tables are those of the paper. In the code below `s = hf.signatures(points)`.",
        "",
    ]
    lines += ["## Equations", "", "| section | what | here |", "|---|---|---|"]
    lines += [f"| {a} | {b} | {c} |" for a, b, c in EQUATIONS]
    lines += [
        "",
        "Derivations and choices: [signatures](../theory/signatures.md), [choices](../theory/choices.md).",
        "",
    ]
    lines += ["## Figures, Theorem 1, overview tables", "", "| paper | here | see |", "|---|---|---|"]
    lines += [f"| {a} | {b} | {c} |" for a, b, c in FIGURES]
    lines += ["", "## How to read the tables", "", _READ, ""]
    for number in paper_tables.TABLES:
        lines += paper_tables.section(number)
    return "\n".join(lines)
