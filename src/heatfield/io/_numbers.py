"""A table of numbers alone, the same count in every line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._cloud import MOST_COLUMNS
from ._source import Source
from ._text import content_lines, shown


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
    for numbers, lines in content_lines(source, comments):
        if not lines:
            continue
        width = width or len(lines[0].split(None, MOST_COLUMNS))
        pieces.append(parse_rows(source, numbers, lines, width))
        total += pieces[-1].nbytes
        source.check_allowance(total, "the table of numbers", "data")
        lines.clear()
    if not pieces:
        raise source.error("holds no points: no line of numbers was found")
    return Numbers(source, np.concatenate(pieces) if len(pieces) > 1 else pieces[0], comments)


def read_rows(source: Source, start: int, skip: int, count: int, width: int) -> NDArray[np.float64]:
    """``count`` lines of ``width`` numbers after byte ``start`` and ``skip`` lines."""
    source.check_count(count, 2 * width, start - 1, "lines", f"byte {start}")  # the last line may end bare
    source.check_allowance(8 * count * width, "the table of numbers", f"byte {start}")
    values = np.empty((count, width))
    done = 0
    for numbers, lines in some_lines(source, start, skip, count):
        values[done : done + len(lines)] = parse_rows(source, numbers, lines, width)
        done += len(lines)
    return values


def some_lines(source: Source, start: int, skip: int, count: int) -> Iterator[tuple[list[int], list[str]]]:
    """``count`` lines with content and their numbers, piece by piece; an error where there are fewer."""
    done = 0
    for numbers, lines in content_lines(source, (), start):
        first, last = skip, min(len(lines), skip + count - done)
        skip = max(0, skip - len(lines))
        if last > first:
            yield numbers[first:last], lines[first:last]
            done += last - first
        if done == count:
            return
    if done < count:
        raise source.error(f"ends after {done} of {count} lines", "the end")


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
        raise source.error(f"column {column + 1}: {shown(cell)} is not a number", f"line {line}") from None
