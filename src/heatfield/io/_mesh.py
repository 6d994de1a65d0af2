"""OBJ and STL meshes: vertices and triangles."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ._cloud import Cloud
from ._faces import Polygons
from ._numbers import parse_rows
from ._source import Source
from ._text import LONGEST_LINE, content_lines, shown

_MOST_NUMBERS = 64  # of a vertex


def read_obj(source: Source) -> Cloud:
    """Lines v and f of a Wavefront OBJ; six numbers per vertex carry a colour, NaN where some have none."""
    source = source.without(b"#")
    polygons, pieces, m, total = Polygons(source), [], 0, 0
    for numbers, lines in _logical_lines(source):
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
        if rows:
            pieces.append(_vertices(source, places, rows))
            m += len(rows)
            total += pieces[-1].nbytes
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


def read_stl(source: Source) -> Cloud:
    """Binary or text, also without a triangle. Corners that coincide to the bit become one vertex."""
    data = source.data
    if len(data) >= 84 and len(data) == 84 + 50 * struct.unpack_from("<I", data, 80)[0]:
        count = (len(data) - 84) // 50
        source.check_allowance(120 * count, f"a mesh of {count} triangles", "byte 80")
        rows = np.frombuffer(
            data, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")]), count, 84
        )
        corners = rows["corners"].reshape(-1, 3)
    elif data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")[:5].lower() == b"solid":
        corners = _ascii_corners(source)
    else:
        if len(data) < 84:
            raise source.error("ends inside the header of 84 bytes", f"byte {len(data)}")
        (claimed,) = struct.unpack_from("<I", data, 80)
        raise source.error(
            f"claims {claimed} triangles, which need {84 + 50 * claimed} bytes in all, but has {len(data)}",
            "byte 80",
        )
    vertices, faces = _merged(corners)
    return Cloud(vertices, {}, "stl", faces=faces if len(faces) else None)


def _merged(corners: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Corners sorted by x, y, z, each once, and triangles as rows of them. Lean: meshes are large."""
    order = np.lexsort(corners.T[::-1])
    ranked = corners[order]
    first = np.ones(len(corners), bool)
    first[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    number = np.empty(len(corners), np.int64)
    number[order] = np.cumsum(first) - 1
    return ranked[first].astype(np.float64), number.reshape(-1, 3)


def _ascii_corners(source: Source) -> NDArray[np.float64]:
    pieces, count, ended, facets = [], 0, False, 0
    for numbers, lines in content_lines(source, ()):
        rows, places = [], []
        for number, line in zip(numbers, lines, strict=True):
            word = line[:8].lower()
            if word.startswith("vertex"):
                rows.append(line[6:])
                places.append(number)
            facets += word.startswith("facet")
            ended = ended or word == "endsolid"
        if rows:
            pieces.append(parse_rows(source, places, rows, 3))
            count += len(rows)
            source.check_allowance(40 * count, "the mesh", "data")
    if not ended:
        raise source.error("ends before 'endsolid'", "the end")
    if count % 3 or count < 3 * facets:
        raise source.error(f"holds {count} corners, which make no whole triangles", "the end")
    return np.concatenate(pieces) if pieces else np.empty((0, 3))
