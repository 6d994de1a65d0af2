"""PCD: the format of the Point Cloud Library; text, binary and binary_compressed."""

from __future__ import annotations

import math
import re
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...options import Reading
from ..cloud import Cloud, Format, as_records, coordinate_names, from_columns, plain_type
from ..limits import MOST_COLUMNS, ReadError, Source
from ..text import read_rows, to_type

_KINDS = {"I": "i", "U": "u", "F": "f"}
_LONGEST_HEADER = 2**18


def read_pcd(source: Source, _: Reading) -> Cloud:
    """All fields. A field with COUNT k > 1 becomes columns name_0 .. name_{k-1}; padding ('_') goes."""
    words, data_kind, start = _header(source)
    names, kinds, counts = _fields(source, words)
    m = _points(source, words)
    wholes = [int(kind[1:]) * count for kind, count in zip(kinds, counts, strict=True)]  # bytes of a field
    row_bytes = sum(wholes)
    values = block = None
    if data_kind == "ascii":
        values = read_rows(source, start, 0, m, sum(counts))
    elif data_kind == "binary":
        source.check_count(m, row_bytes, start, "points", "header")
        block = np.frombuffer(source.data, np.uint8, m * row_bytes, start)
    else:
        block = _unpack(source, start, m * row_bytes)
    table: dict[str, NDArray[Any]] = {}

    def view(kind: str, at: int, step: int) -> NDArray[Any]:
        return np.ndarray(m, "<" + kind, block, at, (step,)) if m else np.empty(0, kind)

    begins, columns = accumulate(wholes, initial=0), accumulate(counts, initial=0)
    for name, kind, count, whole, begin, c in zip(
        names, kinds, counts, wholes, begins, columns, strict=False
    ):
        size = int(kind[1:])
        for part in range(count if name != "_" else 0):
            column = name if count == 1 else f"{name}_{part}"
            if values is not None:
                table[column] = to_type(source, values[:, c + part], kind, f"field {name!r}")
            elif data_kind == "binary":  # point after point
                table[column] = view(kind, begin + part * size, row_bytes)
            else:  # field after field
                table[column] = view(kind, m * begin + part * size, whole)
    return from_columns(source, table, "pcd", "FIELDS")


def _header(source: Source) -> tuple[dict[str, list[str]], str, int]:
    words: dict[str, list[str]] = {}
    position = 0
    number = 0
    while position < min(len(source.data), _LONGEST_HEADER):
        number += 1
        end = source.data.find(b"\n", position, _LONGEST_HEADER)
        if end < 0:
            break
        line = source.data[position:end].decode("latin-1").split("#")[0].split()
        position = end + 1
        if not line:
            continue
        words[line[0].upper()] = line[1:]
        if line[0].upper() == "DATA":
            kind = line[1].lower() if len(line) > 1 else ""
            if kind not in ("ascii", "binary", "binary_compressed"):
                raise source.error(
                    f"DATA must be ascii, binary or binary_compressed, got {kind!r}", f"line {number}"
                )
            return words, kind, position
    raise source.error("the header does not end (no line 'DATA')", f"line {number}")


def _fields(source: Source, words: dict[str, list[str]]) -> tuple[list[str], list[str], list[int]]:
    names = words.get("FIELDS") or words.get("COLUMNS") or []
    try:
        sizes = [source.count(w, "bytes of a field", "SIZE") for w in words.get("SIZE", [])]
        counts = [
            source.count(w, "numbers in a field", "COUNT") for w in words.get("COUNT", ["1"] * len(names))
        ]
        kinds = [_KINDS[t.upper()] + str(s) for t, s in zip(words.get("TYPE", []), sizes, strict=True)]
        for kind in kinds:
            if kind not in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"):
                raise ValueError(kind)
        if not names or not len(names) == len(kinds) == len(counts) or min(counts) < 0:
            raise ValueError
    except ReadError:
        raise
    except (KeyError, ValueError):
        raise source.error("FIELDS, SIZE, TYPE and COUNT do not fit together", "header") from None
    if sum(counts) > MOST_COLUMNS:
        raise source.error(f"has {sum(counts)} columns, more than {MOST_COLUMNS}", "header")
    real = [name for name in names if name != "_"]
    if len(set(real)) < len(real):
        raise source.error("a field is named twice", "FIELDS")
    return names, kinds, counts


def _points(source: Source, words: dict[str, list[str]]) -> int:
    sides = []
    for key in ("POINTS",) if words.get("POINTS") else ("WIDTH", "HEIGHT"):
        if not words.get(key) and key != "HEIGHT":
            raise source.error("the number of points is missing (POINTS, or WIDTH and HEIGHT)", "header")
        sides.append(source.count((words.get(key) or ["1"])[0], "points", key))
    return math.prod(sides)


def _unpack(source: Source, start: int, expected: int) -> NDArray[np.uint8]:
    if len(source.data) < start + 8:
        if expected == 0:
            return np.empty(0, np.uint8)
        raise source.error("ends before the compressed block", f"byte {len(source.data)}")
    packed, unpacked = (int(v) for v in np.frombuffer(source.data, "<u4", 2, start))
    if unpacked != expected:
        raise source.error(
            f"the block unpacks to {unpacked} bytes where the header needs {expected}", f"byte {start + 4}"
        )
    source.check_count(packed, 1, start + 8, "compressed bytes", f"byte {start}")
    source.check_allowance(unpacked, "the compressed block", f"byte {start}")
    block = np.empty(unpacked, np.uint8)
    if _core.unpack_lzf(np.frombuffer(source.data, np.uint8, packed, start + 8), block) != unpacked:
        raise source.error("the compressed block is damaged", f"byte {start + 8}")
    return block


def write_pcd(points: NDArray[np.float64], columns: dict[str, NDArray[Any]], **_: Any) -> bytes:
    """A binary PCD (version 0.7) with coordinates in double precision."""
    fields = [(name, "<f8") for name in coordinate_names(points.shape[1])]
    for name, column in columns.items():
        kind = plain_type(column)
        if kind[0] not in "iuf":
            raise ValueError(f"PCD has no type for column {name!r} of {column.dtype}")
        if not name.isascii() or not name.isprintable() or not name or set(name) & set(" #") or name == "_":
            raise ValueError(f"PCD cannot hold a column named {name!r}: one word of ASCII is needed")
        fields.append((name, "<" + kind))
    head = [
        "# .PCD v0.7 - Point Cloud Data file format",
        "VERSION 0.7",
        "FIELDS " + " ".join(name for name, _ in fields),
        "SIZE " + " ".join(kind[2:] for _, kind in fields),
        "TYPE " + " ".join(kind[1].upper() for _, kind in fields),
        "COUNT " + " ".join("1" for _ in fields),
        f"WIDTH {len(points)}",
        "HEIGHT 1",
        "VIEWPOINT 0 0 0 1 0 0 0",
        f"POINTS {len(points)}",
        "DATA binary",
    ]
    return ("\n".join(head) + "\n").encode("ascii") + as_records(points, columns, fields).tobytes()


def _is_pcd(source: Source) -> bool:
    head = source.head
    if re.match(rb"[\xef\xbb\xbf\s]*# ?\.PCD", head):
        return True
    fields = re.search(rb"^(FIELDS|COLUMNS) .*\bx\b", head, re.M | re.I) if b" x" in head.lower() else None
    return fields is not None and re.search(rb"^DATA ", head, re.M) is not None


_SAMPLE = b"""# .PCD v0.7
VERSION 0.7
FIELDS x y z h
SIZE 4 4 4 4
TYPE F F F U
COUNT 1 1 1 2
WIDTH 2
HEIGHT 1
POINTS 2
DATA ascii
1 2 3 4 5
6 7 8 9 10
"""
FORMAT = Format(
    name="pcd",
    suffixes=(".pcd",),
    magic=_is_pcd,
    read=read_pcd,
    write=write_pcd,
    writes=(".pcd",),
    unmarked=True,
    sample=lambda: _SAMPLE,
    title="PCD",
    forms="ascii, binary, binary_compressed",
    written="binary, coordinates as double",
    kept="fields; COUNT k > 1 as name_0 ...",
)
