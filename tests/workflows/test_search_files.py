"""An index of files: build, add, remove, query, and what is refused before anything changes."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from tests.helpers.files import header, write_two_classes

QUICK = {"variant": "simple", "n_scales": 3, "n_jobs": 1}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Two classes of six clouds, and two files to search for."""
    monkeypatch.chdir(tmp_path)
    folder = write_two_classes("in", 7, 80, ".ply")
    Path("new").mkdir()
    for name in ("ball", "sphere"):
        Path("in", name, "6.ply").rename(f"new/{name}.ply")
    return folder


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def contents(folder):
    return {file: file.read_bytes() for file in Path(folder).iterdir()}


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "learned"])
def test_build_and_query(metric):
    built = hf.build_index("in", "index", metric=metric, n_jobs=1)
    assert (len(built.index), built.errors, len(built.names)) == (12, [], 12)
    assert built.index.descriptor_.variant == "joint"
    assert built.index.evaluate().nearest == 1.0
    found = hf.query_index("index", "new", "hits.csv", k=4, page="hits.html")
    assert found.files == ["new/ball.ply", "new/sphere.ply"]
    assert found.hits.labels == [["ball"] * 4, ["sphere"] * 4]
    table = rows("hits.csv")
    assert [row["rank"] for row in table] == ["1", "2", "3", "4"] * 2
    assert [row["name"] for row in table] == [name for own in found.hits.names for name in own]
    assert re.fullmatch(r"(\w+ \d\.\d\d(, )?){3}", table[0]["most_alike"])
    page = header("hits.html")
    assert page["files"][:2] == found.files
    assert all(len(sketch) > 100 for sketch in page["sketches"])
    assert [hit[1] for hit in page["queries"][0]["hits"]] == [f"{d:.4g}" for d in found.hits.distances[0]]
    assert sorted(p.name for p in Path().iterdir()) == ["hits.csv", "hits.html", "in", "index", "new"]


def test_files_are_read_as_those_of_the_index():
    built = hf.build_index("in", "index", budget=40, **QUICK)
    one, two = (hf.query_index(index, "in/ball/3.ply", k=2) for index in (built.index, "index"))
    assert one.rows() == two.rows()
    assert one.hits.distances[0, 0] == 0.0, "the same 40 points again"


@pytest.mark.parametrize("suffix", ["parquet", "csv", "npz"])
def test_a_table_of_features_gives_the_same_index(suffix):
    table = hf.describe_files("in", f"features.{suffix}", **QUICK)
    one, two, three = (
        hf.build_index(source, **more).index
        for source, more in ((f"features.{suffix}", {}), (table, {}), ("in", QUICK))
    )
    for other in (one, two):
        assert other.names == three.names
        assert other.labels == three.labels
        assert np.array_equal(other.rows_, three.rows_)
    one.save("one", notes={"reading": {}})
    hf.query_index("one", "new", page="hits.html", k=1)
    assert all(header("hits.html")["sketches"]), "the files have the thumbnails that the table has not"
    with pytest.raises(ValueError, match="variant belongs to files: a table says itself"):
        hf.build_index(f"features.{suffix}", variant="desc")


def test_broken_files_cost_themselves_only():
    Path("in/ball/9.ply").write_text("no cloud")
    Path("new/broken.ply").write_text("no cloud")
    (error,) = hf.build_index("in", "index", **QUICK).errors
    assert error.file == rows("index.errors.csv")[0]["file"] == "in/ball/9.ply"
    found = hf.query_index("index", "new", "hits.csv", k=1)
    assert len(rows("hits.csv")) == 2
    assert found.errors[0].file == rows("hits.errors.csv")[0]["file"] == "new/broken.ply"
    with pytest.raises(ValueError, match=r"^new/broken\.ply"):
        hf.query_index("index", "new/broken.ply")


def test_files_are_added_as_those_of_the_build():
    options = {"budget": 60, "lengths": [0.1, 0.3, 1], "variant": "desc", "n_jobs": 1}
    before = hf.build_index("in", "index", **options).index
    assert hf.add_to_index("index", "new/ball.ply", label="ball").names == ["new/ball.ply"]
    hf.add_to_index("index", ["new/sphere.ply"], label="other")
    index = hf.HFSIndex.load("index")
    assert index.names == [*before.names, "new/ball.ply", "new/sphere.ply"]
    assert index.labels == [*before.labels, "ball", "other"]
    assert np.array_equal(index.rows_[:12], before.rows_)
    assert index.notes_["reading"]["budget"] == 60
    assert index.sketch_of(12) is not None
    found = hf.query_index("index", "new/ball.ply", k=1)
    assert (found.hits.names, found.hits.distances[0, 0]) == ([["new/ball.ply"]], 0.0)
    gone = hf.remove_from_index("index", ["./new/ball.ply", "in/sphere/*"])
    assert len(gone.names) == 7
    assert hf.HFSIndex.load("index").labels == ["ball"] * 6 + ["other"]
    assert sorted(file.name for file in Path().iterdir()) == ["in", "index", "new"]


def test_what_is_added_has_the_class_of_its_folder_or_table():
    hf.build_index(hf.describe_files("in", **QUICK), "index")
    for name in ("ball", "sphere"):
        Path("more", name).mkdir(parents=True)
        Path("new", f"{name}.ply").rename(f"more/{name}/new.ply")
    Path("more/ball").rename("more/ball2")
    hf.describe_files("more", "more.csv", **QUICK)
    hf.add_to_index("index", "more.csv")
    assert hf.HFSIndex.load("index").labels[12:] == ["ball2", "sphere"]
    Path("loose").mkdir()
    Path("more/ball2/new.ply").rename("loose/one.ply")
    assert hf.add_to_index("index", "loose").index.labels[-1] is None


def test_what_is_refused_changes_nothing():
    hf.build_index("in", "index", **QUICK)
    kept = contents("index")
    other = {"n_scales": {"n_scales": 4}, "variant": {"variant": "desc"}, "budget": {"budget": 50}}
    for name, change in other.items():
        table = hf.describe_files("in", **{**QUICK, **change})
        with pytest.raises(ValueError, match=f"with {name}=.*, the index with {name}="):
            hf.add_to_index("index", table)
    np.savetxt("plane.csv", np.random.default_rng(0).normal(size=(30, 2)), delimiter=",")
    taken = r"'in/ball/0.ply' is in the index already; remove it first \(12 in all\)"
    wrong = [
        (lambda: hf.add_to_index("index", hf.describe_files("in", **QUICK)), taken),
        (lambda: hf.add_to_index("index", "in"), taken),
        (lambda: hf.add_to_index("index", "nowhere"), "there is no file or folder 'nowhere'"),
        (lambda: hf.add_to_index("index", "plane.csv"), "plane.csv: its points have 2 coord"),
        (lambda: hf.add_to_index("index", "new", label="a", labels="b.csv"), "give one only"),
        (lambda: hf.add_to_index("none", "new"), "none: no such folder"),
        (lambda: hf.add_to_index("in", "new"), "in: not a saved model"),
        (lambda: hf.remove_from_index("index", ["in/ball/0.ply", "in/ball/9.ply"]), "'in/ball/9.ply' is not"),
        (lambda: hf.remove_from_index("index", "new/*"), "is not in the index; nothing was removed"),
        (lambda: hf.remove_from_index("index", "*"), "nothing would be left in the index"),
        (lambda: hf.remove_from_index("none", "a"), "none: no such folder"),
    ]
    for call, expected in wrong:
        with pytest.raises(ValueError, match=expected):
            call()
        assert contents("index") == kept


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: hf.build_index("in", "in"), "cannot save to 'in': it exists"),
        (lambda: hf.build_index("in", labels="none.csv"), "none.csv"),
        (lambda: hf.build_index("in/ball", metric="learned", **QUICK), "needs a class for every file"),
        (lambda: hf.build_index("in/ball/0.ply", **QUICK), "at least two that differ"),
        (lambda: hf.query_index("nowhere", "new"), "nowhere: no such folder"),
        (lambda: hf.query_index("nowhere", "new", k=0), "k must be an integer of at least 1, got 0"),
        (lambda: hf.query_index("nowhere", "new", "hits.txt"), "out must end in .csv, got 'hits.txt'"),
        (lambda: hf.query_index("nowhere", "new", "mine.csv"), "was not written by heatfield"),
        (lambda: hf.query_index("nowhere", "new", page="hits.pdf"), "page must end in .html"),
    ],
)
def test_what_cannot_start_is_said(call, expected):
    Path("mine.csv").write_text("my own table\n")
    with pytest.raises((ValueError, OSError), match=expected):
        call()
    assert Path("mine.csv").read_text() == "my own table\n"
