"""What is in a file, and a page to look at it."""

import re
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from tests.helpers.file_samples import PDB
from tests.helpers.files import header


@pytest.fixture(autouse=True)
def cloud(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    points = np.random.default_rng(0).normal(size=(300, 3))
    hf.write_points("cloud.ply", points, {"height": points[:, 2].round(3)})
    return points


def test_info_tells_what_is_in_a_file(cloud):
    hf.write_points("a.ply", np.concatenate([cloud[:50], np.zeros((2, 3))]), {"red": np.zeros(52, np.uint8)})
    found = hf.info("a.ply", n_scales=5)
    times = hf.scale_schedule(found.cloud.points, 5)
    assert np.array_equal(found.lengths, np.sqrt(times))
    assert found.spacing == pytest.approx(np.sqrt(times[0] / 0.05))
    assert found.diameter == pytest.approx(np.sqrt(times[-1] / 0.25))
    text = str(found)
    for piece in ("52 in 3 dimensions", "red (uint8)", "duplicates  1", f"s0 {found.lengths[0]:.4g}"):
        assert piece in text
    assert "described" not in text


def test_info_tells_of_isolated_points():
    points = np.random.default_rng(0).random((60, 3))
    np.savetxt("a.xyz", np.concatenate([points, [[30.0, 0.0, 0.0]]]))
    found = hf.info("a.xyz", n_scales=3)
    assert found.isolated == 1
    assert "isolated    1.6 % of the points are isolated (1)" in str(found)
    np.testing.assert_allclose(found.lengths, np.sqrt(hf.scale_schedule(points, 3)))


def test_info_tells_how_a_skeleton_is_described():
    Path("n.swc").write_text("1 1 0 0 0 1 -1\n2 3 10 0 0 1 1\n")
    text = str(hf.info("n.swc"))
    assert "points      2 in 3 dimensions" in text
    assert "1 segment, 10 long in all, 1 root" in text
    assert "described   1,024 points" in text
    assert hf.info("n.swc", nodes=True).points.shape == (2, 3)


def test_info_of_one_point_has_no_scales():
    Path("one.xyz").write_text("1 2 3\n")
    assert "none: two distinct points are needed" in str(hf.info("one.xyz"))


def test_info_of_a_large_file_says_how_to_take_less(monkeypatch):
    from heatfield.workflows import one_file

    monkeypatch.setattr(one_file, "_LONG", 0)
    monkeypatch.setattr(one_file, "_FEWER", 100)
    assert "with budget=100 about" in str(hf.info("cloud.ply"))


def test_a_page_of_a_file(cloud):
    assert hf.view_file("cloud.ply") == Path("view.html")
    said, page = header("view.html"), Path("view.html").read_text()
    assert (said["name"], said["points"], said["shown"], said["dims"]) == ("cloud.ply", 300, 300, 3)
    assert said["quantities"]["column0"]["label"] == "column height"
    np.testing.assert_allclose(said["scales"], hf.scale_schedule(cloud))
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", page)  # nothing from elsewhere
    assert "default-src 'none'" in page
    assert "@@" not in page
    hf.view_file("cloud.ply", "b.html")
    assert Path("b.html").read_text() == page
    assert sorted(p.name for p in Path().iterdir()) == ["b.html", "cloud.ply", "view.html"]


def test_lengths_on_the_page_have_the_unit_of_the_file():
    Path("a.pdb").write_bytes(PDB if isinstance(PDB, bytes) else PDB.encode())
    hf.view_file("a.pdb", lengths=[2, 5], atoms="all")
    assert (header("view.html")["unit"], header("view.html")["scales"]) == ("Å", [4.0, 25.0])
    hf.view_file("cloud.ply")
    assert header("view.html")["unit"] == ""


def test_the_page_takes_its_options():
    hf.view_file("cloud.ply", n_scales=5, most_points=100, theme="dark")
    said = header("view.html")
    assert (len(said["scales"]), said["shown"], said["theme"]) == (5, 100, "dark")
    hf.view_file("cloud.ply", budget=50)
    assert header("view.html")["points"] == 50


@pytest.mark.parametrize(
    ("file", "options", "problem"),
    [
        ("absent.ply", {}, "no such file"),
        ("cut.ply", {}, "cut.ply"),
        ("one.xyz", {}, "one.xyz has fewer than two distinct points"),
        ("cloud.ply", {"out": "view.png"}, "out must end in .html"),
        ("cloud.ply", {"out": "no/such/v.html"}, "no such folder"),
        ("page.html", {"out": "page.html"}, "was not written by heatfield"),
        ("cloud.ply", {"most_points": 0}, "most_points must be"),
    ],
)
def test_what_cannot_be_shown_is_said(file, options, problem):
    Path("one.xyz").write_text("1 2 3\n")
    Path("page.html").write_text("1 2 3\n4 5 6\n")
    Path("cut.ply").write_bytes(Path("cloud.ply").read_bytes()[:-7])
    with pytest.raises((ValueError, OSError), match=problem):
        hf.view_file(file, **options)
    assert not Path("view.html").exists()
