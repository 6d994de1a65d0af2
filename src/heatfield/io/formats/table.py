"""Tables of text: XYZ, TXT, CSV, TSV, PTS and the like, with or without a header."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...options import Reading
from ..cloud import Cloud, Format, coordinate_names, from_columns
from ..limits import MOST_COLUMNS, Source
from ..text import content_lines, floats, line_blocks, parse_number, plain, read_cells, shown

_MOST_RETRIED = 16  # columns of words that are found one by one
_EMPTY = {"", "na", "n/a", "null", "none"}
_NULLS = ["".join(cell) for word in sorted(_EMPTY) for cell in product(*({a, a.upper()} for a in word))]
_INTEGER = re.compile(r"[+-]?\d+")
_COMMENTS = (b"#", b"//")


@dataclass
class _Layout:
    """How the lines are to be read, found from the first of them."""

    names: list[str]
    headed: bool
    delimiter: str | None  # None: any blanks
    skip: int  # content lines before the data
    claimed: int | None  # the count that a PTS file starts with
    decimal_comma: bool
    text: set[int]  # columns that hold words
    whole: list[bool]  # columns whose first cell is an integer
    missing: bool = False  # an empty cell among the coordinates is NaN, not an error
    same: dict[str, str] = field(default_factory=dict)  # one object for equal words

    def cells(self, line: str) -> list[str]:
        """The cells of one line."""
        if self.delimiter is None:
            return line.split() if '"' not in line else _quoted(" ".join(line.split()), " ")
        if '"' not in line:
            cells = line.split(self.delimiter)
            return [cell.strip() for cell in cells] if " " in line or "\t" in line else cells
        return _quoted(line, self.delimiter)


def _quoted(line: str, delimiter: str) -> list[str]:
    """The cells of a line with quotes."""
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, strict=True))]


def _find_layout(source: Source, dims: int | None) -> _Layout:
    """Look at the first lines."""
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
        and (
            source.suffix == ".pts"
            or (len(head) == 1 and int(head[0][1]) == 0)
            or (len(head) > 1 and len(head[1][1].split()) >= 3)
        )
    ):  # PTS: the number of points comes first
        claimed, skip = int(head.pop(0)[1]), 1
    names: list[str] | None = None
    if head and not _numeric_start(head[0][1]):
        line = head[0][1].encode("latin-1").decode("utf-8")
        delimiter = _delimiter(head[1][1] if len(head) > 1 else line)
        try:
            cells = _quoted(line if delimiter else " ".join(line.split()), delimiter or " ")
        except csv.Error as error:
            raise source.error(f"{error}", f"line {head[0][0]}") from None
        names = [name.strip('"') for name in cells]
        head.pop(0)
        skip += 1
    elif comment is not None:
        names = comment
        delimiter = _delimiter(head[0][1]) if head else None
    else:
        delimiter = _delimiter(head[0][1]) if head else None
    layout = _Layout(names or [], names is not None, delimiter, skip, claimed, False, set(), [])
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
    if names is not None and len(cells) == len(names) + 1:  # as R writes it: names of rows have no header
        layout.names = ["row_name", *names]
    if names is None:
        n = dims or min(3, len(cells))
        layout.names = [*coordinate_names(n), *(f"column{c + 1}" for c in range(n, len(cells)))]
        if source.suffix == ".pts" and len(cells) in (4, 7) and n == 3:
            layout.names = [*"xyz", "intensity", "red", "green", "blue"][: len(cells)]
    layout.whole = [bool(_INTEGER.fullmatch(cell)) for cell in cells]
    return _checked(source, layout)


def _checked(source: Source, layout: _Layout) -> _Layout:
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
            text = line.decode("utf-8", "replace")
            if "<localizations" in text:  # rapidSTORM
                return [_storm_name(field) for field in re.findall(r"<field\b[^>]*>", text)]
            words = re.split(r"[\s,;]+", text.lstrip("#/ \t").strip())
            if len(source.coordinates(words)) >= 2 and len(set(words)) == len(words):
                return words
        break
    return None


def _storm_name(field: str) -> str:
    """The name of a column of rapidSTORM: x, y, z where it is a position, else its identifier."""
    position = re.search(r'semantic="position in \w+ space in ([XYZ])"', field)
    name = re.search(r'identifier="([^"]*)"', field)
    return position[1].lower() if position else name[1] if name else field


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


def read_table(source: Source, reading: Reading) -> Cloud:
    """Columns named x, y, z, or without a header the first three (two, one) are the coordinates."""
    if not source.data.isascii():
        source = _in_utf8(source)
    layout = _find_layout(source, reading.dims)
    layout.missing = reading.invalid == "drop"
    if layout.headed and not source.coordinates(layout.names):
        raise source.no_coordinates(layout.names, "header")
    columns = _at_once(source, layout)
    while columns is None:  # again where a column of words was found
        columns = _columns(source, layout)
    return from_columns(source, dict(zip(layout.names, columns, strict=True)), "table", "header")


def _in_utf8(source: Source) -> Source:
    """The same text in UTF-8, where it is in Latin-1."""
    try:
        source.data.decode("utf-8")
    except UnicodeDecodeError:
        return replace(source, data=source.data.decode("latin-1").encode("utf-8"))
    return source


def _at_once(source: Source, layout: _Layout) -> list[NDArray[Any]] | None:
    """All columns by pyarrow; None where it is missing, or something is unusual or wrong."""
    body, width, where = (
        _body(source, layout) or b"",
        len(layout.names),
        set(source.coordinates(layout.names)),
    )
    for _ in range(_MOST_RETRIED if body and len(layout.whole) == width else 0):
        try:
            cells = read_cells(
                body,
                ["string" if c in layout.text else "float64" for c in range(width)],
                delimiter=layout.delimiter or " ",
                quote_char='"' if b'"' in body else False,
                null_values=_NULLS,
                decimal_point="," if layout.decimal_comma else ".",
            )
        except ValueError as error:
            found = re.search(r"column #(\d+): .*invalid value '(.*)'", str(error), re.S)
            word = found[2].strip() if found else ""
            if not found or not layout.headed or int(found[1]) in where:
                return None
            if _is_number(word) or word.lower() in _EMPTY:
                return None
            layout.text.add(int(found[1]))  # then it holds words
            continue
        break
    else:
        return None
    if cells is None or (not layout.missing and any(cells[c].null_count for c in where)):
        return None
    if layout.claimed not in (None, len(cells[0])):
        return None
    columns = []
    for c, cell in enumerate(cells):
        if c in layout.text:
            columns.append(_words(source, layout.names[c], cell))
            continue
        values = floats(cell.fill_null(np.nan) if cell.null_count else cell)
        if layout.whole[c] and np.nanmax(np.abs(values), initial=0) >= 2**53:
            return None  # integers that floats do not hold
        columns.append(_joined(source, layout, c, [values], c in where))
    return columns


def _body(source: Source, layout: _Layout) -> bytes | None:
    """The lines of data, where pyarrow would see the same cells in them as this module."""
    data, number = source.data, next((n for n, _ in _data_lines(source, layout)), [0])[0]
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        if b"\r" in data:  # it ends lines too, in front of the data as well
            return None
    start = 0
    for _ in range(number - 1):
        start = data.find(b"\n", start) + 1
    body = data[start:]
    lines = body.count(b"\n") + 1
    if not number or 8 * lines * len(layout.names) > source.allowance:
        return None
    odd = {b"\0": b"", b"\x0b": b"", b"\x0c": b"", b"#": b"\n#", b"/": b"\n//", b"(": b"("}
    if any(mark in body and whole in body for mark, whole in odd.items()):  # one byte is found faster
        return None
    if b'"' in body:
        buffer = np.frombuffer(body, np.uint8)
        if layout.delimiter is None or (np.cumsum(buffer == 34)[buffer == 10] % 2).any():
            return None
    return plain(body) if layout.delimiter is None else body


def _words(source: Source, name: str, column: Any) -> NDArray[Any]:
    """Words of a pyarrow column, without the blanks around them."""
    coded = column.dictionary_encode()
    words = [word.strip() for word in coded.dictionary.to_pylist()]
    widest = max(map(len, words), default=1) or 1
    source.check_allowance(4 * widest * (len(column) + len(words)), f"text column {name!r}", "data")
    return np.array(words, dtype=f"U{widest}")[coded.indices.to_numpy()]


def _columns(source: Source, layout: _Layout) -> list[NDArray[Any]] | None:
    """All columns, or None where one that was taken for numbers holds a word."""
    width = len(layout.names)
    where = set(source.coordinates(layout.names))
    pieces: list[list[Any]] = [[] for _ in range(width)]
    rows = widest = 0
    for numbers, lines in _data_lines(source, layout):
        rows += len(lines)
        block = _by_cells(source, layout, numbers, lines, where)
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


def _data_lines(source: Source, layout: _Layout) -> Iterator[tuple[list[int], list[str]]]:
    skip = layout.skip
    for numbers, lines in content_lines(source, _COMMENTS):
        if len(lines) > skip:
            yield numbers[skip:], lines[skip:]
        skip = max(0, skip - len(lines))


def _cells_by_column(
    source: Source, layout: _Layout, numbers: list[int], lines: list[str]
) -> list[Sequence[str]]:
    columns = _split_at_once(layout, lines) or _split_by_line(source, layout, numbers, lines)
    if layout.decimal_comma:
        columns = [
            cells if c in layout.text else [cell.replace(",", ".") for cell in cells]
            for c, cells in enumerate(columns)
        ]
    return columns


def _split_at_once(layout: _Layout, lines: list[str]) -> list[Sequence[str]] | None:
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
    source: Source, layout: _Layout, numbers: list[int], lines: list[str]
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


def _by_cells(source: Source, layout: _Layout, numbers: list[int], lines: list[str], where: set[int]) -> Any:
    """Cell by cell: words, empty cells, long integers, and the place of whatever is wrong. None as above."""
    columns: list[Any] = []
    known = len(layout.text)
    for c, cells in enumerate(_cells_by_column(source, layout, numbers, lines)):
        if c in layout.text:
            columns.append([layout.same.setdefault(cell, cell) for cell in cells])
            continue
        long = layout.whole[c] and c not in where and max(map(len, cells)) > 15
        may_be_empty = layout.missing or c not in where
        values = None if long else _plain(cells, may_be_empty)
        if values is not None:
            columns.append(values)
            continue
        column: list[float] = []
        for number, cell in zip(numbers, cells, strict=True):
            if may_be_empty and cell.lower() in _EMPTY:
                column.append(np.nan)
            elif long and 15 < len(cell) < 21 and _INTEGER.fullmatch(cell):
                column.append(int(cell))
            elif c not in where and layout.headed and not _is_number(cell):
                layout.text.add(c)
                break
            else:
                column.append(parse_number(source, cell, number, c))
        # Integers that floats do not hold stay as they are; a list takes four times the memory of an array.
        columns.append(column if any(isinstance(v, int) for v in column) else np.array(column))
    return columns if len(layout.text) == known else None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return cell.isascii() and "_" not in cell


def _joined(source: Source, layout: _Layout, c: int, parts: list[Any], coordinate: bool) -> NDArray[Any]:
    if c in layout.text:
        words = [word for part in parts for word in part]
        widest = max(map(len, words), default=1)
        source.check_allowance(4 * widest * len(words), f"text column {layout.names[c]!r}", "data")
        words = [word.encode("latin-1").decode("utf-8") for word in words]
        return np.array(words, dtype=str) if words else np.empty(0, "U1")
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


def write_table(
    points: NDArray[np.float64], columns: dict[str, NDArray[Any]], *, suffix: str, **_: Any
) -> bytes:
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
    lists = [_written_cells(column) for column in [*points.T, *columns.values()]]
    body = "".join(mark.join(row) + "\n" for row in zip(*lists, strict=True))
    return (head + body).encode("utf-8")


def _written_cells(column: NDArray[Any]) -> list[str]:
    if column.dtype.kind == "b":
        column = column.astype(np.uint8)
    if column.dtype.kind == "f" and column.dtype.itemsize < 8:
        return [str(v) for v in column]  # the shortest digits of the narrow type
    return [repr(v) for v in column.tolist()] if column.dtype.kind != "U" else column.tolist()


FORMAT = Format(
    name="table",
    suffixes=(".xyz", ".txt", ".csv", ".tsv", ".pts", ".asc", ".ad", ".dat"),
    magic=lambda _: False,  # what is nothing else, and looks like numbers
    read=read_table,
    write=write_table,
    writes=(".xyz", ".txt", ".csv", ".tsv", ".pts"),
    unmarked=True,
    sample=lambda: b'id,x,y,z,kind\n7,1,2,3,leaf\n8,4,5,6,"wood"\n',
    title="tables",
    forms="with or without header",
    written=".xyz .txt .csv .tsv .pts",
    kept="other columns, words too",
)
