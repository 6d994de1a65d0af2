"""Molecules: ions, and entries of several chains."""

import csv
import re
import warnings

import numpy as np
import pytest

import heatfield as hf


def atom(number, name, residue, chain, place, element, record="ATOM"):
    x, y, z = place
    return (
        f"{record:6s}{number:5d} {name:4s} {residue:>3s} {chain}{number:4d}    "
        f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {element:>2s}\n"
    )


def protein(path, length, chains=1, apart=0.0, seed=0):
    """Random walks of alpha carbons, so far apart."""
    rng = np.random.default_rng(seed)
    lines = []
    for k, chain in enumerate("ABCDEFGH"[:chains]):
        for place in np.cumsum(2 * rng.normal(size=(length, 3)), axis=0) + k * apart:
            lines.append(atom(len(lines) + 1, " CA ", "ALA", chain, place, "C"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines) + "END\n")
    return path


def as_mmcif(path):
    """The same entry as mmCIF, by gemmi."""
    gemmi = pytest.importorskip("gemmi")
    made = path.with_suffix(".cif")
    structure = gemmi.read_structure(str(path))
    structure.setup_entities()
    structure.make_mmcif_document().write_file(str(made))
    return made


@pytest.mark.parametrize("record", ["ATOM", "HETATM"])
def test_calcium_ions_are_no_alpha_carbons(read, record):
    """A cell of calcium fluoride, as tools for crystals write it: one residue, no elements."""
    places = np.random.default_rng(0).random((22, 3)) * 9
    names = 14 * [" CA "] + 8 * [" F  "]
    lines = [atom(i + 1, names[i], "UNK", " ", places[i], "", record) for i in range(22)]
    try:
        found = len(read("caf2.pdb", "".join(lines) + "END\n").points)
    except hf.ReadError:
        found = 0
    assert found == 0


@pytest.mark.parametrize(("name", "record"), [(" CA ", "ATOM"), ("CA", "HETATM")])
def test_calcium_ions_with_their_element(read, name, record):
    lines = [atom(i + 1, name, "CA", "A", (i, 0, 0), "CA", record) for i in range(4)]
    with pytest.raises(hf.ReadError, match="CA"):
        read("ions.pdb", "".join(lines) + "END\n")


def all_said(path, command):
    """What reading and describing an entry says, in warnings, in notes and on the screen."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        cloud = hf.read_cloud(path)
        code, said = command("describe", path, "-o", path.with_suffix(".table.csv"), "--n-scales", "2")
    assert code == 0
    assert len(cloud.points) == 40
    return " ".join([said, command("info", path)[1], repr(cloud.notes), *(str(w.message) for w in found)])


@pytest.mark.parametrize("kind", ["pdb", "cif"])
def test_the_number_of_chains_is_said(tmp_path, command, kind):
    path = protein(tmp_path / "two.pdb", 20, chains=2, apart=5.0)
    said = all_said(path if kind == "pdb" else as_mmcif(path), command)
    assert re.search(r"\b(2|two)\b[^\n]*\bchains\b|\bchains\b[^\n]*\b(2|two)\b", said)


def test_a_prediction_outside_of_the_training_is_noted(tmp_path, command):
    for k in range(6):
        protein(tmp_path / "in" / "short" / f"{k}.pdb", 30, seed=k)
        protein(tmp_path / "in" / "long" / f"{k}.pdb", 40, seed=k)
    words = ("--variant", "desc", "--head", "lda", "--folds", "0", "--n-scales", "2", "--quiet")
    code, said = command("train", tmp_path / "in", "-o", tmp_path / "model", *words)
    assert code == 0, said
    path = protein(tmp_path / "complex.pdb", 30, chains=4, apart=16.0)
    radii = [np.sqrt(hf.read_points(p).var(axis=0).sum()) for p in (path, *(tmp_path / "in").rglob("*.pdb"))]
    assert 2.0 < radii[0] / max(radii[1:]) < 4.0  # far outside, and no other unit
    code, said = command("predict", tmp_path / "model", path, "-o", tmp_path / "found.csv")
    assert code == 0, said
    with open(tmp_path / "found.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    assert "4 chains" in row["note"]
