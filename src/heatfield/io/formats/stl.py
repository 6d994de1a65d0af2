"""STL: triangles alone, binary or as text."""

from __future__ import annotations

import re
import struct

import numpy as np
from numpy.typing import NDArray

from ...options import Reading
from ..cloud import Cloud, Format
from ..limits import Source
from ..text import content_lines, parse_rows


def read_stl(source: Source, _: Reading) -> Cloud:
    """Binary or text, also without a triangle. Corners that coincide to the bit become one vertex."""
    data = source.data
    if _is_binary(source):
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


def _is_binary(source: Source) -> bool:
    """Whether the size fits the number of triangles; some programs add a few bytes."""
    data = source.data
    if len(data) < (84 if source.suffix == ".stl" else 134):  # without a triangle it could be anything
        return False
    more = len(data) - 84 - 50 * int(struct.unpack_from("<I", data, 80)[0])
    return more == 0 or (source.suffix == ".stl" and 0 < more < 50 <= len(data) - 84)


def _is_stl(source: Source) -> bool:
    data = source.data
    if _is_binary(source):
        return True
    first = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    return re.match(rb"solid\b", first, re.I) is not None and (
        re.search(rb"^[ \t]*(facet|endsolid)\b", source.head, re.M | re.I) is not None
    )


def _sample() -> bytes:
    triangle = struct.pack("<12fH", 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0)
    return b"made".ljust(80, b"\0") + struct.pack("<I", 2) + triangle + triangle


FORMAT = Format(
    name="stl",
    suffixes=(".stl",),
    magic=_is_stl,
    read=read_stl,
    sample=_sample,
    title="STL",
    forms="text, binary",
    kept="triangles",
)
