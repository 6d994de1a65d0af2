"""OFF: Geomview's meshes. A stream of tokens with comments anywhere; most writers keep to lines.

``[ST][C][N][4][n]OFF`` says what a vertex holds: x y z (4: and w; n: as many as stated), a normal,
a colour, texture coordinates.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...options import Reading
from ..cloud import Cloud, Format
from ..faces import Polygons, ascii_lists
from ..limits import MOST_COLUMNS, ReadError, Source
from ..text import content_lines, first_numbers, read_rows, stream_of

_KEYWORD = re.compile(rb"\s*(ST)?(C)?(N)?(4)?(n)?OFF(?![A-Za-z_])[ \t]*(BINARY\b)?")
_TOKEN = re.compile(rb"\s*(\S+)")
_MOST_RETRIED = 200_000  # faces of a file that is read in more than one way
_LOOK = 8  # lines that tell whether each holds one vertex


@dataclass(frozen=True)
class _Vertex:
    """What stands in front of, and how many numbers make, a vertex."""

    dims: int
    normal: int
    colour: int
    texture: int

    @property
    def width(self) -> int:
        return self.dims + self.normal + self.colour + self.texture


def read_off(source: Source, _: Reading) -> Cloud:
    """Vertices, normals and colours as columns, triangles.

    Some files leave out the number of edges, and some that have it do not keep to lines: what does not hold
    together in one reading is tried in the next.
    """
    source = source.without(b"#")
    problem: ReadError | None = None
    for edges in (True, False):
        try:
            vertex, m, f, start = _header(source, edges)
        except ReadError as error:
            problem = problem or error
            continue
        for by_line in (True, False):
            try:
                return _read(source, vertex, m, f, start, by_line)
            except ReadError as error:
                problem = problem or error
                if f > _MOST_RETRIED:
                    raise problem from None
    assert problem is not None
    raise problem


def _read(source: Source, vertex: _Vertex, m: int, f: int, start: int, by_line: bool) -> Cloud:
    source.check_count(m, 2 * vertex.dims, start - 1, "vertices", "header")
    source.check_count(f, 2, start - 1, "faces", "header")
    width = _line_width(source, start, vertex, m) if by_line else None
    if width is not None:
        values = read_rows(source, start, 0, m, width) if m else np.empty((0, width))
        polygons = _line_faces(source, start, m, f)
    else:
        width = vertex.width
        values, polygons = _tokens(source, start, m, f, width)
    faces = polygons.triangles(m)
    names = [f"column{c + 1}" for c in range(vertex.dims, width)]
    if width == vertex.width:
        letters = (
            [*("nx", "ny", "nz", "nw")[: vertex.normal]] if vertex.normal <= 4 else names[: vertex.normal]
        )
        letters += ["red", "green", "blue", "alpha"][: vertex.colour]
        names = [*letters, *["s", "t"][: vertex.texture]]
    columns = {name: values[:, vertex.dims + i].copy() for i, name in enumerate(names)}
    points = values[:, : vertex.dims].copy()
    flat = len(faces) and vertex.dims == 3  # areas are those of three dimensions
    return Cloud(points, columns, "off", faces=faces if flat else None)


def _header(source: Source, edges: bool) -> tuple[_Vertex, int, int, int]:
    """What a vertex is, the numbers of vertices and faces, and the byte where the vertices start."""
    data = source.data
    position = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    keyword = _KEYWORD.match(data, position)
    texture, colour, normal, four, free = (bool(keyword and keyword[i]) for i in range(1, 6))
    if keyword:
        if keyword[6]:
            raise source.error("binary OFF is not supported", "line 1")
        position = keyword.end()
    dims = 3
    if free:
        word, position = _next(source, position)
        dims = source.count(word, "dimensions", "header")
    words = []
    for _ in range(2):
        word, position = _next(source, position)
        words.append(word)
    if edges:
        word, position = _next(source, position)
        source.count(word, "edges", "header")
    m, f = source.count(words[0], "vertices", "header"), source.count(words[1], "faces", "header")
    dims += four
    if not 1 <= dims <= MOST_COLUMNS:
        raise source.error(f"has {dims} coordinates per vertex; 1 to {MOST_COLUMNS} can be read", "header")
    normals = (dims - four if free else 3) if normal else 0
    return _Vertex(dims, normals, 4 * colour, 2 * texture), m, f, position


def _next(source: Source, position: int) -> tuple[str, int]:
    found = _TOKEN.match(source.data, position)
    if found is None:
        raise source.error("the numbers of vertices and faces are missing", "header")
    return found[1][:5000].decode("latin-1"), found.end()


def _line_width(source: Source, start: int, vertex: _Vertex, m: int) -> int | None:
    """Numbers in a line where each line holds one vertex; None where lines mean nothing."""
    counts: list[int] = []
    for _, lines in content_lines(source, (), start):
        counts += [len(line.split(None, MOST_COLUMNS)) for line in lines[: _LOOK - len(counts)]]
        if len(counts) >= _LOOK:
            break
    counts = counts[:m]
    if not counts:
        return vertex.width
    least = vertex.width - (1 if vertex.colour else 0)  # a colour of three numbers, or of four
    same = len(counts) == min(m, _LOOK) and min(counts) == max(counts)
    return counts[0] if same and counts[0] >= least else None


def _line_faces(source: Source, start: int, skip: int, count: int) -> Polygons:
    """One face a line, colours after it; else tokens, where a colour ends with its line."""
    try:
        return ascii_lists(
            source, start=start, skip=skip, count=count, is_list=[True], wanted=0, bare=True
        )  # fmt: skip
    except ReadError as error:
        if count > _MOST_RETRIED:
            raise
        lines = content_lines(source, (), start)
        broken = error
    words: list[str] = []
    polygons = Polygons(source)
    done = 0
    for _, block in lines:
        for line in block:
            if skip:
                skip -= 1
                continue
            if done == count:
                return polygons
            words += line.split()
            try:
                k = int(words[0])
                if k < 0 or k > len(source.data):
                    raise ValueError
                if len(words) > k:
                    polygons.add([int(w) for w in words[1 : k + 1]])
                    words = []
                    done += 1
            except (ValueError, OverflowError):
                raise broken from None
    if done < count:
        raise broken
    return polygons


def _tokens(source: Source, start: int, m: int, f: int, width: int) -> tuple[NDArray[np.float64], Polygons]:
    """Numbers between blanks, whatever the lines. A face's colour could not be told, so none is expected."""
    source.check_count(m, 2 * width, start - 1, "vertices", "header")
    stream = stream_of(source, source.data[start:], f"after byte {start}")
    if len(stream) < m * width:
        raise source.error(f"ends after {len(stream) // width} of {m} vertices", "the end")
    values, rest = stream[: m * width].reshape(m, width), stream[m * width :]
    if not (np.abs(rest) < 2**53).all() or (rest != np.rint(rest)).any():
        raise source.error("a corner of a face is not an integer", "faces")
    whole = rest.astype(np.int64)
    polygons = Polygons(source)
    at = polygons.add_stream(whole, f)
    if at < len(whole):
        raise source.error(f"{len(whole) - at} numbers follow the last face", "the end")
    return values.copy(), polygons


def _is_off(source: Source) -> bool:
    first = source.data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if _KEYWORD.match(first):
        return True
    if source.suffix != ".off" and first[:1] != b"#":
        return False
    bare = re.sub(rb"#[^\r\n]*", b"", source.head).lstrip()
    words = first_numbers(bare) if source.suffix == ".off" else []
    return _KEYWORD.match(bare) is not None or (len(words) == 3 and all(word.isdigit() for word in words))


FORMAT = Format(
    name="off",
    suffixes=(".off",),
    magic=_is_off,
    read=read_off,
    sample=lambda: b"OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
    title="OFF",
    forms="text, in any dimension (nOFF, 4OFF)",
    kept="triangles, normals, colours",
)
