"""The tables as Markdown, LaTeX and HTML: ours, the paper's, difference, budget, and a link to the record."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from pathlib import Path

from .._base.files import write_atomically
from ._answers import RULE
from ._grid import Cell, Grid

LEGEND = (
    "Each cell: ours with the standard deviation over splits, then in brackets the paper's figure and the "
    "difference; a bracket alone is a row that was not run. Where the data set only stands in for the "
    "paper's, its figure is given as `other data` and no difference is formed. A cell without a budget was "
    "computed with the paper's; others say `reduced` or `smoke`. `k of n` are the splits that are done. "
    "`stale`: computed by other code of the method than there is now."
)


def write_pages(results: str | Path, *, budget: str) -> dict[str, Path]:
    """Write the three pages of all tables into the folder of results."""
    from ._api import show
    from ._findings import findings

    grids = show(budget=budget, results=results)
    found = findings(results, budget=budget)
    name = "tables-smoke" if budget == "smoke" else "tables"
    pages = {"markdown": markdown(grids, found), "latex": latex(grids), "html": page(grids, found)}
    suffixes = {"markdown": ".md", "latex": ".tex", "html": ".html"}
    places = {kind: Path(results) / f"{name}{suffixes[kind]}" for kind in pages}
    Path(results).mkdir(parents=True, exist_ok=True)
    for kind, text in pages.items():
        write_atomically(places[kind], text.encode())
    return places


def number(value: float, digits: int) -> str:
    """As printed; a question mark for what is not known."""
    return "?" if not math.isfinite(value) else f"{value:.{digits}f}"


def parts(cell: Cell) -> tuple[str, str, list[str]]:
    """Ours, the bracket with the paper's, and the remarks of a cell."""
    if cell.text:
        return cell.text, "", []
    if cell.ours is None:
        other = "" if cell.same_data else "other data "
        return "", f"({other}{number(cell.paper, cell.digits)})" if cell.paper is not None else "", []
    own = number(cell.ours.mean, cell.digits)
    if cell.ours.n > 1:
        own += f" ± {number(cell.ours.sd, cell.digits)}"
    bracket = ""
    if cell.paper is not None and cell.difference is not None:
        sign = "+" if cell.difference >= 0 else "-"
        bracket = f"({number(cell.paper, cell.digits)}, {sign}{number(abs(cell.difference), cell.digits)})"
    elif cell.paper is not None:
        bracket = f"(other data {number(cell.paper, cell.digits)})"
    remarks = [cell.budget] if cell.budget not in ("", "paper") else []
    if cell.ours.n < cell.expected:
        remarks.append(f"{cell.ours.n} of {cell.expected}")
    if cell.stale:
        remarks.append("stale")
    return own, bracket, remarks


def markdown(grids: Sequence[Grid], found: Sequence[str]) -> str:
    """All tables, and what was found."""
    lines = [
        "# Experiments",
        "",
        "Written by `heatfield bench --show`; no figure is typed by hand.",
        "",
        LEGEND,
        "",
    ]
    for grid in grids:
        lines += [
            f"## {grid.title}",
            "",
            f"| | {' | '.join(grid.columns)} |",
            "|---" * (len(grid.columns) + 1) + "|",
        ]
        for label, cells in grid.rows:
            lines.append(f"| {label} | {' | '.join(map(_markdown_cell, cells))} |")
        lines += ["", *(f"* {note}" for note in grid.notes), *([""] if grid.notes else [])]
    if found:
        lines += ["## The paper's findings", "", RULE, "", *(f"* {line}" for line in found), ""]
    return "\n".join(lines)


def _markdown_cell(cell: Cell) -> str:
    own, bracket, remarks = parts(cell)
    shown = f"[{own}]({cell.record})" if own and cell.record else own
    return " ".join(filter(None, [shown, bracket, ", ".join(remarks)]))


def latex(grids: Sequence[Grid]) -> str:
    """A table each, for booktabs."""
    lines = ["% Written by heatfield bench --show. Needs booktabs.", ""]
    for grid in grids:
        heads = " & ".join(map(_tex, grid.columns))
        lines += [
            r"\begin{table}", rf"\caption{{{_tex(grid.title)}}}", rf"\label{{tab:{grid.name}}}",
            rf"\begin{{tabular}}{{l{'c' * len(grid.columns)}}}", r"\toprule", rf" & {heads} \\", r"\midrule",
        ]  # fmt: skip
        for label, cells in grid.rows:
            lines.append(f"{_tex(label)} & {' & '.join(map(_tex_cell, cells))} " + r"\\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [rf"\par {_tex(note)}" for note in grid.notes] + [r"\end{table}", ""]
    return "\n".join(lines)


def _tex(text: str) -> str:
    out = text.replace("\\", r"\textbackslash ")
    for sign in "&%$#_{}":
        out = out.replace(sign, f"\\{sign}")
    for sign, word in (("~", r"\textasciitilde "), ("^", r"\textasciicircum "), ("±", r"$\pm$")):
        out = out.replace(sign, word)
    return out


def _tex_cell(cell: Cell) -> str:
    own, bracket, remarks = parts(cell)
    mark = rf"\textsuperscript{{{_tex(', '.join(remarks))}}}" if remarks else ""
    return f"{_tex(own)}{mark} {_tex(bracket)}".strip()


_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1500px;
  padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 0 0 1.5rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
td, small, nav a { white-space: nowrap; } nav a { margin-right: 1em; } .wide { overflow-x: auto; }
tr > :first-child { position: sticky; left: 0; background: #fff; }
code { background: #f2f2f2; padding: 0 .2em; }
small { color: #666; display: block; } .less { color: #a33; } .more { color: #275; } .stale { color: #b60; }
"""


def page(grids: Sequence[Grid], found: Sequence[str]) -> str:
    """One HTML file that loads nothing; a click on a figure opens its record."""
    say = html.escape
    links = "".join(f"<a href='#{say(grid.name)}'>{say(grid.title)}</a> " for grid in grids)
    links += "<a href='#findings'>The paper's findings</a>" if found else ""
    body = [f"<p>{_code(LEGEND)}</p><nav>{links}</nav>"]
    for grid in grids:
        heads = "".join(f"<th>{say(c)}</th>" for c in grid.columns)
        body.append(f"<h2 id='{say(grid.name)}'>{say(grid.title)}</h2>")
        body.append(f"<div class='wide'><table><tr><th></th>{heads}</tr>")
        for label, cells in grid.rows:
            body.append(f"<tr><th>{say(label)}</th>{''.join(map(_html_cell, cells))}</tr>")
        body.append("</table></div>" + "".join(f"<p>{say(note)}</p>" for note in grid.notes))
    if found:
        body.append(f"<h2 id='findings'>The paper's findings</h2><p>{_code(RULE)}</p>")
        body.append("<ul>" + "".join(f"<li>{say(f)}</li>" for f in found) + "</ul>")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>heatfield: experiments</title><style>{_STYLE}</style>"
        f"<h1>Experiments</h1>{''.join(body)}</html>\n"
    )


def _code(text: str) -> str:
    """Markdown whose only marks are backticks, as HTML."""
    words = html.escape(text).split("`")
    return "".join(f"<code>{word}</code>" if i % 2 else word for i, word in enumerate(words))


def _html_cell(cell: Cell) -> str:
    own, bracket, remarks = parts(cell)
    if cell.text:
        own, bracket = (part.strip() for part in _split(own))
    shown = html.escape(own)
    if own and cell.record:
        shown = f"<a href='{html.escape(cell.record)}'>{shown}</a>"
    side = "" if cell.difference is None else ("less" if cell.difference < 0 else "more")
    marks = "".join(
        f"<small class='{'stale' if r == 'stale' else ''}'>{html.escape(r)}</small>" for r in remarks
    )
    return f"<td>{shown}<small class='{side}'>{html.escape(bracket)}</small>{marks}</td>"


def _split(text: str) -> tuple[str, str]:
    """A text and the bracket at its end, which goes to a line of its own."""
    own, sign, bracket = text.partition(" (")
    return own, sign + bracket
