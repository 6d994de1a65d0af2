"""What is read from valid files, value by value."""

import gzip

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import raw
from tests.helpers.file_samples import CIF, COLUMNS, PDB, POINTS, SAMPLES, SWC


@pytest.fixture
def put(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_read(put, name):
    content, count = SAMPLES[name]
    points = raw.read_points(put(name, content))
    assert points.shape == (count, 3)
    assert points.dtype == np.float64


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("lie", ["a.dat", "noname", "a.ply", "a.LAZ", "a.parquet.gz"])
def test_content_decides_over_a_wrong_suffix(put, name, lie):
    content, count = SAMPLES[name]
    assert len(raw.read_points(put(lie, content))) == count


@pytest.mark.parametrize("name", [n for n in SAMPLES if not n.endswith("gz")])
def test_gzipped_files_give_the_same(put, name):
    content, _ = SAMPLES[name]
    plain, packed = (
        raw.read_cloud(put(name, content)),
        raw.read_cloud(put(name + ".gz", gzip.compress(content))),
    )
    np.testing.assert_array_equal(plain.points, packed.points)
    assert list(plain.columns) == list(packed.columns)


def test_format_by_hand_overrules_detection(put):
    path = put("a.swc", b"1 1 0 0 0 1 -1\n2 2 1 0 0 1 1\n")
    assert raw.read_cloud(path).format == "swc"
    assert raw.read_cloud(path, format="table").points[1].tolist() == [2, 2, 1]
    with pytest.raises(ValueError, match="format must be one of"):
        raw.read_cloud(path, format="docx")


def test_swc_parents_are_rows(put):
    cloud = raw.read_cloud(put("a.swc", SWC))
    assert cloud.parents.tolist() == [-1, 0, 1, 0]
    assert cloud.columns["id"].tolist() == [1, 2, 5, 4]
    assert cloud.columns["radius"].tolist() == [3.0, 1.0, 1.0, 0.5]


def test_swc_any_order_and_several_roots(put):
    cloud = raw.read_cloud(put("a.swc", b"9 2 1 0 0 1 3\n3 2 0 0 0 1 -1\n4 2 5 5 5 1 -1\n"))
    assert cloud.parents.tolist() == [1, -1, -1]


def test_swc_without_soma(put):
    cloud = raw.read_cloud(put("a.swc", SWC), soma="drop")
    assert cloud.columns["type"].tolist() == [3, 3, 2]
    assert cloud.parents.tolist() == [-1, 0, -1]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (b"1 1 0 0 0 1 1\n", "own ancestor"),
        (b"1 1 0 0 0 1 2\n2 1 0 0 1 1 1\n", "own ancestor"),
        (
            b"1 1 0 0 0 1 -1\n2 1 0 0 1 1 4\n3 1 0 0 1 1 2\n4 1 0 0 1 1 3\n",
            "line 2: node 2 is its own ancestor",
        ),
        (b"1 1 0 0 0 1 -1\n\n# remark\n2 1 0 0 1 1 7\n", "line 4: node 2 hangs on node 7"),
        (b"1 1 0 0 0 1 -1\n1 1 0 0 1 1 1\n", "line 2: id 1 is given twice"),
        (b"1 1 0 0 0 1 -1\n2 1 0 0 x 1 1\n", "line 2: column 5: 'x' is not a number"),
        (b"1 1 0 0 0 1 -1\n2 1 0 0 1 1\n", "line 2: 6 columns where 7"),
        (b"1 1 0 0 0 1 -1\n2.5 1 0 0 1 1 1\n", "line 2: id must be an integer"),
        (b"1 1 0 0 0 1 -1\n2 1 0 nan 1 1 1\n", "point 1: has coordinates"),
        (b"# nothing\n", "no line of numbers"),
    ],
)
def test_swc_errors_name_the_line(put, lines, problem):
    with pytest.raises(hf.ReadError, match=problem):
        raw.read_cloud(put("a.swc", lines), format="swc")


@pytest.mark.parametrize(("name", "content"), [("a.pdb", PDB), ("a.cif", CIF)])
def test_molecules(put, name, content):
    path = put(name, content)
    cloud = raw.read_cloud(path)
    assert cloud.points[0].tolist() == [11.5, 11, 12]  # the more occupied of two places
    assert "CA" not in cloud.columns["residue"]  # calcium is no alpha carbon
    assert cloud.columns["chain"].tolist()[:2] == ["A", "B"]
    assert raw.read_points(path, altloc="A")[0, 0] == 11.0
    assert len(raw.read_points(path, altloc="all")) == len(cloud.points) + 1
    assert set(raw.read_cloud(path, chain="B").columns["chain"]) == {"B"}
    assert raw.read_points(path, model=2)[0, 0] == 99.0
    assert len(raw.read_points(path, model=None)) == len(cloud.points) + 1
    assert len(raw.read_points(path, atoms="all")) == 5
    assert raw.read_cloud(path, atoms=("N", "CA")).columns["atom"].tolist()[:2] == ["N", "CA"]


def test_ply_columns_are_found_by_name(put):
    cloud = raw.read_cloud(put("a.ply", SAMPLES["a.ply"][0]))
    assert cloud.points.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    assert cloud.columns["red"].dtype == np.uint8
    assert cloud.faces.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_big_endian_ply(put):
    cloud = raw.read_cloud(put("a.ply", SAMPLES["big.ply"][0]))
    assert cloud.points.tolist() == [[1, 0, 5], [2, 0, 5], [3, 1, 5]]
    assert cloud.columns["i"].tolist() == [-1, 0, 300]
    assert cloud.faces.tolist() == [[0, 1, 2], [0, 2, 1]]


def test_pcd_forms(put):
    text = raw.read_cloud(put("a.pcd", SAMPLES["a.pcd"][0]))
    assert text.points.tolist() == [[1, 2, 3], [6, 7, 8]]
    assert text.columns["h_1"].tolist() == [5, 10]
    assert raw.read_points(put("b.pcd", SAMPLES["packed.pcd"][0])).tolist() == [[1, 2, 3], [1, 2, 4]]


def test_meshes_have_faces(put):
    for name in ("a.off", "a.obj", "text.stl", "a.stl"):
        cloud = raw.read_cloud(put(name, SAMPLES[name][0]))
        assert cloud.faces is not None
        assert cloud.faces.max() < len(cloud.points)


def test_tables(put):
    cloud = raw.read_cloud(put("a.csv", SAMPLES["a.csv"][0]))
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert cloud.columns["id"].tolist() == [7, 8]
    assert cloud.columns["kind"].tolist() == ["leaf", "wood"]
    assert list(raw.read_cloud(put("a.txt", SAMPLES["a.txt"][0])).columns) == ["Intensity"]
    assert list(raw.read_cloud(put("a.pts", SAMPLES["a.pts"][0])).columns) == [
        "intensity",
        "red",
        "green",
        "blue",
    ]
    assert raw.read_points(put("b.csv", b"x;y\n1,5;2\n3;4,25\n")).tolist() == [[1.5, 2], [3, 4.25]]
    assert raw.read_points(put("c.csv", b"\xef\xbb\xbfX,Y,Z\r\n1,2,3\r\n")).tolist() == [[1, 2, 3]]
    gaps = raw.read_cloud(put("d.csv", b"x,y,z,a\n1,2,3,\n1,2,4,5\n"))
    assert np.isnan(gaps.columns["a"][0])
    assert raw.read_points(put("e.txt", b"1 2 3 4 5\n"), dims=5).shape == (1, 5)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"x,y,z\n1,2,3\n1,2\n", "line 3: 2 columns where 3"),
        (b"x,y,z\n1,2,3\n1,2,zwei\n", "line 3: column 3: 'zwei'"),
        (b"x,y,z\n1,2,3\n1,2,\xff\n", "line 3: column 3"),
        (b"a,b\n1,2\n", "no columns x, y, z"),
        (b"x,y,x\n1,2,3\n", "same name"),
        (b"x,y,z\n1,2,\n", "column 3: ''"),
        (b"x,y,z\n1,2,nan\n", "not finite"),
        (b"3\n1 2 3 4\n", "claims 3"),
        (b"\x01\x02\x00\x03", "cannot tell|zero byte"),
    ],
)
def test_table_errors_name_the_line(put, content, problem):
    with pytest.raises(hf.ReadError, match=problem):
        raw.read_points(put("a.csv", content))


def test_points_that_are_not_finite_can_be_dropped(put):
    path = put("a.xyz", b"1 2 3\nnan 1 1\n4 5 6\n")
    with pytest.raises(hf.ReadError, match=r"point 1.*invalid='drop'"):
        raw.read_points(path)
    assert raw.read_points(path, invalid="drop").tolist() == [[1, 2, 3], [4, 5, 6]]


def test_columns_survive(put):
    for name in ("little.ply", "binary.pcd", "a.las", "a.laz", "records.npy", "a.npz", "a.parquet"):
        points, columns = raw.read_points(put(name, SAMPLES[name][0]), columns=True)
        # LAS counts steps of 0.001, which are no exact numbers; all others keep every bit.
        np.testing.assert_allclose(points, POINTS, rtol=0, atol=1e-14 if "la" in name else 0, err_msg=name)
        for key, values in COLUMNS.items():
            np.testing.assert_array_equal(columns[key], values, err_msg=name)


def test_the_error_names_file_and_place_and_survives_pickling(put):
    import pickle

    path = put("a.xyz", b"1 2 3\n1 2\n")
    with pytest.raises(hf.ReadError) as caught:
        raw.read_points(path)
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.path, error.place) == (str(path), "line 2")
    assert str(error) == f"{path}: line 2: 2 columns where 3 are expected"
    assert isinstance(error, OSError)
    assert isinstance(error, ValueError)


def test_without_the_extra_libraries(put, monkeypatch):
    """What needs none is read; what needs one says how to get it."""
    import sys

    for library in ("laspy", "lazrs", "pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, library, None)
    for name in ("little.ply", "a.pcd", "a.swc", "a.pdb", "a.csv", "a.npz", "a.obj"):
        assert len(raw.read_points(put(name, SAMPLES[name][0]))) > 0
    for name in ("a.las", "a.laz", "a.parquet"):
        with pytest.raises(hf.ReadError, match=r"pip install 'heatfield\[io\]'"):
            raw.read_points(put(name, SAMPLES[name][0]))
    with pytest.raises(ImportError, match=r"heatfield\[io\]"):
        hf.write_points(put("b.las", b"").with_name("c.las"), POINTS)


def test_a_mark_inside_quotes_divides_no_cells(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('x,y,z,note\n1,2,3,"a, b; c"\n4,5,6,"d;e"\n')
    cloud = raw.read_cloud(path)
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert cloud.columns["note"].tolist() == ["a, b; c", "d;e"]
