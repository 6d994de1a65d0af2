"""PCD as PDAL and others write it."""

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import raw

HEAD = (
    "VERSION 0.7\nFIELDS X Y Z Intensity GpsTime\nSIZE 8 8 8 2 8\nTYPE F F F U F\nCOUNT 1 1 1 1 1\n"
    "WIDTH 2\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2\nDATA {}\n"
)
ROWS = np.array(
    [(1.5, 2, 3, 40, 0.25), (4, 5, 6, 50, 0.5)],
    np.dtype([("X", "<f8"), ("Y", "<f8"), ("Z", "<f8"), ("Intensity", "<u2"), ("GpsTime", "<f8")]),
)


def packed() -> bytes:
    """Column by column, in runs of literals only."""
    block = b"".join(np.ascontiguousarray(ROWS[name]).tobytes() for name in ROWS.dtype.names)
    stream = b"".join(
        bytes([len(block[i : i + 32]) - 1]) + block[i : i + 32] for i in range(0, len(block), 32)
    )
    return len(stream).to_bytes(4, "little") + len(block).to_bytes(4, "little") + stream


BODIES = {
    "ascii": b"1.5 2 3 40 0.25\n4 5 6 50 0.5\n",
    "binary": ROWS.tobytes(),
    "binary_compressed": packed(),
}


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("name", ["a.pcd", "noname", "a.PCD", "a.xyz"])
def test_upper_case_fields_without_a_first_comment(tmp_path, kind, name):
    (tmp_path / name).write_bytes(HEAD.format(kind).encode() + BODIES[kind])
    cloud = raw.read_cloud(tmp_path / name)
    assert cloud.format == "pcd"
    assert cloud.points.tolist() == [[1.5, 2, 3], [4, 5, 6]]
    assert cloud.columns["Intensity"].tolist() == [40, 50]
    assert cloud.columns["GpsTime"].tolist() == [0.25, 0.5]


def test_windows_line_ends_and_organised_clouds(tmp_path):
    head = HEAD.replace("WIDTH 2\nHEIGHT 1", "WIDTH 1\nHEIGHT 2").replace("POINTS 2\n", "")
    (tmp_path / "a.pcd").write_bytes(
        (head.format("ascii").encode() + BODIES["ascii"]).replace(b"\n", b"\r\n")
    )
    assert len(raw.read_points(tmp_path / "a.pcd")) == 2


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("POINTS 2\n", "POINTS two\n", "POINTS: the number of points must be an integer.*'two'"),
        ("WIDTH 2\nHEIGHT 1", "", None),
        ("SIZE 8 8", "SIZE 8 x", "SIZE: .*'x'"),
        ("COUNT 1 1 1 1 1", "COUNT 1 1 1 1", "do not fit together"),
        ("DATA ascii", "DATA text", "got 'text'"),
    ],
)
def test_headers(tmp_path, old, new, problem):
    content = HEAD.format("ascii").replace(old, new).encode() + BODIES["ascii"]
    (tmp_path / "a.pcd").write_bytes(content)
    if problem is None:
        assert len(raw.read_points(tmp_path / "a.pcd")) == 2
        return
    with pytest.raises(hf.ReadError, match=problem):
        raw.read_points(tmp_path / "a.pcd")
