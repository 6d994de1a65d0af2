"""A folder as a page: classes, groups, figures, broken files, and going on after a stop."""

from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from tests.helpers.files import header, write_two_classes

QUICK = {"variant": "simple", "n_scales": 3, "head": "lda", "folds": 2, "embedding": "pca", "n_jobs": 1}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Two classes of eight clouds."""
    monkeypatch.chdir(tmp_path)
    return write_two_classes("in", 8, 60, ".ply")


def test_a_folder_of_classes():
    result = hf.report_files("in", embedding="pca", head="lda", folds=4)
    assert result.path == Path("report.html")
    assert result.errors == result.figures == []
    assert len(result.table) == 16
    assert result.table.names == hf.HFSDescriptor("joint", n_dims=3).layout().names
    assert result.scores.classes == ("ball", "sphere")
    assert result.scores.accuracy == 1.0
    said = header("report.html")
    assert (said["name"], said["classes"]) == ("in", ["ball", "sphere"])
    assert said["files"][0] == "ball/0.ply"
    assert len(said["map"]["places"]) == len(said["sketches"]) == 16
    assert all(said["sketches"])
    assert "100.0 % ± 0.0 mean accuracy over classes in 4 folds" in said["separation"]["words"]
    assert said["spectra"].startswith("data:image/png;base64,")
    assert said["broken"] == []
    assert sorted(p.name for p in Path().iterdir()) == ["in", "report.html"]


def test_broken_files_are_listed_and_the_rest_is_shown():
    Path("in/ball/cut.ply").write_bytes(Path("in/ball/0.ply").read_bytes()[:-9])
    Path("in/ball/one.xyz").write_text("1 2 3\n")
    hf.write_points("in/sphere/flat.csv", np.random.default_rng(1).normal(size=(50, 2)))
    result = hf.report_files("in", **QUICK)
    problems = {error.file: error.problem for error in result.errors}
    assert set(problems) == {"in/ball/cut.ply", "in/ball/one.xyz", "in/sphere/flat.csv"}
    assert "fewer than two distinct points" in problems["in/ball/one.xyz"]
    assert "2 coordinates where most files have 3" in problems["in/sphere/flat.csv"]
    broken = {file: problem for file, _, problem in header("report.html")["broken"]}
    assert broken == {file.removeprefix("in/"): problem for file, problem in problems.items()}
    assert len(result.table) == len(header("report.html")["files"]) == 16


def test_figures_as_files():
    result = hf.report_files("in", figures="figures", **QUICK)
    names = ["figure-map.svg", "figure-spectra.svg", "figure-confusion.svg", "figure-blocks.svg"]
    assert [file.name for file in result.figures] == [*names, "figure-scales.svg"]
    written = {file.name: file.read_bytes() for file in Path("figures").iterdir()}
    assert all(b"<svg" in data and b"heatfield" in data[:4096] for data in written.values())
    hf.report_files("in", figures="figures", **QUICK)
    assert {file.name: file.read_bytes() for file in Path("figures").iterdir()} == written
    hf.report_files("in/ball", figures="figures", **QUICK)
    assert sorted(file.name for file in Path("figures").iterdir()) == names[:2], "one class has no matrix"
    Path("figures/figure-map.svg").write_text("my own drawing")
    with pytest.raises(ValueError, match="was not written by heatfield"):
        hf.report_files("in", figures="figures", **QUICK)
    with pytest.raises(ValueError, match="it is not a folder"):
        hf.report_files("in", figures="in/ball/0.ply", **QUICK)


def test_lengths_stand_beside_the_scales():
    hf.report_files("in", **{**QUICK, "lengths": [0.1, 0.25, 1]})
    said = header("report.html")
    assert dict(said["facts"])["lengths"] == "√t from 0.1 to 1, the same for all clouds"
    assert [row[0] for row in said["separation"]["scales"]] == ["s0, √t = 0.1", "s1, √t = 0.25", "s2, √t = 1"]
    result = hf.report_files("in", **QUICK)
    middle = np.median(
        [hf.signatures(hf.read_points(f), n_scales=3).lengths for f in result.table.files], axis=0
    )
    expected = [f"s{a}, √t = {middle[a]:.3g}" for a in range(3)]
    assert [row[0] for row in header("report.html")["separation"]["scales"]] == expected


def test_labels_and_groups_from_tables():
    rows = [f"ball/{k}.ply,{'even' if k % 2 == 0 else 'odd'}" for k in range(8)]
    Path("labels.csv").write_text("file,label\n" + "\n".join(rows) + "\n")
    groups = {f"{kind}/{k}.ply": f"patient {k // 2}" for k in range(8) for kind in ("ball", "sphere")}
    result = hf.report_files("in", labels="labels.csv", groups=groups, **QUICK)
    assert result.scores.classes == ("even", "odd")
    assert len(result.table) == 8
    assert result.scores.grouped
    assert "No group is split" in header("report.html")["separation"]["words"]


def test_without_classes_the_page_says_why_there_are_no_scores():
    result = hf.report_files("in/ball", **QUICK)
    assert "carry no labels" in result.scores.reason
    assert header("report.html")["labels"] is None


@pytest.mark.parametrize(
    ("place", "options", "problem"),
    [
        ("absent", {}, "there is no folder 'absent'"),
        (__file__, {}, "is a file; a folder of files is expected"),
        ("empty", {}, "no point files in 'empty'"),
        ("bad", {}, "bad/x.ply"),
        ("in", {"out": "r.pdf"}, "out must end in .html"),
        ("in", {"out": "no/r.html"}, "no such folder"),
        ("in", {"groups": {"ball/0.ply": "a"}}, "groups names no group of"),
        ("in", {"blocks": ["global"]}, "blocks must hold 'hds'"),
    ],
)
def test_what_cannot_start_is_said_before_the_work(place, options, problem):
    Path("empty").mkdir()
    Path("bad").mkdir()
    Path("bad/x.ply").write_text("ply\nnonsense")
    with pytest.raises((ValueError, OSError), match=problem.replace("(", r"\(")):
        hf.report_files(place, **options)
    assert not Path("report.html").exists()
