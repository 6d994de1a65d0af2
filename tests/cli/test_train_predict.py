"""``heatfield train`` and ``predict`` from labelled folders to a table of predictions."""

import csv
import json

import numpy as np
import pytest
from estimator_checks import some_clouds

import heatfield as hf
from heatfield.cli import main


@pytest.fixture
def folder(tmp_path):
    """Two classes in two folders, one file of which cannot be read and one that has another dimension."""
    clouds, labels = some_clouds(20)
    for i, (points, label) in enumerate(zip(clouds, labels, strict=True)):
        (tmp_path / "in" / label).mkdir(parents=True, exist_ok=True)
        hf.write_points(tmp_path / "in" / label / f"c{i:02d}.ply", points)
    (tmp_path / "in" / "ball" / "bad.csv").write_text("x,y,z\n1,2,three\n")
    hf.write_points(tmp_path / "in" / "ring" / "flat.npy", np.eye(2))
    return tmp_path / "in"


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def closed_form(folder, model, *more):
    return main(
        ["train", str(folder), "-o", str(model), "--variant", "desc", "--head", "lda", "--scales", "4", *more]
    )


def test_train_and_predict(folder, tmp_path, capsys):
    model = tmp_path / "model"
    assert closed_form(folder, model, "--folds", "3") == 1  # trained, but two files could not be used
    said = capsys.readouterr()
    assert "2 of 22 files could not be used, see" in said.err
    assert "3 folds: accuracy" in said.out
    assert "macro F1" in said.out
    problems = {row["file"].split("/")[-1]: row["problem"] for row in table(tmp_path / "model.errors.csv")}
    assert problems["flat.npy"] == "its points have 2 coordinates, 3 are expected"
    assert "three" in problems["bad.csv"]

    report = json.loads((tmp_path / "model.report.json").read_text())["cross_validation"]
    assert report["classes"] == ["ball", "ring"]
    assert np.sum(report["confusion"]) == 20
    matrix = np.array(report["confusion"])
    recall = matrix.diagonal() / matrix.sum(axis=1)
    assert report["recall"] == pytest.approx({"ball": recall[0], "ring": recall[1]})
    assert report["mACC"]["mean"] == pytest.approx(np.mean(report["mACC"]["by_fold"]))
    assert (tmp_path / "model.confusion.png").read_bytes().startswith(b"\x89PNG")

    out = tmp_path / "p.csv"
    assert main(["predict", str(model), str(folder), "-o", str(out), "--quiet"]) == 1
    rows = table(out)
    assert [r["file"] for r in rows] == sorted(r["file"] for r in rows)
    assert len(rows) == 20
    loaded = hf.HFSClassifier.load(model)
    clouds = [hf.read_points(row["file"]) for row in rows]
    assert [row["label"] for row in rows] == loaded.predict(clouds).tolist()
    found = np.array([[float(row["p_ball"]), float(row["p_ring"])] for row in rows])
    np.testing.assert_allclose(found, loaded.predict_proba(clouds), rtol=1e-5, atol=1e-12)
    assert [float(row["probability"]) for row in rows] == found.max(axis=1).tolist()
    assert {row["note"] for row in rows} == {""}
    assert len(table(tmp_path / "p.errors.csv")) == 2


def test_learned_variant_leaves_nothing_behind(folder, tmp_path, capsys):
    pytest.importorskip("torch")
    model = tmp_path / "m"
    words = ["--epochs", "2", "--folds", "2", "--scales", "3", "--quiet", "--train-points", "10"]
    assert main(["train", str(folder), "-o", str(model), *words]) == 1
    assert capsys.readouterr().out == ""
    assert sorted(f.name for f in tmp_path.iterdir()) == [
        "in", "m", "m.confusion.png", "m.errors.csv", "m.report.json"
    ]  # fmt: skip
    assert hf.HFSClassifier.load(model).variant == "full"


def test_files_are_read_for_prediction_as_for_training(folder, tmp_path):
    assert closed_form(folder, tmp_path / "m", "--folds", "0", "--budget", "12", "--quiet") == 1
    assert not (tmp_path / "m.report.json").exists()
    file = next((folder / "ball").glob("*.ply"))
    assert main(["predict", str(tmp_path / "m"), str(file), "-o", str(tmp_path / "p.csv"), "--quiet"]) == 0
    (row,) = table(tmp_path / "p.csv")
    reading = hf.HFSClassifier.load(tmp_path / "m").notes_["reading"]
    assert reading["budget"] == 12
    points = hf.read_cloud(file, **reading).points
    assert len(points) == 12
    expected = hf.HFSClassifier.load(tmp_path / "m").predict_proba([points])[0]
    assert float(row["p_ball"]) == pytest.approx(expected[0], rel=1e-5, abs=1e-12)


def test_labels_from_a_table(folder, tmp_path):
    files = sorted(folder.glob("*/*.ply"))
    lines = [f"{f.relative_to(folder)},{'odd' if int(f.stem[1:]) % 2 else 'even'}" for f in files]
    (tmp_path / "labels.csv").write_text("file,label\n" + "\n".join(lines) + "\n")
    assert (
        closed_form(
            folder, tmp_path / "m", "--labels", str(tmp_path / "labels.csv"), "--folds", "2", "--quiet"
        )
        == 0
    )
    assert hf.HFSClassifier.load(tmp_path / "m").classes_.tolist() == ["even", "odd"]


def test_clouds_unlike_the_training_are_noted(folder, tmp_path, capsys):
    closed_form(folder, tmp_path / "m", "--folds", "0", "--quiet")
    hf.write_points(tmp_path / "far.ply", 1000 * hf.read_points(next((folder / "ball").glob("*.ply"))))
    assert (
        main(["predict", str(tmp_path / "m"), str(tmp_path / "far.ply"), "-o", str(tmp_path / "p.csv")]) == 0
    )
    assert "1 clouds are unlike the training set" in capsys.readouterr().err
    assert "is it in another unit?" in table(tmp_path / "p.csv")[0]["note"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "{t}/none", "-o", "{t}/m"], "root must be a folder"),
        (["train", "{t}", "-o", "{t}/no/m"], "no such folder"),
        (["train", "{t}/in/ball", "-o", "{t}/m"], "holds no folders with point files"),
        (
            ["train", "{t}/in", "-o", "{t}/m", "--variant", "desc", "--train-points", "5"],
            "train_points=5 is an option of variant='full'",
        ),
        (["predict", "{t}/none", "{t}/in", "-o", "{t}/p.csv"], "there is no model at"),
        (["predict", "{t}/in", "{t}/in", "-o", "{t}/p.csv"], "it has no model.json"),
        (["predict", "{t}/in", "{t}/in", "-o", "{t}/p.txt"], "--out must end in .csv"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("folder")
def test_wrong_words(tmp_path, words, message, capsys):
    assert main([word.format(t=tmp_path) for word in words]) == 2
    assert message in capsys.readouterr().err
