"""``heatfield report`` from a shell."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from tests.helpers.class_folder import write_two_classes


def header(path):
    return json.loads(re.search(r'id="header">(.*?)</script>', Path(path).read_text(), re.S)[1])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two classes of eight clouds."""
    monkeypatch.chdir(tmp_path)
    return write_two_classes("in", 8, 80, ".ply")


@pytest.mark.usefixtures("folder")
def test_a_labelled_folder(capsys):
    assert main(["report", "in", "--jobs", "1", "--folds", "4", "--embedding", "pca"]) == 0
    said = header("report.html")
    assert said["name"] == "in"
    assert said["classes"] == ["ball", "sphere"]
    assert said["files"][0] == "ball/0.ply"
    assert len(said["map"]["places"]) == len(said["sketches"]) == 16
    assert "100.0 % ± 0.0 mean accuracy over classes in 4 folds" in said["separation"]["words"]
    assert said["spectra"].startswith("data:image/png;base64,")
    assert said["confusion"].startswith("data:image/png;base64,")
    assert said["broken"] == []
    assert not Path("report.html.parts").exists()
    shown = capsys.readouterr()
    assert "16 clouds described" in shown.out
    # There is no terminal here: each fold says how long all of them take.
    lines = [line for line in shown.err.splitlines() if line.startswith("fold ")]
    assert [line[:9] for line in lines] == ["fold 1 of", "fold 2 of", "fold 3 of", "fold 4 of"]
    assert all(re.search(r"about \d+ min \d\d s left for all folds$", line) for line in lines[:3])
    assert lines[3] == "fold 4 of 4 is done"


@pytest.mark.usefixtures("folder")
def test_broken_files_are_listed_and_the_rest_continues(capsys):
    Path("in/ball/cut.ply").write_bytes(Path("in/ball/0.ply").read_bytes()[:-9])
    Path("in/ball/one.xyz").write_text("1 2 3\n")
    hf.write_points("in/sphere/flat.csv", np.random.default_rng(1).normal(size=(50, 2)))
    assert main(["report", "in", "--jobs", "1", "--quiet", "-o", "r.html", "--embedding", "pca"]) == 1
    broken = {file: problem for file, _, problem in header("r.html")["broken"]}
    assert set(broken) == {"ball/cut.ply", "ball/one.xyz", "sphere/flat.csv"}
    assert "fewer than two distinct points" in broken["ball/one.xyz"]
    assert "2 coordinates where most files have 3" in broken["sphere/flat.csv"]
    assert "3 files could not be used" in capsys.readouterr().err
    assert len(header("r.html")["files"]) == 16


@pytest.mark.usefixtures("folder")
def test_figures_as_files(capsys):
    """Each figure of the page as an SVG of its own, the same bytes each time; foreign files are refused."""
    words = ["report", "in", "--jobs", "1", "--embedding", "pca", "--figures", "figures", "--folds", "2"]
    assert main(words) == 0
    assert "5 figures -> figures" in capsys.readouterr().out
    names = ["figure-blocks.svg", "figure-confusion.svg", "figure-map.svg", "figure-scales.svg"]
    written = {file.name: file.read_bytes() for file in Path("figures").iterdir()}
    assert sorted(written) == [*names, "figure-spectra.svg"]
    assert all(b"<svg" in data and b"heatfield" in data[:4096] for data in written.values())
    assert main([*words, "--quiet"]) == 0
    assert {file.name: file.read_bytes() for file in Path("figures").iterdir()} == written
    Path("figures/figure-map.svg").write_text("my own drawing")
    assert main(words) == 2
    assert "it exists and is not a picture of this library" in capsys.readouterr().err
    assert main([*words[:-3], "in/ball/0.ply"]) == 2
    assert "it is not a folder" in capsys.readouterr().err
    assert main([*words[:-3], "no/figures"]) == 2
    assert "no such folder 'no'" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_lengths_stand_beside_the_scales():
    words = ["report", "in", "--jobs", "1", "--quiet", "--embedding", "pca", "--folds", "2"]
    assert main([*words, "--lengths", "0.1,0.25,1"]) == 0
    said = header("report.html")
    assert dict(said["facts"])["lengths"] == "√t from 0.1 to 1, the same for all clouds"
    assert [row[0] for row in said["separation"]["scales"]] == ["s0, √t = 0.1", "s1, √t = 0.25", "s2, √t = 1"]
    assert main([*words, "--scales", "3"]) == 0
    said = header("report.html")
    files = [file for file in Path("in").rglob("*") if file.is_file()]
    assert len(files) == 16
    middle = np.median([hf.signatures(hf.read_points(f), n_scales=3).lengths for f in files], axis=0)
    expected = [f"s{a}, √t = {middle[a]:.3g}" for a in range(3)]
    assert [row[0] for row in said["separation"]["scales"]] == expected
    assert "each cloud has its own" in dict(said["facts"])["lengths"]


@pytest.mark.usefixtures("folder")
def test_an_unlabelled_folder():
    assert main(["report", "in/ball", "--jobs", "1", "--quiet", "--embedding", "pca"]) == 0
    said = header("report.html")
    assert said["labels"] is None
    assert "carry no labels" in said["separation"]["reason"]


@pytest.mark.usefixtures("folder")
def test_labels_from_a_table():
    rows = [f"ball/{k}.ply,{'even' if k % 2 == 0 else 'odd'}" for k in range(8)]
    Path("labels.csv").write_text("file,label\n" + "\n".join(rows) + "\n")
    words = ["--labels", "labels.csv", "--jobs", "1", "--quiet", "--embedding", "pca"]
    assert main(["report", "in", *words]) == 0
    assert header("report.html")["classes"] == ["even", "odd"]
    assert len(header("report.html")["files"]) == 8


def test_dollars_in_class_names_are_no_formulas(folder):
    folder.joinpath("ball").rename(folder / "$\\frac{")
    assert main(["report", "in", "--jobs", "1", "--quiet", "--embedding", "pca"]) == 0
    assert header("report.html")["classes"] == ["$\\frac{", "sphere"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["report", "absent"], "there is no folder 'absent'"),
        (["report", __file__], "is a file; a folder of files is expected"),
        (["report", "empty"], "no point files in 'empty'"),
        (["report", "in", "-o", "r.pdf"], "--out must end in .html"),
        (["report", "in", "--folds", "1"], "--folds must be"),
        (["report", "in", "--labels", "no.csv"], "no.csv"),
        (["report", "bad"], "none of the 1 files can be read"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_start_is_one_sentence(capsys, words, problem):
    Path("empty").mkdir()
    Path("bad").mkdir()
    Path("bad/x.ply").write_text("ply\nnonsense")
    assert main([*words, "--jobs", "1", "--quiet"]) == 2
    captured = capsys.readouterr()
    assert problem in captured.err
    assert captured.err.count("\n") == 1
    assert not Path("report.html").exists()
