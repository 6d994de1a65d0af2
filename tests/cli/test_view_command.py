"""``heatfield view`` from a shell: a page, or one sentence that says why not."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main


def header(path):
    """What the page says of itself."""
    return json.loads(re.search(r'id="header">(.*?)</script>', Path(path).read_text(), re.S)[1])


@pytest.fixture
def cloud(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    points = np.random.default_rng(0).normal(size=(300, 3))
    hf.write_points("cloud.ply", points, {"height": points[:, 2].round(3)})
    return points


def test_a_page_in_one_command(cloud, capsys):
    assert main(["view", "cloud.ply"]) == 0
    assert "300 points" in capsys.readouterr().out
    page = Path("view.html").read_text()
    said = header("view.html")
    assert (said["name"], said["points"], said["shown"], said["dims"]) == ("cloud.ply", 300, 300, 3)
    assert said["quantities"]["column0"]["label"] == "column height"
    np.testing.assert_allclose(said["scales"], hf.scale_schedule(cloud))
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", page)  # nothing from elsewhere
    assert "default-src 'none'" in page
    assert "@@" not in page
    assert not list(Path().glob(".*.part"))


@pytest.mark.usefixtures("cloud")
def test_lengths_have_the_unit_of_the_file():
    from tests.helpers.file_samples import PDB

    Path("a.pdb").write_bytes(PDB if isinstance(PDB, bytes) else PDB.encode())
    assert main(["view", "a.pdb", "--quiet", "--lengths", "2,5", "--atoms", "all"]) == 0
    assert (header("view.html")["unit"], header("view.html")["scales"]) == ("Å", [4.0, 25.0])
    assert main(["view", "cloud.ply", "--quiet"]) == 0
    assert header("view.html")["unit"] == ""


@pytest.mark.usefixtures("cloud")
def test_options():
    words = ["--scales", "5", "--most-points", "100", "--theme", "dark", "--quiet", "-o", "a.html"]
    assert main(["view", "cloud.ply", *words]) == 0
    said = header("a.html")
    assert (len(said["scales"]), said["shown"], said["theme"]) == (5, 100, "dark")
    assert main(["view", "cloud.ply", "--budget", "50", "--quiet"]) == 0
    assert header("view.html")["points"] == 50


@pytest.mark.usefixtures("cloud")
def test_the_same_page_twice():
    for name in ("a.html", "b.html"):
        assert main(["view", "cloud.ply", "-o", name, "--quiet"]) == 0
    assert Path("a.html").read_bytes() == Path("b.html").read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (["view"], 2, "required"),
        (["view", "absent.ply"], 1, "no such file"),
        (["view", "cloud.ply", "-o", "view.png"], 2, "--out must end in .html"),
        (["view", "cloud.ply", "-o", "no/such/v.html"], 2, "no such folder"),
        (["view", "page.html", "-o", "page.html"], 2, "is the source itself"),
        (["view", "cloud.ply", "--most-points", "0"], 2, "--most-points must be"),
        (["view", "cloud.ply", "--scales", "1"], 2, "--scales must be"),
        (["view", "cloud.ply", "--c-min", "3"], 2, "--c-min"),
        (["view", "one.xyz"], 2, "one.xyz has fewer than two distinct points"),
        (["view", "same.xyz"], 2, "same.xyz has fewer than two distinct points"),
        (["view", "cut.ply"], 1, "cut.ply"),
    ],
)
@pytest.mark.usefixtures("cloud")
def test_what_cannot_be_shown_is_one_sentence(capsys, words, code, problem):
    Path("one.xyz").write_text("1 2 3\n")
    Path("same.xyz").write_text("1 2 3\n" * 5)
    Path("page.html").write_text("1 2 3\n4 5 6\n")
    Path("cut.ply").write_bytes(Path("cloud.ply").read_bytes()[:-7])
    try:
        found = main(words)
    except SystemExit as stop:
        found = stop.code
    captured = capsys.readouterr()
    assert found == code
    assert problem in captured.err
    assert captured.err.count("\n") == 1
    assert not Path("view.html").exists()


def test_the_size_of_a_small_page_is_not_nought():
    from heatfield.cli._pages import page_size

    assert page_size("x" * 41_000) == "41 kB"
    assert page_size(b"x" * 240_000) == "0.2 MB"
