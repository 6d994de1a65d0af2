"""The summary of an object, in a console (a few lines) and in a notebook (the same and a picture).

A class derives from `Summarised` and builds a `Summary`; nothing here prints an array in full. Text that
comes from files, such as the name of a class, is escaped in both. Everything else is ASCII, since not every
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
_CELL = "text-align:left;padding:0 1em 0 0;vertical-align:top"


@dataclass(frozen=True)
class Summary:
    """A title, lines of a key and its value, and drawings as SVG for notebooks.

    A line's value is text, or a list of cells aligned with those of other lines; the last is a remark.
    """

    title: str
    lines: list[tuple[str, str | list[str]]] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)

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

    def html(self) -> str:
        """For a notebook; every text is escaped."""
        span = max((len(value) for _, value in self.lines if isinstance(value, list)), default=1)
        rows = []
        for key, value in self.lines:
            if isinstance(value, list):
                cells = "".join(f'<td style="{_CELL}">{_safe(c)}</td>' for c in value)
            else:
                cells = f'<td colspan="{span}" style="{_CELL}">{_safe(value)}</td>'
            head = f'<th style="{_CELL};white-space:nowrap">{_safe(key)}</th>'
            rows.append(f'<tr style="background:none">{head}{cells}</tr>')
        return (
            f'<div style="font-size:90%"><b>{_safe(self.title)}</b>'
            f'<table style="border:none;margin:0.3em 0">{"".join(rows)}</table>{"".join(self.pictures)}</div>'
        )


class Summarised:
    """An object that is printed as its summary, also in a notebook."""

    def _summary(self) -> Summary:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._summary().text()

    def _repr_html_(self) -> str:
        return self._summary().html()


def plain(text: str) -> str:
    """The text with control characters, and others that cannot be printed, written as escapes.

    Examples
    --------
    >>> print(plain("tree\\n\\x1b[31m"))
    tree\\n\\x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _safe(text: str) -> str:
    return escape(plain(text))


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
