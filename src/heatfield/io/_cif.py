"""mmCIF: the loop ``_atom_site`` of a Crystallographic Information File."""

from __future__ import annotations

from collections.abc import Iterator

from ._atoms import CALCIUM, AtomChoice, Atoms
from ._cloud import Cloud
from ._source import Source
from ._text import line_blocks, shown

_PREFIX = "_atom_site."


def read_cif(source: Source, choice: AtomChoice) -> Cloud:
    """The chosen atoms in the order of the file; chain and residue as the authors number them."""
    wanted = choice.names()
    atoms = Atoms(choice, source)
    tags: list[str] = []
    models: dict[str, int] = {}
    place = ""
    at: _Columns | None = None
    for place, row in _rows(source, tags):
        row.append("")  # what a column that is not there holds
        if at is None:
            at = _Columns(source, tags, place)
        model_name = row[at.model] or "1"
        model = models.setdefault(model_name, len(models) + 1)
        atoms.seen += 1
        atoms.models_seen = len(models)
        if choice.model is not None and model != choice.model:
            continue
        name = row[at.atom] or row[at.author_atom]
        chain = _known(row[at.chain] or row[at.label_chain])
        if chain not in atoms.chains and len(atoms.chains) < 256:
            atoms.chains[chain] = None
        residue = row[at.residue] or row[at.label_residue]
        if wanted is not None:
            if name not in wanted:
                continue
            if name == "CA":
                element = _known(row[at.element]).upper()
                if element == "CA" or (not element and residue.upper() in CALCIUM):
                    continue  # calcium
        if choice.chain is not None and chain != choice.chain:
            continue
        try:
            x, y, z = _number(row[at.x]), _number(row[at.y]), _number(row[at.z])
            occupancy = _number(_known(row[at.occupancy]) or "1")
            b_factor = _number(_known(row[at.b_factor]) or "0")
        except ValueError:
            values = " ".join((row[at.x], row[at.y], row[at.z]))
            raise source.error(f"no coordinates in {shown(values)}", place) from None
        number = _known(row[at.number] or row[at.label_number]) + _known(row[at.insertion])
        words = (name, residue, chain, number, _known(row[at.altloc]))
        atoms.add(model, words, (x, y, z), (occupancy, b_factor))
    if not place:
        raise source.error("holds no atoms (no loop of _atom_site)")
    return atoms.cloud("cif")


class _Columns:
    """Where each item stands in a row; the last place is that of columns which are not there."""

    def __init__(self, source: Source, tags: list[str], place: str) -> None:
        where = {tag: i for i, tag in enumerate(tags)}
        if not all("Cartn_" + axis in where for axis in "xyz"):
            raise source.error("the atoms have no Cartn_x, Cartn_y, Cartn_z", place)
        self.x, self.y, self.z = (where["Cartn_" + axis] for axis in "xyz")
        absent = len(tags)
        self.atom, self.author_atom = where.get("label_atom_id", absent), where.get("auth_atom_id", absent)
        self.chain, self.label_chain = where.get("auth_asym_id", absent), where.get("label_asym_id", absent)
        self.residue, self.label_residue = (
            where.get("auth_comp_id", absent),
            where.get("label_comp_id", absent),
        )
        self.number, self.label_number = where.get("auth_seq_id", absent), where.get("label_seq_id", absent)
        self.element, self.altloc = where.get("type_symbol", absent), where.get("label_alt_id", absent)
        self.model = where.get("pdbx_PDB_model_num", absent)
        self.insertion = where.get("pdbx_PDB_ins_code", absent)
        self.occupancy = where.get("occupancy", absent)
        self.b_factor = where.get("B_iso_or_equiv", absent)


def _number(value: str) -> float:
    """A CIF number, with its standard uncertainty ("1.23(4)") left out."""
    if "_" in value:  # float("1_0") is 10
        raise ValueError
    if "(" not in value:
        return float(value)
    bare, bracket, rest = value.partition("(")
    return float(bare if bracket and rest[:-1].isdigit() and rest.endswith(")") else value)


def _known(value: str) -> str:
    return "" if value in (".", "?") else value


def _rows(source: Source, tags: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Fill ``tags`` from the loop's head, then give its rows, each with its place."""
    state = "outside"  # -> "loop" after loop_, -> "atoms" among the rows
    row: list[str] = []
    in_text = False
    number = 0
    for first, lines in line_blocks(source):
        for i, raw in enumerate(lines):
            number = first + i
            if raw[:1] == b";":  # a text of several lines, which ends with another ";"
                in_text = not in_text
                if state == "atoms" and not in_text:
                    row.append("")
                continue
            if in_text:
                continue
            line = raw.decode("latin-1").strip()
            if not line or line[0] == "#":
                continue
            start = line[:11].lower()
            if state == "atoms" and not row and start.startswith(("_", "loop_", "data_", "save_")):
                return
            if state != "atoms":
                if start.startswith("loop_"):
                    state, line = "loop", line[5:].strip()
                if state == "loop" and line.startswith(_PREFIX):
                    tags.append(line[len(_PREFIX) :])
                    continue
                if not tags:
                    state = state if not line else "outside"
                    continue
                state = "atoms"
                if len(set(tags)) < len(tags):
                    raise source.error("a column of _atom_site is given twice", f"line {number}")
            if "'" in line or '"' in line or " #" in line:
                cells = _quoted_cells(source, line, number)
            else:
                cells = line.split()
            row += cells
            if len(row) == len(tags):
                yield f"line {number}", row
                row = []
            elif len(row) > len(tags):
                raise source.error(f"{len(row)} values where {len(tags)} are expected", f"line {number}")
    if row or in_text:
        raise source.error("ends inside the atoms", f"line {number}")


def _quoted_cells(source: Source, line: str, number: int) -> list[str]:
    """Values of a line with quotes: one ends where its quote is followed by a blank; # ends the line."""
    cells = []
    i = 0
    while i < len(line):
        if line[i].isspace():
            i += 1
        elif line[i] == "#":
            break
        elif line[i] in "'\"":
            end = line.find(line[i], i + 1)
            while end >= 0 and end + 1 < len(line) and not line[end + 1].isspace():
                end = line.find(line[i], end + 1)
            if end < 0:
                raise source.error("a quote is not closed", f"line {number}")
            cells.append(line[i + 1 : end])
            i = end + 1
        else:
            end = i
            while end < len(line) and not line[end].isspace():
                end += 1
            cells.append(line[i:end])
            i = end
    return cells
