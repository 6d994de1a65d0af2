"""Signatures written beside the points: their lengths with the unit, and columns that the format can hold."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.io import write_signatures
from heatfield.io.write import coordinate_unit
from tests.helpers import raw
from tests.helpers.file_samples import PDB


@pytest.fixture
def protein(tmp_path):
    (tmp_path / "a.pdb").write_bytes(PDB if isinstance(PDB, bytes) else PDB.encode())
    return raw.read_cloud(tmp_path / "a.pdb", atoms="all")


def test_the_unit_of_a_molecule_is_named_in_plain_letters(protein, tmp_path):
    assert coordinate_unit(protein) == "Å"
    s = hf.signatures(protein.points, lengths=[1.0, 2.5])
    write_signatures(str(tmp_path / "a.ply"), protein, s)
    head = (tmp_path / "a.ply").read_bytes()[:2000]
    assert b"comment density_s1: sqrt(t)=2.5 angstrom" in head


@pytest.mark.parametrize("suffix", ["pcd", "ply", "npz"])
def test_columns_of_words_stay_where_the_format_holds_them(protein, tmp_path, suffix):
    """PCD and PLY have no words: these columns are left out, instead of no file at all."""
    s = hf.signatures(protein.points, lengths=[1.0, 2.5])
    write_signatures(str(tmp_path / f"a.{suffix}"), protein, s)
    again = raw.read_cloud(tmp_path / f"a.{suffix}")
    np.testing.assert_allclose(again.columns["dimension_s1"], s.dimension[:, 1])
    assert ("residue" in again.columns) == (suffix == "npz")
    assert "occupancy" in again.columns
