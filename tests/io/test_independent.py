"""The same files read by the libraries that others use."""

import io

import numpy as np
import pytest
from file_samples import CIF, COLUMNS, PDB, POINTS, SAMPLES

import heatfield as hf


@pytest.mark.parametrize(("name", "content"), [("a.pdb", PDB), ("a.cif", CIF)])
def test_alpha_carbons_as_gemmi_counts_them(tmp_path, name, content):
    gemmi = pytest.importorskip("gemmi")
    path = tmp_path / name
    path.write_bytes(content)
    structure = gemmi.read_structure(str(path))
    structure.remove_alternative_conformations()
    for number, model in enumerate(structure, 1):
        atoms = [a for c in model for r in c for a in r if a.name == "CA" and a.element == gemmi.Element("C")]
        assert len(hf.read_points(path, model=number)) == len(atoms)


@pytest.mark.parametrize("name", ["little.ply", "big.ply", "text.ply"])
def test_ply_as_plyfile_reads_it(tmp_path, name):
    plyfile = pytest.importorskip("plyfile")
    (tmp_path / name).write_bytes(SAMPLES[name][0])
    vertex = plyfile.PlyData.read(io.BytesIO(SAMPLES[name][0]))["vertex"]
    cloud = hf.read_cloud(tmp_path / name)
    np.testing.assert_array_equal(cloud.points, np.stack([vertex[a] for a in "xyz"], axis=1))
    for column, values in cloud.columns.items():
        np.testing.assert_array_equal(values, vertex[column])


def test_pandas_reads_what_we_write(tmp_path):
    pandas = pytest.importorskip("pandas")
    hf.write_points(tmp_path / "a.csv", POINTS, COLUMNS)
    hf.write_points(tmp_path / "a.parquet", POINTS, COLUMNS)
    for frame in (pandas.read_csv(tmp_path / "a.csv"), pandas.read_parquet(tmp_path / "a.parquet")):
        np.testing.assert_array_equal(frame[["x", "y", "z"]].to_numpy(), POINTS)
        np.testing.assert_array_equal(frame["charge"], COLUMNS["charge"])


def test_laspy_reads_what_we_write(tmp_path):
    laspy = pytest.importorskip("laspy")
    hf.write_points(tmp_path / "a.laz", POINTS, {**COLUMNS, "intensity": np.arange(9, dtype=np.uint16)})
    las = laspy.read(tmp_path / "a.laz")
    np.testing.assert_array_equal(np.stack([las.x, las.y, las.z], axis=1), hf.read_points(tmp_path / "a.laz"))
    assert list(las.point_format.extra_dimension_names) == ["charge", "weight"]
    assert las.intensity.tolist() == list(range(9))
