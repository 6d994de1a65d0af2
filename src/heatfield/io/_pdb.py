"""PDB: atoms in fixed columns."""

from __future__ import annotations

from ._atoms import AtomChoice, Atoms
from ._cloud import Cloud
from ._source import Source
from ._text import line_blocks, shown


def read_pdb(source: Source, choice: AtomChoice) -> Cloud:
    """The chosen atoms in the order of the file, modified residues (HETATM) included."""
    wanted = choice.names()
    atoms = Atoms(choice)
    model, lines_seen, named = 1, 0, False
    for first, lines in line_blocks(source):
        for i, raw in enumerate(lines):
            record = raw[:6]
            if record[:5] == b"MODEL":
                model += named  # the first MODEL line starts model 1
                named = True
                continue
            if record not in (b"ATOM  ", b"HETATM"):
                continue
            lines_seen += 1
            if choice.model is not None and model != choice.model:
                continue
            line = raw.decode("latin-1")
            field = line[12:16]
            name = field.strip()
            if wanted is not None:
                if name not in wanted:
                    continue
                # "CA" in the first two columns is calcium; the carbon is written " CA ".
                if name == "CA" and field[:2] == "CA" and line[76:78].strip() not in ("C",):
                    continue
            chain = line[21:22].strip()
            if choice.chain is not None and chain != choice.chain:
                continue
            if len(line) < 54:
                raise source.error("the line ends before its coordinates", f"line {first + i}")
            try:
                x, y, z = float(line[30:38]), float(line[38:46]), float(line[46:54])
                occupancy = float(line[54:60].strip() or 1.0)
                b_factor = float(line[60:66].strip() or 0.0)
            except ValueError:
                raise source.error(f"no coordinates in {shown(line[30:66])}", f"line {first + i}") from None
            atoms.add(
                model, name, line[17:20].strip(), chain, line[22:27].strip(), line[16].strip(),
                x, y, z, occupancy, b_factor,
            )  # fmt: skip
    if lines_seen == 0:
        raise source.error("holds no ATOM or HETATM line")
    return atoms.cloud("pdb")
