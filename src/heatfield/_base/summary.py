"""The summary of an object: a few lines in a console, in a notebook the same lines and perhaps a drawing.

A class derives from `Summarised` and builds a `Summary`; nothing here prints an array in full. Text that
comes from files, such as the name of a class, is escaped. Everything else is ASCII, since not every
console or redirected file can show more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from .check import Array

# Rows beyond which order statistics are taken from evenly spaced ones: a summary must appear at once.
MOST_ROWS = 200_000
_MOST_COLUMNS = 8
_COLOR = "#3b6fd4"  # visible on black and on white


@dataclass(frozen=True)
class Summary:
    """A title, lines of a key and its value, and a drawing as SVG for notebooks.

    A line's value is text, or a list of cells aligned with those of other lines; the last is a remark.
    """

    title: str
    lines: list[tuple[str, str | list[str]]] = field(default_factory=list)
    drawing: str = ""

    def text(self) -> str:
        """For a console."""
        indent = max((len(key) for key, _ in self.lines), default=0) + 2
        tables = [value for _, value in self.lines if isinstance(value, list)]
        width = max((len(cell) for value in tables for cell in value[:-1]), default=0)
        rows = [plain(self.title)]
        for key, value in self.lines:
            cells = [f"{c:>{width}}" for c in value[:-1]] + value[-1:] if isinstance(value, list) else [value]
            rows.append(f"  {key:{indent}}{'  '.join(map(plain, cells))}".rstrip())
        return "\n".join(rows)


class Summarised:
    """An object that is printed as its summary, also in a notebook."""

    def _summary(self) -> Summary:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._summary().text()

    def _repr_html_(self) -> str:
        found = self._summary()
        return f"<pre>{escape(found.text())}</pre>{found.drawing}"


# --- words ---------------------------------------------------------------------------


def plain(text: str) -> str:
    """The text with control characters, and others that cannot be printed, written as escapes.

    Examples
    --------
    >>> print(plain("tree\\n\\x1b[31m"))
    tree\\n\\x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def number(value: float) -> str:
    """Three digits.

    Examples
    --------
    >>> number(1234.5), number(0.000123456), number(float("nan"))
    ('1.23e+03', '0.000123', 'nan')
    """
    return f"{value:.3g}"


def plural(count: int, word: str) -> str:
    """``1 point``, ``1,024 points``, ``2 classes``."""
    return f"{count:,} {word}{'' if count == 1 else 'es' if word.endswith('s') else 's'}"


def duration(seconds: float) -> str:
    """``20 ms``, ``5 s``, ``2 min 05 s``, ``3 h 10 min``."""
    if seconds < 1.0:
        return f"{max(1, round(1000 * seconds))} ms"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def shown(names: Iterable[str], width: int = 72) -> str:
    """As many of the names as fit into ``width`` characters, at least one, and how many more there are.

    Examples
    --------
    >>> shown(["leaf", "branch", "trunk"], width=12)
    'leaf, branch and 1 more'
    """
    every = [plain(name) for name in names]
    lengths = np.cumsum([len(name) + 2 for name in every])
    count = max(1, int((lengths <= width + 2).sum()))
    first = ", ".join(every[:count])
    return f"{first} and {len(every) - count:,} more" if len(every) > count else first


def shortened(text: str, longest: int = 24) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


# --- numbers -------------------------------------------------------------------------


def chosen_columns(count: int, most: int = _MOST_COLUMNS) -> list[int]:
    """Which of ``count`` scales are shown: all, or some with the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()


def quantiles(table: Array, shares: Sequence[float]) -> Array:
    """Quantiles (shares, T) of the finite values of each column; NaN where there is none.

    Beyond `MOST_ROWS` only evenly spaced rows are used.
    """
    table = table[:: 1 + max(0, len(table) - 1) // MOST_ROWS]
    found = np.full((len(shares), table.shape[1]), np.nan)
    for a, column in enumerate(table.T):
        finite = column[np.isfinite(column)]
        if finite.size:
            found[:, a] = np.quantile(finite, shares)
    return found


def extent(points: Array) -> str:
    """The sides of the bounding box.

    Examples
    --------
    >>> extent(np.array([[0.0, 1.0], [2.0, 1.5]]))
    '2 x 0.5'
    """
    if points.size == 0:
        return "nothing"
    with np.errstate(over="ignore", invalid="ignore"):
        sides = np.max(points, axis=0) - np.min(points, axis=0)
    more = f" x ... ({len(sides)} in all)" if len(sides) > 6 else ""
    return " x ".join(number(float(side)) for side in sides[:6]) + more


def shape(array: Any) -> str:
    """``(1024, 8)``."""
    return str(tuple(int(size) for size in np.shape(array)))


# --- a drawing -----------------------------------------------------------------------


def band(x: Array, low: Array, middle: Array, high: Array, *, top: float, title: str, below: str) -> str:
    """A curve between two others over log x, with whole numbers on the other axis, up to ``top``.

    Columns that are not finite are left out; with fewer than two there is no drawing. It takes the
    notebook's own text colour and background, so that it can be read on light and on dark.
    """
    good = np.isfinite(x) & (x > 0.0) & np.isfinite(low) & np.isfinite(middle) & np.isfinite(high)
    x, low, middle, high = (np.asarray(v, dtype=float)[good] for v in (x, low, middle, high))
    if x.size < 2 or not x[0] < x[-1]:
        return ""
    width, height, left, right, above, under = 340, 150, 26, 10, 20, 30
    most, least = max(float(top), float(high.max()), 1.0), min(0.0, float(low.min()))
    log = np.log(x)
    across = left + (width - left - right) * (log - log[0]) / (log[-1] - log[0])

    def up(value: Array | float) -> Array:
        return np.asarray(above + (height - above - under) * (1.0 - (value - least) / (most - least)))

    def path(values: Array) -> list[str]:
        return [f"{a:.1f},{b:.1f}" for a, b in zip(across, up(values), strict=True)]

    parts = [_text(left, 12, title, more='font-weight="bold"')]
    for tick in range(0, int(most) + 1, max(1, int(np.ceil(top / 6)))):
        y = float(up(tick))
        parts.append(
            f'<line x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" '
            'stroke-opacity="0.2"/>' + _text(left - 5, y + 4, str(tick), "end")
        )
    ring = " ".join(path(high) + path(low)[::-1])
    parts.append(f'<polygon points="{ring}" fill="{_COLOR}" fill-opacity="0.25"/>')
    line = path(middle)
    parts.append(f'<polyline points="{" ".join(line)}" fill="none" stroke="{_COLOR}" stroke-width="2"/>')
    for a, b in (dot.split(",") for dot in line):
        parts.append(f'<circle cx="{a}" cy="{b}" r="2.5" fill="{_COLOR}"/>')
    parts.append(_text(left, height - 16, number(float(x[0]))))
    parts.append(_text(width - right, height - 16, number(float(x[-1])), "end"))
    parts.append(_text((left + width - right) / 2, height - 4, below, "middle"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}" '
        f'font-family="sans-serif">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more} font-size="11" '
        f'fill="currentColor">{escape(words)}</text>'
    )
