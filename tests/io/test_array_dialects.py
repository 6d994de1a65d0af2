# ruff: noqa: E501  (small files are easier to check in one piece)
"""NPZ and HDF5 as others write them; what is no point file at all; SWC with remarks."""

import io

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import raw

POINTS = np.arange(15.0).reshape(5, 3)


@pytest.fixture
def put(tmp_path):
    def write(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


def packed(kind: str, arrays: dict) -> bytes:
    buffer = io.BytesIO()
    if kind == "npz":
        np.savez_compressed(buffer, **arrays)
    else:
        h5py = pytest.importorskip("h5py")
        with h5py.File(buffer, "w") as file:
            for name, values in arrays.items():
                file.create_dataset(name, data=values, compression="gzip" if np.ndim(values) else None)
    return buffer.getvalue()


KINDS = ["npz", "h5"]


@pytest.mark.parametrize("kind", KINDS)
def test_further_arrays_do_no_harm(put, kind):
    arrays = {
        "points": POINTS, "normals": POINTS + 1, "intensity": np.arange(5, dtype=np.uint16), "scale": np.float64(2.0),
        "faces": np.array([[0, 1, 2]]), "image": np.zeros((4, 4, 3)), "matrix": np.eye(4),
    }  # fmt: skip
    cloud = raw.read_cloud(put(f"a.{kind}", packed(kind, arrays)))
    np.testing.assert_array_equal(cloud.points, POINTS)
    assert set(cloud.columns) == {"normals_0", "normals_1", "normals_2", "intensity"}
    assert cloud.columns["normals_2"].tolist() == (POINTS[:, 2] + 1).tolist()
    assert set(cloud.notes["left_out"]) == {"scale", "faces", "image", "matrix"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["xyz", "pos", "coords", "vertices", "data", "anything"])
def test_usual_names(put, kind, name):
    cloud = raw.read_cloud(put(f"a.{kind}", packed(kind, {name: POINTS.astype("f4"), "label": np.arange(5)})))
    np.testing.assert_array_equal(cloud.points, POINTS)
    assert cloud.columns["label"].tolist() == list(range(5))


@pytest.mark.parametrize("kind", KINDS)
def test_axes_and_longer_arrays(put, kind):
    arrays = {
        "x": POINTS[:, 0],
        "y": POINTS[:, 1],
        "z": POINTS[:, 2],
        "more": np.arange(9),
        "i": np.arange(5),
    }
    cloud = raw.read_cloud(put(f"a.{kind}", packed(kind, arrays)))
    np.testing.assert_array_equal(cloud.points, POINTS)
    assert list(cloud.columns) == ["i"]


def test_an_array_of_objects_beside_the_points(put):
    buffer = io.BytesIO()
    np.savez(buffer, points=POINTS, names=np.array([{"a": 1}] * 5, dtype=object))
    cloud = raw.read_cloud(put("a.npz", buffer.getvalue()))
    np.testing.assert_array_equal(cloud.points, POINTS)
    assert cloud.columns == {}


@pytest.mark.parametrize("kind", KINDS)
def test_many_clouds_by_offsets(put, kind):
    arrays = {"points": POINTS, "offsets": np.array([0, 2, 2, 5]), "labels": np.array([1, 0, 1])}
    path = put(f"a.{kind}", packed(kind, arrays))
    clouds, labels = hf.io.read_clouds(path)
    assert [len(c) for c in clouds] == [2, 0, 3]
    np.testing.assert_array_equal(np.concatenate(clouds), POINTS)
    assert labels.tolist() == [1, 0, 1]
    with pytest.raises(hf.ReadError, match=r"holds 3 clouds; read them with heatfield\.io\.read_clouds"):
        raw.read_points(path)


@pytest.mark.parametrize("kind", KINDS)
def test_many_clouds_as_modelnet40_is_distributed(put, kind):
    data = np.arange(4 * 6 * 3, dtype=np.float32).reshape(4, 6, 3)
    arrays = {
        "data": data,
        "label": np.array([[3], [1], [0], [3]], np.uint8),
        "normal": data,
        "faceId": np.zeros((4, 6), "i4"),
    }
    path = put(f"a.{kind}", packed(kind, arrays))
    clouds, labels = hf.io.read_clouds(path)
    np.testing.assert_array_equal(np.stack(clouds), data)
    assert labels.tolist() == [3, 1, 0, 3]
    assert clouds[0].dtype == np.float64
    with pytest.raises(hf.ReadError, match="holds 4 clouds"):
        raw.read_points(path)


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"points": POINTS, "offsets": np.array([0, 9])}, "offsets reach 9, but there are 5 points"),
        ({"points": POINTS, "offsets": np.array([0, 4, 2, 5])}, "never fall"),
        (
            {"points": POINTS, "offsets": np.array([0, 2, 5]), "labels": np.arange(7)},
            "has shape (7,) for 2 clouds",
        ),
        ({"data": np.full((2, 3, 3), np.nan)}, "cloud 0 is not finite in row 0"),
        ({"names": np.array(["a", "b"])}, "needs an array 'points'"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_errors_of_many_clouds(put, kind, arrays, problem):
    if kind == "h5" and "names" in arrays:
        arrays = {"names": np.array([b"a", b"b"])}
    path = put(f"a.{kind}", packed(kind, arrays))
    with pytest.raises(hf.ReadError) as caught:
        hf.io.read_clouds(path)
    assert problem in str(caught.value)


def test_hdf5_never_leaves_its_file(put, tmp_path):
    """Links to other files, arrays stored in other files and arrays put together from others are not read."""
    h5py = pytest.importorskip("h5py")
    (tmp_path / "secret").write_bytes(np.ones((5, 3)).tobytes())
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file["linked"] = h5py.ExternalLink("other.h5", "points")
        file["soft"] = h5py.SoftLink("/absent")
        file.create_dataset("stored", (5, 3), "f8", external=[(str(tmp_path / "secret"), 0, 120)])
        layout = h5py.VirtualLayout((5, 3), "f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "points", (5, 3))
        file.create_virtual_dataset("virtual", layout)
    with pytest.raises(hf.ReadError, match="needs an array 'points'"):
        raw.read_points(put("a.h5", buffer.getvalue()))


def test_without_h5py(put, monkeypatch):
    import sys

    path = put("a.h5", packed("h5", {"points": POINTS}))
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(hf.ReadError, match=r"HDF5 files need h5py: pip install 'heatfield\[io\]'"):
        raw.read_points(path)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.ply", b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 1234\n", "Git LFS pointer to a file of 1234"),
        ("a.laz", b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 1234\n", "git lfs pull"),
        ("a.xyz", b"../.git/annex/objects/Xq/z1/SHA256E-s9--ab/SHA256E-s9--ab\n", "git-annex"),
        ("a.xml", b'<?xml version="1.0"?>\n<mbf version="4.0">\n', "Neurolucida"),
        ("a.swc", b"<!DOCTYPE html>\n<html><body>404</body></html>\n", "web page"),
    ],
)  # fmt: skip
def test_what_is_no_point_file_is_named(put, name, content, problem):
    with pytest.raises(hf.ReadError, match=problem):
        raw.read_points(put(name, content))


def test_swc_remarks_after_the_numbers(put):
    content = (
        b"# head\n1 1 0 0 0 3.0 -1 # soma\n2 3 1.5 0 0 1.0 1# branch\n  # alone\n3 3 1.5 2 0 1.0 2\t#  tip\n"
    )
    cloud = raw.read_cloud(put("a.swc", content))
    assert cloud.parents.tolist() == [-1, 0, 1]
    assert cloud.points.tolist() == [[0, 0, 0], [1.5, 0, 0], [1.5, 2, 0]]
    with pytest.raises(hf.ReadError, match="line 3: node 2 hangs on node 7"):
        raw.read_cloud(put("a.swc", b"1 1 0 0 0 1 -1 # a\n# b\n2 1 0 0 0 1 7 # c\n"))


def parquet(**columns) -> bytes:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    buffer = io.BytesIO()
    pq.write_table(pa.table({**{a: pa.array(POINTS[:, i]) for i, a in enumerate("xyz")}, **columns}), buffer)
    return buffer.getvalue()


def test_parquet_with_empty_cells(put):
    pa = pytest.importorskip("pyarrow")
    content = parquet(
        flag=pa.array([True, None, False, None, True]),
        count=pa.array([1, None, 3, 4, 5]),
        word=pa.array(["a", None, "ccc", "", "a"]),
        kind=pa.array(["u", None, "u", "v", "v"]).dictionary_encode(),
        whole=pa.array([True, True, False, False, True]),
    )
    columns = raw.read_cloud(put("a.parquet", content)).columns
    np.testing.assert_array_equal(columns["flag"], [1, np.nan, 0, np.nan, 1])
    np.testing.assert_array_equal(columns["count"], [1, np.nan, 3, 4, 5])
    assert columns["word"].tolist() == ["a", "", "ccc", "", "a"]
    assert columns["kind"].tolist() == ["u", "", "u", "v", "v"]
    assert columns["whole"].dtype == bool


def test_parquet_columns_of_other_kinds_are_left_out(put):
    pa = pytest.importorskip("pyarrow")
    content = parquet(
        when=pa.array([0, 1, 2, 3, 4], pa.timestamp("s")), many=pa.array([[1]] * 5), i=pa.array(range(5))
    )
    cloud = raw.read_cloud(put("a.parquet", content))
    np.testing.assert_array_equal(cloud.points, POINTS)
    assert list(cloud.columns) == ["i"]
    assert cloud.notes["left_out"] == ["when", "many"]
    with pytest.raises(hf.ReadError, match="column 'x' is not numeric"):
        raw.read_cloud(put("a.parquet", parquet(x=pa.array(list("abcde")))))
    with pytest.raises(hf.ReadError, match=r"no columns x, y, z of numbers; 'x' is timestamp"):
        raw.read_cloud(put("a.parquet", parquet(x=pa.array([0, 1, 2, 3, 4], pa.timestamp("s")))))


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_parquet_in_all_its_forms(put, compression, version):
    """Pages of both versions, several row groups, every codec: what the check of sizes walks through."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    points = np.random.default_rng(0).normal(size=(5000, 3))
    words = np.array(["tree", "house", "car"])[np.arange(5000) % 3]
    buffer = io.BytesIO()
    pq.write_table(
        pa.table({**{a: points[:, i] for i, a in enumerate("xyz")}, "word": words}), buffer, compression=compression,
        data_page_version=version, row_group_size=1500, data_page_size=512, write_page_index=version == "2.0",
    )  # fmt: skip
    cloud = raw.read_cloud(put("a.parquet", buffer.getvalue()))
    np.testing.assert_array_equal(cloud.points, points)
    assert cloud.columns["word"].tolist() == words.tolist()
