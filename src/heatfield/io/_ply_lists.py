"""Rows of a PLY that hold lists, so that each has its own length: the lists, or the scalars beside them."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from struct import Struct, error
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._faces import Polygons
from ._numbers import parse_number, some_lines
from ._source import Source
from ._text import shown


@dataclass(frozen=True)
class Property:
    """One property in the order of the header; ``length`` is the type of a list's length, "" for a scalar."""

    name: str
    kind: str
    length: str = ""

    @property
    def least(self) -> int:
        """The fewest bytes it takes in a row."""
        return int((self.length or self.kind)[1])


def binary_lists(
    source: Source, start: int, count: int, properties: list[Property], order: str, wanted: int
) -> tuple[Polygons, int]:
    """The lists of property number ``wanted`` (-1: none), and the byte after the last row."""
    polygons = Polygons(source)
    _check_lengths(source, properties)
    if count == 0:
        return polygons, start
    alike = _rows_alike(source, start, count, properties, order)
    if alike is not None:
        if wanted >= 0:
            polygons.add_rows(alike[f"items{wanted}"])
        return polygons, start + count * alike.dtype.itemsize
    begins, lengths, end = _walk(source, start, count, properties, order)
    if wanted >= 0:
        number, kind = _lists(properties).index(wanted), properties[wanted].kind
        begin, length = begins[:, number] - start, lengths[:, number]
        source.check_allowance(8 * (int(length.sum()) + count), "the lists of corners", f"byte {start}")
        some = length > 0
        edges = np.zeros(end - start + 1, np.int8)  # 1 where a list begins, -1 behind it
        edges[begin[some]] = 1
        edges[(begin + length * int(kind[1]))[some]] = -1
        inside = np.cumsum(edges, dtype=np.int8, out=edges)[:-1].view(bool)
        corners = np.frombuffer(source.data, np.uint8, end - start, start)[inside].view(order + kind)
        polygons.add_flat(length, corners.astype(np.int64))
    return polygons, end


def binary_scalars(
    source: Source, start: int, count: int, properties: list[Property], order: str
) -> dict[str, NDArray[Any]]:
    """Columns by name, in the byte order of this machine."""
    _check_lengths(source, properties)
    scalars = [(i, p) for i, p in enumerate(properties) if not p.length]
    if count == 0:
        return {p.name: np.empty(0, p.kind) for _, p in scalars}
    alike = _rows_alike(source, start, count, properties, order)
    if alike is not None:
        return {p.name: alike[f"items{i}"].astype("=" + p.kind) for i, p in scalars}
    source.check_allowance(8 * count * (1 + len(scalars)), "the table of vertices", f"byte {start}")
    begins, lengths, _ = _walk(source, start, count, properties, order)
    table, number = {}, 0
    at = begins[:, 0] - sum(p.least for p in properties[: _lists(properties)[0] + 1])
    for p in properties:
        if p.length:
            at = begins[:, number] + lengths[:, number] * int(p.kind[1])
            number += 1
        else:
            # As if a number began at every byte.
            every = np.ndarray((len(source.data) - p.least + 1,), order + p.kind, source.data, strides=(1,))
            table[p.name] = every[at].astype("=" + p.kind)
            at = at + p.least
    return table


def _lists(properties: list[Property]) -> list[int]:
    return [i for i, p in enumerate(properties) if p.length]


def _walk(
    source: Source, start: int, count: int, properties: list[Property], order: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Where the items of each list of each row begin, how many they are, and the byte after the last row."""
    lists, before = [], 0  # of each: bytes before it, of its length, of an item; and who reads the length
    for p in properties:
        if p.length:
            unpack = Struct(order + np.dtype(p.length).char).unpack_from
            lists.append((before, p.least, int(p.kind[1]), unpack))
        before = 0 if p.length else before + p.least
    source.check_allowance(24 * count * len(lists), "the places of lists", f"byte {start}")
    data, at, found = source.data, start, array("q")
    keep = found.append
    try:
        if len(lists) == 1 and properties[_lists(properties)[0]].length == "u1":  # as most files are
            at += lists[0][0]
            steps = [lists[0][0] + 1 + k * lists[0][2] + before for k in range(256)]
            for _ in range(count):
                k = data[at]
                keep(k)
                at += steps[k]
        else:
            for _ in range(count):
                for skipped, size, item, unpack in lists:
                    at += skipped
                    (k,) = unpack(data, at)
                    if k < 0:
                        raise IndexError
                    keep(k)
                    at += size + k * item
                at += before
    except (IndexError, error):
        pass
    lengths = np.frombuffer(found, np.int64)[: len(found) // len(lists) * len(lists)].reshape(-1, len(lists))
    items = lengths * np.array([item for _, _, item, _ in lists])
    sizes = items + np.array([skipped + size for skipped, size, _, _ in lists])
    sizes[:, -1] += before
    ends = start + np.cumsum(sizes).reshape(sizes.shape)
    sound = int(np.searchsorted(ends[:, -1], len(data), side="right"))
    if sound < count:
        place = ends[sound - 1, -1] if sound else start
        raise source.error(f"a list of row {sound} reaches beyond the end of the file", f"byte {place}")
    begins = ends - items
    begins[:, -1] -= before
    return begins, lengths, int(ends[-1, -1])


def _check_lengths(source: Source, properties: list[Property]) -> None:
    """Lengths of lists are integers."""
    for p in properties:
        if "f" in p.length:
            raise source.error(f"the length of list {p.name!r} must be an integer", "header")


def _rows_alike(
    source: Source, start: int, count: int, properties: list[Property], order: str
) -> NDArray[np.void] | None:
    """All rows at once where their lists are as long as those of the first; else None."""
    fields: list[tuple] = []
    lengths: dict[str, int] = {}
    at = start
    for number, p in enumerate(properties):
        if not p.length:
            fields.append((f"items{number}", order + p.kind))
            at += int(p.kind[1])
            continue
        if at + int(p.length[1]) > len(source.data):
            return None
        k = int(np.frombuffer(source.data, order + p.length, 1, at)[0])
        at += int(p.length[1]) + k * int(p.kind[1])
        if k < 0 or at > len(source.data):
            return None
        lengths[f"length{number}"] = k
        fields += [(f"length{number}", order + p.length), (f"items{number}", order + p.kind, (k,))]
    if (at - start) * count > len(source.data) - start or at - start >= 2**31:
        return None
    rows = np.frombuffer(source.data, np.dtype(fields), count, start)
    return rows if all((rows[name] == k).all() for name, k in lengths.items()) else None


def ascii_scalars(
    source: Source, start: int, skip: int, count: int, properties: list[Property]
) -> NDArray[np.float64]:
    """``count`` lines after byte ``start`` and ``skip`` lines; (count, scalars)."""
    _check_lengths(source, properties)
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
