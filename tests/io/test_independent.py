"""The same files read by the libraries that others use."""

import io

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import raw
from tests.helpers.file_samples import CIF, COLUMNS, PDB, POINTS, SAMPLES


@pytest.mark.parametrize(("name", "content"), [("a.pdb", PDB), ("a.cif", CIF)])
def test_alpha_carbons_as_gemmi_counts_them(tmp_path, name, content):
    gemmi = pytest.importorskip("gemmi")
    path = tmp_path / name
    path.write_bytes(content)
    structure = gemmi.read_structure(str(path))
    structure.remove_alternative_conformations()
    for number, model in enumerate(structure, 1):
        atoms = [a for c in model for r in c for a in r if a.name == "CA" and a.element == gemmi.Element("C")]
        assert len(raw.read_points(path, model=number)) == len(atoms)


@pytest.mark.parametrize("name", ["little.ply", "big.ply", "a.ply"])
def test_ply_as_plyfile_reads_it(tmp_path, name):
    plyfile = pytest.importorskip("plyfile")
    (tmp_path / name).write_bytes(SAMPLES[name][0])
    vertex = plyfile.PlyData.read(io.BytesIO(SAMPLES[name][0]))["vertex"]
    cloud = raw.read_cloud(tmp_path / name)
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
    np.testing.assert_array_equal(
        np.stack([las.x, las.y, las.z], axis=1), raw.read_points(tmp_path / "a.laz")
    )
    assert list(las.point_format.extra_dimension_names) == ["charge", "weight"]
    assert las.intensity.tolist() == list(range(9))


@pytest.mark.parametrize("point_format", range(11))
def test_every_point_format_as_laspy_reads_it(tmp_path, point_format):
    """Two chunks (of 50,000 points) where compressed; waveforms (4, 5, 9, 10) plain only."""
    laspy = pytest.importorskip("laspy")
    m = 50_100
    rng = np.random.default_rng(point_format)
    header = laspy.LasHeader(version="1.4", point_format=point_format)
    header.add_extra_dim(laspy.ExtraBytesParams(name="extra", type="u2"))
    las = laspy.LasData(header, points=laspy.ScaleAwarePointRecord.zeros(m, header=header))
    las.X, las.Y, las.Z = rng.integers(-(2**20), 2**20, size=(3, m))
    las.intensity = rng.integers(0, 2**16, m)
    las.extra = rng.integers(0, 2**16, m)
    for name in ("a.las", *(["a.laz"] if point_format not in (4, 5, 9, 10) else [])):
        las.write(tmp_path / name)
        cloud, other = raw.read_cloud(tmp_path / name), laspy.read(tmp_path / name)
        np.testing.assert_array_equal(cloud.points, np.stack([other.x, other.y, other.z], axis=1))
        assert set(cloud.columns) == set(other.point_format.dimension_names) - {"X", "Y", "Z"}
        for column, values in cloud.columns.items():
            np.testing.assert_array_equal(values, np.asarray(other[column]), err_msg=column)


def test_chunks_of_their_own_sizes_as_in_copc(tmp_path):
    """COPC is LAZ 1.4 whose chunks follow an octree: here 100, 1800 and 1100 points."""
    laspy, lazrs = pytest.importorskip("laspy"), pytest.importorskip("lazrs")
    rng = np.random.default_rng(0)
    header = laspy.LasHeader(version="1.4", point_format=6)
    las = laspy.LasData(header, points=laspy.ScaleAwarePointRecord.zeros(3000, header=header))
    las.X, las.Y, las.Z = rng.integers(-1000, 1000, size=(3, 3000))
    buffer = io.BytesIO()
    las.write(buffer, do_compress=True)
    head = bytearray(buffer.getvalue()[: int.from_bytes(buffer.getvalue()[96:100], "little")])
    vlr = lazrs.LazVlr.new_for_compression(6, 0, True)
    body = head.index(b"laszip encoded") - 2 + 54
    head[body : body + len(vlr.record_data())] = vlr.record_data()
    out = io.BytesIO()
    out.write(head)
    compressor = lazrs.LasZipCompressor(out, vlr)
    compressor.reserve_offset_to_chunk_table()
    rows = np.frombuffer(las.points.array.tobytes(), np.uint8).reshape(3000, -1)
    for first, last in ((0, 100), (100, 1900), (1900, 3000)):
        compressor.compress_many(rows[first:last].ravel())
        compressor.finish_current_chunk()
    compressor.done()
    path = tmp_path / "a.copc.laz"
    path.write_bytes(out.getvalue())
    np.testing.assert_array_equal(raw.read_points(path), np.stack([las.x, las.y, las.z], axis=1))
    for place in range(len(head), len(head) + 60):  # first sizes of the first chunk
        damaged = bytearray(out.getvalue())
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            assert len(raw.read_points(path)) == 3000
        except hf.ReadError:
            continue
