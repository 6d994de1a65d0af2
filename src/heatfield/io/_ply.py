"""PLY: Stanford's format, as text and in both byte orders, with the faces of a mesh."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cloud import MOST_COLUMNS, Cloud, from_columns
from ._faces import ascii_faces, binary_faces
from ._numbers import read_rows
from ._source import Source
from ._typed import to_type

TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
_ORDER = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
_LONGEST_HEADER = 2**20


@dataclass
class Element:
    """One part of the file: ``count`` rows of properties."""

    name: str
    count: int
    place: str
    scalars: list[tuple[str, str]] = field(default_factory=list)  # name, type
    lists: list[tuple[str, str, str]] = field(default_factory=list)  # name, type of length, type of items

    @property
    def least(self) -> int:
        """The fewest bytes a row takes."""
        return sum(int(t[1]) for _, t in self.scalars) + sum(int(t[1]) for _, t, _ in self.lists)


def read_ply(source: Source) -> Cloud:
    """The element ``vertex``, and the triangles of ``face`` if there are any."""
    order, elements, start = _header(source)
    cloud: Cloud | None = None
    faces: NDArray[np.int64] | None = None
    skip = 0
    for element in elements:
        ascii_ = order == "="
        if not element.scalars and not element.lists:
            continue
        width = len(element.scalars) + len(element.lists)
        source.check_count(
            element.count,
            2 * width if ascii_ else element.least,
            start - ascii_,
            f"rows of {element.name!r}",
            element.place,
        )
        if element.name == "vertex":
            if element.lists:
                raise source.error(
                    f"vertex property {element.lists[0][0]!r} is a list, which is not supported",
                    element.place,
                )
            cloud = _vertices(source, element, order, start, skip)
        elif element.name == "face" and len(element.lists) == 1 and not element.scalars and cloud is not None:
            _, length, item = element.lists[0]
            m = len(cloud.points)
            faces = (
                ascii_faces(source, start, skip, element.count, m)
                if ascii_
                else binary_faces(source, start, element.count, order + length, order + item, m)
            )
            break
        elif element.lists and not ascii_:
            if cloud is None:
                raise source.error(
                    f"element {element.name!r} with lists before the vertices is not supported", element.place
                )
            break
        if ascii_:
            skip += element.count
        else:
            start += element.count * element.least
    if cloud is None:
        raise source.error("has no element 'vertex'", "header")
    if faces is not None and len(faces):
        return Cloud(cloud.points, cloud.columns, "ply", faces=faces)
    return cloud


def _header(source: Source) -> tuple[str, list[Element], int]:
    head = source.data[:_LONGEST_HEADER]
    position = head.find(b"end_header")
    newline = head.find(b"\n", position) if position >= 0 else -1
    if newline < 0 and position >= 0 and head[position + 10 : position + 11] == b"\r":
        newline = position + 10
    if newline < 0:
        raise source.error("the header does not end (no line 'end_header')", f"byte {len(head)}")
    order = ""
    elements: list[Element] = []
    for number, raw in enumerate(head[:position].splitlines(), 1):
        words = raw.decode("latin-1").split()
        place = f"line {number}"
        try:
            if number == 1 or not words or words[0] in ("comment", "obj_info"):
                continue
            if words[0] == "format" and words[1] in _ORDER:
                order = _ORDER[words[1]]
            elif words[0] == "element":
                elements.append(Element(words[1], int(words[2]), place))
            elif words[0] == "property" and words[1] == "list":
                elements[-1].lists.append((words[4], TYPES[words[2]], TYPES[words[3]]))
            elif words[0] == "property":
                elements[-1].scalars.append((words[2], TYPES[words[1]]))
            else:
                raise ValueError
        except (IndexError, KeyError, ValueError):
            text = raw.decode("latin-1")
            raise source.error(f"cannot make sense of the header line {text[:60]!r}", place) from None
    if not order:
        raise source.error("the header names no format", "header")
    for element in elements:
        names = [name for name, _ in element.scalars] + [name for name, _, _ in element.lists]
        if len(names) > MOST_COLUMNS:
            raise source.error(f"has {len(names)} properties, more than {MOST_COLUMNS}", element.place)
        if len(set(names)) < len(names) or sum(e.name == element.name for e in elements) > 1:
            raise source.error(
                f"element {element.name!r} or one of its properties is declared twice", element.place
            )
    return order, elements, newline + 1


def _vertices(source: Source, element: Element, order: str, start: int, skip: int) -> Cloud:
    table: dict[str, NDArray[Any]] = {}
    if order == "=":
        values = read_rows(source, start, skip, element.count, len(element.scalars))
        for c, (name, kind) in enumerate(element.scalars):
            table[name] = to_type(source, values[:, c], kind, f"vertex property {name!r}")
    else:
        rows = np.frombuffer(
            source.data, np.dtype([(n, order + t) for n, t in element.scalars]), element.count, start
        )
        for name, kind in element.scalars:
            table[name] = rows[name].astype("=" + kind)
    return from_columns(source, table, "ply", element.place)
