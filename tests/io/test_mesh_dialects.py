# ruff: noqa: E501  (small files are easier to check in one piece)
"""OFF, OBJ and STL as programs write them."""

import struct

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import raw

SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
HALVES = [[0, 1, 2], [0, 2, 3]]


@pytest.fixture
def put(tmp_path):
    def write(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


OFF = {
    "plain": b"OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
    "no edges": b"OFF\n4 1\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
    "one line": b"OFF 4 2 0 0 0 0 1 0 0 1 1 0 0 1 0 3 0 1 2 3 0 2 3",
    "glued": b"OFF4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
    "no keyword": b"4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
    "comments": b"# made\n\n# by hand\nOFF # here\n# and there\n4 1 0 # counts\n0 0 0 # a\n\n# between\n1 0 0\n1 1 0\n0 1 0\n"
    b"# faces\n4 0 1 2 3 # all\n",
    "comment first": b"#first\nOFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
    "faces over lines": b"OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4\n0 1\n2 3\n",
    "vertices over lines": b"OFF\n4 1 0\n0\n0 0 1\n0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
    "face colours": b"OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2 255 0 0\n3 0 2 3 0.1 0.2 0.3 1.0\n",
    "some colours": b"OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3 7\n",
    "bare vertex colours": b"OFF\n4 1 0\n0 0 0 9 9 9\n1 0 0 8 8 8\n1 1 0 7 7 7\n0 1 0 6 6 6\n4 0 1 2 3\n",
    "COFF": b"COFF\n4 1 0\n0 0 0 1 0 0 1\n1 0 0 1 0 0 1\n1 1 0 1 0 0 1\n0 1 0 1 0 0 1\n4 0 1 2 3\n",
    "COFF of three": b"COFF\n4 1 0\n0 0 0 255 0 0\n1 0 0 255 0 0\n1 1 0 255 0 0\n0 1 0 255 0 0\n4 0 1 2 3\n",
    "NOFF": b"NOFF\n4 1 0\n0 0 0 0 0 1\n1 0 0 0 0 1\n1 1 0 0 0 1\n0 1 0 0 0 1\n4 0 1 2 3\n",
    "NOFF in tokens": b"NOFF 4 1 0\n0 0 0 0\n0 1 1 0 0 0 0 1\n1 1 0 0 0 1 0 1 0 0 0 1\n4 0 1 2 3\n",
    "STCNOFF": b"STCNOFF\n4 1 0\n" + b"".join(b"%d %d %d 0 0 1 1 0 0 1 0.5 0.5\n" % tuple(p) for p in SQUARE)
    + b"4 0 1 2 3\n",
    "nOFF of three": b"nOFF\n3\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
    "nOFF in a line": b"nOFF 3 4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
    "windows": b"OFF\r\n4 1 0\r\n0 0 0\r\n1 0 0\r\n1 1 0\r\n0 1 0\r\n4 0 1 2 3\r\n",
    "old mac": b"OFF\r4 1 0\r0 0 0\r1 0 0\r1 1 0\r0 1 0\r4 0 1 2 3\r",
    "mark": b"\xef\xbb\xbfOFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
}  # fmt: skip


@pytest.mark.parametrize("name", OFF)
def test_off_is_tokens(put, name):
    cloud = raw.read_cloud(put("a.off", OFF[name]))
    assert cloud.format == "off"
    assert cloud.points.tolist() == SQUARE
    assert cloud.faces.tolist() == HALVES


@pytest.mark.parametrize(
    ("content", "points"),
    [
        (b"4OFF\n2 0 0\n1 2 3 4\n5 6 7 8\n", [[1, 2, 3, 4], [5, 6, 7, 8]]),
        (b"nOFF\n2\n2 0 0\n1 2\n3 4\n", [[1, 2], [3, 4]]),
        (b"nOFF 5\n1 0 0\n1 2 3 4 5\n", [[1, 2, 3, 4, 5]]),
        (b"4nOFF 2\n1 0 0\n1 2 3\n", [[1, 2, 3]]),
    ],
)
def test_off_has_the_dimension_that_it_states(put, content, points):
    assert raw.read_points(put("a.off", content)).tolist() == points


def test_off_columns_have_names(put):
    cloud = raw.read_cloud(put("a.off", OFF["STCNOFF"]))
    assert list(cloud.columns) == ["nx", "ny", "nz", "red", "green", "blue", "alpha", "s", "t"]
    assert cloud.columns["nz"].tolist() == [1] * 4
    assert list(raw.read_cloud(put("a.off", OFF["bare vertex colours"])).columns) == [
        "column4",
        "column5",
        "column6",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"OFF\n", "numbers of vertices and faces are missing"),
        (b"OFF\nx 1 0\n", "number of vertices must be an integer .*got 'x'"),
        (b"OFF\n-1 1 0\n", "got '-1'"),
        (b"OFF BINARY\n1 1 0\n", "binary OFF"),
        (b"OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n", "ends after|claims"),
        (b"OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2\n", "is not a face"),
        (b"OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 4\n", "a corner is vertex 4"),
        (b"OFF\n3 1 0\n0 0 0\n1 0 zero\n1 1 0\n3 0 1 2\n", "'zero' is not a number"),
        (b"nOFF 99999\n1 0 0\n1 2 3\n", "99999 coordinates"),
    ],
)
def test_off_errors(put, content, problem):
    with pytest.raises(hf.ReadError, match=problem):
        raw.read_cloud(put("a.off", content))


def test_obj_lines_that_go_on(put):
    content = b"v 0 0 0\nv 1 \\\n0 0\nv 1 1 0\nv 0 1 0\nf 1 \\\r\n 2 \\\n3 4\n# end \\\n"
    cloud = raw.read_cloud(put("a.obj", content))
    assert cloud.points.tolist() == SQUARE
    assert cloud.faces.tolist() == HALVES
    with pytest.raises(hf.ReadError, match="ends inside a continued line"):
        raw.read_cloud(put("a.obj", b"v 0 0 0\nv 1 1 \\\n"))


def test_obj_colours_on_some_vertices(put):
    content = b"v 0 0 0 1 0.5 0\nv 1 0 0\nv 1 1 0 1 0.5 0 # red\nv 0 1 0 1.0\nf 1 2 3 4\n"
    cloud = raw.read_cloud(put("a.obj", content))
    assert cloud.points.tolist() == SQUARE
    np.testing.assert_array_equal(cloud.columns["green"], [0.5, np.nan, 0.5, np.nan])
    np.testing.assert_array_equal(cloud.columns["red"], [1, np.nan, 1, 1])
    many = b"v 0 0 0\n" * 60_000 + b"v 1 1 1 0 0 1\n" * 60_000  # the colours start in another piece
    cloud = raw.read_cloud(put("b.obj", many))
    assert np.isnan(cloud.columns["blue"][:60_000]).all()
    assert (cloud.columns["blue"][60_000:] == 1).all()


@pytest.mark.parametrize(
    "corners",
    [b"1 2 3 4", b"1/1 2/1 3/1 4/1", b"1//1 2//1 3//1 4//1", b"1/1/1 2/1/1 3/1/1 4/1/1", b"-4 -3 -2 -1"],
)
def test_obj_corners(put, corners):
    content = (
        b"mtllib a#b.mtl\no x\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\nusemtl y\ns off\nf "
        + corners
    )
    assert raw.read_cloud(put("a.obj", content)).faces.tolist() == HALVES


FACET = b"  facet normal 0 0 1\n    outer loop\n      vertex 0 0 0\n      vertex 1 0 0\n      vertex 1 1 0\n    endloop\n  endfacet\n"


@pytest.mark.parametrize(
    "content",
    [
        b"\nsolid a\n" + FACET + b"endsolid a\n",
        b" \r\n\r\nsolid a\r\n" + FACET + b"endsolid a\r\n",
        b"solid\n" + FACET + b"endsolid\n",
        b"SOLID A\n" + FACET.upper() + b"ENDSOLID A\n",
        b"solid one\n" + FACET + b"endsolid one\nsolid two\n" + FACET + b"endsolid two\n",
    ],
)
def test_stl_with_a_blank_first_line_and_more(put, content):
    cloud = raw.read_cloud(put("a.stl", content))
    assert cloud.points.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0]]
    assert cloud.faces.tolist() == [[0, 1, 2]] * content.lower().count(b"endfacet")


def test_stl_corners_merge_as_unique_does(put):
    rng = np.random.default_rng(0)
    corners = rng.integers(-1, 2, size=(200, 3, 3)).astype("<f4")
    rows = np.zeros(200, np.dtype([("n", "<f4", 3), ("c", "<f4", (3, 3)), ("m", "<u2")]))
    rows["c"] = corners
    cloud = raw.read_cloud(put("a.stl", bytes(80) + struct.pack("<I", 200) + rows.tobytes()))
    np.testing.assert_array_equal(cloud.points, np.unique(corners.reshape(-1, 3), axis=0))
    np.testing.assert_array_equal(cloud.points[cloud.faces], corners)
