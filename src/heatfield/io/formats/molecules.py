"""Molecules, PDB and mmCIF, parsed by gemmi behind checks of what it takes at its word.

gemmi reads a number that is none as zero, and allocates what some records beside the atoms claim: it is given
atoms alone, whose coordinates were looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...options import Reading
from ..cloud import Cloud, Format
from ..limits import Source
from ..text import shown

_LINE = 32  # bytes that a line of PDB takes while lines are told apart
_ATOM = 200  # bytes of an atom, with its residue, inside gemmi
_VALUE = 32  # bytes of a value of mmCIF inside gemmi
_AT_ONCE = 1 << 16
_MOST_CHAINS = 500
_MOST_MODELS = _MOST_BLOCKS = 10_000
# Residues that are a calcium ion, as the PDB, CHARMM and others name them.
_CALCIUM = ("CA", "CAL", "CA2", "CA2+", "CA+2")
_ELEMENT = 20  # calcium
_NO_NUMBER = -1e308
_NUMBER = re.compile(rb" *[-+]?(\d+\.?\d*|\.\d+) *")
_LONG_SERIAL = re.compile(rb"(?:ATOM|HETATM) *(\d{6,})")
_DOTS = (34, 42, 50)  # the decimal points of x, y, z

Rows = NDArray[np.int64]


def _cloud(
    source: Source,
    reading: Reading,
    xyz: NDArray[np.float64],
    columns: dict[str, NDArray[Any]],
    *,
    chains: Callable[[], list[str]],
    seen: int,
    models: int,
    kind: str,
) -> Cloud:
    """The cloud of atoms chosen by model, chain and name, with alternative locations settled."""
    altlocs = columns["altloc"]
    if reading.altloc not in (None, "all"):
        keep = np.flatnonzero((altlocs == "") | (altlocs == reading.altloc))
    elif reading.altloc is None:
        keep = _most_occupied(columns)
    else:
        keep = np.arange(len(xyz))
    if not len(keep):
        raise source.error(_why_none(reading, chains, seen, models))
    if len(keep) < len(xyz):
        xyz, columns = xyz[keep], {name: column[keep] for name, column in columns.items()}
    taken = np.unique(columns["chain"]).tolist()
    return Cloud(xyz, columns, kind, notes={"chains": taken} if len(taken) > 1 else {})


def _most_occupied(columns: dict[str, NDArray[Any]]) -> Rows:
    """Rows of one place for each atom: the first of highest occupancy."""
    given = columns["altloc"] != ""
    some = np.flatnonzero(given)
    key = np.zeros(len(some), np.int64)
    for name in ("model", "chain", "residue_number", "atom"):
        part = np.unique(columns[name][some], return_inverse=True)[1]
        key = np.unique(key * (part.max(initial=0) + 1) + part, return_inverse=True)[1]
    order = np.lexsort((some, -columns["occupancy"][some], key))
    first = np.ones(len(order), bool)
    first[1:] = key[order][1:] != key[order][:-1]
    keep = ~given
    keep[some[order[first]]] = True
    return np.flatnonzero(keep)


def _wanted(reading: Reading) -> list[str] | None:
    """Names of the atoms that are asked for, None for all."""
    if reading.atoms == "all":
        return None
    return [reading.atoms] if isinstance(reading.atoms, str) else list(reading.atoms)


def _why_none(reading: Reading, chains: Callable[[], list[str]], seen: int, models: int) -> str:
    counted, wanted = f"has {seen} atoms", _wanted(reading)
    if reading.model is not None and reading.model > models:
        return f"{counted} in {models} models, so there is no model {reading.model}"
    if reading.chain is not None and reading.chain not in (found := chains()):
        names = ", ".join(repr(c) for c in found[:8])
        return f"{counted}, but none of chain {reading.chain!r}; its chains are {names}"
    if wanted is None:
        return f"{counted}, but none that chain, model and altloc choose"
    names = " or ".join(sorted(wanted)[:8])
    return f"{counted}, but none named {names} (DNA, RNA, a ligand, water?); pass atoms='all' for every atom"


# --- PDB


def read_pdb(source: Source, reading: Reading) -> Cloud:
    """The chosen atoms, modified residues (HETATM) included, residue by residue.

    Models are divided by MODEL, or where there is none by END.
    """
    data = source.data
    if b"\0" in data:
        raise source.error("not a text file (it holds a zero byte)", f"byte {data.index(0)}")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not data.endswith(b"\n"):
        data += b"\n"
    source.check_allowance(_LINE * data.count(b"\n"), "the list of its lines", "data")
    starts, lengths, models, numbers = _atom_lines(data)
    if not len(starts):
        raise source.error("holds no ATOM or HETATM line")
    seen, count = len(starts), int(models.max())
    if reading.model is not None:
        chosen = models == reading.model
        starts, lengths, models, numbers = (array[chosen] for array in (starts, lengths, models, numbers))
    elif count > _MOST_MODELS:
        raise source.error(f"has {count} models, more than {_MOST_MODELS}")
    source.check_allowance(_ATOM * len(starts), f"a table of {len(starts)} atoms", "data")
    repaired = _check_coordinates(source, data, starts, lengths, numbers)
    elements = bool(((_at(data, starts + 76, 2) > 32).any(axis=1) & (lengths > 77)).any())
    tables = []
    for first, last in pairwise(_edges(data, starts, models)):
        text = _text_of(data, starts[first:last], lengths[first:last], repaired, first)
        tables.append(_flat_table(source, reading, text, int(models[first]), elements))
    if not tables:
        tables = [_flat_table(source, reading, b"", 1, elements)]
    xyz = np.concatenate([table.pop("xyz") for table in tables])
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}

    def chains() -> list[str]:
        return sorted(
            {data[at + 20 : at + 22].decode("latin-1").strip() for at in starts[:_AT_ONCE].tolist()}
        )

    return _cloud(source, reading, xyz, columns, chains=chains, seen=seen, models=count, kind="pdb")


def _edges(data: bytes, starts: Rows, models: Rows) -> list[int]:
    """Rows at which a piece for gemmi begins, and the end; it looks through all chains for each new one."""
    changes = np.cumsum(np.diff(_at(data, starts + 20, 2).view("<u2")[:, 0].astype(np.int64), prepend=0) != 0)
    part = np.arange(len(starts)) // _AT_ONCE + changes // _MOST_CHAINS + models
    return [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(starts)] if len(starts) else []


def _at(data: bytes, places: Rows, width: int) -> NDArray[np.uint8]:
    """(rows, width): so many bytes from each place on, zeros behind the end."""
    return sliding_window_view(np.frombuffer(data + bytes(64), np.uint8), width)[places]


def _atom_lines(data: bytes) -> tuple[Rows, Rows, Rows, Rows]:
    """Of each line of an atom: its first byte, its length with the line's end, its model and its number."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 10)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends + 1 - starts
    eight = _at(data, starts, 8)
    words = eight.view("<u8")[:, 0]

    def begins(word: bytes) -> NDArray[np.bool_]:
        mask = np.uint64(256 ** len(word) - 1)
        return np.asarray((words & mask) == np.uint64(int.from_bytes(word, "little")))

    atom = begins(b"ATOM  ") | begins(b"HETATM")
    others = np.flatnonzero(begins(b"ATOM") & ~atom)  # a serial of six digits
    after = eight[others, 4:6]
    atom[others[((after == 32) | ((after >= 48) & (after <= 57))).all(axis=1)]] = True
    rows = np.flatnonzero(atom)
    named = begins(b"MODEL")
    if named.any():
        models = np.maximum(np.cumsum(named)[rows], 1)
    else:
        ended = np.cumsum(begins(b"END\n") | begins(b"END ") | begins(b"ENDMDL"))[rows]
        models = np.unique(ended, return_inverse=True)[1] + 1
    return starts[rows], lengths[rows], models.astype(np.int64), rows + 1


def _check_coordinates(
    source: Source, data: bytes, starts: Rows, lengths: Rows, numbers: Rows
) -> dict[int, bytes]:
    """Lines that have to be replaced, by row; an error where there are no coordinates.

    Nearly every line has them as ``%8.3f``, which is seen for many at once; others are looked at one by one.
    """
    repaired: dict[int, bytes] = {}
    short = lengths < 55
    for first in range(0, len(starts), _AT_ONCE):
        c = np.ascontiguousarray(_at(data, starts[first : first + _AT_ONCE] + 30, 24).reshape(-1, 8).T)
        digit = (c >= 48) & (c <= 57)
        fine = (c[4] == 46) & digit[3] & digit[5] & digit[6] & digit[7]
        for k in range(3):
            fine &= (c[k] == 32) | (((c[k] == 45) | digit[k]) & digit[k + 1])
        good = fine.reshape(-1, 3).all(axis=1)
        for row in (first + np.flatnonzero(~good | short[first : first + _AT_ONCE])).tolist():
            line = data[starts[row] : starts[row] + lengths[row]]
            moved = _in_columns(line)
            if len(moved) < 55:
                raise source.error("the line ends before its coordinates", f"line {numbers[row]}")
            if not all(_NUMBER.fullmatch(moved[at : at + 8]) for at in (30, 38, 46)):
                raise source.error(
                    f"no coordinates in {shown(line[30:66].decode('latin-1'))}", f"line {numbers[row]}"
                )
            if moved is not line:
                repaired[row] = moved
    return repaired


def _in_columns(line: bytes) -> bytes:
    """A line whose serial has more than five digits: moved back where the rest was pushed to the right."""
    found = _LONG_SERIAL.match(line)
    for shift in range(1, min(found.end() - 11, 4) + 1) if found else ():
        if all(line[d + shift : d + shift + 1] == b"." for d in _DOTS):
            return line[:6] + line[6 + shift :]
    return line


def _text_of(data: bytes, starts: Rows, lengths: Rows, repaired: dict[int, bytes], first: int) -> bytes:
    """Lines of atoms alone."""
    if repaired:
        lines = zip(starts.tolist(), lengths.tolist(), strict=True)
        return b"".join(repaired.get(first + i, data[s : s + n]) for i, (s, n) in enumerate(lines))
    begin, end = int(starts[0]), int(starts[-1] + lengths[-1])
    if int(lengths.sum()) == end - begin:
        return data[begin:end]
    change = np.zeros(end - begin + 1, np.int8)  # 1 where a line begins, -1 behind it
    change[starts - begin] += 1
    change[starts + lengths - begin] -= 1
    inside = np.cumsum(change, dtype=np.int8)[:-1].view(bool)
    return np.frombuffer(data, np.uint8)[begin:end][inside].tobytes()


def _flat_table(
    source: Source, reading: Reading, text: bytes, model: int, elements: bool
) -> dict[str, NDArray[Any]]:
    """Coordinates and columns of the wanted atoms of one model."""
    import gemmi

    try:
        flat: Any = gemmi.FlatStructure(gemmi.read_pdb_string(text, split_chain_on_ter=True))
    except (RuntimeError, ValueError, IndexError) as error:
        raise source.error(f"gemmi cannot read it: {error}") from None
    flat.strings_as_numbers = False
    names, residues, chains = (_words(c) for c in (flat.atom_names, flat.residue_names, flat.chain_ids))
    keep = np.ones(len(flat), bool)
    wanted = _wanted(reading)
    if wanted is not None:
        calcium = _is_calcium(gemmi, flat, residues)
        if not elements:
            calcium |= _is_crystal(gemmi, names, residues)
        keep = names.isin(wanted) & ~(names.isin(["CA"]) & calcium)
    if reading.chain is not None:
        keep &= chains.isin([reading.chain])
    rows = np.flatnonzero(keep)
    numbers, codes = np.unique(flat.resnums[rows] * 256 + flat.icodes[rows], return_inverse=True)
    letters = (chr(code % 256).strip(" \0") for code in numbers.tolist())
    texts = [f"{code // 256}{letter}" for code, letter in zip(numbers.tolist(), letters, strict=True)]
    return {
        "xyz": np.ascontiguousarray(flat.pos[rows]),
        "atom": names.take(rows),
        "residue": residues.take(rows),
        "chain": chains.take(rows),
        "residue_number": _Words(texts, codes).take(slice(None)),
        "altloc": _letters(flat.altlocs[rows]),
        "occupancy": flat.occ[rows],
        "b_factor": flat.b_iso[rows],
        "model": np.full(len(rows), model),
    }


def _is_calcium(gemmi: Any, flat: Any, residues: _Words) -> NDArray[np.bool_]:
    """Which atoms are calcium if named CA: the residue says it, or the element outside of amino acids.

    CHARMM and others start all names in column 13, where the archive has calcium's, and give no element:
    in ATOM lines that means nothing.
    """
    peptides = [w for w in residues.words if gemmi.find_tabulated_residue(w).is_amino_acid()]
    metal = (flat.elements == _ELEMENT) & (flat.het_flags == ord("H"))
    return np.asarray(residues.isin(_CALCIUM) | (metal & ~residues.isin(peptides)))


def _is_crystal(gemmi: Any, names: _Words, residues: _Words) -> NDArray[np.bool_]:
    """Atoms without elements in residues that are not amino acids, next to others but N and C: salts."""
    peptides = [w for w in residues.words if gemmi.find_tabulated_residue(w).is_amino_acid() and w != "UNK"]
    other = ~residues.isin(peptides)
    found = {names.words[code] for code in np.unique(names.codes[other]).tolist()}
    return other if found > {"CA"} and not found >= {"N", "C"} else np.zeros_like(other)


class _Words(NamedTuple):
    """A column of text: each word once, and its number for every row."""

    words: list[str]
    codes: NDArray[np.int64]

    def isin(self, wanted: Sequence[str]) -> NDArray[np.bool_]:
        """Which rows hold one of these words."""
        return np.asarray(np.array([word in wanted for word in self.words], bool)[self.codes])

    def take(self, rows: Any) -> NDArray[Any]:
        """The words of some rows."""
        return np.array(self.words or [""], dtype=str)[self.codes[rows]]


def _words(column: NDArray[Any]) -> _Words:
    """The words of a column of eight bytes each."""
    keys, codes = np.unique(np.ascontiguousarray(column).view(np.int64), return_inverse=True)
    return _Words([word.decode("latin-1") for word in keys.view("S8").tolist()], codes)


def _letters(codes: NDArray[Any]) -> NDArray[Any]:
    """Letters by their codes; none for 0 and a blank."""
    plain = np.where(codes == 32, 0, codes).astype(np.uint8)
    return plain.astype(np.uint32).view("U1")


# --- mmCIF


def read_cif(source: Source, reading: Reading) -> Cloud:
    """The chosen atoms in the order of the file; chain and residue as the authors number them."""
    import gemmi

    data = source.data
    blank = np.frombuffer(data, np.uint8) <= 32
    values = int(np.count_nonzero(blank[:-1] & ~blank[1:])) + 1
    source.check_allowance(_VALUE * values, f"a text of {values} values", "data")
    if data.lower().count(b"data_") > _MOST_BLOCKS:
        raise source.error(f"holds more than {_MOST_BLOCKS} blocks of data")
    try:
        document = gemmi.cif.read_string(data if data.isascii() else data.decode("latin-1").encode())
    except (RuntimeError, ValueError, IndexError) as error:
        found = re.search(r":(\d+):\d+(?:\(\d+\))?: *(.*)", str(error), re.S)
        place, problem = (f"line {found[1]}", found[2]) if found else ("", str(error))
        raise source.error(f"gemmi cannot read it: {problem}", place) from None
    block = next((b for b in document if len(b.find_values("_atom_site.Cartn_x"))), None)

    def column(tag: str) -> list[str]:
        return [] if block is None else list(block.find_values("_atom_site." + tag))

    return atom_site(source, reading, column, gemmi.cif.as_string, "cif")


def atom_site(
    source: Source,
    reading: Reading,
    column: Callable[[str], Any],
    unquoted: Callable[[str], str],
    kind: str,
) -> Cloud:
    """The chosen atoms of the category ``_atom_site``.

    A column is a list of words, where "." and "?" are unknown, or an array of numbers; empty: it is missing.
    """
    import gemmi

    seen = len(column("Cartn_x"))

    def cells(*tags: str) -> Any:
        """Values of the first of these tags that there is; none otherwise."""
        for tag in tags:
            if size := len(found := column(tag)):
                if size != seen:
                    raise source.error(f"{tag} has {size} values for {seen} atoms", "_atom_site")
                return found
        return []

    def words(*tags: str) -> _Words:
        """A column without quotes, and without what stands for "not known"."""
        found = cells(*tags)
        if not len(found):
            return _Words([""], np.zeros(seen, np.int64))
        if isinstance(found, np.ndarray):
            numbers, codes = np.unique(found, return_inverse=True)
            return _Words(["" if n != n else f"{n:.15g}" for n in numbers.tolist()], codes)
        number = {word: i for i, word in enumerate(dict.fromkeys(found))}
        known = ["" if w in (".", "?") else unquoted(w) if w[:1] in "'\";" else w for w in number]
        source.check_allowance(4 * max(map(len, known)) * seen, "the names of atoms", "data")
        return _Words(known, np.fromiter(map(number.__getitem__, found), np.int64, seen))

    places = [cells("Cartn_" + axis) for axis in "xyz"]
    if not all(map(len, places)):
        raise source.error("holds no atoms (no loop of _atom_site with Cartn_x, Cartn_y, Cartn_z)")
    models = words("pdbx_PDB_model_num").codes + 1
    count = int(models.max())
    name_tags, chain_tags = ("label_atom_id", "auth_atom_id"), ("auth_asym_id", "label_asym_id")
    names, chains, residues = words(*name_tags), words(*chain_tags), words("auth_comp_id", "label_comp_id")
    keep = np.ones(seen, bool) if reading.model is None else models == reading.model
    wanted = _wanted(reading)
    if wanted is not None:
        elements = words("type_symbol")
        ions = elements.isin(["CA", "Ca", "ca"]) | (elements.isin([""]) & residues.isin(_CALCIUM))
        keep &= names.isin(wanted) & ~(names.isin(["CA"]) & ions)
    if reading.chain is not None:
        keep &= chains.isin([reading.chain])
    rows = np.flatnonzero(keep)
    parsed = []
    for axis, given in zip("xyz", places, strict=True):
        parsed.append(_numbers(gemmi, given, rows, _NO_NUMBER))
        for bad in rows[parsed[-1] == _NO_NUMBER].tolist():
            raise source.error(f"no coordinates: {axis} is {shown(str(given[bad]))}", f"atom {bad + 1}")
    numbers = np.char.add(
        words("auth_seq_id", "label_seq_id").take(rows), words("pdbx_PDB_ins_code").take(rows)
    )
    columns: dict[str, NDArray[Any]] = {
        "atom": names.take(rows),
        "residue": residues.take(rows),
        "chain": chains.take(rows),
        "residue_number": numbers,
        "altloc": words("label_alt_id").take(rows),
        "occupancy": _numbers(gemmi, cells("occupancy"), rows, 1.0),
        "b_factor": _numbers(gemmi, cells("B_iso_or_equiv"), rows, 0.0),
        "model": models[rows],
    }
    xyz = np.stack(parsed, axis=1)
    every = partial(sorted, chains.words)
    return _cloud(source, reading, xyz, columns, chains=every, seen=seen, models=count, kind=kind)


def _numbers(gemmi: Any, words: Any, rows: Rows, default: float) -> NDArray[np.float64]:
    """Numbers of some rows, also with an uncertainty ("1.23(4)"); the default for what is none."""
    if not len(words):
        return np.full(len(rows), default)
    if isinstance(words, np.ndarray):
        return np.nan_to_num(words[rows].astype(np.float64), nan=default, posinf=default, neginf=default)
    picked = words if len(rows) == len(words) else [words[i] for i in rows.tolist()]
    try:
        if "_" not in "".join(picked):  # float("1_0") is 10
            return np.array(list(map(float, picked)), dtype=np.float64)
    except ValueError:
        pass
    return np.array([gemmi.cif.as_number(word, default) for word in picked], dtype=np.float64)


def _is_cif(source: Source) -> bool:
    head = source.head
    return (
        b"data_" in head
        and re.search(rb"^data_", head, re.M) is not None
        and re.search(rb"^(loop_|_\w+\.\w+)", head, re.M) is not None
    )


def _is_pdb(source: Source) -> bool:
    head = source.head
    if re.match(rb"[\xef\xbb\xbf\s]*HEADER    ", head):
        return True
    return b"_atom_site" not in head and re.search(rb"^(ATOM  |HETATM).{24}", head, re.M) is not None


_PDB = b"""HEADER    MADE UP
MODEL        1
ATOM      1  N   GLY A   1      10.000  11.000  12.000  1.00 10.00           N
ATOM      2  CA AGLY A   1      11.000  11.000  12.000  0.40 10.00           C
ATOM      3  CA BGLY A   1      11.500  11.000  12.000  0.60 10.00           C
ATOM      4  CA  LYS B   2A     14.000  12.000  13.000  1.00 11.00           C
HETATM    5 CA    CA B   3      20.000  20.000  20.000  1.00 11.00          CA
HETATM    6  CA  MSE B   4      17.000  12.500  13.000  1.00 11.00           C
ENDMDL
MODEL        2
ATOM      2  CA  GLY A   1      99.000  11.000  12.000  1.00 10.00           C
ENDMDL
END
"""
_CIF = b"""data_MADE
_entry.id   MADE
_struct.title
;A text with
loop_ in it
;
loop_
_atom_site.group_PDB
_atom_site.id
_atom_site.type_symbol
_atom_site.label_atom_id
_atom_site.label_alt_id
_atom_site.label_comp_id
_atom_site.auth_asym_id
_atom_site.auth_seq_id
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
_atom_site.occupancy
_atom_site.B_iso_or_equiv
_atom_site.pdbx_PDB_model_num
ATOM 1 N N . GLY A 1 10.0 11.0 12.0 1.0 10.0 1
ATOM 2 C CA A GLY A 1 11.0 11.0 12.0 0.4 10.0 1
ATOM 3 C CA B GLY A 1 11.5 11.0 12.0 0.6 10.0 1
ATOM 4 C CA . LYS B 2 14.0 12.0 13.0 1.0 11.0 1
ATOM 5 O "O5'" . LYS B 2 14.5 12.0 13.0 1.0 11.0 1
HETATM 6 CA CA . CA B 3 20.0 20.0 20.0 1.0 11.0 1
ATOM 7 C CA . GLY A 1 99.0 11.0 12.0 1.0 10.0 2
#
loop_
_other.id
1
"""
PDB = Format(
    name="pdb",
    suffixes=(".pdb", ".ent"),
    magic=_is_pdb,
    read=read_pdb,
    unmarked=True,
    sample=lambda: _PDB,
    title="PDB",
    kept="atom, residue, chain, number, altloc, occupancy, B",
)
CIF = Format(
    name="cif",
    suffixes=(".cif", ".mmcif"),
    magic=_is_cif,
    read=read_cif,
    unmarked=True,
    sample=lambda: _CIF,
    title="mmCIF",
    forms="loop `_atom_site`",
    kept="the same",
)
