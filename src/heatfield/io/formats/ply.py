"""PLY: Stanford's format, as text and in both byte orders, with the faces of a mesh."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from struct import Struct, error
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...options import Reading
from ..cloud import Cloud, Format, as_records, coordinate_names, from_columns, plain_type
from ..faces import Polygons, ascii_lists
from ..limits import MOST_COLUMNS, Source
from ..text import parse_number, read_rows, shown, some_lines, to_type

_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
_NAMES = {kind: name for name, kind in _TYPES.items() if not name[-1].isdigit()}
_ORDER = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
_LONGEST_HEADER = 2**20


@dataclass(frozen=True)
class _Property:
    """One property in the order of the header; ``length`` is the type of a list's length, "" for a scalar."""

    name: str
    kind: str
    length: str = ""

    @property
    def least(self) -> int:
        """The fewest bytes it takes in a row."""
        return int((self.length or self.kind)[1])


@dataclass
class _Element:
    """One part of the file: ``count`` rows of properties."""

    name: str
    count: int
    place: str
    properties: list[_Property] = field(default_factory=list)

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


def read_ply(source: Source, _: Reading) -> Cloud:
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
            found, start = _binary_lists(source, start, element.count, element.properties, order, corners)
            polygons = found if corners >= 0 else polygons
        else:
            start += element.count * sum(p.least for p in element.properties)
    if cloud is None:
        raise source.error("has no element 'vertex'", "header")
    faces = polygons.triangles(len(cloud.points)) if polygons is not None else None
    if faces is not None and len(faces):
        return Cloud(cloud.points, cloud.columns, "ply", faces=faces)
    return cloud


def _header(source: Source) -> tuple[str, list[_Element], int]:
    head = source.data[:_LONGEST_HEADER]
    newline = re.match(rb"ply[ \t]*(\r\n|\n|\r)", head)  # every line ends as the first one does
    ending = re.escape(newline[1]) if newline else rb"\n"
    end = re.search(rb"[\r\n]end_header[ \t]*" + ending, head)
    if end is None:
        raise source.error("the header does not end (no line 'end_header')", f"byte {len(head)}")
    order = ""
    elements: dict[str, _Element] = {}
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
                last = _Element(words[1], source.count(words[2], f"rows of {words[1][:60]!r}", place), place)
                elements[words[1]] = last
            elif words[0] == "property" and elements and words[1] == "list":
                last.properties.append(_Property(words[4], _TYPES[words[3]], _TYPES[words[2]]))
            elif words[0] == "property" and elements:
                last.properties.append(_Property(words[2], _TYPES[words[1]]))
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


def _vertices(source: Source, element: _Element, order: str, start: int, skip: int) -> Cloud:
    """The scalar properties; lists, which no column can hold, are passed over."""
    table: dict[str, NDArray[Any]] = {}
    if order == "=":
        if element.has_lists:
            values = _ascii_scalars(source, start, skip, element.count, element.properties)
        else:
            values = read_rows(source, start, skip, element.count, len(element.properties))
        for c, p in enumerate(p for p in element.properties if not p.length):
            table[p.name] = to_type(source, values[:, c], p.kind, f"vertex property {p.name!r}")
    elif element.has_lists:
        table = _binary_scalars(source, start, element.count, element.properties, order)
    else:
        rows = np.frombuffer(
            source.data,
            np.dtype([(p.name, order + p.kind) for p in element.properties]),
            element.count,
            start,
        )
        table = {p.name: rows[p.name] for p in element.properties}
    return from_columns(source, table, "ply", element.place)


def _binary_lists(
    source: Source, start: int, count: int, properties: list[_Property], order: str, wanted: int
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


def _binary_scalars(
    source: Source, start: int, count: int, properties: list[_Property], order: str
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


def _lists(properties: list[_Property]) -> list[int]:
    return [i for i, p in enumerate(properties) if p.length]


def _walk(
    source: Source, start: int, count: int, properties: list[_Property], order: str
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


def _check_lengths(source: Source, properties: list[_Property]) -> None:
    """Lengths of lists are integers."""
    for p in properties:
        if "f" in p.length:
            raise source.error(f"the length of list {p.name!r} must be an integer", "header")


def _rows_alike(
    source: Source, start: int, count: int, properties: list[_Property], order: str
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


def _ascii_scalars(
    source: Source, start: int, skip: int, count: int, properties: list[_Property]
) -> NDArray[np.float64]:
    """``count`` lines after byte ``start`` and ``skip`` lines; (count, scalars)."""
    _check_lengths(source, properties)
    is_list = [bool(p.length) for p in properties]
    width = is_list.count(False)
    source.check_count(count, 2 * len(is_list), start - 1, "lines", f"byte {start}")
    source.check_allowance(8 * count * width, "the table of numbers", f"byte {start}")
    values = np.empty((count, width))
    done = 0
    for _, lines in some_lines(source, start, skip, count):
        for number, line in zip(*lines(), strict=True):
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


def write_ply(
    points: NDArray[np.float64], columns: dict[str, NDArray[Any]], *, descriptions: dict[str, str], **_: Any
) -> bytes:
    """A binary little-endian PLY with coordinates in double precision."""
    fields = [(name, "<f8") for name in coordinate_names(points.shape[1])]
    for name, column in columns.items():
        fields.append((name, "<" + _written_type(name, column)))
        if not name.isascii() or not name.isprintable() or " " in name or not name:
            raise ValueError(f"PLY cannot hold a column named {name!r}: one word of ASCII is needed")
    lines = ["ply", "format binary_little_endian 1.0"]
    for name, text in descriptions.items():
        lines.append(f"comment {name}: {' '.join(text.encode('ascii', 'replace').decode().split())}")
    lines.append(f"element vertex {len(points)}")
    lines += [f"property {_NAMES[kind[1:]]} {name}" for name, kind in fields]
    return ("\n".join([*lines, "end_header"]) + "\n").encode("ascii") + as_records(
        points, columns, fields
    ).tobytes()


def _written_type(name: str, column: NDArray[Any]) -> str:
    """The PLY type of a column; 64-bit integers, which PLY lacks, are narrowed where their values allow."""
    kind = plain_type(column)
    if kind in ("i8", "u8"):
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        for narrow in ("i4", "u4"):
            if np.iinfo(narrow).min <= low and high <= np.iinfo(narrow).max:
                return narrow
        raise ValueError(
            f"PLY has no 64-bit integers, and column {name!r} holds {low} to {high}; use .parquet"
        )
    if kind not in _NAMES:
        raise ValueError(f"PLY has no type for column {name!r} of {column.dtype}")
    return kind


_SAMPLE = b"""ply
format ascii 1.0
element vertex 4
property float z
property float y
property double x
property uchar red
element face 1
property list uchar int vertex_indices
end_header
0 0 0 255
0 0 1 0
0 1 1 7
0 1 0 9
4 0 1 2 3
"""
FORMAT = Format(
    name="ply",
    suffixes=(".ply",),
    magic=lambda source: re.match(rb"ply[ \t]*[\r\n]", source.data) is not None,
    read=read_ply,
    write=write_ply,
    writes=(".ply",),
    sample=lambda: _SAMPLE,
    title="PLY",
    forms="text, both byte orders, elements in any order",
    written="binary, coordinates as double, integers up to 32 bits",
    kept="vertex properties, triangles of `face`",
)
