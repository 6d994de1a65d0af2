"""``heatfield search`` from a shell."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from tests.helpers.class_folder import write_two_classes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two classes of six clouds, an index of them, and two files to search for."""
    monkeypatch.chdir(tmp_path)
    folder = write_two_classes("in", 7, 80, ".ply")
    Path("new").mkdir()
    for name in ("ball", "sphere"):
        Path("in", name, "6.ply").rename(f"new/{name}.ply")
    return folder


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def header(path):
    return json.loads(re.search(r'id="header">(.*?)</script>', Path(path).read_text(), re.S)[1])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "learned"])
def test_build_and_query(metric, capsys):
    build = ["search", "build", "in", "-o", "index", "--jobs", "1", "--metric", metric, "--evaluate"]
    assert main(build) == 0
    said = capsys.readouterr().out
    assert "HFSIndex of 12 clouds" in said
    assert "2: ball, sphere" in said
    assert "nearest is of the class  100.0 %" in said
    assert not Path("index.parts").exists()
    assert main(["search", "query", "index", "new", "-k", "4", "-o", "hits.csv", "--page", "hits.html"]) == 0
    found = rows("hits.csv")
    assert [row["rank"] for row in found] == ["1", "2", "3", "4"] * 2
    assert [row["label"] for row in found] == ["ball"] * 4 + ["sphere"] * 4
    assert found[0]["query"] == "new/ball.ply"
    assert found[0]["name"].startswith("in/ball/")
    assert re.fullmatch(r"(\w+ \d\.\d\d(, )?){3}", found[0]["most_alike"])
    page = header("hits.html")
    assert page["files"][:2] == ["new/ball.ply", "new/sphere.ply"]
    assert all(len(sketch) > 100 for sketch in page["sketches"])
    assert [hit[1] for hit in page["queries"][0]["hits"]] == [
        f"{float(r['distance']):.4g}" for r in found[:4]
    ]


@pytest.mark.usefixtures("folder")
def test_without_out_the_hits_are_printed(capsys):
    assert main(["search", "build", "in", "-o", "index", "--jobs", "1", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["search", "query", "index", "in/ball/0.ply", "-k", "2"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "in/ball/0.ply"
    assert said[1].split()[:4] == ["1", "0", "in/ball/0.ply", "[ball]"]
    assert len(said) == 3


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("suffix", ["parquet", "csv", "npz"])
def test_a_table_of_features_gives_the_same_index(suffix, capsys):
    describe = ["describe", "in", "-o", f"features.{suffix}", "--variant", "joint", "--jobs", "1"]
    assert main(describe) == 0
    assert main(["search", "build", f"features.{suffix}", "-o", "one", "--quiet"]) == 0
    assert main(["search", "build", "in", "-o", "two", "--jobs", "1", "--quiet"]) == 0
    one, two = hf.HFSIndex.load("one"), hf.HFSIndex.load("two")
    assert one.names == two.names
    assert one.labels == two.labels
    assert np.array_equal(one.rows_, two.rows_)
    # The table holds no thumbnails: the page takes them from the files.
    assert main(["search", "query", "one", "new", "--page", "hits.html", "-k", "1"]) == 0
    assert all(header("hits.html")["sketches"])
    assert main(["search", "build", f"features.{suffix}", "-o", "one", "--variant", "desc"]) == 2
    assert "--variant belongs to files" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_broken_files_cost_themselves_only(capsys):
    Path("in/ball/9.ply").write_text("no cloud")
    Path("new/broken.ply").write_text("no cloud")
    assert main(["search", "build", "in", "-o", "index", "--jobs", "1", "--quiet"]) == 1
    assert rows("index.errors.csv")[0]["file"] == "in/ball/9.ply"
    assert "1 of 13 files could not be used" in capsys.readouterr().err
    assert main(["search", "query", "index", "new", "-o", "hits.csv", "-k", "1"]) == 1
    assert len(rows("hits.csv")) == 2
    assert rows("hits.errors.csv")[0]["file"] == "new/broken.ply"
    assert main(["search", "query", "index", "new", "-k", "1"]) == 1
    assert "new/broken.ply" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_add_and_remove(capsys):
    """Files that are added are read, described and standardised as those of the build."""
    build = ["search", "build", "in", "-o", "index", "--jobs", "1", "--quiet", "--budget", "60"]
    assert main([*build, "--lengths", "0.1,0.3,1", "--variant", "desc"]) == 0
    before = hf.HFSIndex.load("index")
    assert list(before.descriptor_.lengths) == [0.1, 0.3, 1.0]
    add = ["search", "add", "index", "--jobs", "1"]
    assert main([*add, "new/ball.ply", "--label", "ball"]) == 0
    assert "1 cloud added" in capsys.readouterr().out
    assert main([*add, "new/sphere.ply", "--label", "other", "--quiet"]) == 0
    index = hf.HFSIndex.load("index")
    assert index.names == [*before.names, "new/ball.ply", "new/sphere.ply"]
    assert index.labels == [*before.labels, "ball", "other"]
    assert np.array_equal(index.rows_[:12], before.rows_)
    assert index.notes_ == before.notes_
    assert index.sketch_of(12) is not None
    assert main(["search", "query", "index", "new/ball.ply", "-k", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:4] == ["1", "0", "new/ball.ply", "[ball]"]
    assert main(["search", "remove", "index", "./new/ball.ply", "in/sphere/*"]) == 0
    assert "7 clouds removed" in capsys.readouterr().out
    index = hf.HFSIndex.load("index")
    assert index.names == [*before.names[:6], "new/sphere.ply"]
    assert index.labels == ["ball"] * 6 + ["other"]
    assert sorted(file.name for file in Path().iterdir()) == ["in", "index", "new"]


@pytest.mark.usefixtures("folder")
def test_one_class_folder_and_a_table_are_added_with_their_classes(capsys):
    """A folder of one class has it where the index knows the class; a table says its own classes."""
    describe = ["describe", "--variant", "joint", "--budget", "1024", "--jobs", "1", "in", "-o"]
    assert main([*describe, "all.parquet"]) == 0
    for name in ("ball", "sphere"):
        Path("more", name).mkdir(parents=True)
        Path("new", f"{name}.ply").rename(f"more/{name}/new.ply")
    Path("more/ball/broken.ply").write_text("no cloud")
    build = ["search", "build", "all.parquet", "-o", "index", "--jobs", "1", "--quiet"]
    assert main(build) == 0
    Path("more/sphere").rename("sphere")
    assert main(["search", "add", "index", "more", "--jobs", "1", "--quiet"]) == 1
    assert "1 of 2 files could not be used, see index.errors.csv" in capsys.readouterr().err
    assert rows("index.errors.csv")[0]["file"] == "more/ball/broken.ply"
    assert hf.HFSIndex.load("index").labels[12:] == ["ball"]
    Path("sphere").rename("more/sphere")
    Path("more/ball/broken.ply").unlink()
    Path("more/ball").rename("more/ball2")
    assert main([*describe[:-2], "more", "-o", "more.csv"]) == 0
    assert main(["search", "add", "index", "more.csv", "--quiet"]) == 0
    assert hf.HFSIndex.load("index").labels[12:] == ["ball", "ball2", "sphere"]
    assert not Path("index.errors.csv").exists()
    Path("loose").mkdir()
    Path("more/ball2/new.ply").rename("loose/one.ply")
    assert main(["search", "add", "index", "loose", "--jobs", "1", "--quiet"]) == 0
    assert "files without a class were added" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_added_or_removed_changes_nothing(capsys):
    build = ["search", "build", "in", "-o", "index", "--jobs", "1", "--quiet"]
    assert main(build) == 0
    kept = {file: file.read_bytes() for file in Path("index").iterdir()}
    for name, words in {
        "scales.csv": ["--variant", "joint", "--scales", "4", "--budget", "1024"],
        "desc.csv": ["--variant", "desc", "--budget", "1024"],
        "budget.csv": ["--variant", "joint", "--budget", "50"],
        "same.csv": ["--variant", "joint", "--budget", "1024"],
    }.items():
        assert main(["describe", "in", "-o", name, "--jobs", "1", *words]) == 0
    np.savetxt("plane.csv", np.random.default_rng(0).normal(size=(30, 2)), delimiter=",")
    capsys.readouterr()
    wrong = [
        (["add", "index", "scales.csv"], "was described with --scales=4, the index with --scales=8"),
        (["add", "index", "desc.csv"], "was described with --variant=desc, the index with --variant=joint"),
        (["add", "index", "budget.csv"], "was read with --budget=50, the index with --budget=1024"),
        (
            ["add", "index", "same.csv"],
            "'in/ball/0.ply' is in the index already; remove it first (12 in all)",
        ),
        (["add", "index", "in"], "'in/ball/0.ply' is in the index already; remove it first (12 in all)"),
        (["add", "index", "nowhere"], "there is no file or folder 'nowhere'"),
        (["add", "index", "plane.csv"], "none of the 1 files can be used"),
        (["add", "index", "new", "--label", "a", "--labels", "b.csv"], "give one only"),
        (["add", "none", "new"], "there is no model at 'none'"),
        (["add", "in", "new"], "'in' is not a whole model"),
        (["remove", "index", "in/ball/0.ply", "in/ball/9.ply"], "'in/ball/9.ply' is not in the index"),
        (["remove", "index", "new/*"], "'new/*' is not in the index; nothing was removed"),
        (["remove", "index", "*"], "nothing would be left in the index"),
        (["remove", "none", "a"], "there is no model at 'none'"),
        (["remove", "index"], "the following arguments are required: NAME"),
    ]
    for words, expected in wrong:
        try:
            code = main(["search", *words, *(["--jobs", "1"] if words[0] == "add" else [])])
        except SystemExit as stop:
            code = stop.code
        said = capsys.readouterr().err
        assert code == 2, words
        assert expected in said, (words, said)
        assert said.strip().count("\n") == 0, said
        assert {file: file.read_bytes() for file in Path("index").iterdir()} == kept, words


WRONG = [
    (["search"], "the following arguments are required: ACTION"),
    (["search", "find"], "invalid choice: 'find'"),
    (["search", "build", "in"], "required: -o/--out"),
    (["search", "build", "nowhere", "-o", "index2"], "there is no file or folder 'nowhere'"),
    (["search", "build", "in", "-o", "in"], "cannot save to 'in': it exists"),
    (["search", "build", "in", "-o", "no/index"], "there is no folder 'no'"),
    (["search", "build", "in", "-o", "index2", "--metric", "taxi"], "invalid choice: 'taxi'"),
    (["search", "build", "in", "-o", "index2", "--recall", "2"], "--recall must lie between 0 and 1, got 2"),
    (["search", "build", "in", "-o", "index2", "--scales", "1"], "--scales must be an integer of at least 2"),
    (["search", "build", "in", "-o", "index2", "--budget", "0"], "--budget must be"),
    (["search", "build", "in", "-o", "index2", "--seed", "-1"], "--seed must be"),
    (["search", "build", "in", "-o", "index2", "--labels", "none.csv"], "none.csv"),
    (["search", "build", "in/ball", "-o", "index2", "--metric", "learned"], "--metric learned needs a class"),
    (
        ["search", "build", "in/ball", "new", "-o", "x", "--metric", "learned"],
        "--metric learned needs classes",
    ),
    (["search", "build", "in/ball/0.ply", "-o", "index2"], "at least two that differ"),
    (["search", "build", "in/ball", "-o", "index2", "--evaluate"], "--evaluate needs a class for every file"),
    (["search", "query", "nowhere", "new"], "there is no model at 'nowhere'"),
    (["search", "query", "index", "nowhere"], "there is no file or folder 'nowhere'"),
    (["search", "query", "index", "new", "-k", "0"], "-k must be an integer of at least 1, got 0"),
    (["search", "query", "index", "new", "-k", "x"], "invalid int value: 'x'"),
    (["search", "query", "index", "new", "-o", "hits.txt"], "--out must end in .csv, got 'hits.txt'"),
    (["search", "query", "index", "new", "-o", "no/hits.csv"], "no such folder"),
    (["search", "query", "index", "new", "-o", "mine.csv"], "it exists and is not a table of hits"),
    (["search", "query", "index", "new", "--page", "hits.pdf"], "--page must end in .html, got 'hits.pdf'"),
    (["search", "query", "index", "new", "--jobs", "0"], "--jobs must be"),
]


def test_wrong_arguments_are_one_sentence(folder, capsys):
    assert main(["search", "build", str(folder), "-o", "index", "--jobs", "1", "--quiet"]) == 0
    Path("mine.csv").write_text("my own table\n")
    for words, expected in WRONG:
        try:
            code = main([*words, *(["--jobs", "1"] if words[1:2] == ["build"] else [])])
        except SystemExit as stop:
            code = stop.code
        said = capsys.readouterr().err
        assert code == 2, words
        assert expected in said, (words, said)
        assert said.strip().count("\n") == 0, said
    assert Path("mine.csv").read_text() == "my own table\n"


@pytest.mark.usefixtures("folder")
def test_points_are_read_as_they_were_for_the_index(capsys):
    assert main(["search", "build", "in", "-o", "index", "--jobs", "1", "--budget", "40", "--quiet"]) == 0
    index = hf.HFSIndex.load("index")
    assert index.notes_["reading"]["budget"] == 40
    assert main(["search", "query", "index", "in/ball/3.ply", "-k", "1"]) == 0
    # The same 40 points again: the distance of the file to itself is 0.
    assert capsys.readouterr().out.splitlines()[1].split()[1] == "0"
