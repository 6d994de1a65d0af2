"""VTK: the legacy format, and the XML formats of polygons (.vtp) and unstructured grids (.vtu).

Read here: meshio knows neither .vtp nor polygons of the legacy format and bounds no decompression; the
library vtk was not tried. Kept are points, their data, and flat cells as triangles.
"""

from __future__ import annotations

import base64
import binascii
import lzma
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from ...options import Reading
from ..cloud import Cloud, Format
from ..faces import Polygons
from ..limits import ReadError, Source
from ..text import read_xml, shown, stream_of, to_type

_FLAT_CELLS = (5, 7, 9)  # triangle, polygon, quadrilateral
_LZMA = 2**26  # bytes that its decompressor may take
_MOST_PARTS = 16  # columns that an array of the point data becomes
_XML_TYPES = {
    f"{kind}{8 * k}": f"{kind[0].lower()}{k}" for kind in ("Int", "UInt", "Float") for k in (1, 2, 4, 8)
}
_TYPES = {
    "unsigned_char": "u1", "char": "i1", "unsigned_short": "u2", "short": "i2", "unsigned_int": "u4",
    "int": "i4", "unsigned_long": "u8", "long": "i8", "float": "f4", "double": "f8", "vtkidtype": "i4",
    "vtktypeint64": "i8", "vtktypeuint64": "u8",
}  # fmt: skip
# Attributes of the legacy format, and the numbers of each point (0: as many as a word says).
_ATTRIBUTES = {"SCALARS": 0, "COLOR_SCALARS": 0, "VECTORS": 3, "NORMALS": 3, "TENSORS": 9}
_CELLS = ("VERTICES", "LINES", "POLYGONS", "TRIANGLE_STRIPS", "CELLS")
_KEYWORD = re.compile(rb"(?m)^[ \t]*(?!(?:nan|inf|infinity)\b)[A-Za-z]", re.I)


@dataclass
class _Piece:
    """What one piece of a file holds."""

    points: NDArray[Any] | None = None
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    polygons: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=list)

    def add(self, name: str, values: NDArray[Any], parts: int) -> None:
        """An array of the point data, as one column or several."""
        values = values.reshape(-1, parts)
        if parts <= _MOST_PARTS:
            names = [name] if parts == 1 else [f"{name}_{i}" for i in range(parts)]
            for key, column in zip(names, values.T, strict=True):
                self.columns[key] = column.astype(column.dtype.newbyteorder("="))


def _joined(source: Source, pieces: list[_Piece]) -> Cloud:
    """All pieces, with the columns that all of them have."""
    polygons, m = Polygons(source), 0
    for piece in pieces:
        if piece.points is None:
            raise source.error("holds no points: a piece has no element 'Points'")
        for name, column in piece.columns.items():
            if len(column) != len(piece.points):
                problem = f"has {len(column)} values for {len(piece.points)} points"
                raise source.error(problem, f"array {shown(name)}")
        for lengths, corners in piece.polygons:
            if len(corners) and not 0 <= corners.min() <= corners.max() < len(piece.points):
                raise source.error(f"a cell has a corner that is none of {len(piece.points)} points", "cells")
            polygons.add_flat(lengths, corners + m)
        m += len(piece.points)
    if not m:
        raise source.error("holds no points")
    shared = set.intersection(*(set(piece.columns) for piece in pieces))
    names = [name for name in pieces[0].columns if name in shared]
    columns = {name: np.concatenate([piece.columns[name] for piece in pieces]) for name in names}
    points = np.concatenate([piece.points for piece in pieces if piece.points is not None])
    faces = polygons.triangles(m)
    return Cloud(points.astype(np.float64), columns, "vtk", faces=faces if len(faces) else None)


def _ragged(
    source: Source, offsets: NDArray[Any], corners: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The lengths of cells by where they end, and all their corners."""
    if offsets.dtype.kind not in "iu" or corners.dtype.kind not in "iu":
        raise source.error("offsets and connectivity must be integers", "cells")
    ends, corners = offsets.astype(np.int64), corners.astype(np.int64)
    lengths = np.diff(ends, prepend=0)
    if (lengths < 0).any() or (ends[-1] if len(ends) else 0) != len(corners):
        raise source.error("offsets do not fit the connectivity", "cells")
    return lengths, corners


def _flat(
    source: Source, lengths: NDArray[Any], corners: NDArray[Any], types: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The cells that are triangles and other polygons."""
    if len(types) != len(lengths):
        raise source.error(f"has {len(types)} types for {len(lengths)} cells", "cells")
    chosen = np.isin(types, _FLAT_CELLS)
    return lengths[chosen], corners[np.repeat(chosen, lengths)]


def read_vtk(source: Source, _: Reading) -> Cloud:
    """Points, their data, and flat cells cut into triangles; lines and volumes are left out."""
    pieces = [_Legacy(source).piece()] if source.data.startswith(b"# vtk") else _Xml(source).pieces()
    return _joined(source, pieces)


# --- XML


@dataclass
class _Array:
    """A DataArray: the piece and the element that it belongs to, its attributes and its text."""

    piece: int
    section: str
    given: dict[str, str]
    text: list[str] = field(default_factory=list)


class _Xml:
    """A file of XML, whose numbers may be text, base64, or raw bytes at the end; packed or not."""

    def __init__(self, source: Source) -> None:
        self.source = source
        data = source.data
        found = re.search(rb"<AppendedData\b[^>]*>\s*_", data)
        self.appended = memoryview(data)[found.end() :] if found else memoryview(b"")
        self.encoded = bool(found and b"base64" in found[0])
        self.head: dict[str, str] = {}
        self.arrays: list[_Array] = []
        self.open: _Array | None = None
        self.count = 0
        self._find(data[: found.start()] + b"</VTKFile>" if found else data)
        self.order = ">" if self.head.get("byte_order") == "BigEndian" else "<"
        self.header = np.dtype(self.order + ("u8" if self.head.get("header_type") == "UInt64" else "u4"))
        self.total = 0

    def _find(self, text: bytes) -> None:
        """Every array that is wanted."""
        path: list[str] = []

        def start(name: str, given: dict[str, str]) -> None:
            if name == "VTKFile":
                self.head = given
            self.count += name == "Piece"
            if name == "DataArray" and path[-1] in ("Points", "PointData", "Polys", "Strips", "Cells"):
                self.open = _Array(self.count - 1, path[-1], given)
                self.arrays.append(self.open)
            path.append(name)

        def end(_: str) -> None:
            path.pop()
            self.open = None

        def written(text: str) -> None:
            if self.open is not None:
                self.open.text.append(text)

        self.source.check_allowance(600 * text.count(b"<DataArray"), "the list of arrays", "data")
        read_xml(self.source, text, start, end, written)

    def pieces(self) -> list[_Piece]:
        """The pieces with their arrays."""
        kind = self.head.get("type", "?")
        if kind not in ("PolyData", "UnstructuredGrid") or not self.count:
            raise self.source.error(
                f"is a VTK file of type {shown(kind)}; PolyData and UnstructuredGrid can be read"
            )
        pieces = [_Piece() for _ in range(self.count)]
        cells: dict[tuple[int, str], dict[str, NDArray[Any]]] = {}
        for one in self.arrays:
            name = one.given.get("Name", "")
            place = f"array {shown(name)}"
            parts = self.source.count(one.given.get("NumberOfComponents", "1"), "components", place)
            if one.given.get("type") == "String":
                continue
            values = self.values(one, place)
            if one.section in ("Points", "PointData") and (parts < 1 or len(values) % parts):
                raise self.source.error(f"has {len(values)} values in {parts} components", place)
            if one.section == "Points":
                pieces[one.piece].points = values.reshape(-1, 3) if parts == 3 else None
            elif one.section == "PointData":
                pieces[one.piece].add(name, values, parts)
            else:
                cells.setdefault((one.piece, one.section), {})[name] = values
        for (number, section), arrays in cells.items():
            if not {"connectivity", "offsets"} <= set(arrays) or (
                section == "Cells" and "types" not in arrays
            ):
                raise self.source.error("lacks connectivity, offsets or types", section)
            found = _ragged(self.source, arrays["offsets"], arrays["connectivity"])
            if section == "Strips" and len(found[0]):
                raise self.source.error(
                    "has triangle strips, which are not read; save it with triangles", section
                )
            if section == "Cells":
                found = _flat(self.source, *found, arrays["types"])
            pieces[number].polygons.append(found)
        return pieces

    def values(self, one: _Array, place: str) -> NDArray[Any]:
        """The numbers of an array."""
        kind, form = _XML_TYPES.get(one.given.get("type", "")), one.given.get("format", "ascii")
        if kind is None:
            raise self.source.error(
                f"has type {shown(one.given.get('type', ''))}, which does not exist", place
            )
        text = "".join(one.text)
        if form == "ascii":
            values = stream_of(self.source, text.encode("latin-1", "replace"), place)
            return values if kind[0] == "f" else to_type(self.source, values, "i8", place)
        if form == "appended":
            offset = self.source.count(one.given.get("offset", ""), "bytes before an array", place)
            block, encoded = self.appended[offset:], self.encoded
        else:
            block = memoryview("".join(text.split()).encode("latin-1", "replace"))
            encoded = True
        try:
            raw = self._unpacked(_Block(block, encoded), place)
        except (binascii.Error, zlib.error, lzma.LZMAError, ValueError, EOFError) as error:
            if isinstance(error, ReadError):
                raise
            raise self.source.error(f"damaged: {error}", place) from None
        dtype = np.dtype(self.order + kind)
        if len(raw) % dtype.itemsize:
            raise self.source.error(f"has {len(raw)} bytes of {dtype.name}", place)
        return np.frombuffer(raw, dtype)

    def _unpacked(self, block: _Block, place: str) -> bytes:
        """The bytes of an array, each size in its header compared with what is allowed."""
        size = self.header.itemsize
        packer = self.head.get("compressor", "")
        if not packer:
            (length,) = np.frombuffer(block.take(size, joined=True), self.header).tolist()
            self._allow(length, place)
            return block.take(length)
        openers: dict[str, Callable[[], Any]] = {
            "vtkZLibDataCompressor": zlib.decompressobj,
            "vtkLZMADataCompressor": partial(lzma.LZMADecompressor, memlimit=_LZMA),
        }
        opened = openers.get(packer)
        if opened is None:
            raise self.source.error(
                f"is packed by {shown(packer)}; save it with vtkZLibDataCompressor", place
            )
        ahead = _Block(block.data, block.encoded)
        count, whole, last = np.frombuffer(ahead.take(3 * size), self.header).tolist()
        if count > len(block.data) // size:
            raise self.source.error(f"claims {count} blocks", place)
        self._allow(count * whole, place)
        sizes = np.frombuffer(block.take((3 + count) * size), self.header)[3:].tolist()
        packed = block.take(sum(sizes))
        pieces, at = [], 0
        for number, one in enumerate(sizes):
            length = last if number + 1 == count and last else whole
            piece = opened().decompress(packed[at : at + one], max(length, 1))
            if len(piece) != length:
                raise self.source.error(f"block {number} unpacks to {len(piece)} bytes, not {length}", place)
            pieces.append(piece)
            at += one
        return b"".join(pieces)

    def _allow(self, size: int, place: str) -> None:
        self.total += size
        self.source.check_allowance(self.total, "all arrays together", place)


class _Block:
    """Bytes that are taken one run after the other; in base64 each run is encoded by itself."""

    def __init__(self, data: memoryview, encoded: bool) -> None:
        self.data, self.encoded, self.at, self.left = data, encoded, 0, b""

    def take(self, size: int, *, joined: bool = False) -> bytes:
        """The next bytes; ``joined``: what follows may be encoded together with them."""
        if not self.encoded:
            step, found = size, bytes(self.data[self.at : self.at + size])
        elif joined:
            step = 4 * -(-size // 3)
            text = self.data[self.at : self.at + step]
            found = base64.b64decode(text)
            if bytes(text[-1:]) != b"=":
                self.left, found = found[size:], found[:size]
        else:
            step = 4 * -(-max(0, size - len(self.left)) // 3)
            found = (self.left + base64.b64decode(self.data[self.at : self.at + step]))[:size]
        self.at += step
        if len(found) != size:
            raise ValueError(f"{size} bytes are needed, {len(found)} follow")
        return found


# --- legacy


class _Legacy:
    """A file of the legacy format, read from front to back."""

    def __init__(self, source: Source) -> None:
        self.source, self.data, self.at = source, source.data, 0
        self.found = _Piece()

    def piece(self) -> _Piece:
        """All that is known; what comes after an unknown word is left alone."""
        self._line()
        self.at = self.data.find(b"\n", self.at) + 1 or len(self.data)  # the title, which may be blank
        mode, kind = self._words(), self._words()
        if mode[:1] not in (["ASCII"], ["BINARY"]) or kind[:1] != ["DATASET"]:
            raise self.source.error("the header must name ASCII or BINARY, and a DATASET", "line 3")
        self.text = mode[0] == "ASCII"
        lengths = corners = types = None
        rows, kept = 0, False
        try:
            while words := self._words():
                word = words[0].upper()
                if word == "POINTS":
                    self.found.points = self._numbers(3 * self._count(words[1]), words[2]).reshape(-1, 3)
                elif word in _CELLS:
                    cells = self._cells(self._count(words[1]), self._count(words[2]))
                    if word == "TRIANGLE_STRIPS" and len(cells[0]):
                        problem = "has triangle strips, which are not read; save it with triangles"
                        raise self.source.error(problem, word)
                    if word == "POLYGONS":
                        self.found.polygons.append(cells)
                    elif word == "CELLS":
                        lengths, corners = cells
                elif word == "CELL_TYPES":
                    types = self._numbers(self._count(words[1]), "int")
                elif word in ("POINT_DATA", "CELL_DATA"):
                    rows, kept = self._count(words[1]), word == "POINT_DATA"
                elif word == "METADATA":
                    blank = re.compile(rb"\n\r?\n").search(self.data, self.at - 2)
                    self.at = blank.end() if blank else len(self.data)
                elif not self._attribute(word, words, rows, kept):
                    break
        except (IndexError, KeyError):
            problem = f"cannot make sense of {shown(' '.join(words))}"
            raise self.source.error(problem, f"before byte {self.at}") from None
        if self.found.points is None:
            raise self.source.error(f"holds no points: a DATASET of kind {shown(' '.join(kind[1:]))}")
        if lengths is not None and corners is not None and types is not None:
            self.found.polygons.append(_flat(self.source, lengths, corners, types))
        return self.found

    def _line(self) -> bytes:
        """The next line that is not blank."""
        while self.at < len(self.data):
            end = self.data.find(b"\n", self.at) + 1 or len(self.data)
            line, self.at = self.data[self.at : end].strip(), end
            if line:
                return line
        return b""

    def _words(self) -> list[str]:
        line = self._line()
        if len(line) > 1000:
            raise self.source.error("a line of words is longer than 1000 bytes", f"before byte {self.at}")
        return line.decode("latin-1").split()

    def _count(self, word: str) -> int:
        return self.source.count(word, "values", f"before byte {self.at}")

    def _numbers(self, count: int, kind: str) -> NDArray[Any]:
        """The next numbers: up to the next word, or as many bytes as they take."""
        dtype, place = np.dtype(">" + _TYPES[kind.lower()]), f"byte {self.at}"
        if not self.text:
            self.source.check_count(count, dtype.itemsize, self.at, "values", place)
            values = np.frombuffer(self.data, dtype, count, self.at)
            self.at += count * dtype.itemsize
            return values
        self.source.check_count(count, 2, self.at - 1, "values", place)
        found = _KEYWORD.search(self.data, self.at)
        end = found.start() if found else len(self.data)
        numbers = stream_of(self.source, self.data[self.at : end], place)
        self.at = end
        if len(numbers) != count:
            raise self.source.error(f"holds {len(numbers)} of {count} values", place)
        return numbers if dtype.kind == "f" else to_type(self.source, numbers, "i8", place)

    def _cells(self, count: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Lengths and corners: each length before its corners, or (5.1) where cells begin and end."""
        before = self.at
        words = self._words()
        if words[:1] != ["OFFSETS"]:
            self.at = before
            whole, polygons = self._numbers(size, "int").astype(np.int64), Polygons(self.source)
            polygons.add_stream(whole, count)
            return polygons.flat()
        offsets = self._numbers(count, words[1])
        words = self._words()
        if words[:1] != ["CONNECTIVITY"]:
            raise KeyError
        return _ragged(self.source, offsets[1:], self._numbers(size, words[1]))

    def _attribute(self, word: str, words: list[str], rows: int, kept: bool) -> bool:
        """One array of data, or a field of several; False for what is not known."""
        if word == "FIELD":
            for _ in range(self._count(words[2])):
                one = self._words()
                self._keep(one[0], self._count(one[1]), one[3], self._count(one[2]), kept)
            return True
        if word not in _ATTRIBUTES:
            return False
        kind, parts = words[2], _ATTRIBUTES[word]
        if word == "COLOR_SCALARS":
            kind, parts = "float" if self.text else "unsigned_char", self._count(words[2])
        elif word == "SCALARS":
            parts = self._count(words[3]) if len(words) > 3 else 1
            before = self.at
            if self._words()[:1] != ["LOOKUP_TABLE"]:
                self.at = before
        self._keep(words[1], parts, kind, rows, kept)
        return True

    def _keep(self, name: str, parts: int, kind: str, rows: int, kept: bool) -> None:
        """Read an array, and keep it where it belongs to the points."""
        values = self._numbers(parts * rows, kind)
        if kept and parts and self.found.points is not None and rows == len(self.found.points):
            self.found.add(unquote(name), values, parts)


_VTP = b"""<?xml version="1.0"?>
<VTKFile type="PolyData" version="1.0" byte_order="LittleEndian" header_type="UInt32"><PolyData>
<Piece NumberOfPoints="4" NumberOfPolys="2">
<PointData><DataArray type="Int32" Name="kind" format="ascii">7 8 9 10</DataArray></PointData>
<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">
0 0 0 1 0 0 1 1 0 0 1 0.5</DataArray></Points>
<Polys><DataArray type="Int64" Name="connectivity" format="ascii">0 1 2 0 2 3</DataArray>
<DataArray type="Int64" Name="offsets" format="ascii">3 6</DataArray></Polys></Piece></PolyData></VTKFile>
"""
_MARK = re.compile(rb"# vtk DataFile|\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<VTKFile\b", re.S)
FORMAT = Format(
    name="vtk",
    suffixes=(".vtp", ".vtu", ".vtk"),
    magic=lambda source: (
        re.match(rb"# vtk DataFile|\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<VTKFile\b", source.head, re.S)
        is not None
    ),
    read=read_vtk,
    sample=lambda: _VTP,
    title="VTK",
    forms="legacy and XML, text and binary; PolyData, UnstructuredGrid",
    kept="point data, flat cells as triangles",
)
