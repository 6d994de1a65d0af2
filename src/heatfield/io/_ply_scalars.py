"""The scalar properties of PLY rows that also hold lists; the lists are passed over."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.compile import compiled
from ._numbers import parse_number, some_lines
from ._ply_lists import Property, check_lengths, integer, layout, rows_alike
from ._source import Source
from ._text import shown


def binary_scalars(
    source: Source, start: int, count: int, properties: list[Property], order: str
) -> dict[str, NDArray[Any]]:
    """Columns by name, in the byte order of this machine."""
    check_lengths(source, properties)
    scalars = [(i, p) for i, p in enumerate(properties) if not p.length]
    if count == 0:
        return {p.name: np.empty(0, p.kind) for _, p in scalars}
    alike = rows_alike(source, start, count, properties, order)
    if alike is not None:
        return {p.name: alike[f"items{i}"].astype("=" + p.kind) for i, p in scalars}
    source.check_allowance(8 * count * (1 + len(scalars)), "the table of vertices", f"byte {start}")
    data = np.frombuffer(source.data, np.uint8)
    places = np.empty((len(scalars), count), np.int64)
    end, bad = _places(data, start, layout(properties), order == ">", places)
    if bad >= 0:
        raise source.error(f"a list of row {bad} reaches beyond the end of the file", f"byte {end}")
    table = {}
    for at, (_, p) in zip(places, scalars, strict=True):
        bytes_ = np.stack([data[at + k] for k in range(int(p.kind[1]))], axis=1)
        table[p.name] = bytes_.view(order + p.kind)[:, 0].astype("=" + p.kind)
    return table


@compiled()
def _places(
    data: NDArray[np.uint8], start: int, table: NDArray[np.int64], big: bool, places: NDArray[np.int64]
) -> tuple[int, int]:
    """Where each scalar of each row begins; the byte after the last row, and the unsound row (-1: none)."""
    at = start
    for row in range(places.shape[1]):
        scalar = 0
        for p in range(len(table)):
            size, item = table[p, 0], table[p, 2]
            k = 1
            if at + size > len(data):
                return at, row
            if size > 0:
                k = integer(data, at, size, table[p, 1], big)
                at += size
            if k < 0 or k > len(data) or at + k * item > len(data):
                return at, row
            if size == 0:
                places[scalar, row] = at
                scalar += 1
            at += k * item
    return at, -1


def ascii_scalars(
    source: Source, start: int, skip: int, count: int, properties: list[Property]
) -> NDArray[np.float64]:
    """``count`` lines after byte ``start`` and ``skip`` lines; (count, scalars)."""
    check_lengths(source, properties)
    is_list = [bool(p.length) for p in properties]
    width = is_list.count(False)
    source.check_count(count, 2 * len(is_list), start - 1, "lines", f"byte {start}")
    source.check_allowance(8 * count * width, "the table of numbers", f"byte {start}")
    values = np.empty((count, width))
    done = 0
    for numbers, lines in some_lines(source, start, skip, count):
        for number, line in zip(numbers, lines, strict=True):
            cells = _scalar_cells(source, line, number, is_list)
            values[done] = [parse_number(source, cell, number, c) for c, cell in cells]
            done += 1
    return values


def _scalar_cells(source: Source, line: str, number: int, is_list: list[bool]) -> list[tuple[int, str]]:
    """The cells of a line that belong to no list, each with its column."""
    words = line.split()
    found, at = [], 0
    for a_list in is_list:
        if at >= len(words):
            break
        if a_list:
            length = words[at]
            if not (length.isascii() and length.isdigit() and len(length) < 10):
                raise source.error(f"{shown(length)} is not the length of a list", f"line {number}")
            at += int(length)
        else:
            found.append((at, words[at]))
        at += 1
    else:
        if at == len(words):
            return found
    raise source.error(f"{len(words)} words do not fit the properties of a vertex", f"line {number}")
