"""Tables of text: XYZ, TXT, CSV, TSV, PTS and the like, with or without a header."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import find_coordinates
from ._cloud import Cloud, from_columns
from ._numbers import parse_number
from ._source import Source
from ._table_layout import COMMENTS, INTEGER, Layout, find_layout
from ._text import content_lines

_EMPTY = {"", "na", "n/a", "null", "none"}


def read_table(source: Source, dims: int | None = None) -> Cloud:
    """Columns named x, y, z, or without a header the first three (two, one) are the coordinates."""
    layout = find_layout(source, dims)
    if layout.headed and not find_coordinates(layout.names):
        raise source.error(f"has no columns x, y, z; it has {', '.join(layout.names[:8])}", "header")
    columns = _columns(source, layout)
    if columns is None:  # a word among numbers: find all columns of words, then read again
        layout.text = _word_columns(source, layout)
        columns = _columns(source, layout)
        assert columns is not None
    return from_columns(source, dict(zip(layout.names, columns, strict=True)), "table", "header")


def _columns(source: Source, layout: Layout) -> list[NDArray[Any]] | None:
    """All columns, or None where one that was taken for numbers holds a word."""
    width = len(layout.names)
    where = set(find_coordinates(layout.names))
    pieces: list[list[Any]] = [[] for _ in range(width)]
    rows = widest = 0
    for numbers, lines in _data_lines(source, layout):
        rows += len(lines)
        block = _fast(layout, lines, where)
        if block is None:
            block = _slow(source, layout, numbers, lines, where)
        if block is None:
            return None
        for c in range(width):
            pieces[c].append(block[c])
        source.check_allowance(8 * rows * width, "the table", "data")
        if layout.same:
            widest = max(widest, *(len(word) for c in layout.text for word in block[c]))
            source.check_allowance(4 * widest * rows, "a column of text", "data")
    if layout.claimed is not None and rows != layout.claimed:
        raise source.error(f"holds {rows} points where its first line claims {layout.claimed}", "line 1")
    joined = []
    for c in range(width):
        joined.append(_joined(source, layout, c, pieces[c], c in where))
        pieces[c] = []  # let go at once: a file of many short lines is held twice at most, not three times
    return joined


def _data_lines(source: Source, layout: Layout) -> Iterator[tuple[list[int], list[str]]]:
    skip = layout.skip
    for numbers, lines in content_lines(source, COMMENTS):
        if len(lines) > skip:
            yield numbers[skip:], lines[skip:]
        skip = max(0, skip - len(lines))


def _word_columns(source: Source, layout: Layout) -> set[int]:
    """Columns, other than coordinates, in which some cell is neither a number nor empty."""
    where = set(find_coordinates(layout.names))
    found: set[int] = set()
    for numbers, lines in _data_lines(source, layout):
        for c, cells in enumerate(_cells_by_column(source, layout, numbers, lines)):
            if c in found or c in where or _plain(cells, True) is not None:
                continue
            if not all(cell.lower() in _EMPTY or _is_number(cell) for cell in cells):
                found.add(c)
    return found


def _cells_by_column(
    source: Source, layout: Layout, numbers: list[int], lines: list[str]
) -> list[Sequence[str]]:
    columns = _split_at_once(layout, lines) or _split_by_line(source, layout, numbers, lines)
    if layout.decimal_comma:
        columns = [
            cells if c in layout.text else [cell.replace(",", ".") for cell in cells]
            for c, cells in enumerate(columns)
        ]
    return columns


def _split_at_once(layout: Layout, lines: list[str]) -> list[Sequence[str]] | None:
    """Columns of a block without quotes and blanks, in which every line has all cells; else None."""
    mark, width = layout.delimiter, len(layout.names)
    text = "\n".join(lines)
    if mark is None:  # any blanks: here single ones
        if "  " in text or re.search(r"[^\S \n]", text):
            return None
        mark = " "
    elif '"' in text or " " in text or (mark != "\t" and "\t" in text):
        return None
    if any(line.count(mark) != width - 1 for line in lines):
        return None
    cells = text.replace("\n", mark).split(mark)
    return [cells[c::width] for c in range(width)]


def _split_by_line(
    source: Source, layout: Layout, numbers: list[int], lines: list[str]
) -> list[Sequence[str]]:
    rows = []
    for number, line in zip(numbers, lines, strict=True):
        try:
            cells = layout.cells(line)
        except csv.Error as error:
            raise source.error(f"{error}", f"line {number}") from None
        if len(cells) != len(layout.names):
            raise source.error(
                f"{len(cells)} columns where {len(layout.names)} are expected", f"line {number}"
            )
        rows.append(cells)
    return list(zip(*rows, strict=True))


def _plain(cells: Sequence[str], may_be_empty: bool) -> NDArray[np.float64] | None:
    """Cells as numbers, NaN where one is empty; None where one is something else."""
    if "_" in "".join(cells):  # float("1_0") is 10
        return None
    try:
        return np.array([float(cell) if cell or not may_be_empty else np.nan for cell in cells])
    except ValueError:
        return None


def _fast(layout: Layout, lines: list[str], where: set[int]) -> Any:
    """One look at a block in which every cell is a plain number, or empty if no coordinate; else None."""
    if layout.text or layout.decimal_comma or not lines[0].split():
        return None
    try:
        values = np.loadtxt(
            _filled(layout, lines), dtype=np.float64, comments=None, delimiter=layout.delimiter, ndmin=2
        )
    except ValueError:
        return None
    if values.shape != (len(lines), len(layout.names)):
        return None
    if any(np.isnan(values[:, c]).any() for c in where):
        return None  # cell by cell, which says where
    for c, whole in enumerate(layout.whole):
        if whole and values.shape[0] and np.nanmax(np.abs(values[:, c]), initial=0) >= 2**53:
            return None  # integers that floats do not hold
    return values.T.copy()


def _filled(layout: Layout, lines: list[str]) -> list[str]:
    """Lines with "nan" in empty cells."""
    mark = layout.delimiter
    if mark is None:
        return lines
    text = "\n".join(lines)
    if mark + mark not in text and mark + "\n" not in text and not text.endswith(mark):
        return lines
    text = text.replace(mark + mark, f"{mark}nan{mark}").replace(mark + mark, f"{mark}nan{mark}")
    return [line + "nan" if line.endswith(mark) else line for line in text.split("\n")]


def _slow(source: Source, layout: Layout, numbers: list[int], lines: list[str], where: set[int]) -> Any:
    """Cell by cell: words, empty cells, long integers, and the place of whatever is wrong. None as above."""
    columns: list[Any] = []
    for c, cells in enumerate(_cells_by_column(source, layout, numbers, lines)):
        if c in layout.text:
            columns.append([layout.same.setdefault(cell, cell) for cell in cells])
            continue
        long = layout.whole[c] and c not in where and max(map(len, cells)) > 15
        values = None if long else _plain(cells, c not in where)
        if values is not None:
            columns.append(values)
            continue
        column: list[float] = []
        for number, cell in zip(numbers, cells, strict=True):
            if c not in where and cell.lower() in _EMPTY:
                column.append(np.nan)
            elif long and 15 < len(cell) < 21 and INTEGER.fullmatch(cell):
                column.append(int(cell))
            elif c not in where and layout.headed and not _is_number(cell):
                return None
            else:
                column.append(parse_number(source, cell, number, c))
        # Integers that floats do not hold stay as they are; a list takes four times the room of an array.
        columns.append(column if any(isinstance(v, int) for v in column) else np.array(column))
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
