"""PLY: Stanford's format, as text and in both byte orders, with the faces of a mesh."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cloud import MOST_COLUMNS, Cloud, from_columns
from ._faces import Polygons, ascii_lists
from ._numbers import read_rows
from ._ply_lists import Property, ascii_scalars, binary_lists, binary_scalars
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
    properties: list[Property] = field(default_factory=list)

    @property
    def has_lists(self) -> bool:
        """Whether rows differ in length."""
        return any(p.length for p in self.properties)

    @property
    def corners(self) -> int:
        """Which property holds the corners of faces; -1 where none does."""
        lists = [i for i, p in enumerate(self.properties) if p.length]
        named = [i for i in lists if self.properties[i].name in ("vertex_indices", "vertex_index")]
        return (named or (lists if len(lists) == 1 else []) or [-1])[0]


def read_ply(source: Source) -> Cloud:
    """The element ``vertex``, and the triangles of ``face`` if there are any, in whatever order they come."""
    order, elements, start = _header(source)
    ascii_ = order == "="
    cloud: Cloud | None = None
    polygons: Polygons | None = None
    skip = 0
    wanted = {"vertex", "face"} & {e.name for e in elements}
    for element in elements:
        if not wanted:
            break
        wanted.discard(element.name)
        if not element.properties:
            continue
        least = sum(2 if ascii_ else p.least for p in element.properties)
        source.check_count(element.count, least, start - ascii_, f"rows of {element.name!r}", element.place)
        if element.name == "vertex":
            cloud = _vertices(source, element, order, start, skip)
        corners = element.corners if element.name == "face" else -1
        if corners >= 0 and "f" in element.properties[corners].kind:
            raise source.error("corners of faces must be integers", element.place)
        if ascii_:
            if corners >= 0:
                is_list = [bool(p.length) for p in element.properties]
                polygons = ascii_lists(
                    source, start=start, skip=skip, count=element.count, is_list=is_list, wanted=corners,
                    bare=False,
                )  # fmt: skip
            skip += element.count
        elif element.has_lists:
            found, start = binary_lists(source, start, element.count, element.properties, order, corners)
            polygons = found if corners >= 0 else polygons
        else:
            start += element.count * sum(p.least for p in element.properties)
    if cloud is None:
        raise source.error("has no element 'vertex'", "header")
    faces = polygons.triangles(len(cloud.points)) if polygons is not None else None
    if faces is not None and len(faces):
        return Cloud(cloud.points, cloud.columns, "ply", faces=faces)
    return cloud


def _header(source: Source) -> tuple[str, list[Element], int]:
    head = source.data[:_LONGEST_HEADER]
    newline = re.match(rb"ply[ \t]*(\r\n|\n|\r)", head)  # every line ends as the first one does
    ending = re.escape(newline[1]) if newline else rb"\n"
    end = re.search(rb"[\r\n]end_header[ \t]*" + ending, head)
    if end is None:
        raise source.error("the header does not end (no line 'end_header')", f"byte {len(head)}")
    order = ""
    elements: dict[str, Element] = {}
    for number, raw in enumerate(head[: end.start()].splitlines(), 1):
        words = raw.decode("latin-1").split()
        place = f"line {number}"
        try:
            if number == 1 or not words or words[0] in ("comment", "obj_info"):
                continue
            if words[0] == "format" and words[1] in _ORDER:
                order = _ORDER[words[1]]
            elif words[0] == "element":
                if words[1] in elements:
                    raise source.error(f"element {words[1][:60]!r} is declared twice", place)
                last = Element(words[1], source.count(words[2], f"rows of {words[1][:60]!r}", place), place)
                elements[words[1]] = last
            elif words[0] == "property" and elements and words[1] == "list":
                last.properties.append(Property(words[4], TYPES[words[3]], TYPES[words[2]]))
            elif words[0] == "property" and elements:
                last.properties.append(Property(words[2], TYPES[words[1]]))
            else:
                raise IndexError
        except (IndexError, KeyError):
            text = raw.decode("latin-1")
            raise source.error(f"cannot make sense of the header line {text[:60]!r}", place) from None
    if not order:
        raise source.error("the header names no format", "header")
    for element in elements.values():
        names = [p.name for p in element.properties]
        if len(names) > MOST_COLUMNS:
            raise source.error(f"has {len(names)} properties, more than {MOST_COLUMNS}", element.place)
        if len(set(names)) < len(names):
            raise source.error(
                f"a property of element {element.name[:60]!r} is declared twice", element.place
            )
    return order, list(elements.values()), end.end()


def _vertices(source: Source, element: Element, order: str, start: int, skip: int) -> Cloud:
    """The scalar properties; lists, which no column can hold, are passed over."""
    table: dict[str, NDArray[Any]] = {}
    if order == "=":
        if element.has_lists:
            values = ascii_scalars(source, start, skip, element.count, element.properties)
        else:
            values = read_rows(source, start, skip, element.count, len(element.properties))
        for c, p in enumerate(p for p in element.properties if not p.length):
            table[p.name] = to_type(source, values[:, c], p.kind, f"vertex property {p.name!r}")
    elif element.has_lists:
        table = binary_scalars(source, start, element.count, element.properties, order)
    else:
        rows = np.frombuffer(
            source.data,
            np.dtype([(p.name, order + p.kind) for p in element.properties]),
            element.count,
            start,
        )
        for p in element.properties:
            table[p.name] = rows[p.name].astype("=" + p.kind)
    return from_columns(source, table, "ply", element.place)
