"""XYZ as chemists write it: a count, a comment, then ``symbol x y z`` for each atom; frames follow."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ...options import Reading
from ..cloud import Cloud, Format
from ..limits import MOST_COLUMNS, Source
from ..text import line_blocks, parse_number, shown

_SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9_+*'-]{0,7}")
_PROPERTIES = re.compile(r"\bProperties=\"?([A-Za-z0-9_:]+)", re.I)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eEdD][+-]?\d+)?")
_LOOK = 4096


def _is_chemistry(source: Source) -> bool:
    """Whether the first lines are a count, a comment, and an atom."""
    lines = source.data[:_LOOK].decode("latin-1").removeprefix("\xef\xbb\xbf").splitlines()
    count = re.fullmatch(r"\s*(\d{1,18})\s*", lines[0]) if len(lines) >= 3 else None
    if count is None or int(count[1]) == 0:
        return False
    comment, atom = lines[1].split(), lines[2].split()
    if _PROPERTIES.search(lines[1]):
        return True
    if len(atom) < 4 or not all(_NUMBER.fullmatch(w) for w in atom[1:4]):
        return False
    if _SYMBOL.fullmatch(atom[0]):
        return True
    # An atomic number in place of a symbol: then the comment must be no row of the same kind.
    row = len(comment) == len(atom) and all(_NUMBER.fullmatch(w) for w in comment)
    return (
        re.fullmatch(r"[0-9]{1,4}", atom[0]) is not None  # isdigit() takes superscripts too
        and 1 <= int(atom[0]) <= 118
        and not row
        and source.suffix in (".xyz", ".extxyz")
    )


def read_xyz(source: Source, reading: Reading) -> Cloud:
    """One frame (``model`` counts from 1), or all of them with the column ``model``."""
    model = reading.model
    elements: list[str] = []
    same: dict[str, str] = {}
    pieces: list[NDArray[np.float64]] = []
    frames: list[NDArray[np.int64]] = []
    names: list[str] = []
    rows: list[list[float]] = []
    frame, left, total, place = 0, 0, 0, 0
    state = "count"  # -> "comment" -> "atoms"
    symbol, numeric = 0, [1, 2, 3]

    def finish() -> None:
        nonlocal total, rows
        if rows:
            pieces.append(np.array(rows))
            frames.append(np.full(len(rows), frame))
            total += pieces[-1].nbytes
            source.check_allowance(2 * total + 8 * len(elements), "the table of atoms", "data")
            rows = []

    for first, lines in line_blocks(source):
        for i, raw in enumerate(lines):
            place = first + i
            line = raw.decode("latin-1")
            if state == "count":
                if not line.strip():
                    continue
                left = source.count(line.strip(), "atoms", f"line {place}")
                source.check_count(left, 4, 0, "atoms", f"line {place}")
                finish()
                frame += 1
                state = "comment"
                continue
            wanted = model is None or model == frame
            if state == "comment":
                state = "atoms" if left else "count"
                if wanted:
                    symbol, numeric, found = _columns(source, line, place)
                    if names and found and found != names:
                        raise source.error("frames with different properties", f"line {place}")
                    names = names or found
                continue
            left -= 1
            if left == 0:
                state = "count"
            if not wanted:
                continue
            words = line.split()
            if not names:
                numeric = list(range(1, len(words)))
                names = ["x", "y", "z", *(f"column{c + 1}" for c in range(4, len(words)))]
            if len(words) <= max([symbol, *numeric]) or len(numeric) != len(names):
                raise source.error(f"{shown(line)} is not an atom: symbol x y z", f"line {place}")
            elements.append(same.setdefault(words[symbol], words[symbol]) if symbol >= 0 else "")
            rows.append(_numbers(source, line, words, numeric, place))
            if len(rows) == 65_536:
                finish()
        finish()
    if state != "count":
        raise source.error(f"ends in frame {frame}, {left} atoms before its end", f"line {place}")
    if model is not None and model > frame:
        raise source.error(f"has {frame} models, so there is no model {model}")
    values = np.concatenate(pieces) if pieces else np.empty((0, len(names) or 3))
    names = names or ["x", "y", "z"]
    where = [names.index(axis) for axis in "xyz"]
    widest = max(map(len, same), default=1)
    source.check_allowance(4 * widest * len(elements), "the names of elements", "data")
    columns: dict[str, NDArray] = {"element": np.array(elements, dtype=f"U{widest}")} if symbol >= 0 else {}
    columns |= {name: values[:, c].copy() for c, name in enumerate(names) if c not in where}
    columns["model"] = np.concatenate(frames) if frames else np.empty(0, np.int64)
    return Cloud(np.ascontiguousarray(values[:, where]), columns, "xyz")


def _numbers(source: Source, line: str, words: list[str], numeric: list[int], place: int) -> list[float]:
    if "_" not in line:  # float("1_0") is 10
        try:
            return [float(words[c]) for c in numeric]
        except ValueError:
            pass
    return [parse_number(source, words[c], place, c) for c in numeric]  # which says what is wrong


def _columns(source: Source, comment: str, place: int) -> tuple[int, list[int], list[str]]:
    """Where symbol and numbers stand, and their names: from ``Properties=`` of extended XYZ, or as usual."""
    found = _PROPERTIES.search(comment)
    if found is None:
        return 0, [1, 2, 3], []
    parts = found[1].split(":")
    symbol, at = -1, 0
    numeric: list[int] = []
    names: list[str] = []
    for name, kind, count in zip(parts[::3], parts[1::3], parts[2::3], strict=False):
        k = source.count(count, f"columns of {name!r}", f"line {place}")
        if at + k > MOST_COLUMNS:
            raise source.error(f"has more than {MOST_COLUMNS} columns", f"line {place}")
        if kind.upper() == "S":
            symbol = at if symbol < 0 and name.lower() in ("species", "element", "symbol") else symbol
        elif kind.upper() in ("R", "I"):
            numeric += range(at, at + k)
            own = [name] if k == 1 else [f"{name}_{i + 1}" for i in range(k)]
            names += ["x", "y", "z"] if name.lower() in ("pos", "positions") and k == 3 else own
        at += k
    if not set("xyz") <= set(names) or len(set(names)) < len(names):
        raise source.error(f"Properties without pos:R:3: {shown(found[1])}", f"line {place}")
    return symbol, numeric, names


FORMAT = Format(
    name="xyz",
    suffixes=(".extxyz",),
    magic=_is_chemistry,
    read=read_xyz,
    unmarked=True,
    sample=lambda: b"3\nwater\nO 0.0 0.0 0.1\nH 0.0 0.75 -0.5\nH 0.0 -0.75 -0.5\n",
    title="XYZ of chemistry (also .xyz)",
    forms="count, comment, symbol x y z; extended XYZ; frames as models",
    kept="element, further properties",
)
