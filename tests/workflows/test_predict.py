"""`predict_files`: a model and files in, labels and probabilities out."""

import csv
import os

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from heatfield.workflows import predict as workflow
from tests.helpers.estimator_checks import some_clouds


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model of two classes that was saved, the folder of its files, and both as read from them."""
    place = tmp_path_factory.mktemp("predict")
    clouds, labels = some_clouds(20)
    for i, (points, label) in enumerate(zip(clouds, labels, strict=True)):
        (place / "in" / label).mkdir(parents=True, exist_ok=True)
        hf.write_points(place / "in" / label / f"c{i:02d}.ply", points)
    hf.train_files(place / "in", place / "m", variant="desc", head="lda", n_scales=4, folds=0)
    return place / "m", place / "in"


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_files_get_what_the_model_says(trained, tmp_path):
    model, folder = trained
    found = hf.predict_files(model, folder, tmp_path / "p.csv")
    assert found.files == sorted(str(file) for file in folder.glob("*/*.ply"))
    loaded, clouds = hf.HFSClassifier.load(model), [hf.read_points(file) for file in found.files]
    np.testing.assert_array_equal(found.probabilities, loaded.predict_proba(clouds))
    assert found.labels.tolist() == loaded.predict(clouds).tolist()
    assert (found.classes.tolist(), found.uncalibrated, found.errors) == (["ball", "ring"], "", [])
    rows = table(tmp_path / "p.csv")
    assert [row["file"] for row in rows] == found.files
    assert [row["label"] for row in rows] == found.labels.tolist()
    shares = np.array([[float(row["p_ball"]), float(row["p_ring"])] for row in rows])
    np.testing.assert_allclose(shares, found.probabilities, rtol=1e-5, atol=1e-12)
    assert [float(row["probability"]) for row in rows] == shares.max(axis=1).tolist()
    assert {row["note"] for row in rows} == {""}
    assert [file.name for file in tmp_path.iterdir()] == ["p.csv"]


def test_a_model_itself_is_taken_and_stays_as_it_is(trained):
    folder = trained[1]
    model = hf.HFSClassifier.load(trained[0]).set_params(n_jobs=1)
    found = hf.predict_files(model, [folder / "ball", folder / "ring" / "c01.ply"], n_jobs=2)
    assert len(found) == 11
    assert model.n_jobs == 1
    frame = pytest.importorskip("pandas") and found.to_frame()
    assert list(frame.columns) == ["file", "label", "probability", "p_ball", "p_ring", "note"]
    assert repr(found).splitlines()[0] == "Predictions of 11 clouds, 0 errors"
    assert repr(found).endswith("...")


def test_networks_predict_files_too(trained, tmp_path):
    pytest.importorskip("torch")
    folder = trained[1]
    options = {"variant": "full", "epochs": 1, "n_scales": 3, "folds": 0}
    model = hf.train_files(folder, tmp_path / "m", **options)
    found = hf.predict_files(tmp_path / "m", folder, device="cpu")
    clouds = [hf.read_points(file) for file in found.files]
    np.testing.assert_array_equal(found.probabilities, model.predict_proba(clouds))
    assert "not calibrated" in found.uncalibrated


def test_files_are_read_as_for_the_training(trained, tmp_path):
    folder = trained[1]
    model = hf.train_files(folder, variant="simple", head="lda", n_scales=3, folds=0, budget=12)
    model.save(tmp_path / "m", notes=model.notes_)
    file = next((folder / "ball").glob("*.ply"))
    points = hf.read_cloud(file, **model.notes_["reading"]).points
    assert len(points) == 12
    for given in (model, tmp_path / "m"):
        found = hf.predict_files(given, file)
        np.testing.assert_array_equal(found.probabilities, model.predict_proba([points]))


def test_unlike_clouds_are_noted(trained, tmp_path, recwarn):
    model, folder = trained
    hf.write_points(tmp_path / "far.ply", 1000 * hf.read_points(next((folder / "ball").glob("*.ply"))))
    found = hf.predict_files(model, [tmp_path / "far.ply", folder / "ring"])
    assert [bool(note) for note in found.notes].count(True) == 1
    assert "is it in another unit?" in found.notes[found.files.index(str(tmp_path / "far.ply"))]
    assert not recwarn.list


def test_what_cannot_be_used_costs_itself_only(trained, tmp_path):
    model, folder = trained
    hf.write_points(tmp_path / "spot.ply", np.ones((5, 3)))
    hf.write_points(tmp_path / "flat.npy", np.eye(2))
    (tmp_path / "bad.csv").write_text("x,y,z\n1,2,three\n")
    found = hf.predict_files(model, [tmp_path, folder], tmp_path / "p.csv")
    assert len(found) == 20
    problems = {os.path.basename(error.file): error.problem for error in found.errors}
    assert problems["spot.ply"] == "it has fewer than two distinct points"
    assert problems["flat.npy"] == "its points have 2 coordinates, 3 are expected"
    assert "three" in problems["bad.csv"]
    assert len(table(tmp_path / "p.errors.csv")) == 3
    for name in problems:
        (tmp_path / name).unlink()
    hf.predict_files(model, folder, tmp_path / "p.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["p.csv"]


def test_chain_by_chain(trained, tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"ATOM  {i + 1:5d}  CA  ALA {chain}{i + 1:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           C"
        for chain in "AB"
        for i, (x, y, z) in enumerate(rng.normal(size=(30, 3)) * (1 if chain == "A" else 3))
    ]
    file = tmp_path / "two.pdb"
    file.write_text("\n".join(lines) + "\nEND\n")
    each = hf.predict_files(trained[0], file, chain="each")
    assert each.files == [f"{file}:{name}" for name in "AB"]
    one = hf.predict_files(trained[0], file, chain="B")
    assert one.files == [str(file)]
    np.testing.assert_allclose(one.probabilities[0], each.probabilities[1], rtol=1e-12)
    (error,) = hf.predict_files(trained[0], file, chain="Q").errors
    assert "none of chain 'Q'; its chains are 'A', 'B'" in error.problem


def test_many_files_are_taken_in_pieces(trained, monkeypatch):
    whole = hf.predict_files(*trained)
    monkeypatch.setattr(workflow, "_TOGETHER", 3)
    assert hf.predict_files(*trained).labels.tolist() == whole.labels.tolist()


def test_wrong_models_are_refused(trained, tmp_path):
    with pytest.raises(hf.ReadError, match="no such folder"):
        hf.predict_files(tmp_path / "nothing", trained[1])
    model = hf.HFSClassifier.load(trained[0])
    for reading in ({"path": "/elsewhere"}, {"colour": 1}, ["budget"]):
        model.save(tmp_path / "m", notes={"reading": reading})
        with pytest.raises(ValueError, match="does not say how files are read"):
            hf.predict_files(tmp_path / "m", trained[1])


# --- the verb ------------------------------------------------------------------------


def test_the_verb_prints_without_a_table(trained, tmp_path, capsys):
    model, folder = trained
    files = sorted(map(str, (folder / "ring").glob("*.ply")))[:2]
    assert main(["predict", str(model), *files, "--quiet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = hf.predict_files(model, files)
    assert [line.split()[:2] for line in lines] == [
        list(pair) for pair in zip(files, found.labels, strict=True)
    ]
    assert lines == list(found.lines())
    (tmp_path / "bad.csv").write_text("x,y,z\n1,2,three\n")
    assert main(["predict", str(model), files[0], str(tmp_path / "bad.csv")]) == 1
    assert "bad.csv" in capsys.readouterr().err


def test_the_verb_says_what_the_table_notes(trained, tmp_path, capsys):
    folder = trained[1]
    model = hf.train_files(folder, tmp_path / "m", variant="simple", head="svm", n_scales=3, folds=0)
    hf.write_points(tmp_path / "far.ply", 1000 * hf.read_points(next((folder / "ball").glob("*.ply"))))
    words = ["predict", str(tmp_path / "m"), str(tmp_path / "far.ply"), "-o", str(tmp_path / "p.csv")]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert "unlike the training set: 1 of 1 cloud, see the note column" in said
    assert model.uncalibrated() in said
