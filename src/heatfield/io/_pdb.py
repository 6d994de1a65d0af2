"""PDB: atoms in fixed columns, as the archive, CHARMM and simulation programs write them."""

from __future__ import annotations

import re

from . import _pdb_columns as at
from ._atoms import CALCIUM, AtomChoice, Atoms
from ._cloud import Cloud
from ._pdb_columns import Atom, atom_lines
from ._source import Source
from ._text import line_blocks, shown

_LONG_SERIAL = re.compile(r"(?:ATOM|HETATM) *(\d{6,})")
_DOTS = (34, 42, 50)  # the decimal points of x, y, z
# Numbers of an atom with what a blank stands for, and words in the order of `Atoms.words`.
_NUMBERS = ((at.X, ""), (at.Y, ""), (at.Z, ""), (at.OCCUPANCY, "1"), (at.B_FACTOR, "0"))
_WORDS = (at.NAME, at.RESIDUE, at.CHAIN, at.NUMBER, at.ALTLOC)


def read_pdb(source: Source, choice: AtomChoice) -> Cloud:
    """The chosen atoms in the order of the file, modified residues (HETATM) included.

    Models are divided by MODEL, or where there is none by END.
    """
    wanted = choice.names()
    atoms = Atoms(choice, source)
    model, named, ended = 1, False, False
    for first, lines in line_blocks(source):
        block = atom_lines(lines) if choice.model in (None, model) and (named or not ended) else None
        if block is not None and _take_block(block[0], atoms, wanted, model):
            ended = block[1] if block[0] else (ended or block[1]) and atoms.seen > 0
            continue
        for i, raw in enumerate(lines):
            record = raw[:6]
            if record[:5] == b"MODEL":
                model += named  # the first MODEL line starts model 1
                named = True
                continue
            if record[:3] == b"END" and record.rstrip() in (b"END", b"ENDMDL"):
                ended = atoms.seen > 0
                continue
            if record[:4] != b"ATOM" and record != b"HETATM":
                continue
            if record[4:6] != b"  " and not (record == b"HETATM" or re.match(rb"ATOM[ \d]\d", record)):
                continue
            if ended and not named:
                model += 1
            ended = False
            atoms.seen += 1
            atoms.models_seen = model
            if choice.model is not None and model != choice.model:
                continue
            line = raw.decode("latin-1")
            if record[5:6] != b" " or raw[11:12].isdigit():
                line = _in_columns(line)
            name = line[12:16].strip()
            chain = line[21:22].strip()
            if chain not in atoms.chains and len(atoms.chains) < 256:
                atoms.chains[chain] = None
            if wanted is not None and (name not in wanted or (name == "CA" and _is_calcium(line))):
                continue
            if choice.chain is not None and chain != choice.chain:
                continue
            if len(line) < 54:
                raise source.error("the line ends before its coordinates", f"line {first + i}")
            try:
                if "_" in line[30:66]:  # float("1_0") is 10
                    raise ValueError
                x, y, z = float(line[30:38]), float(line[38:46]), float(line[46:54])
                occupancy = float(line[54:60].strip() or 1.0)
                b_factor = float(line[60:66].strip() or 0.0)
            except ValueError:
                raise source.error(f"no coordinates in {shown(line[30:66])}", f"line {first + i}") from None
            words = (name, line[17:21].strip(), chain, line[22:27].strip(), line[16].strip())
            atoms.add(model, words, (x, y, z), (occupancy, b_factor))
    if atoms.seen == 0:
        raise source.error("holds no ATOM or HETATM line")
    return atoms.cloud("pdb")


def _take_block(found: list[Atom], atoms: Atoms, wanted: frozenset[str] | None, model: int) -> bool:
    """Add the wanted atoms of a block of one model at once; False, and nothing done, if one is irregular."""
    word = atoms.word
    kept = found if wanted is None else [atom for atom in found if word[atom[at.NAME]] in wanted]
    if wanted is not None and "CA" in wanted and _may_hold_calcium(kept):
        kept = [atom for atom in kept if word[atom[at.NAME]] != "CA" or not _is_calcium(_as_line(atom))]
    if atoms.choice.chain is not None:
        kept = [atom for atom in kept if word[atom[at.CHAIN]] == atoms.choice.chain]
    if not atoms.has_room(len(kept)):
        return False
    columns = list(zip(*kept, strict=True)) or [()] * 12
    try:
        numbers = [[float(cell or blank) for cell in columns[k]] for k, blank in _NUMBERS]
    except ValueError:  # such as "1-2.000"
        return False
    atoms.seen += len(found)
    atoms.models_seen = model if found else atoms.models_seen
    for chain in dict.fromkeys([atom[at.CHAIN] for atom in found]):
        if len(atoms.chains) < 256:
            atoms.chains.setdefault(word[chain])
    atoms.add_many(model, [[word[cell] for cell in columns[k]] for k in _WORDS], numbers)
    return True


def _may_hold_calcium(found: list[Atom]) -> bool:
    """Whether `_is_calcium` has to be asked: its answer is no for a residue that is written as ATOM."""
    columns = list(zip(*found, strict=True)) or [()] * 12
    return (
        "HETATM" in columns[at.RECORD]
        or any(cell.strip().upper() in CALCIUM for cell in set(columns[at.RESIDUE]))
        or any(cell[10:12].strip().upper() == "CA" for cell in set(columns[at.REST]))
    )


def _as_line(atom: Atom) -> str:
    """What `_is_calcium` reads of a line, where it reads it."""
    start = atom[at.RECORD] + " " * 6 + atom[at.NAME] + atom[at.ALTLOC] + atom[at.RESIDUE]
    return start.ljust(66) + atom[at.REST]


def _is_calcium(line: str) -> bool:
    """Whether an atom named CA is calcium: the element says it, else the residue.

    An element stands in columns 13 and 14, so "CA" there means calcium in the archive's own files; but
    CHARMM and others start all names in column 13. Without an element it is calcium only outside of ATOM.
    """
    element = line[76:78].strip().upper()
    if element in ("C", "CA"):
        return element == "CA"
    if line[17:21].strip().upper() in CALCIUM:
        return True
    return line[12:14] == "CA" and line[:6] == "HETATM" and line[17:20].strip().upper() not in _MODIFIED


# Residues that are written as HETATM and have an alpha carbon.
_MODIFIED = frozenset(
    {"MSE", "SEP", "TPO", "PTR", "CSO", "CME", "KCX", "LLP", "MLY", "M3L", "HYP", "PCA", "SEC", "PYL"}
)


def _in_columns(line: str) -> str:
    """A line whose serial has more than five digits: moved back where the rest was pushed to the right."""
    found = _LONG_SERIAL.match(line)
    if found is None:
        return line
    pushed = found.end() - 11
    for shift in range(1, min(pushed, 4) + 1):
        if all(line[d + shift : d + shift + 1] == "." for d in _DOTS) and any(
            line[d : d + 1] != "." for d in _DOTS
        ):
            return line[:6].ljust(6) + line[6 + shift :]
    return line
