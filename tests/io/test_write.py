"""Written and read again: the same points, the same columns, for every writable format."""

import itertools

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import raw

DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "?"]
TEXT = (".xyz", ".txt", ".csv", ".tsv")
BINARY = (".ply", ".pcd", ".las", ".laz", ".npy", ".npz", ".parquet")


def column(kind: str, m: int) -> np.ndarray:
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        values = np.random.default_rng(1).normal(size=m) * 1e5
    elif dtype.kind == "b":
        values = np.arange(m) % 2
    else:
        info = np.iinfo(dtype)
        values = np.array([info.min, info.max, *(i % 100 for i in range(m))], dtype=object)[:m]
    return np.array(values.tolist(), dtype=dtype)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("m", [1, 2, 500])
@pytest.mark.parametrize("suffix", [*TEXT, *BINARY])
def test_all_types_survive(tmp_path, suffix, m, packed):
    points = np.round(np.random.default_rng(0).uniform(-1000, 1000, size=(m, 3)), 3)
    if "la" not in suffix:
        points = (
            points + 1e-9 * np.random.default_rng(2).normal(size=(m, 3)) + 5e6
        )  # map coordinates, all digits
    kinds = [k for k in DTYPES if not (suffix == ".ply" and k in ("i8", "u8"))]
    columns = {f"c_{k.strip('?') or 'bool'}": column(k, m) for k in kinds}
    path = tmp_path / f"a{suffix}{packed}"
    hf.write_points(path, points, columns)
    found, read = raw.read_points(path, columns=True)
    if "la" in suffix:
        np.testing.assert_allclose(found, points, rtol=0, atol=1e-12)
    else:
        np.testing.assert_array_equal(found, points)
        assert list(read) == list(columns)
    assert found.shape == (m, 3)
    if m == 0 and "la" in suffix:
        return
    for name, values in columns.items():
        if suffix in TEXT:  # text keeps numbers, not types: the value fits back into the type it had
            np.testing.assert_array_equal(read[name].astype(values.dtype), values, err_msg=name)
        else:
            np.testing.assert_array_equal(read[name], values, err_msg=name)
            if values.dtype != bool:
                assert read[name].dtype == values.dtype, name


@pytest.mark.parametrize("suffix", [".ply", ".pcd", ".csv", ".xyz", ".npy", ".npz", ".parquet"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_other_dimensions(tmp_path, suffix, n):
    points = np.random.default_rng(n).normal(size=(6, n))
    hf.write_points(tmp_path / f"a{suffix}", points)
    np.testing.assert_array_equal(raw.read_points(tmp_path / f"a{suffix}"), points)


def test_text_columns(tmp_path):
    words = np.array(["Fagus", "Ulmus", "Tïlia"])
    for suffix in (".csv", ".tsv", ".npz", ".parquet", ".npy"):
        hf.write_points(tmp_path / f"a{suffix}", np.eye(3), {"species": words})
        assert raw.read_points(tmp_path / f"a{suffix}", columns=True)[1]["species"].tolist() == words.tolist()


def test_las_gives_its_own_coordinates_back_to_the_last_digit(tmp_path):
    laspy = pytest.importorskip("laspy")
    header = laspy.LasHeader(version="1.2", point_format=1)
    header.scales, header.offsets = [0.01, 0.01, 0.001], [4e5, 5.1e6, 0.0]
    las = laspy.LasData(header)
    rng = np.random.default_rng(0)
    las.x, las.y, las.z = (4e5 + rng.random(50) * 100, 5.1e6 + rng.random(50) * 100, rng.random(50))
    las.intensity = rng.integers(0, 65536, 50)
    las.write(tmp_path / "a.las")
    cloud = raw.read_cloud(tmp_path / "a.las")
    np.testing.assert_array_equal(cloud.points, np.stack([las.x, las.y, las.z], axis=1))
    hf.write_points(tmp_path / "b.laz", cloud.points, cloud.columns, notes=cloud.notes)
    again = raw.read_cloud(tmp_path / "b.laz")
    np.testing.assert_array_equal(again.points, cloud.points)
    np.testing.assert_array_equal(again.columns["intensity"], las.intensity)


def test_pts_knows_four_columns(tmp_path):
    columns = {"intensity": np.array([1, 2]), "red": np.array([0, 255])}
    with pytest.raises(ValueError, match="PTS holds x y z"):
        hf.write_points(tmp_path / "a.pts", np.eye(3)[:2], columns)
    hf.write_points(tmp_path / "a.pts", np.eye(3)[:2], {"intensity": np.array([1, 2])})
    assert raw.read_points(tmp_path / "a.pts", columns=True)[1]["intensity"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "columns", "problem"),
    [
        ("a.docx", {}, "must end in one of"),
        ("a.ply", {"a": np.arange(2)}, "must have shape"),
        ("a.ply", {"x": np.arange(3)}, "that is a coordinate"),
        ("a.ply", {"two words": np.arange(3.0)}, "one word"),
        (
            "a.ply",
            {"n": np.array([0, 1, 2**40])},
            "no 64-bit integers, and column 'n' holds 0 to",
        ),
        ("a.las", {"intensity": np.array([1.5, 2, 3])}, "'intensity' a meaning"),
        ("a.las", {"s": np.array(["a", "b", "c"])}, "cannot hold column 's'"),
        ("a.xyz", {"s": np.array(["a b", "b", "c"])}, "'a b' cannot be written"),
    ],
)
def test_what_a_format_cannot_hold_is_reported(tmp_path, name, columns, problem):
    with pytest.raises(ValueError, match=problem):
        hf.write_points(tmp_path / name, np.eye(3), columns)
    assert not list(tmp_path.iterdir())


def test_the_same_points_give_the_same_bytes(tmp_path):
    for suffix, packed in itertools.product([*TEXT, *BINARY], ["", ".gz"]):
        path = tmp_path / f"a{suffix}{packed}"
        hf.write_points(path, np.eye(3), {"a": np.arange(3, dtype="i4")})
        first = path.read_bytes()
        hf.write_points(path, np.eye(3), {"a": np.arange(3, dtype="i4")})
        assert path.read_bytes() == first, path.name


def test_ply_narrows_integers_that_fit(tmp_path):
    hf.write_points(tmp_path / "a.ply", np.eye(3), {"a": np.arange(3), "b": np.array([0, 1, 2**32 - 1])})
    columns = raw.read_points(tmp_path / "a.ply", columns=True)[1]
    assert (columns["a"].dtype, columns["b"].dtype) == (np.int32, np.uint32)
    assert columns["b"].tolist() == [0, 1, 2**32 - 1]


@pytest.mark.parametrize("suffix", ["las", "laz"])
def test_las_of_many_points_is_written_in_pieces_and_read_whole(tmp_path, suffix):
    laspy = pytest.importorskip("laspy")
    pytest.importorskip("lazrs")
    rng = np.random.default_rng(0)
    m = 210_001 if suffix == "laz" else 20_001  # more than one piece, and a last one of its own size
    points = np.round(rng.random((m, 3)) * 500, 3)
    columns = {"return_number": rng.integers(1, 4, m).astype(np.uint8), "heat": rng.random(m).astype("f4")}
    hf.write_points(tmp_path / f"a.{suffix}", points, columns)
    cloud = raw.read_cloud(tmp_path / f"a.{suffix}")
    np.testing.assert_allclose(cloud.points, points, atol=1e-9)
    for name, column in columns.items():
        np.testing.assert_array_equal(cloud.columns[name], column)
    with laspy.open(tmp_path / f"a.{suffix}") as file:
        header = file.header
    assert header.point_count == m
    np.testing.assert_array_equal(
        header.number_of_points_by_return[:3], np.bincount(columns["return_number"])[1:]
    )
    np.testing.assert_allclose(header.mins, points.min(axis=0))
    np.testing.assert_allclose(header.maxs, points.max(axis=0))
