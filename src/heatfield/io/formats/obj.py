"""OBJ: vertices and faces of a mesh as lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...options import Reading
from ..cloud import Cloud, Format
from ..faces import Polygons
from ..limits import Source
from ..text import (
    LONGEST_LINE,
    content,
    content_lines,
    integers_of,
    numbers_of,
    parse_rows,
    plain_blocks,
    shown,
)

_MOST_NUMBERS = 64  # of a vertex


def read_obj(source: Source, _: Reading) -> Cloud:
    """Lines v and f of a Wavefront OBJ; six numbers per vertex carry a colour, NaN where some have none."""
    source = source.without(b"#")
    polygons, pieces, m, total = Polygons(source), [], 0, 0
    for text, lines in _pieces(source):
        piece = _at_once(text, polygons)
        if piece is None:
            piece = _line_by_line(source, *lines(), polygons, m)
        if len(piece):
            pieces.append(piece)
            m += len(piece)
            total += piece.nbytes
            source.check_allowance(total, "the table of vertices", "data")
    if not pieces:
        raise source.error("holds no vertices (no line 'v x y z')")
    width = max(piece.shape[1] for piece in pieces)
    source.check_allowance(8 * m * width, "the table of vertices", "data")
    values = np.full((m, width), np.nan)
    done = 0
    for piece in pieces:
        values[done : done + len(piece), : piece.shape[1]] = piece
        done += len(piece)
    faces = polygons.triangles(m)
    names = {6: ["red", "green", "blue"], 7: ["red", "green", "blue", "alpha"], 4: ["w"]}.get(
        width, [f"column{c + 1}" for c in range(3, width)]
    )
    columns = {name: values[:, 3 + i].copy() for i, name in enumerate(names)}
    return Cloud(values[:, :3].copy(), columns, "obj", faces=faces if len(faces) else None)


def _pieces(source: Source) -> Iterator[tuple[bytes | None, Callable[[], tuple[list[int], list[str]]]]]:
    """Pieces of the file as plain text, and as numbered lines where that is not enough."""
    if b"\\" in source.data:  # lines go on in the next
        for numbers, lines in _logical_lines(source):
            yield None, partial(lambda *both: both, numbers, lines)
    else:
        for number, block, text in plain_blocks(source):
            yield text, partial(content, number, block.splitlines(), ())


def _at_once(text: bytes | None, polygons: Polygons) -> NDArray[np.float64] | None:
    """The vertices of plain text, its faces added; None, and nothing done, where something is unusual."""
    if not text:
        return None
    rows, faces = _lines_of(text, b"v"), _lines_of(text, b"f")
    values = numbers_of(rows, rows[: rows.index(b"\n")].count(b" ") + 1) if rows else np.empty((0, 3))
    if values is None or not 3 <= values.shape[1] <= _MOST_NUMBERS:
        return None
    if faces:
        found = _corners(faces)
        if found is None or found[1].min() < 3 or found[0].min() < 1:
            return None
        polygons.add_flat(found[1], found[0] - 1)
    return values


def _corners(faces: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """The first number of every word, and the number of words of each line."""
    marked = faces.replace(b"//", b"|")
    between = marked.translate(None, b"0123456789")
    line, count = between[: between.index(b"\n")], faces.count(b"\n")
    if b"/" not in faces or between != (line + b"\n") * count:  # lines that differ
        return integers_of(re.sub(rb"/[^ \n]*", b"", faces) if b"/" in faces else faces)
    found = integers_of(marked.replace(b"|", b" ").replace(b"/", b" "))
    if found is None or len(found[0]) != (len(line) + 1) * count:
        return None
    first = [0, *(i + 1 for i, mark in enumerate(line) if mark == 32)]
    return found[0].reshape(count, -1)[:, first].ravel(), np.full(count, len(first))


def _lines_of(text: bytes, word: bytes) -> bytes:
    """What follows a word at the start of lines of plain text."""
    if text.startswith(word + b" ") and text.count(b"\n" + word + b" ") == text.count(b"\n") - 1:
        return text[len(word) + 1 :].replace(b"\n" + word + b" ", b"\n")
    if b"\n" + word + b" " not in text and not text.startswith(word + b" "):
        return b""
    return b"".join(re.findall(rb"^" + word + rb" (.*\n)", text, re.M))


def _line_by_line(
    source: Source, numbers: list[int], lines: list[str], polygons: Polygons, m: int
) -> NDArray[np.float64]:
    """The vertices of numbered lines, their faces added; ``m`` vertices came before."""
    rows, places = [], []
    for number, line in zip(numbers, lines, strict=True):
        if line[:2] in ("v ", "v\t"):
            rows.append(line[2:])
            places.append(number)
        elif line[:2] in ("f ", "f\t"):
            try:
                corners = [int(word.partition("/")[0]) for word in line[2:].split()]
                seen = m + len(rows)
                corners = [c - 1 if c > 0 else seen + c for c in corners]
                if len(corners) < 3 or min(corners) < 0:
                    raise ValueError
                polygons.add(corners)
            except (ValueError, OverflowError):
                raise source.error(f"{shown(line)} is not a face", f"line {number}") from None
    return _vertices(source, places, rows) if rows else np.empty((0, 3))


def _vertices(source: Source, places: list[int], rows: list[str]) -> NDArray[np.float64]:
    """Lines of three numbers or more, those that have fewer than others filled up with NaN."""
    widths = np.array([len(row.split(None, _MOST_NUMBERS)) for row in rows])
    if widths.min() < 3:
        raise source.error("a vertex needs three numbers", f"line {places[int(widths.argmin())]}")
    if widths.max() > _MOST_NUMBERS:
        raise source.error("a vertex has too many numbers", f"line {places[int(widths.argmax())]}")
    if widths.min() == widths.max():
        return parse_rows(source, places, rows, int(widths[0]))
    values = np.full((len(rows), int(widths.max())), np.nan)
    for width in np.unique(widths).tolist():
        chosen = np.flatnonzero(widths == width).tolist()
        part = parse_rows(source, [places[i] for i in chosen], [rows[i] for i in chosen], width)
        values[chosen, :width] = part
    return values


def _logical_lines(source: Source) -> Iterator[tuple[list[int], list[str]]]:
    """As `content_lines`, with lines that end in a backslash joined to the next."""
    carried: list[str] = []
    size = 0
    for numbers, lines in content_lines(source, ()):
        if not carried and not any(line.endswith("\\") for line in lines):
            yield numbers, lines
            continue
        kept: list[str] = []
        places: list[int] = []
        for number, line in zip(numbers, lines, strict=True):
            carried.append(line.removesuffix("\\"))
            size += len(line)
            if size > LONGEST_LINE:
                raise source.error(f"a line is longer than {LONGEST_LINE} bytes", f"line {number}")
            if not line.endswith("\\"):
                kept.append(" ".join(carried).strip())
                places.append(number)
                carried, size = [], 0
        yield places, kept
    if carried:
        raise source.error("ends inside a continued line", "the end")


_VERTEX = re.compile(rb"^v[ \t]+[-+.\d]\S*[ \t]+[-+.\d]\S*[ \t]+[-+.\d]", re.M)
FORMAT = Format(
    name="obj",
    suffixes=(".obj",),
    magic=lambda source: _VERTEX.search(source.head) is not None,
    read=read_obj,
    unmarked=True,
    sample=lambda: b"# square\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1 4//1\n",
    title="OBJ",
    kept="triangles, colours",
)
