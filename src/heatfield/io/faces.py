"""Faces of a mesh: polygons given as lists of vertices, cut into triangles."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .limits import Source
from .text import integers_of, shown, some_lines

Faces = NDArray[np.int64]
Integers = NDArray[np.int64]
_AT_ONCE = 2**18  # triangles that are made in one step


class Polygons:
    """Polygons as they come, kept as plain integers: corners, and the number of corners of each."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._lengths: list[Integers] = []
        self._corners: list[Integers] = []
        self._new_lengths = array("q")
        self._new_corners = array("q")

    def add(self, corners: Sequence[int]) -> None:
        """One polygon; OverflowError where a corner is not a 64-bit integer."""
        self._new_lengths.append(len(corners))
        self._new_corners.extend(corners)

    def add_rows(self, rows: NDArray[np.integer]) -> None:
        """Polygons with equally many corners each."""
        self._flush()
        self._lengths.append(np.full(len(rows), rows.shape[1], np.int64))
        self._corners.append(rows.astype(np.int64).ravel())

    def add_flat(self, lengths: Integers, corners: Integers) -> None:
        """Polygons one after the other."""
        self._flush()
        self._lengths.append(lengths)
        self._corners.append(corners)

    def add_stream(self, whole: Integers, count: int) -> int:
        """``count`` polygons as "k i1 .. ik" one after the other; how many numbers these are."""
        step = int(whole[0]) + 1 if count and len(whole) else 1
        alike = (
            whole[: count * step].reshape(count, step) if 1 <= step <= len(whole) // max(count, 1) else None
        )
        if alike is not None and (alike[:, 0] == step - 1).all():
            self.add_rows(alike[:, 1:])
            return count * step
        starts, at = np.empty(count, np.int64), 0
        for polygon in range(count):
            if at >= len(whole) or not 0 <= whole[at] < len(whole) - at:
                problem = f"ends inside face {polygon} of {count}, or that is not a face"
                raise self.source.error(problem, "the end")
            starts[polygon] = at
            at += 1 + int(whole[at])
        self.add_flat(whole[starts], np.delete(whole[:at], starts))
        return at

    def _flush(self) -> None:
        if self._new_lengths:
            self._lengths.append(np.array(self._new_lengths, dtype=np.int64))
            self._corners.append(np.array(self._new_corners, dtype=np.int64))
            self._new_lengths, self._new_corners = array("q"), array("q")

    def flat(self) -> tuple[Integers, Integers]:
        """The lengths of all polygons, and their corners one after the other."""
        self._flush()
        nothing = [np.empty(0, np.int64)]
        lengths, corners = np.concatenate(self._lengths or nothing), np.concatenate(self._corners or nothing)
        self._lengths, self._corners = [], []
        return lengths, corners

    def triangles(self, m: int) -> Faces:
        """Triangles (a0, ai, ai+1) of each polygon; every corner must be one of the m vertices."""
        lengths, corners = self.flat()
        per_polygon = np.maximum(lengths - 2, 0)
        total = int(per_polygon.sum())
        self.source.check_allowance(24 * total, f"a mesh of {total} triangles", "faces")
        if (lengths == 3).all():
            faces = corners.reshape(-1, 3)
        else:
            faces = np.empty((total, 3), np.int64)
            starts, ends = np.cumsum(lengths) - lengths, np.cumsum(per_polygon)
            for first in range(0, total, _AT_ONCE):
                rows = np.arange(first, min(first + _AT_ONCE, total))
                polygon = np.searchsorted(ends, rows, side="right")
                start = starts[polygon]
                second = start + 1 + rows - (ends[polygon] - per_polygon[polygon])
                for corner, at in enumerate((start, second, second + 1)):
                    faces[first : first + len(rows), corner] = corners[at]
        return _check_faces(self.source, faces, m)


def _check_faces(source: Source, faces: Faces, m: int) -> Faces:
    """Every corner must be one of the m vertices."""
    if len(faces) and (faces.min() < 0 or faces.max() >= m):
        bad = (faces < 0) | (faces >= m)
        row, corner = np.argwhere(bad)[0]
        raise source.error(
            f"a corner is vertex {faces[row, corner]}, but there are {m} vertices", f"triangle {row}"
        )
    return faces


def ascii_lists(
    source: Source, *, start: int, skip: int, count: int, is_list: Sequence[bool], wanted: int, bare: bool
) -> Polygons:
    """``count`` lines of properties, some of them lists "k i1 .. ik", after ``start`` and ``skip`` lines.

    Kept is the list that is property number ``wanted``. With ``bare`` more may follow on a line.
    """
    polygons = Polygons(source)
    for text, slow in some_lines(source, start, skip, count, (b"#",) if bare else (), "faces"):
        flat = integers_of(text) if list(is_list) == [True] else None
        if flat is not None:
            corners, lengths = flat
            starts = np.cumsum(lengths) - lengths
            wanted_lengths = corners[starts]
            if (wanted_lengths == lengths - 1).all():
                polygons.add_flat(wanted_lengths, np.delete(corners, starts))
                continue
        numbers, lines = slow()
        for number, line in zip(numbers, lines, strict=True):
            try:
                polygons.add(_corners(line.split(), is_list, wanted, bare))
            except (ValueError, IndexError, OverflowError):
                raise source.error(f"{shown(line)} is not a face", f"line {number}") from None
    return polygons


def _corners(words: list[str], is_list: Sequence[bool], wanted: int, bare: bool) -> list[int]:
    at, corners = 0, []
    for number, a_list in enumerate(is_list):
        k = 0
        if a_list:
            k = int(words[at])
            if k < 0 or at + 1 + k > len(words):
                raise ValueError
            if number == wanted:
                corners = [int(w) for w in words[at + 1 : at + 1 + k]]
        at += 1 + k
    if at > len(words) or (at < len(words) and not bare):
        raise ValueError
    return corners
