"""Verbs replace and remove only what is theirs."""

from pathlib import Path

import pytest

import heatfield as hf
from heatfield.cli import main
from tests.helpers.files import write_two_classes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two classes of six clouds."""
    monkeypatch.chdir(tmp_path)
    return write_two_classes("in", 6, 30, ".npy")


FEW = ["--n-jobs", "1", "--n-scales", "3"]
DESCRIBE = ["describe", "in", "-o", "t.csv", *FEW]
TRAIN = ["train", "in", "-o", "m", "--variant", "simple", "--head", "lda", "--folds", "2", *FEW]
REPORT = ["report", "in", "-o", "r.html", "--folds", "2", "--embedding", "pca", *FEW]
VIEW = ["view", "in/ball/0.npy", "-o", "v.html", *FEW]
DEMO = ["demo", "--clouds", "10", "--n-jobs", "1", "-o", "d"]


@pytest.mark.parametrize(
    ("command", "theirs"),
    [
        (DESCRIBE, "t.errors.csv"),
        (TRAIN, "m.errors.csv"),
        (TRAIN, "m.report.json"),
        (TRAIN, "m.confusion.png"),
        (TRAIN, "m/model.json"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_files_of_others_stay(command, theirs, capsys):
    Path(theirs).parent.mkdir(parents=True, exist_ok=True)
    Path(theirs).write_text('{"my": "own"}\n')
    assert main(command) == 2
    said = capsys.readouterr().err
    assert Path(theirs).read_text() == '{"my": "own"}\n'
    assert "cannot" in said
    assert theirs.split("/")[0] in said
    assert sorted(p.name for p in Path().iterdir()) == sorted({"in", theirs.split("/")[0]})


@pytest.mark.parametrize(
    "command", [[*DESCRIBE, "--per-point", "npz"], TRAIN, REPORT, VIEW], ids=lambda c: c[0]
)
@pytest.mark.usefixtures("folder")
def test_own_files_are_replaced(command):
    Path("in/ball/bad.csv").write_text("x,y,z\n1,2,three\n")
    first = main(command)
    names = sorted(p.name for p in Path().iterdir())
    assert main(command) == first < 2
    assert sorted(p.name for p in Path().iterdir()) == names
    Path("in/ball/bad.csv").unlink()
    assert main(command) == 0
    assert not list(Path().glob("*.errors.csv"))  # a list of failures goes where nothing failed


def test_a_model_replaces_a_link_alone(tmp_path):
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
