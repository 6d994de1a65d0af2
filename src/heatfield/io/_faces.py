"""Faces of a mesh: polygons given as lists of vertices, cut into triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._source import Source
from ._text import content_lines, shown

Faces = NDArray[np.int64]


def fan(polygons: list[list[int]]) -> Faces:
    """Triangles (a0, ai, ai+1) of each polygon; those with fewer than three corners have none."""
    triangles = [(p[0], p[i], p[i + 1]) for p in polygons for i in range(1, len(p) - 1)]
    return np.array(triangles, dtype=np.int64).reshape(-1, 3)


def check_faces(source: Source, faces: Faces, m: int) -> Faces:
    """Every corner must be one of the m vertices."""
    bad = (faces < 0) | (faces >= m)
    if bad.any():
        row, corner = np.argwhere(bad)[0]
        raise source.error(
            f"a corner is vertex {faces[row, corner]}, but there are {m} vertices", f"triangle {row}"
        )
    return faces


def ascii_faces(source: Source, start: int, skip: int, count: int, m: int) -> Faces:
    """``count`` lines "k i1 .. ik [more]" after byte ``start`` and ``skip`` lines."""
    source.check_count(count, 2, start - 1, "faces", f"byte {start}")
    pieces: list[Faces] = []
    done = 0
    for numbers, lines in content_lines(source, (b"#",), start):
        polygons = []
        for number, line in zip(numbers, lines, strict=True):
            if skip:
                skip -= 1
                continue
            if done == count:
                break
            words = line.split()
            try:
                k = int(words[0])
                corners = [int(w) for w in words[1 : k + 1]]
                if k < 0 or len(corners) != k or max(map(abs, corners), default=0) > 2**62:
                    raise ValueError
            except ValueError:
                raise source.error(f"{shown(line)} is not a face", f"line {number}") from None
            polygons.append(corners)
            done += 1
        pieces.append(fan(polygons))
        if done == count:
            break
    if done < count:
        raise source.error(f"ends after {done} of {count} faces", "the end")
    return check_faces(source, np.concatenate(pieces) if pieces else fan([]), m)


def binary_faces(source: Source, start: int, count: int, length: str, item: str, m: int) -> Faces:
    """``count`` lists, each a length and that many corners."""
    if "f" in length or "f" in item:
        raise source.error("corners of faces must be integers", f"byte {start}")
    size, width = np.dtype(length).itemsize, np.dtype(item).itemsize
    if count == 0:
        return fan([])
    k = int(np.frombuffer(source.data, length, 1, start)[0])
    if k >= 0 and start + count * (size + k * width) <= len(
        source.data
    ):  # all alike: one look at all of them
        rows = np.frombuffer(source.data, np.dtype([("k", length), ("corners", item, (k,))]), count, start)
        if (rows["k"] == k).all():
            corners = rows["corners"].astype(np.int64)
            parts = [
                np.stack([corners[:, 0], corners[:, i], corners[:, i + 1]], axis=1) for i in range(1, k - 1)
            ]
            return check_faces(source, np.concatenate(parts) if parts else fan([]), m)
    position = start
    polygons = []
    for i in range(count):
        if position + size > len(source.data):
            raise source.error(f"ends after {i} of {count} faces", f"byte {position}")
        k = int(np.frombuffer(source.data, length, 1, position)[0])
        position += size
        if k < 0 or position + k * width > len(source.data):
            raise source.error(f"a face claims {k} corners, beyond the end of the file", f"byte {position}")
        polygons.append(np.frombuffer(source.data, item, k, position).tolist())
        position += k * width
    return check_faces(source, fan(polygons), m)
