"""``heatfield train`` and ``predict`` from labelled folders to a table of predictions."""

import csv
import json
import re

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from tests.helpers.estimator_checks import some_clouds


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
    assert problems["flat.npy"] == (
        "its points have 2 coordinates where most files have 3; --dims 2 takes it instead"
    )
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
    words += ["--variant", "full"]
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
    assert "unlike the training set: 1 of 1 clouds" in capsys.readouterr().err
    assert "is it in another unit?" in table(tmp_path / "p.csv")[0]["note"]


def _never(*_args, **_options):
    raise AssertionError("files were read first")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "{t}/none", "-o", "{t}/m"], "there is no folder"),
        (["train", __file__, "-o", "{t}/m"], "is a file; a folder of files is expected"),
        (["train", "{t}", "-o", "{t}/no/m"], "there is no folder"),
        (["train", "{t}", "-o", "{t}/m"], "must hold at least two classes, got ['in']; each folder in"),
        (["train", "{t}/in", "-o", "{t}/in"], "it exists and is not a folder with a model only"),
        (["train", "{t}/in", "-o", "."], "give the name of a new folder"),
        (["train", "{t}/in", "-o", "{t}/m", "--folds", "1"], "--folds must be at least 2, or 0 for no"),
        (
            ["train", "{t}/in", "-o", "{t}/m", "--variant", "full", "--patience", "3"],
            "--patience=3 needs validation",
        ),
        (
            ["train", "{t}/in", "-o", "{t}/m", "--variant", "full", "--batch", "1"],
            "--batch must be an integer of at least 2",
        ),
        (["train", "{t}/in", "-o", "{t}/m", "--batch", "8"], "--batch=8 is an option of --variant=full"),
        (["train", "{t}/in", "-o", "{t}/m", "--lengths", "2,1"], "--lengths must increase, got [2.0, 1.0]"),
        (["train", "{t}/in", "-o", "{t}/m", "--lengths", "1,x"], "--lengths must be numbers with commas"),
        (
            ["train", "{t}/in", "-o", "{t}/m", "--lengths", "1,2", "--scales", "4"],
            "--lengths sets all scales: leave out --scales",
        ),
        (
            ["train", "{t}/in", "-o", "{t}/m", "--variant", "full", "--device", "abacus"],
            "--device=abacus cannot be used",
        ),
        (["train", "{t}/in", "-o", "{t}/m", "--variant", "desc", "--scales", "1"], "--scales must be"),
        (["train", "{t}/in/ball", "-o", "{t}/m"], "holds no folders with point files"),
        (
            ["train", "{t}/in", "-o", "{t}/m", "--variant", "desc", "--train-points", "5"],
            "--train-points=5 is an option of --variant=full",
        ),
        (["predict", "{t}/none", "{t}/in", "-o", "{t}/p.csv"], "there is no model at"),
        (["predict", "{t}/in", "{t}/in", "-o", "{t}/p.csv"], "it has no model.json"),
        (["predict", "{t}/in", "{t}/in", "-o", "{t}/p.txt"], "--out must end in .csv"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("folder")
def test_wrong_words(tmp_path, words, message, capsys, monkeypatch):
    if words[0] == "train":
        pytest.importorskip("torch")
        monkeypatch.setattr("heatfield.cli._train.read_clouds", _never)  # said before the work
    assert main([word.format(t=tmp_path) for word in words]) == 2
    assert message in capsys.readouterr().err


def test_clouds_of_one_place_are_no_clouds(folder, tmp_path, recwarn):
    """Nothing is known of them: no label is made up, and nothing is learnt from them."""
    hf.write_points(folder / "ring" / "spot.ply", np.ones((5, 3)))
    assert closed_form(folder, tmp_path / "m", "--folds", "0", "--quiet") == 1
    problems = {row["file"].split("/")[-1]: row["problem"] for row in table(tmp_path / "m.errors.csv")}
    assert problems["spot.ply"] == "it has fewer than two distinct points, so nothing is known of it"
    assert (
        main(["predict", str(tmp_path / "m"), str(folder / "ring"), "-o", str(tmp_path / "p.csv"), "--quiet"])
        == 1
    )
    assert not [row for row in table(tmp_path / "p.csv") if "spot" in row["file"]]
    assert "spot.ply" in (tmp_path / "p.errors.csv").read_text()
    assert not recwarn.list


def test_rare_and_lost_classes_are_reported(folder, tmp_path, capsys):
    (folder / "solo").mkdir()
    (folder / "lost").mkdir()
    (folder / ".hidden").mkdir()
    for name in ("solo", ".hidden"):
        hf.write_points(folder / name / "a.ply", np.random.default_rng(0).normal(size=(20, 3)))
    (folder / "lost" / "a.csv").write_text("x,y,z\n1,2,three\n")
    assert closed_form(folder, tmp_path / "m", "--head", "svm") == 1
    said = capsys.readouterr()
    assert "class 'lost' is left out, no file of it could be used" in said.err
    assert "no cross-validation, class 'solo' has one cloud only" in said.err
    assert "of 3 classes" in said.out
    hf.write_points(folder / "solo" / "b.ply", np.random.default_rng(1).normal(size=(20, 3)))
    assert closed_form(folder, tmp_path / "m", "--head", "svm") == 1
    said = capsys.readouterr().err
    assert "2 folds instead of 5, class 'solo' has 2 clouds only" in said
    assert re.search(r"^fold 1 of 2$", said, re.MULTILINE)
    assert re.search(r"^fold 2 of 2, about \d+ min \d\d s left for all folds$", said, re.MULTILINE)
    (tmp_path / "labels.csv").write_text("solo/a.ply,\n")
    assert closed_form(folder, tmp_path / "m", "--labels", str(tmp_path / "labels.csv")) == 2
    assert "line 1: the file 'solo/a.ply' has no label" in capsys.readouterr().err


def test_figures_of_an_older_training_do_not_stay(folder, tmp_path):
    closed_form(folder, tmp_path / "m", "--folds", "2", "--quiet")
    assert (tmp_path / "m.report.json").exists()
    closed_form(folder, tmp_path / "m", "--folds", "0", "--quiet")
    assert not (tmp_path / "m.report.json").exists()
    assert not (tmp_path / "m.confusion.png").exists()


@pytest.mark.parametrize("where", ["beside", "among"])
def test_a_stopped_training_continues(folder, tmp_path, where, monkeypatch, capsys):
    """Also with other threads and a model among the classes: what it keeps there is no class of its own."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    from heatfield.nn import training

    words = ["--epochs", "4", "--folds", "2", "--scales", "3", "--blocks", "dimension,hds"]
    words += ["--variant", "full"]
    assert main(["train", str(folder), "-o", str(tmp_path / "whole"), *words]) == 1
    model = (tmp_path if where == "beside" else folder) / "m"
    parts = model.with_name("m.parts")
    epochs = []
    one_epoch = training._one_epoch

    def counted(*given, **named):
        if len(epochs) == 6:  # in the second fold
            epochs.append("stop")
            raise KeyboardInterrupt
        epochs.append("epoch")
        return one_epoch(*given, **named)

    monkeypatch.setattr(training, "_one_epoch", counted)
    capsys.readouterr()
    assert main(["train", str(folder), "-o", str(model), *words]) == 130
    assert "stopped; the same command goes on from here" in capsys.readouterr().err
    (parts / "mine.txt").write_text("not of the training")
    assert main(["train", str(folder), "-o", str(model), *words, "--jobs", "1"]) == 1
    assert "fold 2 of 2: goes on where it was stopped" in capsys.readouterr().err
    assert epochs.count("epoch") == 12  # two folds and the model, each once
    one, two = (hf.HFSClassifier.load(f).learner_.tensors() for f in (tmp_path / "whole", model))
    for name in one:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)
    assert [f.name for f in parts.iterdir()] == ["mine.txt"]  # only what it kept is removed
    torch.set_num_threads(threads)


def test_tables_are_not_written_over_other_files(folder, tmp_path, capsys):
    closed_form(folder, tmp_path / "m", "--folds", "0", "--quiet")
    cloud = folder / "ball" / "bad.csv"
    before = cloud.read_bytes()
    assert main(["predict", str(tmp_path / "m"), str(cloud), "-o", str(cloud)]) == 2
    assert "it exists and is not a table of predictions; give another name" in capsys.readouterr().err
    assert cloud.read_bytes() == before
    words = ["predict", str(tmp_path / "m"), str(folder), "-o", str(folder / "p.csv"), "--quiet"]
    assert (
        main(words) == main(words) == 1
    )  # the second time, the tables of the first are not taken for clouds
    assert len(table(folder / "p.errors.csv")) == 2


def test_options_of_reading_in_a_model_are_checked(folder, tmp_path, capsys):
    closed_form(folder, tmp_path / "m", "--folds", "0", "--quiet")
    model = hf.HFSClassifier.load(tmp_path / "m")
    for reading in ({"path": "/elsewhere"}, {"colour": 1}, ["budget"]):
        model.save(tmp_path / "m", notes={"reading": reading})
        assert main(["predict", str(tmp_path / "m"), str(folder), "-o", str(tmp_path / "p.csv")]) == 2
        assert "says how to read files, but not as options" in capsys.readouterr().err


def test_without_options_it_says_what_it_chose(folder, tmp_path, capsys):
    assert main(["train", str(folder), "-o", str(tmp_path / "m"), "--scales", "3", "--folds", "2"]) == 1
    words = capsys.readouterr().out
    assert "no --variant given: joint, in closed form; --variant full learns the pooling" in words
    assert re.search(r"features: about \d+ s", words)
    assert re.search(r"read-out (lda|svm), the best by mean accuracy over classes \(lda .*svm", words)
    model = hf.HFSClassifier.load(tmp_path / "m")
    assert (model.variant, model.head) == ("joint", "auto")
    assert {*model.head_scores_} == {"lda", "svm"}


def test_predict_prints_without_a_table(folder, tmp_path, capsys):
    closed_form(folder, tmp_path / "m", "--folds", "0", "--quiet")
    files = sorted(map(str, (folder / "ring").glob("*.ply")))[:2]
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "m"), *files, "--quiet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == files
    expected = hf.HFSClassifier.load(tmp_path / "m").predict([hf.read_points(f) for f in files])
    assert [line.split()[1] for line in lines] == expected.tolist()
    assert main(["predict", str(tmp_path / "m"), files[0], str(folder / "ball" / "bad.csv")]) == 1
    assert "bad.csv" in capsys.readouterr().err


def test_predict_chain_by_chain(folder, tmp_path, capsys):
    closed_form(folder, tmp_path / "m", "--folds", "0", "--quiet")
    rng = np.random.default_rng(0)
    lines = [
        f"ATOM  {i + 1:5d}  CA  ALA {chain}{i + 1:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           C"
        for chain in "AB"
        for i, (x, y, z) in enumerate(rng.normal(size=(30, 3)) * (1 if chain == "A" else 3))
    ]
    (tmp_path / "two.pdb").write_text("\n".join(lines) + "\nEND\n")
    out = tmp_path / "p.csv"
    words = ["predict", str(tmp_path / "m"), str(tmp_path / "two.pdb"), "-o", str(out), "--quiet"]
    assert main([*words, "--chain", "each"]) == 0
    rows = table(out)
    assert [row["file"] for row in rows] == [f"{tmp_path / 'two.pdb'}:{c}" for c in "AB"]
    assert main([*words, "--chain", "B"]) == 0
    (row,) = table(out)
    assert row["p_ball"] == rows[1]["p_ball"]
    capsys.readouterr()
    assert main([*words[:3], "--chain", "Q"]) == 1
    assert "none of chain 'Q'; its chains are 'A', 'B'" in capsys.readouterr().err
