"""Rows of a binary PLY that hold lists, so that each row has a length of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._base.compile import compiled
from ._faces import Polygons
from ._source import Source


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
    check_lengths(source, properties)
    if count == 0:
        return polygons, start
    alike = rows_alike(source, start, count, properties, order)
    if alike is not None:
        if wanted >= 0:
            polygons.add_rows(alike[f"items{wanted}"])
        return polygons, start + count * alike.dtype.itemsize
    table = layout(properties)
    data = np.frombuffer(source.data, np.uint8)
    nothing = np.empty(0, np.int64)
    end, bad, total = _walk(data, start, count, table, order == ">", wanted, nothing, nothing)
    if bad >= 0:
        raise source.error(f"a list of row {bad} reaches beyond the end of the file", f"byte {end}")
    if wanted >= 0:
        source.check_allowance(8 * (total + count), "the lists of corners", f"byte {start}")
        lengths, corners = np.empty(count, np.int64), np.empty(total, np.int64)
        _walk(data, start, count, table, order == ">", wanted, lengths, corners)
        polygons.add_flat(lengths, corners)
    return polygons, end


def check_lengths(source: Source, properties: list[Property]) -> None:
    """Lengths of lists are integers."""
    for p in properties:
        if "f" in p.length:
            raise source.error(f"the length of list {p.name!r} must be an integer", "header")


def layout(properties: list[Property]) -> NDArray[np.int64]:
    """For compiled code: bytes of the length (0: scalar), signed?, bytes of an item, signed?"""
    table = np.zeros((len(properties), 4), np.int64)
    for row, p in zip(table, properties, strict=True):
        row[:] = int(p.length[1]) if p.length else 0, p.length[:1] == "i", int(p.kind[1]), p.kind[0] == "i"
    return table


def rows_alike(
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


@compiled()
def integer(data: NDArray[np.uint8], at: int, size: int, signed: int, big: bool) -> int:
    """An integer of so many bytes."""
    value = 0
    for i in range(size):
        value |= int(data[at + i]) << (8 * (size - 1 - i if big else i))
    if signed and value >= 1 << (8 * size - 1):
        value -= 1 << (8 * size)
    return value


@compiled()
def _walk(
    data: NDArray[np.uint8], start: int, count: int, table: NDArray[np.int64], big: bool, wanted: int,
    lengths: NDArray[np.int64], corners: NDArray[np.int64],
) -> tuple[int, int, int]:  # fmt: skip
    """Row by row: the byte where it ended, the row that is unsound (-1: none), how many corners were met.

    Fills ``lengths`` and ``corners`` where these have room for all.
    """
    at = start
    total = 0
    for row in range(count):
        for p in range(len(table)):
            size, item = table[p, 0], table[p, 2]
            k = 1
            if at + size > len(data):
                return at, row, total
            if size > 0:
                k = integer(data, at, size, table[p, 1], big)
                at += size
            if k < 0 or at + k * item > len(data):
                return at, row, total
            if p == wanted:
                if len(lengths) == count:
                    lengths[row] = k
                    for i in range(k):
                        corners[total + i] = integer(data, at + i * item, item, table[p, 3], big)
                total += k
            at += k * item
    return at, -1, total
