"""PLY as programs write it: faces with more than corners, faces first, points that are not finite."""

import struct

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import raw

ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
VERTEX = "element vertex 5\nproperty float x\nproperty float y\nproperty double z\nproperty uchar red\n"
CORNERS = [(0, 0, 0, 9), (1, 0, 0, 8), (1, 1, 0, 7), (0, 1, 0, 6), (0.5, 0.5, 1, 5)]
FLAT = [[0, 1, 2], [0, 2, 3], [1, 2, 4]]


def number(form: str, kind: str, value) -> bytes:
    return f"{value} ".encode() if form == "ascii" else struct.pack(ORDERS[form] + kind, value)


def a_list(form: str, length: str, kind: str, values) -> bytes:
    return number(form, length, len(values)) + b"".join(number(form, kind, v) for v in values)


def made(form: str, elements: list[tuple[str, list[bytes]]]) -> bytes:
    head = (
        f"ply\nformat {form} 1.0\ncomment end_header is near\n"
        + "".join(h for h, _ in elements)
        + "end_header\n"
    )
    end = b"\n" if form == "ascii" else b""
    return head.encode() + b"".join(
        row.rstrip() + end if end else row for _, rows in elements for row in rows
    )


def vertices(form: str) -> tuple[str, list[bytes]]:
    rows = [b"".join(number(form, k, v) for k, v in zip("ffdB", row, strict=True)) for row in CORNERS]
    return VERTEX, rows


def rich_faces(form: str, polygons) -> tuple[str, list[bytes]]:
    """Flags before the corners, texture coordinates and colours after them."""
    head = (
        f"element face {len(polygons)}\nproperty short flags\nproperty list uchar int vertex_indices\n"
        "property list uchar float texcoord\nproperty uchar red\nproperty double quality\n"
    )
    rows = [
        number(form, "h", -2) + a_list(form, "B", "i", p) + a_list(form, "B", "f", [0.5] * (2 * len(p)))
        + number(form, "B", 7) + number(form, "d", 0.25)
        for p in polygons
    ]  # fmt: skip
    return head, rows


@pytest.fixture
def put(tmp_path):
    def write(content, name="a.ply"):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


@pytest.mark.parametrize("form", ORDERS)
@pytest.mark.parametrize("first", ["vertex", "face"])
@pytest.mark.parametrize("polygons", [FLAT, [[0, 1, 2, 3], [1, 2, 4]], [[0], [], [0, 1], [0, 1, 2, 3, 4]]])
def test_faces_with_more_than_corners_in_any_order(put, form, first, polygons):
    parts = [vertices(form), rich_faces(form, polygons)]
    cloud = raw.read_cloud(put(made(form, parts if first == "vertex" else parts[::-1])))
    assert cloud.points.tolist() == [list(c[:3]) for c in CORNERS]
    assert cloud.columns["red"].tolist() == [9, 8, 7, 6, 5]
    assert cloud.faces.tolist() == [[p[0], p[i], p[i + 1]] for p in polygons for i in range(1, len(p) - 1)]


@pytest.mark.parametrize("form", ORDERS)
def test_other_elements_around(put, form):
    """Elements with lists before, between and after; the faces are those of 'face'."""
    strips = (
        "element strips 2\nproperty list int int a\n",
        [a_list(form, "i", "i", v) for v in ([1, 2], [3])],
    )
    edges = (
        "element edge 1\nproperty int a\nproperty int b\n",
        [number(form, "i", 0) + number(form, "i", 1)],
    )
    faces = (
        "element face 2\nproperty list ushort uint vertex_index\n",
        [a_list(form, "H", "I", v) for v in FLAT[:2]],
    )
    cloud = raw.read_cloud(
        put(made(form, [strips, faces, edges, vertices(form), strips_named("more", strips)]))
    )
    assert cloud.faces.tolist() == FLAT[:2]
    assert len(cloud.points) == 5


def strips_named(name, part):
    return part[0].replace("strips", name), part[1]


@pytest.mark.parametrize("kind", "bBhHiI")
@pytest.mark.parametrize("form", ["binary_little_endian", "binary_big_endian"])
def test_every_type_of_corner_and_length(put, form, kind):
    names = dict(zip("bBhHiI", ("char", "uchar", "short", "ushort", "int", "uint"), strict=True))
    polygons = [[0, 1, 2], [0, 1, 2, 3], [4, 3, 2]]
    faces = (
        f"element face 3\nproperty list {names[kind]} {names[kind]} vertex_indices\n",
        [a_list(form, kind, kind, p) for p in polygons],
    )
    cloud = raw.read_cloud(put(made(form, [vertices(form), faces])))
    assert cloud.faces.tolist() == [[0, 1, 2], [0, 1, 2], [0, 2, 3], [4, 3, 2]]


@pytest.mark.parametrize("form", ORDERS)
@pytest.mark.parametrize("polygons", [[[0, 1, 5]], [[0, 1, -1]], [[0, 1, 2], [0, 1, 2, 9]]])
def test_corners_that_do_not_exist(put, form, polygons):
    with pytest.raises(hf.ReadError, match=r"triangle \d: a corner is vertex (5|-1|9), but there are 5"):
        raw.read_cloud(put(made(form, [rich_faces(form, polygons), vertices(form)])))


def test_line_ends_of_other_systems(put):
    content = made("ascii", [vertices("ascii"), rich_faces("ascii", FLAT)])
    for end in (b"\r\n", b"\r"):
        assert raw.read_cloud(put(content.replace(b"\n", end))).faces.tolist() == FLAT
    binary = made("binary_little_endian", [vertices("binary_little_endian")])
    split = binary.index(b"end_header\n") + 11
    for end in (b"\r\n", b"\r"):
        again = binary[:split].replace(b"\n", end) + binary[split:]
        assert len(raw.read_points(put(again))) == 5


def test_a_vertex_that_is_not_finite_goes_with_its_faces(put):
    head = (
        "ply\nformat ascii 1.0\n"
        + VERTEX
        + "element face 3\nproperty list uchar int vertex_indices\nend_header\n"
    )
    rows = ["0 0 0 1", "nan 0 0 2", "1 1 0 3", "0 1 0 4", "0 0 1 5"]
    path = put((head + "\n".join([*rows, "3 0 1 2", "3 0 2 3", "3 2 3 4"]) + "\n").encode())
    with pytest.raises(hf.ReadError, match=r"point 1: .*1 of 5 points.*invalid='drop'"):
        raw.read_cloud(path)
    cloud = raw.read_cloud(path, invalid="drop")
    assert cloud.points.tolist() == [[0, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert cloud.columns["red"].tolist() == [1, 3, 4, 5]
    assert cloud.faces.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert len(hf.read_points(path, invalid="drop", budget=50)) == 50  # still a surface


def test_a_mesh_without_sound_faces_is_points(put):
    path = put(b"OFF\n3 1 0\nnan 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "a.off")
    cloud = raw.read_cloud(path, invalid="drop")
    assert cloud.faces is None
    assert cloud.points.tolist() == [[1, 0, 0], [0, 1, 0]]


def test_many_mixed_polygons_against_a_plain_loop(put):
    rng = np.random.default_rng(0)
    polygons = [rng.integers(0, 5, size=rng.integers(0, 7)).tolist() for _ in range(3000)]
    plain = [[p[0], p[i], p[i + 1]] for p in polygons for i in range(1, len(p) - 1)]
    for form in ORDERS:
        assert (
            raw.read_cloud(put(made(form, [vertices(form), rich_faces(form, polygons)]))).faces.tolist()
            == plain
        )


# --- lists on vertices -------------------------------------------------------------

LISTED = (
    "element vertex 5\nproperty list uchar float weights\nproperty float x\nproperty float y\n"
    "property list int short bones\nproperty double z\nproperty uchar red\n"
)


def listed(form, lengths):
    """Vertices with a list before the coordinates and one between them."""
    rows = [
        a_list(form, "B", "f", [0.5] * k) + number(form, "f", x) + number(form, "f", y)
        + a_list(form, "i", "h", [-3] * (4 - k)) + number(form, "d", z) + number(form, "B", red)
        for k, (x, y, z, red) in zip(lengths, CORNERS, strict=True)
    ]  # fmt: skip
    return LISTED, rows


@pytest.mark.parametrize("form", ORDERS)
@pytest.mark.parametrize("lengths", [(2, 2, 2, 2, 2), (0, 4, 1, 3, 2)], ids=["alike", "different"])
@pytest.mark.parametrize("first", ["vertex", "face"])
@pytest.mark.filterwarnings("ignore:loadtxt")  # of the peer, for a list of nothing
def test_lists_of_vertices_are_passed_over(put, form, lengths, first):
    plyfile = pytest.importorskip("plyfile")
    parts = [listed(form, lengths), rich_faces(form, FLAT)]
    path = put(made(form, parts if first == "vertex" else parts[::-1]))
    cloud = raw.read_cloud(path)
    peer = plyfile.PlyData.read(path)["vertex"]
    np.testing.assert_array_equal(cloud.points, np.stack([peer[c] for c in "xyz"], axis=1))
    np.testing.assert_array_equal(cloud.points, np.array(CORNERS)[:, :3])
    np.testing.assert_array_equal(cloud.columns["red"], peer["red"])
    assert set(cloud.columns) == {"red"}
    np.testing.assert_array_equal(cloud.faces, FLAT)


@pytest.mark.parametrize("form", ORDERS)
@pytest.mark.parametrize("lengths", [(2, 2, 2, 2, 2), (0, 4, 1, 3, 2)], ids=["alike", "different"])
def test_vertices_with_lists_that_end_early_are_refused(put, form, lengths):
    whole = made(form, [listed(form, lengths)])
    head = whole.index(b"end_header\n") + len(b"end_header\n")
    for cut in range(head, len(whole) - 2):
        with pytest.raises(hf.ReadError):
            raw.read_cloud(put(whole[:cut]))


@pytest.mark.parametrize("length", ["-1", "x", "1_0", "1.0", "99999999999999999999", "3"])
def test_a_wrong_length_of_a_list_is_named_by_its_line(put, length):
    text = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty list int int a\nend_header\n"
    with pytest.raises(hf.ReadError, match="line 7"):
        raw.read_cloud(put(f"{text}0.5 {length} 7\n".encode()))
