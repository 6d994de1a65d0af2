"""How a table of text is to be read: its header, delimiter and columns, found from the first lines."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field

from .._base.check import find_coordinates
from ._cloud import MOST_COLUMNS, coordinate_names
from ._source import Source
from ._text import content_lines, line_blocks

INTEGER = re.compile(r"[+-]?\d+")
COMMENTS = (b"#", b"//")


@dataclass
class Layout:
    """How the lines are to be read, found from the first of them."""

    names: list[str]
    headed: bool
    delimiter: str | None  # None: any blanks
    skip: int  # content lines before the data
    claimed: int | None  # the count that a PTS file starts with
    decimal_comma: bool
    text: set[int]  # columns that hold words
    whole: list[bool]  # columns whose first cell is an integer
    same: dict[str, str] = field(default_factory=dict)  # one object for equal words

    def cells(self, line: str) -> list[str]:
        """The cells of one line."""
        if self.delimiter is None:
            return line.split()
        if '"' not in line:
            cells = line.split(self.delimiter)
            return [cell.strip() for cell in cells] if " " in line or "\t" in line else cells
        return [cell.strip() for cell in next(csv.reader([line], delimiter=self.delimiter, strict=True))]


def find_layout(source: Source, dims: int | None) -> Layout:
    """Look at the first lines."""
    head: list[tuple[int, str]] = []
    for numbers, lines in content_lines(source, COMMENTS):
        head += zip(numbers, lines, strict=True)
        if len(head) >= 3:
            break
    del head[3:]
    comment = _commented_header(source)
    claimed = None
    skip = 0
    if (
        head
        and re.fullmatch(r"\d{1,18}", head[0][1])
        and (source.suffix == ".pts" or (len(head) > 1 and len(head[1][1].split()) >= 3))
    ):  # PTS: the number of points comes first
        claimed, skip = int(head.pop(0)[1]), 1
    names: list[str] | None = None
    if head and not _numeric_start(head[0][1]):
        try:
            line = head[0][1].encode("latin-1").decode("utf-8")
        except UnicodeDecodeError:
            raise source.error("the header is not UTF-8", f"line {head[0][0]}") from None
        delimiter = _delimiter(head[1][1] if len(head) > 1 else line)
        names = [n.strip().strip('"') for n in (line.split(delimiter) if delimiter else line.split())]
        head.pop(0)
        skip += 1
    elif comment is not None:
        names = comment
        delimiter = _delimiter(head[0][1]) if head else None
    else:
        delimiter = _delimiter(head[0][1]) if head else None
    layout = Layout(names or [], names is not None, delimiter, skip, claimed, False, set(), [])
    if not head:
        if names is None and claimed != 0:
            raise source.error("holds no points: no line of numbers was found")
        layout.names = names if names is not None else coordinate_names(dims or 3)
        layout.whole = [False] * len(layout.names)
        return _checked(source, layout)
    number, line = head[0]
    try:
        cells = layout.cells(line)
    except csv.Error as error:
        raise source.error(f"{error}", f"line {number}") from None
    if delimiter in (";", "\t") and any("," in cell for cell in cells):
        layout.decimal_comma = True
    if names is None:
        n = dims or min(3, len(cells))
        layout.names = [*coordinate_names(n), *(f"column{c + 1}" for c in range(n, len(cells)))]
        if source.suffix == ".pts" and len(cells) in (4, 7) and n == 3:
            layout.names = [*"xyz", "intensity", "red", "green", "blue"][: len(cells)]
    layout.whole = [bool(INTEGER.fullmatch(cell)) for cell in cells]
    return _checked(source, layout)


def _checked(source: Source, layout: Layout) -> Layout:
    if not 0 < len(layout.names) <= MOST_COLUMNS:
        raise source.error(f"has {len(layout.names)} columns; 1 to {MOST_COLUMNS} can be read", "header")
    if len(set(layout.names)) < len(layout.names):
        raise source.error("two columns have the same name", "header")
    return layout


def _commented_header(source: Source) -> list[str] | None:
    """Names in a comment on top, as in "# x y z r" or CloudCompare's "//X Y Z"."""
    for _, lines in line_blocks(source):
        for line in lines[:20]:
            if not line.startswith(COMMENTS):
                break
            words = re.split(r"[\s,;]+", line.decode("utf-8", "replace").lstrip("#/ \t").strip())
            if len(find_coordinates(words)) >= 2 and len(set(words)) == len(words):
                return words
        break
    return None


def _numeric_start(line: str) -> bool:
    first = re.split(r"[\s,;]+", line.strip().strip('"'))[0].strip('"')
    try:
        float(first)
    except ValueError:
        return False
    return True


def _delimiter(line: str) -> str | None:
    bare = re.sub(r'"[^"]*"', "", line)  # a mark inside a quoted cell divides nothing
    for mark in (";", "\t"):
        if mark in bare:
            return mark
    return "," if "," in bare else None
