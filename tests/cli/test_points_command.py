"""``heatfield points``: labelled files in, labelled files out."""

import json
import re

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main

LENGTHS = ["--lengths", "0.2,0.5,1"]
TRAIN = [*LENGTHS, "--iterations", "8", "--per-class", "300", "--jobs", "1", "--folds", "2"]


@pytest.fixture(scope="module")
def plots(tmp_path_factory):
    """Three plots as LAS, of which one has a column more, and one file that is none."""
    pytest.importorskip("laspy")
    folder = tmp_path_factory.mktemp("plots")
    clouds, labels = hf.datasets.make_forest(3, n_points=1200, random_state=3)
    for i, (cloud, own) in enumerate(zip(clouds, labels, strict=True)):
        columns = {"classification": (own + 2).astype(np.uint8), "intensity": np.full(1200, 7, np.uint16)}
        hf.write_points(folder / f"plot{i}.las", cloud, columns)
    (folder / "broken.las").write_bytes(b"LASF and nothing more")
    return folder


@pytest.fixture(scope="module")
def model(plots, tmp_path_factory):
    out = tmp_path_factory.mktemp("model") / "m"
    words = ["points", "train", str(plots / "plot0.las"), str(plots / "plot1.las"), "-o", str(out), "--quiet"]
    assert main([*words, *TRAIN, "--folds", "0"]) == 0
    return out


def test_training(plots, tmp_path, capsys):
    out = tmp_path / "m"
    words = [*TRAIN, "--ignore", "6", "--blocks", "dimension,height"]
    assert main(["points", "train", str(plots), "-o", str(out), *words]) == 1
    said = capsys.readouterr()
    assert "3 files, 3,600 points, classes 2, 3, 4, 5" in said.out
    assert "lengths √t: s0 0.2, s1 0.5, s2 1;" in said.out
    assert re.search(r"mean IoU \d+\.\d %, accuracy \d+\.\d % of 3,5\d\d points of files", said.out)
    assert "mean IoU lost where a length is shuffled" in said.out
    assert "1 of 4 files could not be used" in said.err
    assert sorted(f.name for f in tmp_path.iterdir()) == ["m", "m.errors.csv", "m.report.json"]
    report = json.loads((tmp_path / "m.report.json").read_text())
    assert report["settings"]["lengths"] == [0.2, 0.5, 1.0]
    assert max(report["training_points"].values()) == 300
    found = report["validation"]
    matrix = np.array(found["confusion"])
    assert matrix.shape == (4, 4)
    assert found["accuracy"] == pytest.approx(np.trace(matrix) / matrix.sum())
    assert found["accuracy"] > 0.7
    assert {"height", "dimension"} <= {*found["importance_by_block"]}


@pytest.mark.parametrize("suffix", ["las", "laz", "ply", "parquet"])
def test_labelled_files(plots, model, tmp_path, suffix):
    file, out = plots / "plot2.las", tmp_path / "out"
    words = ["points", "predict", str(model), str(file), "-o", str(out), "--format", suffix, "--jobs", "1"]
    assert main([*words, "--quiet"]) == 0
    cloud, source = hf.read_cloud(out / f"plot2.{suffix}"), hf.read_cloud(file)
    np.testing.assert_array_equal(cloud.points, source.points)
    shares = hf.HFSPointClassifier.load(model).predict_proba([source])[0]
    best = hf.HFSPointClassifier.load(model).classes_[shares.argmax(axis=1)]
    np.testing.assert_array_equal(cloud.columns["classification"], best)
    np.testing.assert_allclose(cloud.columns["confidence"], shares.max(axis=1), rtol=1e-6)
    assert (cloud.columns["intensity"] == 7).all(), "columns of the source stay"


def test_the_las_opens_in_laspy(plots, model, tmp_path):
    laspy = pytest.importorskip("laspy")
    main(["points", "predict", str(model), str(plots / "plot2.las"), "-o", str(tmp_path / "o"), "--quiet"])
    las = laspy.read(tmp_path / "o" / "plot2.las")
    assert "confidence" in list(las.point_format.extra_dimension_names)
    assert las.confidence.dtype == np.float32
    assert 0.0 < las.confidence.min() <= las.confidence.max() <= 1.0
    assert set(np.unique(las.classification).tolist()) <= {2, 3, 4, 5, 6}
    (record,) = [v for v in las.vlrs if v.user_id == "heatfield"]
    assert b"classification: 2 2, 3 3" in record.record_data_bytes()


def test_what_is_labelled_is_not_labelled_again(plots, model, tmp_path, monkeypatch):
    files, out = [str(plots / f"plot{i}.las") for i in (1, 2)], str(tmp_path / "o")
    words = ["points", "predict", str(model), *files, "-o", out, "--quiet", "--jobs", "1"]
    from heatfield.cli import _points_predict

    labelled = []
    label = _points_predict._label

    def counted(model, file, target, reading):
        if len(labelled) == 1:
            labelled.append("stop")
            raise KeyboardInterrupt
        labelled.append(file)
        return label(model, file, target, reading)

    monkeypatch.setattr(_points_predict, "_label", counted)
    assert main(words) == 130
    assert main(words) == 0
    assert labelled == [files[0], "stop", files[1]]


def test_a_stopped_training_goes_on(plots, tmp_path, monkeypatch):
    from heatfield.cli import _points_kept, _points_train

    words = ["points", "train", *(str(plots / f"plot{i}.las") for i in (0, 1)), "-o", str(tmp_path / "m")]
    words += [*TRAIN, "--quiet", "--blocks", "dimension,height"]
    computed = []
    table = _points_kept.file_table

    def counted(*given):
        computed.append(1)
        return table(*given)

    def stopped(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr(_points_kept, "file_table", counted)
    with monkeypatch.context() as patch:
        patch.setattr(_points_train, "fit_tables", stopped)
        assert main(words) == 130
    assert (tmp_path / "m.parts").is_dir()
    assert main(words) == 0
    assert len(computed) == 2, "features of each file once"
    assert not (tmp_path / "m.parts").exists()


def test_finished_folds_are_not_fitted_again(plots, tmp_path, monkeypatch, capsys):
    """Stopped in the third of three folds, then in the final training: each fold is fitted once."""
    from heatfield._points import validation
    from heatfield.cli import _points_train

    files = [str(plots / f"plot{i}.las") for i in (0, 1, 2)]
    words = ["points", "train", *files, *TRAIN, "--folds", "3", "--blocks", "dimension", "-o"]
    assert main([*words, str(tmp_path / "whole"), "--quiet"]) == 0
    fit, fitted = validation.fit_tables, []

    def counted(*given):
        fitted.append(len(given[1]))
        if len(fitted) == 3:
            raise KeyboardInterrupt
        return fit(*given)

    def stopped(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr(validation, "fit_tables", counted)
    assert main([*words, str(tmp_path / "m")]) == 130
    (tmp_path / "m.parts").joinpath("note.txt").write_text("a file of someone else")
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(_points_train, "fit_tables", stopped)
        assert main([*words, str(tmp_path / "m")]) == 130
    assert "2 of 3 folds were finished before" in capsys.readouterr().err
    kept = sorted((tmp_path / "m.parts").glob("*.fold*"))
    kept[0].write_bytes(kept[0].read_bytes()[:-40])  # a damaged one is done again
    assert main([*words, str(tmp_path / "m")]) == 0
    assert "2 of 3 folds were finished before" in capsys.readouterr().err
    assert fitted == [2] * (3 + 1 + 1)
    one, two = (json.loads((tmp_path / f"{name}.report.json").read_text()) for name in ("whole", "m"))
    assert one["validation"] == two["validation"]
    assert [file.name for file in (tmp_path / "m.parts").iterdir()] == ["note.txt"]
    # Other settings have other results: none of the kept folds is taken for them.
    fitted[:] = [0] * 3
    with monkeypatch.context() as patch:
        patch.setattr(_points_train, "fit_tables", stopped)
        assert main([*words, str(tmp_path / "n"), "--quiet"]) == 130
    assert main([*words, str(tmp_path / "n"), "--iterations", "9"]) == 0
    assert "finished before" not in capsys.readouterr().err
    assert fitted == [0] * 3 + [2] * 6


def test_words_as_labels(tmp_path):
    clouds, labels = hf.datasets.make_forest(2, n_points=800, random_state=4)
    names = np.array(hf.datasets.FOREST_CLASSES)
    for i in (0, 1):
        np.savez(tmp_path / f"p{i}.npz", points=clouds[i], part=names[labels[i]])
    words = [*TRAIN, "--label", "part", "--folds", "0", "--blocks", "height,dimension", "--quiet"]
    assert main(["points", "train", str(tmp_path / "p0.npz"), "-o", str(tmp_path / "m"), *words]) == 0
    words = ["points", "predict", str(tmp_path / "m"), str(tmp_path / "p1.npz"), "-o", str(tmp_path / "o")]
    for suffix in ("csv", "ply"):
        assert main([*words, "--format", suffix, "--quiet"]) == 0
    _, columns = hf.read_points(tmp_path / "o" / "p1.csv", columns=True)
    assert set(columns["classification"].tolist()) <= set(names.tolist())
    assert b"2 leaf" in (tmp_path / "o" / "p1.ply").read_bytes()[:2000]
    _, codes = hf.read_points(tmp_path / "o" / "p1.ply", columns=True)
    assert (np.sort(names)[codes["classification"]] == columns["classification"]).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "{p}", "-o", "{t}/no/m"], "there is no folder"),
        (["train", "{p}", "-o", "{t}/m", "--folds", "1"], "--folds must be at least 2"),
        (["train", "{p}", "-o", "{t}/m", "--lengths", "1"], "--lengths must hold at least 2, got [1.0]"),
        (["train", "{p}", "-o", "{t}/m", "--lengths", "a,b"], "--lengths must be numbers with commas"),
        (["train", "{p}", "-o", "{t}/m", *LENGTHS, "--blocks", "hue"], "--blocks must be one of"),
        (["train", "{p}", "-o", "{t}/m", *LENGTHS, "--cell", "-2"], "--cell must be a positive length"),
        (["train", "{p}", "-o", "{t}/m", *LENGTHS, "--tol", "3"], "--tol must be a number between 0 and 1"),
        (["train", "{p}", "-o", "{t}/m", "--label", "hue"], "has no column 'hue' of labels; it has"),
        (["train", "{p}", "-o", "{t}/m", "--columns", "hue"], "has no column 'hue'; it has"),
        (["train", "{p}", "-o", "{t}/m", "--ignore", "x"], "--ignore must be labels of the files"),
        (["train", "{p}", "-o", "{t}/m", "--per-class", "0"], "--per-class must be an integer of at least 1"),
        (["train", "{t}/none", "-o", "{t}/m"], "there is no file or folder"),
        (["predict", "{t}/none", "{p}", "-o", "{t}/o"], "there is no model at"),
        (["predict", "{t}/none", "{p}", "-o", "{p}"], "it exists and is no folder of labelled files"),
        (["predict", "{t}/none", "{p}", "-o", "{t}/no/o"], "there is no folder"),
    ],
)
def test_wrong_words(plots, tmp_path, words, message, capsys):
    assert main(["points", *(w.format(p=plots, t=tmp_path) for w in words), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_without_a_job_it_is_explained(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["points"])
    assert stop.value.code == 2
    assert "JOB" in capsys.readouterr().err
