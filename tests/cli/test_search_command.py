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
