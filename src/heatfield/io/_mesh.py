"""OFF, OBJ and STL meshes: vertices and triangles."""

from __future__ import annotations

import struct

import numpy as np

from ._cloud import Cloud
from ._faces import ascii_faces, check_faces, fan
from ._numbers import parse_rows, read_rows
from ._source import Source
from ._text import content_lines, line_blocks, shown


def read_off(source: Source) -> Cloud:
    """OFF as text; more than three numbers a vertex (COFF, NOFF) become columns."""
    text: list[str] = []
    count_lines = 0
    for _, lines in line_blocks(source):
        for line in lines:
            count_lines += 1
            words = line.split(b"#")[0].decode("latin-1").split()
            text += words
            if len(text) >= 4 or (len(text) == 3 and not text[0].upper().endswith("OFF")):
                break
        break
    head = text[1:] if text and text[0].upper().endswith("OFF") else text
    if text and text[0].upper().endswith("OFF") and head[:1] == ["BINARY"]:
        raise source.error("binary OFF is not supported", "line 1")
    try:
        m, f = int(head[0]), int(head[1])
        if m < 0 or f < 0:
            raise ValueError
    except (IndexError, ValueError):
        raise source.error("the numbers of vertices and faces are missing", f"line {count_lines}") from None
    start = 0
    for _ in range(count_lines):
        start = source.data.find(b"\n", start) + 1
        if start == 0:
            start = len(source.data)
            break
    width = 3
    for _, rows in content_lines(source, (b"#",), start):
        if rows:
            width = max(3, len(rows[0].split(None, 16)))
        break
    source.check_count(m, 6, start - 1, "vertices", f"line {count_lines}")
    values = read_rows(source, start, 0, m, width) if m else np.empty((0, 3))
    faces = ascii_faces(source, start, m, f, m)
    columns = {f"column{c + 1}": values[:, c].copy() for c in range(3, values.shape[1])}
    return Cloud(values[:, :3].copy(), columns, "off", faces=faces if len(faces) else None)


def read_obj(source: Source) -> Cloud:
    """Lines v and f of a Wavefront OBJ; six numbers a vertex carry a colour."""
    pieces, triangles, m, width = [], [], 0, 0
    for numbers, lines in content_lines(source, (b"#",)):
        rows, places, polygons = [], [], []
        for number, line in zip(numbers, lines, strict=True):
            if line[:2] in ("v ", "v\t"):
                rows.append(line[2:])
                places.append(number)
            elif line[:2] in ("f ", "f\t"):
                try:
                    corners = [int(word.split("/")[0]) for word in line[2:].split()]
                    seen = m + len(rows)
                    corners = [c - 1 if c > 0 else seen + c for c in corners]
                    if len(corners) < 3 or min(corners) < 0 or max(corners) > 2**62:
                        raise ValueError
                except ValueError:
                    raise source.error(f"{shown(line)} is not a face", f"line {number}") from None
                polygons.append(corners)
        triangles.append(fan(polygons))
        if rows:
            width = width or len(rows[0].split(None, 16))
            if width < 3:
                raise source.error("a vertex needs three numbers", f"line {places[0]}")
            pieces.append(parse_rows(source, places, rows, width))
            m += len(rows)
    if not pieces:
        raise source.error("holds no vertices (no line 'v x y z')")
    values = np.concatenate(pieces)
    faces = check_faces(source, np.concatenate(triangles), m)
    names = {6: ["red", "green", "blue"]}.get(width, [f"column{c + 1}" for c in range(3, width)])
    columns = {name: values[:, 3 + i].copy() for i, name in enumerate(names)}
    return Cloud(values[:, :3].copy(), columns, "obj", faces=faces if len(faces) else None)


def read_stl(source: Source) -> Cloud:
    """Binary or text. Corners that coincide to the bit become one vertex."""
    data = source.data
    if len(data) >= 84 and len(data) == 84 + 50 * struct.unpack_from("<I", data, 80)[0]:
        count = (len(data) - 84) // 50
        rows = np.frombuffer(
            data, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")]), count, 84
        )
        corners = rows["corners"].reshape(-1, 3).astype(np.float64)
    elif data[:5].lower() == b"solid":
        corners = _ascii_corners(source)
    else:
        if len(data) < 84:
            raise source.error("ends inside the header of 84 bytes", f"byte {len(data)}")
        (claimed,) = struct.unpack_from("<I", data, 80)
        raise source.error(
            f"claims {claimed} triangles, which need {84 + 50 * claimed} bytes in all, but has {len(data)}",
            "byte 80",
        )
    vertices, back = np.unique(corners, axis=0, return_inverse=True)
    faces = back.reshape(-1, 3).astype(np.int64)
    return Cloud(vertices.reshape(-1, 3), {}, "stl", faces=faces if len(faces) else None)


def _ascii_corners(source: Source) -> np.ndarray:
    pieces, count, ended = [], 0, False
    for numbers, lines in content_lines(source, ()):
        rows, places = [], []
        for number, line in zip(numbers, lines, strict=True):
            if line[:6].lower() == "vertex":
                rows.append(line[6:])
                places.append(number)
            ended = ended or line[:8].lower() == "endsolid"
        if rows:
            pieces.append(parse_rows(source, places, rows, 3))
            count += len(rows)
    if not ended:
        raise source.error("ends before 'endsolid'", "the end")
    if count == 0 or count % 3:
        raise source.error(f"holds {count} corners, which make no whole triangles", "the end")
    return np.concatenate(pieces)
