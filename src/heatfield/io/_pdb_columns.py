"""PDB lines in the archive's own columns, a block of them at once.

What is regular is nearly every line of nearly every file: ASCII, a serial of five digits, coordinates as
``%8.3f``, occupancy and B factor as ``%6.2f`` or blank. A block in which any line is otherwise is left to the
reader of single lines, which knows the dialects and the errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDTH = 80
_SPACE, _MINUS, _DOT, _ZERO = 32, 45, 46, 48


@dataclass(frozen=True)
class AtomLines:
    """The ATOM and HETATM lines of a block, as bytes in columns."""

    rows: NDArray[np.int64]  # their lines in the block
    table: NDArray[np.uint8]  # (rows, 80), filled up with spaces
    lengths: NDArray[np.int64]
    is_hetatm: NDArray[np.bool_]
    ends_after: bool  # whether an END or ENDMDL line follows the last of them

    def words(self, begin: int, end: int, rows: Any = slice(None)) -> list[str]:
        """A column of words, without the spaces around them."""
        cells = np.ascontiguousarray(self.table[rows, begin:end]).view(f"S{end - begin}")[:, 0]
        found: list[str] = np.char.strip(cells).astype(str).tolist()
        return found

    def line(self, row: int) -> str:
        """One line as text."""
        return self.table[row].tobytes().decode("ascii")


def atom_lines(lines: list[bytes]) -> AtomLines | None:
    """The atoms of a block, None where a line is irregular or the block holds more than one model."""
    table = np.array(lines, dtype=f"S{_WIDTH}").view(np.uint8).reshape(-1, _WIDTH)
    records = np.ascontiguousarray(table[:, :6]).view("S6")[:, 0]
    is_hetatm = records == b"HETATM"
    chosen = is_hetatm | (records == b"ATOM  ")
    rows = np.flatnonzero(chosen)
    others = set(records[~chosen].tolist())
    if any(record[:4] == b"ATOM" or record[:5] == b"MODEL" for record in others):
        return None
    endings = [record for record in others if record.rstrip() in (b"END", b"ENDMDL")]
    ends = np.flatnonzero(np.isin(records, endings)) if endings else np.empty(0, np.int64)
    if len(rows) and (ends < rows[-1]).any():
        return None
    table = table[rows]
    table[table == 0] = _SPACE
    lengths = np.array([len(lines[i]) for i in rows.tolist()], dtype=np.int64)
    digits = (table[:, 11] >= _ZERO) & (table[:, 11] <= _ZERO + 9)
    if digits.any() or (table < _SPACE).any() or (table > 126).any():
        return None
    return AtomLines(rows, table, lengths, is_hetatm[rows], bool(len(ends)))


def fixed_numbers(table: NDArray[np.uint8], decimals: int, blank: float | None) -> NDArray[np.float64] | None:
    """Numbers with so many decimals at the right end of their field; None where one is written otherwise.

    Digits make an integer, which is divided by a power of ten: both are exact, so the quotient is the
    number that `float` reads. A blank field is ``blank``.
    """
    width = table.shape[1]
    dot = width - 1 - decimals
    head, tail = table[:, :dot], table[:, dot + 1 :]
    empty = (table == _SPACE).all(axis=1) if blank is not None else np.zeros(len(table), bool)
    kind = np.where(head == _SPACE, 0, np.where(head == _MINUS, 1, 2))
    is_digit = (table >= _ZERO) & (table <= _ZERO + 9)
    good = (table[:, dot] == _DOT) & is_digit[:, dot + 1 :].all(axis=1) & is_digit[:, dot - 1]
    good &= (is_digit[:, :dot] | (kind < 2)).all(axis=1) & (np.diff(kind, axis=1) >= 0).all(axis=1)
    minus = (kind == 1).sum(axis=1)
    if not (good & (minus < 2) | empty).all():
        return None
    digits = np.where(is_digit, table, _ZERO).astype(np.int64) - _ZERO
    value = np.zeros(len(table), np.int64)
    for k in [*range(dot), *range(dot + 1, width)]:
        value = 10 * value + digits[:, k]
    found = value / 10.0**decimals
    found[minus == 1] *= -1.0
    if blank is not None:
        found[empty] = blank
    return found
