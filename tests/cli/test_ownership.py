"""Commands replace and remove only what is theirs, and are alone with their output."""

import csv
import fcntl
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from heatfield.cli._shards import load_shard
from tests.helpers.class_folder import write_two_classes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two classes of six clouds."""
    monkeypatch.chdir(tmp_path)
    return write_two_classes("in", 6, 30, ".npy")


DESCRIBE = ["describe", "in", "--jobs", "1", "--scales", "3"]
TRAIN = ["train", "in", "-o", "m", "--variant", "simple", "--head", "lda", "--scales", "3", "--folds", "2"]
REPORT = [
    "report",
    "in",
    "--jobs",
    "1",
    "--scales",
    "3",
    "--folds",
    "2",
    "--embedding",
    "pca",
    "-o",
    "r.html",
]
VIEW = ["view", "in/ball/0.npy", "--jobs", "1", "--scales", "3", "-o", "v.html"]
DEMO = ["demo", "--clouds", "10", "--jobs", "1", "-o", "d"]


@pytest.mark.parametrize(
    ("command", "theirs"),
    [
        ([*DESCRIBE, "-o", "t.csv"], "t.errors.csv"),
        ([*DESCRIBE, "-o", "t.csv"], "t.meta.json"),
        ([*DESCRIBE, "-o", "t.npz", "--per-point", "npz"], "t_points/in/ball/0.npy.npz"),
        (TRAIN, "m.errors.csv"),
        (TRAIN, "m.report.json"),
        (TRAIN, "m.confusion.png"),
        (TRAIN, "m/model.json"),
        (REPORT, "r.html"),
        (VIEW, "v.html"),
        (DEMO, "d/results.json"),
        (DEMO, "d/spectra_by_class.png"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_file_of_someone_else_is_neither_replaced_nor_removed(command, theirs, capsys):
    Path(theirs).parent.mkdir(parents=True, exist_ok=True)
    Path(theirs).write_text('{"my": "own"}\n')
    assert main(command) == 2
    said = capsys.readouterr().err
    assert Path(theirs).read_text() == '{"my": "own"}\n'
    assert "cannot" in said
    assert theirs.split("/")[0] in said
    assert sorted(p.name for p in Path().iterdir()) == sorted({"in", theirs.split("/")[0]})


@pytest.mark.parametrize(
    "command", [[*DESCRIBE, "-o", "t.csv", "--per-point", "npz"], TRAIN, REPORT, VIEW], ids=lambda c: c[0]
)
@pytest.mark.usefixtures("folder")
def test_its_own_files_are_replaced(command):
    Path("in/ball/bad.csv").write_text("x,y,z\n1,2,three\n")
    first = main(command)
    names = sorted(p.name for p in Path().iterdir())
    assert main(command) == first < 2
    assert sorted(p.name for p in Path().iterdir()) == names
    Path("in/ball/bad.csv").unlink()
    assert main(command) == 0
    assert not list(Path().glob("*.errors.csv"))  # a list of failures goes where nothing failed


@pytest.mark.usefixtures("folder")
def test_a_report_leaves_what_others_put_beside_its_shards():
    mine = Path("r.html.parts", "thesis.txt")
    mine.parent.mkdir()
    mine.write_text("mine")
    assert main([*REPORT, "--quiet"]) == 0
    assert [p.name for p in mine.parent.iterdir()] == ["thesis.txt"]
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda _: b"",
        lambda _: b"PK\x03\x04" + bytes(200),
        lambda data: data.replace(b"NUMPY", b"NUMPI"),
        lambda data: data.replace(b"(12, 3)", b"(99, 3)"),
        lambda data: data.replace(b"'<i8'", b"'|O8'"),
    ],
    ids=["cut", "empty", "zeros", "magic", "shape", "objects"],
)
@pytest.mark.usefixtures("folder")
def test_a_damaged_shard_is_computed_again(damage):
    kept = {}
    from heatfield.cli import _describe

    real = _describe.clear_parts

    def copied(parts):
        kept.update({p.name: p.read_bytes() for p in parts.glob("*.npz")})
        real(parts)

    _describe.clear_parts = copied
    try:
        assert main([*DESCRIBE, "-o", "t.npz", "--quiet"]) == 0
    finally:
        _describe.clear_parts = real
    first = Path("t.npz").read_bytes()
    ((name, data),) = kept.items()
    Path("t.npz.parts").mkdir()
    Path("t.npz.parts", name).write_bytes(damage(data))
    assert load_shard(Path("t.npz.parts", name), 12) is None
    assert main([*DESCRIBE, "-o", "t.npz", "--quiet"]) == 0
    assert Path("t.npz").read_bytes() == first
    assert not Path("t.npz.parts").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_in_the_place_of_a_shard_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "shard.npz")
    assert load_shard(tmp_path / "shard.npz") is None


@pytest.mark.parametrize("command", [[*DESCRIBE, "-o", "in/other.npz"], [*REPORT[:-1], "in/r.html"], TRAIN])
@pytest.mark.usefixtures("folder")
def test_what_a_killed_command_kept_is_no_cloud(command):
    for parts in ("in/f.npz.parts", "in/ball/r.html.parts"):
        Path(parts).mkdir()
        np.savez(Path(parts, "000000-" + 24 * "a" + ".npz"), points=np.eye(3))
    assert main([*command, "--quiet"]) == 0


@pytest.mark.parametrize("command", [[*DESCRIBE, "-o", "t.npz"], TRAIN, REPORT], ids=lambda c: c[0])
@pytest.mark.usefixtures("folder")
def test_a_second_command_for_one_output_is_told_so(command, capsys):
    parts = Path({"describe": "t.npz", "train": "m", "report": "r.html"}[command[0]] + ".parts")
    parts.mkdir()
    with open(parts / ".heatfield-lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert main(command) == 2
        assert "another command is writing" in capsys.readouterr().err
    assert main(command) == 0  # a lock that was left behind holds nothing
    assert not parts.exists()


@pytest.mark.usefixtures("folder")
def test_report_without_matplotlib_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    assert main(REPORT) == 2
    assert "pip install 'heatfield[show]'" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_reader_that_fails_in_an_unknown_way_ends_nothing(monkeypatch):
    import heatfield.cli._shards as shards
    import heatfield.io as points_io

    real = points_io.read_cloud

    def odd(path, **options):
        if str(path).endswith("ball/0.npy"):
            raise LookupError("a fault of a reader")
        return real(path, **options)

    monkeypatch.setattr(shards, "read_cloud", odd)
    monkeypatch.setattr(points_io, "read_cloud", odd)
    for command, errors in ((["-o", "t.npz"], "t.errors.csv"), (TRAIN[2:], "m.errors.csv")):
        assert main([*(DESCRIBE if command[1] == "t.npz" else TRAIN[:2]), *command, "--quiet"]) == 1
        with open(errors, newline="") as file:
            (row,) = csv.DictReader(file)
        assert row["file"].endswith("ball/0.npy")
        assert row["problem"] == "LookupError: a fault of a reader"


def test_the_dimension_is_that_of_most_files(folder, capsys):
    Path(folder, "ball", "0.npy").unlink()
    np.save(folder / "ball" / "00.npy", np.random.default_rng(1).normal(size=(9, 2)))  # the first by name
    for command, errors in (([*DESCRIBE, "-o", "t.csv"], "t.errors.csv"), (TRAIN, "m.errors.csv")):
        assert main([*command, "--quiet"]) == 1
        with open(errors, newline="") as file:
            (row,) = csv.DictReader(file)
        assert row["problem"] == (
            "its points have 2 coordinates where most files have 3; --dims 2 takes it instead"
        )
    assert json.loads(Path("t.meta.json").read_text())["n_dims"] == 3
    # Of an array without names the first two columns are taken.
    assert main([*DESCRIBE, "-o", "t.csv", "--dims", "2", "--quiet"]) == 0
    assert json.loads(Path("t.meta.json").read_text())["n_dims"] == 2
    with open("t.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 12
    capsys.readouterr()
    assert main([*TRAIN, "--dims", "0"]) == 2
    assert "--dims must be an integer of at least 1, got 0" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_cells_are_no_formulas():
    shutil.move("in/ball/0.npy", "=1+1.npy")
    Path("@bad.csv").write_text("x,y,z\n1,2,three\n")
    words = ["describe", "=1+1.npy", "@bad.csv", "in/ball/1.npy", "-o", "t.csv", "--jobs", "1", "--quiet"]
    assert main(words) == 1
    with open("t.csv", newline="") as file:
        assert [row["file"] for row in csv.DictReader(file)] == ["'=1+1.npy", "in/ball/1.npy"]
    with open("t.errors.csv", newline="") as file:
        assert [row["file"] for row in csv.DictReader(file)] == ["'@bad.csv"]


def test_a_model_replaces_a_link_and_not_what_it_points_to(tmp_path):
    clouds, labels = hf.datasets.make_orbit5k(n_per_class=3, n_points=40)
    model = hf.HFSClassifier("simple", head="lda", n_scales=3).fit(clouds, labels)
    model.save(tmp_path / "first")
    before = (tmp_path / "first" / "model.json").read_bytes()
    (tmp_path / "latest").symlink_to("first")
    (tmp_path / "nowhere").symlink_to("none")
    for name in ("latest", "nowhere"):
        model.save(tmp_path / name, notes={"second": True})
        assert not (tmp_path / name).is_symlink()
        assert hf.HFSClassifier.load(tmp_path / name).notes_ == {"second": True}
    assert (tmp_path / "first" / "model.json").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["first", "latest", "nowhere"]


@pytest.mark.usefixtures("folder")
def test_a_reader_that_fails_in_an_unknown_way_ends_no_report(monkeypatch, capsys):
    import heatfield.cli._shards as shards

    real = shards.read_cloud

    def odd(path, **options):
        if str(path).endswith("ball/0.npy"):
            raise LookupError("a fault of a reader")
        return real(path, **options)

    monkeypatch.setattr(shards, "read_cloud", odd)
    assert main([*REPORT, "--quiet"]) == 1
    assert "1 files could not be used" in capsys.readouterr().err
    said = json.loads(re.search(r'id="header">(.*?)</script>', Path("r.html").read_text(), re.S)[1])
    assert said["broken"] == [["ball/0.npy", "", "LookupError: a fault of a reader"]]


@pytest.mark.usefixtures("folder")
def test_class_names_are_no_formulas():
    """In the tables of describe, predict and search; a table that is read back has the names themselves."""
    from heatfield.cli._features import read_features

    def column(table, name):
        with open(table, newline="") as file:
            return {row[name] for row in csv.DictReader(file)}

    shutil.move("in/ball", "in/=ball")
    shutil.move("in/sphere", "in/@sphere")
    shutil.copy("in/=ball/0.npy", "=1+1.npy")
    assert main([*DESCRIBE, "-o", "t.csv", "--quiet"]) == 0
    assert column("t.csv", "label") == {"'=ball", "'@sphere"}
    assert {*read_features(Path("t.csv")).labels.values()} == {"=ball", "@sphere"}
    assert main([*TRAIN, "--quiet"]) == 0
    assert main(["predict", "m", "=1+1.npy", "in", "-o", "p.csv", "--quiet", "--jobs", "1"]) == 0
    assert column("p.csv", "label") == {"'=ball", "'@sphere"}
    assert "'=1+1.npy" in column("p.csv", "file")
    assert main(["search", "build", "in", "-o", "index", "--jobs", "1", "--scales", "3", "--quiet"]) == 0
    assert main(["search", "query", "index", "=1+1.npy", "-o", "h.csv", "--jobs", "1", "--quiet"]) == 0
    assert column("h.csv", "query") == {"'=1+1.npy"}
    assert column("h.csv", "label") == {"'=ball", "'@sphere"}
