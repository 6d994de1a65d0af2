"""Tables of text: XYZ, TXT, CSV, TSV, PTS and the like, with or without a header."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cloud import MOST_COLUMNS, Cloud, coordinate_names, find_coordinates, from_columns
from ._numbers import parse_number
from ._source import Source
from ._text import content_lines, line_blocks, shown

_INTEGER = re.compile(r"[+-]?\d+")
_EMPTY = {"", "na", "n/a", "null", "none"}
_COMMENTS = (b"#", b"//")


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

    def cells(self, line: str) -> list[str]:
        """The cells of one line."""
        if self.delimiter is None:
            return line.split()
        return [cell.strip() for cell in next(csv.reader([line], delimiter=self.delimiter, strict=True))]


def read_table(source: Source, dims: int | None = None) -> Cloud:
    """Columns named x, y, z, or without a header the first three (two, one) are the coordinates."""
    layout = _layout(source, dims)
    if layout.headed and not find_coordinates(layout.names):
        raise source.error(f"has no columns x, y, z; it has {', '.join(layout.names[:8])}", "header")
    while True:
        found = _columns(source, layout)
        if isinstance(found, int):  # a word in a column of numbers: read that column as words
            layout.text.add(found)
            continue
        return from_columns(source, dict(zip(layout.names, found, strict=True)), "table", "header")


def _layout(source: Source, dims: int | None) -> Layout:
    head: list[tuple[int, str]] = []
    for numbers, lines in content_lines(source, _COMMENTS):
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
    layout.whole = [bool(_INTEGER.fullmatch(cell)) for cell in cells]
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
            if not line.startswith(_COMMENTS):
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
    for mark in (";", "\t"):
        if mark in line:
            return mark
    return "," if "," in line else None


def _columns(source: Source, layout: Layout) -> list[NDArray[Any]] | int:
    """All columns, or the number of one that turns out to hold words."""
    width = len(layout.names)
    where = set(find_coordinates(layout.names))
    pieces: list[list[Any]] = [[] for _ in range(width)]
    skip, rows = layout.skip, 0
    for numbers, lines in content_lines(source, _COMMENTS):
        del numbers[: min(skip, len(lines))]
        skipped, skip = min(skip, len(lines)), skip - min(skip, len(lines))
        del lines[:skipped]
        if not lines:
            continue
        rows += len(lines)
        block = _fast(layout, lines)
        if block is None:
            found = _slow(source, layout, numbers, lines, where)
            if isinstance(found, int):
                return found
            block = found
        for c in range(width):
            pieces[c].append(block[c])
    if layout.claimed is not None and rows != layout.claimed:
        raise source.error(f"holds {rows} points where its first line claims {layout.claimed}", "line 1")
    return [_joined(source, layout, c, parts, c in where) for c, parts in enumerate(pieces)]


def _fast(layout: Layout, lines: list[str]) -> Any:
    """One look at a block in which every cell is a plain number, else None."""
    if layout.text or layout.decimal_comma or not lines[0].split():
        return None
    try:
        values = np.loadtxt(lines, dtype=np.float64, comments=None, delimiter=layout.delimiter, ndmin=2)
    except ValueError:
        return None
    if values.shape != (len(lines), len(layout.names)):
        return None
    for c, whole in enumerate(layout.whole):
        if whole and values.shape[0] and np.abs(values[:, c]).max() >= 2**53:
            return None  # integers that floats do not hold
    return values.T.copy()


def _slow(source: Source, layout: Layout, numbers: list[int], lines: list[str], where: set[int]) -> Any:
    """Cell by cell: words, empty cells, long integers, and the place of whatever is wrong."""
    columns: list[list[Any]] = [[] for _ in layout.names]
    for number, line in zip(numbers, lines, strict=True):
        try:
            cells = layout.cells(line)
        except csv.Error as error:
            raise source.error(f"{error}", f"line {number}") from None
        if len(cells) != len(layout.names):
            raise source.error(
                f"{len(cells)} columns where {len(layout.names)} are expected", f"line {number}"
            )
        for c, cell in enumerate(cells):
            if c in layout.text:
                columns[c].append(cell)
                continue
            if layout.decimal_comma:
                cell = cell.replace(",", ".")
            if c not in where and cell.lower() in _EMPTY:
                columns[c].append(np.nan)
            elif (
                layout.whole[c]
                and c not in where
                and len(cell) > 15
                and _INTEGER.fullmatch(cell)
                and len(cell) < 21
            ):
                columns[c].append(int(cell))
            elif c not in where and layout.headed and not _is_number(cell):
                return c
            else:
                columns[c].append(parse_number(source, cell, number, c))
    return columns


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return cell.isascii() and "_" not in cell


def _joined(source: Source, layout: Layout, c: int, parts: list[Any], coordinate: bool) -> NDArray[Any]:
    if c in layout.text:
        words = [word for part in parts for word in part]
        widest = max(map(len, words), default=1)
        source.check_allowance(4 * widest * len(words), f"text column {layout.names[c]!r}", "data")
        try:
            words = [word.encode("latin-1").decode("utf-8") for word in words]
        except UnicodeDecodeError:
            raise source.error(f"column {layout.names[c]!r} is not UTF-8", "data") from None
        return np.array(words, dtype=f"U{max(1, widest)}")
    if any(isinstance(v, int) for part in parts if isinstance(part, list) for v in part):
        values = [v for part in parts for v in (part if isinstance(part, list) else part.tolist())]
        if all(float(v).is_integer() for v in values):
            exact = [int(v) for v in values]
            for kind in ("i8", "u8"):
                if np.iinfo(kind).min <= min(exact) and max(exact) <= np.iinfo(kind).max:
                    return np.array(exact, dtype=kind)
    joined = np.concatenate([np.asarray(p, dtype=np.float64) for p in parts]) if parts else np.empty(0)
    if (
        coordinate
        or not layout.whole[c]
        or not np.isfinite(joined).all()
        or (joined != np.rint(joined)).any()
    ):
        return joined
    return joined.astype(np.int64) if np.abs(joined).max(initial=0) < 2**53 else joined


def table_bytes(points: NDArray[np.float64], columns: dict[str, NDArray[Any]], suffix: str) -> bytes:
    """Text with as many digits as give every number back exactly."""
    comma = suffix in (".csv", ".tsv")
    mark = {".csv": ",", ".tsv": "\t"}.get(suffix, " ")
    names = [*coordinate_names(points.shape[1]), *columns]
    for name, column in columns.items():
        words = [name, *(column.tolist() if column.dtype.kind == "U" else [])]
        for word in words:
            if (not comma and (not word or re.search(r"\s", word))) or set(word) & set('\n\r\t",;\0'):
                raise ValueError(
                    f"column {name!r}: {shown(word)} cannot be written to {suffix}; use .parquet or .npz"
                )
        if column.dtype.kind not in "fiubU":
            raise ValueError(f"column {name!r} of {column.dtype} cannot be written to {suffix}")
    if suffix == ".pts":
        if names[3:] not in ([], ["intensity"], ["intensity", "red", "green", "blue"]) or len(names) < 3:
            raise ValueError(f"PTS holds x y z, then intensity, red, green, blue; got {', '.join(names)}")
        head = f"{len(points)}\n"
    elif comma:
        head = mark.join(names) + "\n"
    else:
        head = "# " + " ".join(names) + "\n"
    lists = [_cells(column) for column in [*points.T, *columns.values()]]
    body = "".join(mark.join(row) + "\n" for row in zip(*lists, strict=True))
    return (head + body).encode("utf-8")


def _cells(column: NDArray[Any]) -> list[str]:
    if column.dtype.kind == "b":
        column = column.astype(np.uint8)
    if column.dtype.kind == "f" and column.dtype.itemsize < 8:
        return [str(v) for v in column]  # the shortest digits of the narrow type
    return [repr(v) for v in column.tolist()] if column.dtype.kind != "U" else column.tolist()
