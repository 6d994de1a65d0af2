"""The tables as Markdown: ours, the paper's, the difference, and how a cell was computed."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from heatfield._base.files import open_regular, write_atomically

from ._findings import RULE, findings
from ._grid import Cell, Grid

LEGEND = (
    "Each cell: ours with the standard deviation over splits, then in brackets the paper's figure and the "
    "difference; a bracket alone is a row that was not run. The paper's figure stands beside its own data "
    "set or the reconstruction of it, never beside another. Of a network the longest training that was run "
    "is shown: `15 epochs` where that is less than the paper's, `underfit` where it is right on less than "
    "95 % of its training clouds, `other folds` where its folds are not those of the other rows. `k of n` "
    "are the splits that are done, where some are missing."
)
# What the page begins with, so that no other file is replaced.
HEAD = "# Experiments\n\nWritten by `heatfield bench --show`"
WIDEST = 200  # characters of a line


def write_page(results: str | Path, *, budget: str) -> Path:
    """Write the page of all tables into the folder of results."""
    from ._run import show

    text = markdown(show(budget=budget, results=results), findings(results, budget=budget))
    place = page_place(results, budget)
    Path(results).mkdir(parents=True, exist_ok=True)
    write_atomically(place, text.encode())
    return place


def page_place(results: str | Path, budget: str) -> Path:
    """Where the page of a budget is; a ValueError where a file of somebody else is there."""
    place = Path(results) / ("tables-smoke.md" if budget == "smoke" else "tables.md")
    if place.exists():
        with open_regular(place) as file:
            if not file.read(len(HEAD)).startswith(HEAD.encode()):
                raise ValueError(
                    f"{place} was not written by heatfield bench: give another folder of results"
                )
    return place


def number(value: float, digits: int) -> str:
    """As printed; a question mark for what is not known."""
    return "?" if not math.isfinite(value) else f"{value:.{digits}f}"


def parts(cell: Cell) -> tuple[str, str, list[str]]:
    """Ours, the bracket with the paper's, and the remarks of a cell."""
    if cell.text:
        return cell.text, "", []
    if cell.ours is None:
        return "", f"({number(cell.paper, cell.digits)})" if cell.paper is not None else "", []
    own = number(cell.ours.mean, cell.digits)
    if cell.ours.n > 1:
        own += f" ± {number(cell.ours.sd, cell.digits)}"
    bracket = ""
    if cell.paper is not None and cell.difference is not None:
        sign = "+" if cell.difference >= 0 else "-"
        bracket = f"({number(cell.paper, cell.digits)}, {sign}{number(abs(cell.difference), cell.digits)})"
    remarks = list(cell.remarks)
    if cell.ours.n < cell.expected:
        remarks.append(f"{cell.ours.n} of {cell.expected}")
    return own, bracket, remarks


def markdown(grids: Sequence[Grid], found: Sequence[str], *, folder: str = "") -> str:
    """All tables, and what was found; ``folder`` is where the files of results are, seen from the page."""
    lines = [f"{HEAD}; no figure is typed by hand.", "", *_wrapped(LEGEND), ""]
    for grid in grids:
        lines += [f"## {grid.title}", ""]
        rows = [(label, [_markdown_cell(cell) for cell in cells]) for label, cells in grid.rows]
        for chosen in _column_groups(grid.columns, rows):
            lines += [
                f"| | {' | '.join(grid.columns[i] for i in chosen)} |",
                "|---" * (len(chosen) + 1) + "|",
            ]
            lines += [
                f"| {label} | {' | '.join(cells[i] for i in chosen)} |"
                for label, cells in rows
                if any(cells[i] for i in chosen)
            ]
            lines.append("")
        notes = [line for note in grid.notes for line in _wrapped(f"* {note}", "  ")]
        source = [f"* Results: [{grid.source}]({folder}{grid.source})"] if grid.source else []
        lines += [*notes, *source, ""]
    if found:
        told = [line for sentence in found for line in _wrapped(f"* {sentence}", "  ")]
        lines += ["## The paper's findings", "", *_wrapped(RULE), "", *told, ""]
    return "\n".join(lines)


def _column_groups(columns: Sequence[str], rows: Sequence[tuple[str, list[str]]]) -> Iterator[list[int]]:
    """Columns of a table that fit into one line each."""
    label = max((len(name) for name, _ in rows), default=0)
    widths = [max([len(name), *(len(cells[i]) for _, cells in rows)]) for i, name in enumerate(columns)]
    group: list[int] = []
    for i, width in enumerate(widths):
        if group and label + 4 + sum(widths[k] + 3 for k in group) + width + 3 > WIDEST:
            yield group
            group = []
        group.append(i)
    yield group


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _markdown_cell(cell: Cell) -> str:
    own, bracket, remarks = parts(cell)
    return " ".join(filter(None, [own, bracket, ", ".join(remarks)]))
