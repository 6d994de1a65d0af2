"""A verb writes what its function writes, byte for byte."""

import re
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from tests.helpers.files import cut, landscape, write_tiles, write_two_classes

QUICK = {"variant": "simple", "n_scales": 3, "n_jobs": 1}
WORDS = ["--variant", "simple", "--n-scales", "3", "--n-jobs", "1"]

# What is typed, and what is called; OUT is a name that both are given.
CASES = {
    "describe": (
        ["describe", "in", "-o", "OUT.csv", "--per-point", "csv", "--point-channels", "dimension", *WORDS],
        lambda out: hf.describe_files(
            "in", f"{out}.csv", per_point="csv", point_channels=["dimension"], **QUICK
        ),
    ),
    "describe, reading": (
        ["describe", "in", "-o", "OUT.npz", "--budget", "20", "--invalid", "drop", "--lengths", "0.1,0.5"],
        lambda out: hf.describe_files("in", f"{out}.npz", budget=20, invalid="drop", lengths=[0.1, 0.5]),
    ),
    "report": (
        ["report", "in", "-o", "OUT.html", "--figures", "OUT", "--folds", "2", "--head", "lda",
         "--embedding", "pca", "--labels", "labels.csv", "--groups", "groups.csv", *WORDS],
        lambda out: hf.report_files(
            "in", f"{out}.html", figures=out, folds=2, head="lda", embedding="pca", labels="labels.csv",
            groups="groups.csv", **QUICK,
        ),
    ),
    "train": (
        ["train", "in", "-o", "OUT", "--head", "lda", "--folds", "2", "--budget", "20", *WORDS],
        lambda out: hf.train_files("in", out, head="lda", folds=2, budget=20, **QUICK),
    ),
    "predict": (
        ["predict", "model", "in", "-o", "OUT.csv"],
        lambda out: hf.predict_files("model", "in", f"{out}.csv"),
    ),
    "search build": (
        ["search", "build", "in", "-o", "OUT", "--metric", "cosine", *WORDS],
        lambda out: hf.build_index("in", out, metric="cosine", **QUICK),
    ),
    "search query": (
        ["search", "query", "index", "in/ball", "-o", "OUT.csv", "--page", "OUT.html", "-k", "2"],
        lambda out: hf.query_index("index", "in/ball", f"{out}.csv", page=f"{out}.html", k=2),
    ),
    "pattern": (
        ["pattern", "plane.csv", "--window", "0,0,1,1", "-o", "OUT.json", "--plot", "OUT.svg",
         "--simulations", "39", "--lengths", "0.05,0.1"],
        lambda out: hf.pattern_test(
            "plane.csv", [0, 0, 1, 1], out=f"{out}.json", plot=f"{out}.svg", simulations=39,
            lengths=[0.05, 0.1],
        ),
    ),
    "points train": (
        ["points", "train", "plots", "-o", "OUT", "--lengths", "0.3,1", "--iterations", "3", "--folds", "2",
         "--blocks", "dimension,height", "--class-weight", "none", "--ignore", "3,4", "--n-jobs", "1"],
        lambda out: hf.train_points(
            "plots", out, lengths=[0.3, 1.0], iterations=3, folds=2, blocks=["dimension", "height"],
            class_weight=None, ignore=[3, 4], n_jobs=1,
        ),
    ),
    "points predict": (
        ["points", "predict", "labels", "plots/0.ply", "-o", "OUT", "--format", "csv"],
        lambda out: hf.predict_points("labels", "plots/0.ply", out, format="csv"),
    ),
    "survey": (
        ["survey", "tiles", "-o", "OUT", "--n-scales", "4", "--point-channels", "dimension"],
        lambda out: hf.survey("tiles", out, n_scales=4, point_channels=["dimension"]),
    ),
    "view": (
        ["view", "in/ball/0.npy", "-o", "OUT.html", "--n-scales", "4", "--theme", "dark"],
        lambda out: hf.view_file("in/ball/0.npy", f"{out}.html", n_scales=4, theme="dark"),
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Two classes of clouds with a broken file, labelled plots, tiles, and models of all of them."""
    monkeypatch.chdir(tmp_path)
    write_two_classes("in", 6, 30, ".npy")
    Path("in/ball/broken.ply").write_text("no cloud")
    hf.write_points("plane.csv", np.random.default_rng(0).random((50, 2)))
    files = [f"{kind}/{k}.npy" for kind in ("ball", "sphere") for k in range(6)]
    Path("labels.csv").write_text("file,label\n" + "".join(f"{f},{'ab'[f < 's']}\n" for f in files))
    groups = [*files, "ball/broken.ply"]
    Path("groups.csv").write_text("file,group\n" + "".join(f"{f},{f[-5]}\n" for f in groups))
    hf.build_index("in", "index", **QUICK)
    hf.train_files("in", "model", head="lda", folds=0, **QUICK)
    return tmp_path


@pytest.fixture
def plots():
    """Two labelled plots, and what was learnt from the first."""
    clouds, labels = hf.datasets.make_forest(2, n_points=500, random_state=3)
    Path("plots").mkdir()
    for i, (cloud, own) in enumerate(zip(clouds, labels, strict=True)):
        hf.write_points(f"plots/{i}.ply", cloud, {"label": own})
    hf.train_points("plots/0.ply", "labels", lengths=[0.3, 1.0], iterations=3, folds=0, n_jobs=1)


@pytest.fixture
def tiles():
    """A landscape in four tiles."""
    pytest.importorskip("pyarrow")
    points = landscape(1_000, seed=1)
    write_tiles(Path("tiles"), points, cut(points, 2))


_CLOCK = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d UTC|\"(seconds|steps)\": \{[^}]*\}")


def written(name):
    """All files of this name, by the rest of their names, without what a clock has written."""
    found = {}
    for path in sorted(Path().rglob("*")):
        if path.is_file() and path.parts[0].startswith(name):
            found[str(path).removeprefix(name)] = _CLOCK.sub(b"", path.read_bytes())
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_verb_writes_what_the_function_writes(case, request):
    words, call = CASES[case]
    for name in {"plots", "tiles"} & {*" ".join(words).replace("/", " ").split()}:
        request.getfixturevalue(name)
    assert main([word.replace("OUT", "verb") for word in words] + ["--quiet"]) in (0, 1)
    call("func")
    assert written("verb") == written("func") != {}


def test_add_and_remove_write_the_same():
    hf.write_points("more.npy", np.random.default_rng(9).normal(size=(30, 3)))
    for name, change in (
        ("verb", lambda: main(["search", "add", "verb", "more.npy", "--label", "ball", "--quiet"])),
        ("func", lambda: hf.add_to_index("func", "more.npy", label="ball")),
    ):
        hf.build_index("in", name, **QUICK)
        change()
    assert written("verb") == written("func") != {}
    assert main(["search", "remove", "verb", "in/ball/*", "--quiet"]) == 0
    assert len(hf.remove_from_index("func", "in/ball/*").names) == 6
    assert written("verb") == written("func") != {}


def test_info_prints_what_the_function_returns(capsys):
    assert main(["info", "in/ball/0.npy", "in/sphere/0.npy", "--n-scales", "3"]) == 0
    expected = [str(hf.info(f"in/{kind}/0.npy", n_scales=3)) for kind in ("ball", "sphere")]
    assert capsys.readouterr().out == "\n".join(expected) + "\n"


def test_what_verbs_say(capsys):
    assert main(["search", "build", "in", "-o", "i", "--evaluate", *WORDS]) == 1
    said = capsys.readouterr()
    assert "12 clouds indexed -> i" in said.out
    assert "nearest is of the class" in said.out
    assert said.err == "heatfield search: 1 of 13 files failed, see i.errors.csv\n"
    assert main(["search", "query", "i", "in/ball/0.npy", "-k", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "in/ball/0.npy"
    assert lines[1].split()[:4] == ["1", "0", "in/ball/0.npy", "[ball]"]
    assert main(["search", "add", "i", "plane.csv"]) == 2
    hf.write_points("more.npy", np.random.default_rng(9).normal(size=(30, 3)))
    assert main(["search", "add", "i", "more.npy"]) == 0
    said = capsys.readouterr()
    assert "1 cloud added -> i" in said.out
    assert "some clouds of the index have no class; see --label" in said.err
    assert main(["report", "in", "--folds", "2", "--head", "lda", "--embedding", "pca", *WORDS]) == 1
    said = capsys.readouterr()
    assert re.search(r"12 of 13 clouds -> report\.html\n0\.\d MB after \d", said.out)
    assert said.err.endswith("heatfield report: 1 of 13 files failed, see the end of report.html\n")
    assert main(["pattern", "plane.csv", "--simulations", "39"]) == 0
    assert "Test of a pattern of 50 points" in capsys.readouterr().out
    assert main(["view", "in/ball/0.npy"]) == 0
    assert re.search(r"in/ball/0.npy -> view.html: \d+ kB after", capsys.readouterr().out)


@pytest.mark.usefixtures("plots")
def test_what_points_says(capsys):
    Path("plots/broken.ply").write_bytes(b"ply and nothing more")
    words = ["--lengths", "0.3,1", "--iterations", "3", "--folds", "2", "--blocks", "dimension,height"]
    assert main(["points", "train", "plots", "-o", "m", *words]) == 1
    said = capsys.readouterr()
    assert "2 files, 1,000 points, classes 0, 1, 2, 3, 4\n" in said.out
    assert "lengths √t: s0 0.3, s1 1; 3 features per point" in said.out
    assert re.search(r"mean IoU \d+\.\d %, accuracy \d+\.\d % of [\d,]+ points of files", said.out)
    assert "mean IoU lost where a length is shuffled" in said.out
    assert "1 of 3 files failed" in said.err
    assert main(["points", "predict", "m", "plots/0.ply", "-o", "o"]) == 0
    assert "1 of 1 file -> o\n500 points, " in capsys.readouterr().out
