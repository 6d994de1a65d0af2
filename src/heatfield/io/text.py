"""Text and numbers in it, read in pieces: a hostile file cannot blow up into millions of small objects."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from .._base.optional import need
from .limits import MOST_COLUMNS, ReadError, Source

LONGEST_LINE = 2**20
_FIRST_PIECE, _PIECE = 2**14, 2**19
_DEEPEST = 1000  # elements of XML within one another
_WORTH = 2**18  # bytes of text from which on pyarrow is imported
_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")  # one way to match: linear time


def _blocks(source: Source, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Pieces of up to half a megabyte, whole lines: the number of the first line (from 1), and the text.

    Lines end in LF, CRLF or CR.
    """
    data = source.data
    number = 1 + data.count(b"\n", 0, start)
    if start == 0 and data.startswith(b"\xef\xbb\xbf"):
        start = 3
    size = _FIRST_PIECE
    while start < len(data):
        end = start + size
        size = min(4 * size, _PIECE)
        if end < len(data):
            newline = data.rfind(b"\n", start, end)
            if newline < 0:  # one long line, or a file that ends its lines with CR alone
                newline = data.rfind(b"\r", start, end - 1)
            if newline < 0:
                newline = data.find(b"\n", end, start + LONGEST_LINE)
            if newline < 0 and len(data) - start > LONGEST_LINE:
                raise source.error(f"a line is longer than {LONGEST_LINE} bytes", f"line {number}")
            end = newline + 1 if newline >= 0 else len(data)
        block = data[start:end]
        zero = block.find(b"\0")
        if zero >= 0:
            raise source.error("not a text file (it holds a zero byte)", f"byte {start + zero}")
        yield number, block
        number += block.count(b"\n") if b"\r" not in block else len(block.splitlines())
        start = end


def line_blocks(source: Source, start: int = 0) -> Iterator[tuple[int, list[bytes]]]:
    """Pieces of about half a megabyte: the number of the first line (from 1), and the lines."""
    for number, block in _blocks(source, start):
        yield number, block.splitlines()


def plain_blocks(source: Source, start: int = 0) -> Iterator[tuple[int, bytes, bytes | None]]:
    """As `_blocks`, and the same as plain text: single blanks, LF after each line, no blank lines.

    None in its place where other white space is used.
    """
    for number, block in _blocks(source, start):
        if b"\x0b" in block or b"\x0c" in block:
            yield number, block, None
            continue
        yield number, block, plain(block)


def plain(text: bytes) -> bytes:
    """Text with single blanks between words, LF after each line, and no blank lines."""
    text = text if text.endswith(b"\n") else text + b"\n"
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    text = text.replace(b"\t", b" ")
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b"\n ", b"\n").replace(b" \n", b"\n")
    while b"\n\n" in text:
        text = text.replace(b"\n\n", b"\n")
    return text.lstrip(b" \n")


def read_cells(text: bytes, kinds: Sequence[str], *, delimiter: str = " ", **more: Any) -> list[Any] | None:
    """Columns as arrays of pyarrow, or None where it is not installed; ValueError where something is wrong.

    ``kinds`` are "float64" or "string"; ``more`` are options for quotes, nulls and decimal commas.
    """
    if "pyarrow" not in sys.modules and len(text) < _WORTH:
        return None
    try:
        pa, csv = need("pyarrow", "Text"), need("pyarrow.csv", "Text")
    except ImportError:
        return None
    names = [str(c) for c in range(len(kinds))]
    table = csv.read_csv(
        pa.BufferReader(text),
        csv.ReadOptions(column_names=names, use_threads=False),
        csv.ParseOptions(delimiter=delimiter, quote_char=more.pop("quote_char", False)),
        csv.ConvertOptions(
            column_types=dict(zip(names, kinds, strict=True)),
            strings_can_be_null=False,
            **{"null_values": [], **more},
        ),
    )
    return [column.combine_chunks() for column in table.columns]


def floats(column: Any) -> NDArray[np.float64]:
    """The values of a pyarrow column of float64 without nulls."""
    return np.frombuffer(column.buffers()[1], np.float64, len(column), 8 * column.offset)


def numbers_of(text: bytes | None, width: int) -> NDArray[np.float64] | None:
    """All lines of a plain text at once; None where that cannot be done."""
    try:
        cells = read_cells(text, ["float64"] * width) if text else None
    except ValueError:
        return None
    if cells is None or text is None or len(cells[0]) != text.count(b"\n") or b"(" in text:
        return None  # "nan(1)" is a number to some
    values = np.empty((len(cells[0]), width))
    for c, column in enumerate(cells):
        values[:, c] = floats(column)
    return values


def content_lines(
    source: Source, comments: tuple[bytes, ...], start: int = 0
) -> Iterator[tuple[list[int], list[str]]]:
    """As ``line_blocks``, without blank lines and comments, each line with its number.

    Bytes outside ASCII become Latin-1 characters, so that a name in a comment does no harm;
    in a number they are reported as any other wrong character is.
    """
    for first, lines in line_blocks(source, start):
        yield content(first, lines, comments)


def content(first: int, lines: list[bytes], comments: tuple[bytes, ...]) -> tuple[list[int], list[str]]:
    """Lines that hold something, with their numbers."""
    stripped = [line.strip() for line in lines]
    kept = [line for line in stripped if line and not line.startswith(comments)]
    if len(kept) == len(lines):
        numbers = list(range(first, first + len(lines)))
    else:
        numbers = [i for i, line in enumerate(stripped, first) if line and not line.startswith(comments)]
    return numbers, b"\n".join(kept).decode("latin-1").split("\n") if kept else []


def first_numbers(head: bytes) -> list[bytes]:
    """The words of the first line that is not a comment, if all of them are numbers."""
    for found in re.finditer(rb"[^\r\n]+", head):
        line = found[0].strip()
        if line and not line.startswith((b"#", b"//")):
            words = re.split(rb"[\s,;]+", line)
            return words if all(_NUMBER.fullmatch(word) for word in words) else []
    return []


def shown(text: str) -> str:
    """A piece of the file as it appears in an error."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def integers_of(text: bytes | None) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """All integers of a plain text, and how many each line holds; None where something else is among them."""
    if not text or text.translate(None, b"0123456789- \n"):
        return None
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    blanks = np.cumsum(np.frombuffer(text, np.uint8) == 32, dtype=np.int64)[ends]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            flat = np.fromstring(text.decode("ascii"), np.int64, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    lengths = np.diff(blanks, prepend=0) + 1
    return (flat, lengths) if len(flat) == lengths.sum() else None


@dataclass(frozen=True)
class Numbers:
    """Values (rows, columns) and a way back to the line they stand in."""

    source: Source
    values: NDArray[np.float64]
    comments: tuple[bytes, ...]

    def place(self, row: int) -> str:
        """The line of a row. Read again only when there is something to report."""
        for numbers, _ in content_lines(self.source, self.comments):
            if row < len(numbers):
                return f"line {numbers[row]}"
            row -= len(numbers)
        return "the end"


def read_numbers(source: Source, comments: tuple[bytes, ...]) -> Numbers:
    """Numbers between blanks. At least one line is needed."""
    pieces: list[NDArray[np.float64]] = []
    width = total = 0
    for number, block, text in plain_blocks(source):
        if text:
            width = width or len(text[: text.index(b"\n")].split(None, MOST_COLUMNS))
        values = numbers_of(text, width)
        if values is None:
            numbers, lines = content(number, block.splitlines(), comments)
            if not lines:
                continue
            values = parse_rows(source, numbers, lines, width or len(lines[0].split(None, MOST_COLUMNS)))
            width = values.shape[1]
        pieces.append(values)
        total += values.nbytes
        source.check_allowance(total, "the table of numbers", "data")
    if not pieces:
        raise source.error("holds no points: no line of numbers was found")
    return Numbers(source, np.concatenate(pieces) if len(pieces) > 1 else pieces[0], comments)


def read_rows(source: Source, start: int, skip: int, count: int, width: int) -> NDArray[np.float64]:
    """``count`` lines of ``width`` numbers after byte ``start`` and ``skip`` lines."""
    source.check_count(count, 2 * width, start - 1, "lines", f"byte {start}")  # the last line may end bare
    source.check_allowance(8 * count * width, "the table of numbers", f"byte {start}")
    values = np.empty((count, width))
    done = 0
    for text, slow in some_lines(source, start, skip, count):
        part = numbers_of(text, width)
        if part is None:
            part = parse_rows(source, *slow(), width)
        values[done : done + len(part)] = part
        done += len(part)
    return values


def some_lines(
    source: Source, start: int, skip: int, count: int, comments: tuple[bytes, ...] = (), what: str = "lines"
) -> Iterator[tuple[bytes | None, Callable[[], tuple[list[int], list[str]]]]]:
    """``count`` lines with content, piece by piece: as plain text or None, and a way to numbers and lines."""
    done = 0
    for number, block, text in plain_blocks(source, start):
        if done == count:
            return
        if comments and text is not None and any(mark in text for mark in comments):
            text = None
        held = len(content(number, block.splitlines(), comments)[1]) if text is None else text.count(b"\n")
        first, last = skip, min(held, skip + count - done)
        skip = max(0, skip - held)
        if last <= first:
            continue
        if text is not None and last - first < held:
            ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
            text = text[int(ends[first - 1]) + 1 if first else 0 : int(ends[last - 1]) + 1]

        def slow(number: int = number, block: bytes = block, part: slice = slice(first, last)) -> Any:
            numbers, lines = content(number, block.splitlines(), comments)
            return numbers[part], lines[part]

        yield text, slow
        done += last - first
    if done < count:
        raise source.error(f"ends after {done} of {count} {what}", "the end")


def parse_rows(source: Source, numbers: list[int], lines: list[str], width: int) -> NDArray[np.float64]:
    """Lines of ``width`` numbers each; the first wrong one is named."""
    try:
        # A line of control characters alone counts as blank, and loadtxt would warn of it.
        values = np.loadtxt(lines if lines[0].split() else ["?"], dtype=np.float64, comments=None, ndmin=2)
        if values.shape == (len(lines), width):
            return values
    except ValueError:
        pass
    for number, line in zip(numbers, lines, strict=True):  # the slow way finds the place
        cells = line.split()
        if len(cells) != width:
            raise source.error(f"{len(cells)} columns where {width} are expected", f"line {number}")
        for c, cell in enumerate(cells):
            parse_number(source, cell, number, c)
    raise source.error("holds something that is not a number", f"lines {numbers[0]} to {numbers[-1]}")


def parse_number(source: Source, cell: str, line: int, column: int) -> float:
    """One cell as a float."""
    try:
        if "_" in cell or not cell.isascii():
            raise ValueError
        return float(cell)
    except ValueError:
        read = cell.encode("latin-1", "replace").decode("utf-8", "replace")  # lines are kept as Latin-1
        raise source.error(f"column {column + 1}: {shown(read)} is not a number", f"line {line}") from None


def to_type(source: Source, values: NDArray[np.float64], kind: str, what: str) -> NDArray[Any]:
    """``values`` as ``kind``; a value that the type cannot hold is an error, not a wrap-around."""
    if kind[0] == "f":
        with np.errstate(over="ignore"):
            return values.astype(kind)
    info = np.iinfo(kind)
    # The bounds of 64-bit integers are not floats; the nearest floats beyond them are excluded.
    good = (values >= info.min) & (values < float(info.max) + 1.0) & (values == np.rint(values))
    if not good.all():
        row = int(np.argmin(good))
        raise source.error(f"{what} is {values[row]:g}, which is not {np.dtype(kind).name}", f"point {row}")
    return values.astype(kind)


def stream_of(source: Source, text: bytes, place: str) -> NDArray[np.float64]:
    """All numbers of a text, whatever its lines."""
    source.check_allowance(4 * len(text), "the stream of numbers", place)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text.decode("latin-1"), sep=" ")
        except (DeprecationWarning, ValueError):
            raise source.error("holds something that is not a number", place) from None


def read_xml(
    source: Source,
    data: bytes,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] | None = None,
    text: Callable[[str], None] | None = None,
    place: str = "",
) -> None:
    """Hand the elements of XML to functions, by their names without prefixes; nothing is kept.

    KeyError and ValueError of these mean that an attribute is missing or wrong. Entities, by which a small
    file unfolds to a large one, are refused.
    """
    parser = expat.ParserCreate()

    def refused(*_: object) -> None:
        raise source.error("declares a document type, which is not read", place)

    parser.StartDoctypeDeclHandler = refused
    depth = 0

    def opened(name: str, given: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise source.error(f"nests more than {_DEEPEST} elements", place)
        start(name.rpartition(":")[2], given)

    def closed(name: str) -> None:
        nonlocal depth
        depth -= 1
        if end is not None:
            end(name.rpartition(":")[2])

    parser.StartElementHandler, parser.EndElementHandler = opened, closed
    if text is not None:
        parser.CharacterDataHandler = text
        parser.buffer_text = True
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise source.error(f"not sound XML: {error}", place) from None
    except ReadError:
        raise
    except (KeyError, ValueError, LookupError):
        where = f"line {parser.CurrentLineNumber}"
        problem = "an attribute is missing or wrong, or the encoding is not known"
        raise source.error(problem, f"{place}, {where}" if place else where) from None
