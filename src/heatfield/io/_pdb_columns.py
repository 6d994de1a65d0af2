"""PDB lines in the archive's own columns, a block of them at once.

What is regular is nearly every line of nearly every file: ASCII, a serial of five digits, coordinates as
``%8.3f``, occupancy and B factor as ``%6.2f`` or blank. A block in which any line is otherwise is left to the
reader of single lines, which knows the dialects and the errors.
"""

from __future__ import annotations

import re

# The columns of an atom, with the spaces around them; the last is all from column 67 on.
RECORD, NAME, ALTLOC, RESIDUE, CHAIN, NUMBER, X, Y, Z, OCCUPANCY, B_FACTOR, REST = range(12)
Atom = tuple[str, ...]

_REGULAR = re.compile(
    r"^(ATOM  |HETATM)[ -~]{5}[ -/:-~]([ -~]{4})([ -~])([ -~]{4})([ -~])([ -~]{5})[ -~]{3}"
    r"([ \d-]{4}\.\d{3})([ \d-]{4}\.\d{3})([ \d-]{4}\.\d{3})"
    r"(?:([ \d-]{3}\.\d\d)([ \d-]{3}\.\d\d)|[ ]{0,12}$)([ -~]*)$",
    re.M | re.ASCII,
)


def atom_lines(lines: list[bytes]) -> tuple[list[Atom], bool] | None:
    """The atoms of a block, and whether an END or ENDMDL line follows them.

    None where an atom is irregular, or where the block holds more than one model.
    """
    records = [line[:6] for line in lines]
    kinds = set(records)
    if any(kind[:5] == b"MODEL" or (kind[:4] == b"ATOM" and kind != b"ATOM  ") for kind in kinds):
        return None
    endings = {kind for kind in kinds if kind.rstrip() in (b"END", b"ENDMDL")}
    count = records.count(b"ATOM  ") + records.count(b"HETATM")
    if endings and count:
        first = next(i for i, record in enumerate(records) if record in endings)
        if b"ATOM  " in records[first:] or b"HETATM" in records[first:]:
            return None
    found = _REGULAR.findall(b"\n".join(lines).decode("latin-1")) if count else []
    if len(found) != count:
        return None
    return found, bool(endings)
