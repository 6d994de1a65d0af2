"""`train_points` and `predict_points`: labelled files in, a model and labelled files out."""

import os

import numpy as np
import pytest

import heatfield as hf
from heatfield.workflows import points as workflow
from tests.helpers.process import interrupted_at

TRAIN = {"lengths": [0.3, 1.0], "iterations": 4, "points_per_class": 200, "n_jobs": 1}
FAST = {**TRAIN, "blocks": ["dimension", "height"], "folds": 2}


@pytest.fixture(scope="module")
def plots(tmp_path_factory):
    """Three plots as LAS with LAS codes from 2 on, and one file that is none."""
    pytest.importorskip("laspy")
    folder = tmp_path_factory.mktemp("plots")
    clouds, labels = hf.datasets.make_forest(3, n_points=700, random_state=3)
    for i, (cloud, own) in enumerate(zip(clouds, labels, strict=True)):
        columns = {"classification": (own + 2).astype(np.uint8), "intensity": np.full(700, 7, np.uint16)}
        hf.write_points(folder / f"plot{i}.las", cloud, columns)
    (folder / "broken.las").write_bytes(b"LASF and nothing more")
    return folder


@pytest.fixture(scope="module")
def model(plots, tmp_path_factory):
    out = tmp_path_factory.mktemp("model") / "m"
    hf.train_points([plots / "plot0.las", plots / "plot1.las"], out, **{**TRAIN, "folds": 0})
    return out


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_trained_model_knows_scores_and_errors(plots, tmp_path):
    out = tmp_path / "m"
    model = hf.train_points(plots, out, ignore=[6], **FAST)
    assert model.classes_.tolist() == [2, 3, 4, 5]
    assert [os.path.basename(error.file) for error in model.errors] == ["broken.las"]
    assert sorted(f.name for f in tmp_path.iterdir()) == ["m", "m.errors.csv"]
    found = model.validation_
    matrix = np.array(found["confusion"])
    assert matrix.shape == (4, 4)
    assert (
        found["points"]
        == matrix.sum()
        == sum((hf.read_cloud(plots / f"plot{i}.las").columns["classification"] != 6).sum() for i in range(3))
    )
    assert found["accuracy"] == pytest.approx(np.trace(matrix) / matrix.sum())
    assert found["accuracy"] > 0.6
    assert [*found["importance_by_block"]] == ["dimension", "height"]
    assert [*found["importance_by_length"]] == ["0.3", "1"]
    assert max(model.notes_["training_points"].values()) == 200
    again = hf.HFSPointClassifier.load(out)
    assert again.validation_ == found
    assert again.notes_ == model.notes_


def test_it_is_the_fit_on_the_same_clouds(plots, model):
    clouds = [hf.read_cloud(plots / f"plot{i}.las") for i in (0, 1)]
    labels = [cloud.columns["classification"] for cloud in clouds]
    expected = hf.HFSPointClassifier(**TRAIN).fit(clouds, labels).trees_.tensors()
    found = hf.HFSPointClassifier.load(model).trees_.tensors()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_groups_are_never_on_both_sides(plots, monkeypatch):
    assert [*map(len, workflow.parts_of_files(list("abcdefg"), 5, 0))] == [2, 2, 1, 1, 1]
    groups = ["x", "y", "x", "z", "y", "z"]
    parts = workflow.parts_of_files(groups, 2, 0)
    assert sorted(np.concatenate(parts).tolist()) == list(range(6))
    sides = [{groups[i] for i in part} for part in parts]
    assert sides[0].isdisjoint(sides[1])
    assert workflow.parts_of_files(["x", "x"], 2, 0) == []
    seen = []
    fold = workflow._fold

    def watched(model, tables, held, *rest):
        seen.append(held.tolist())
        return fold(model, tables, held, *rest)

    monkeypatch.setattr(workflow, "_fold", watched)
    files = [plots / f"plot{i}.las" for i in range(3)]
    groups = {str(file): "ab"[i == 1] for i, file in enumerate(files)}
    found = hf.train_points(files, groups=groups, **{**FAST, "folds": 3})
    assert sorted(seen) == [[0, 2], [1]]
    assert found.validation_["folds"] == 2
    one = hf.train_points(files, groups=dict.fromkeys(map(str, files), "a"), **FAST)
    assert one.validation_ is None


def test_no_fold_learns_from_a_file_it_tests(plots, monkeypatch):
    learnt = []
    fit = workflow._fit

    def watched(model, tables, settings):
        learnt.append({table.key for table in tables})
        return fit(model, tables, settings)

    monkeypatch.setattr(workflow, "_fit", watched)
    hf.train_points([plots / f"plot{i}.las" for i in range(3)], **{**FAST, "folds": 9, "test_points": 50})
    every = learnt.pop()
    assert len(every) == 3
    assert sorted(map(len, learnt)) == [2, 2, 2]
    assert set.intersection(*learnt) == set()


def test_a_stopped_training_goes_on_to_the_same_bytes(plots, tmp_path, monkeypatch):
    """Stopped in the second fold, then in the last fit; a damaged result is computed again."""
    files = [plots / f"plot{i}.las" for i in range(3)]
    options = {**FAST, "folds": 3}
    hf.train_points(files, tmp_path / "whole", **options)
    fit, features, fitted, read = workflow._fit, workflow.file_features, [], []

    def counted(model, tables, settings):
        fitted.append(len(tables))
        if len(fitted) in stops:
            raise KeyboardInterrupt
        return fit(model, tables, settings)

    monkeypatch.setattr(workflow, "_fit", counted)
    monkeypatch.setattr(workflow, "file_features", lambda *load: (read.append(1), features(*load))[1])
    stops = {2, 5}
    for calls in (2, 5):
        with pytest.raises(KeyboardInterrupt):
            hf.train_points(files, tmp_path / "m", **options)
        assert len(fitted) == calls
        assert (tmp_path / "m.parts").is_dir()
    kept = max((tmp_path / "m.parts").glob("*.npz"), key=lambda path: path.stat().st_mtime)
    kept.write_bytes(kept.read_bytes()[:-40])
    hf.train_points(files, tmp_path / "m", **options)
    assert fitted == [2, 2, 2, 2, 3, 2, 3]
    assert len(read) == 3, "features of each file once"
    assert contents(tmp_path / "m") == contents(tmp_path / "whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m", "whole"]


def test_other_executors_train_the_same_model(plots, tmp_path):
    for executor in (None, "processes"):
        hf.train_points(plots, tmp_path / str(executor), executor=executor, **{**FAST, "folds": 0})
    one, two = (contents(tmp_path / name) for name in ("None", "processes"))
    assert one == two


@pytest.mark.parametrize("suffix", ["las", "laz", "ply", "parquet"])
def test_labelled_files_hold_labels_and_old_columns(plots, model, tmp_path, suffix):
    (file,) = hf.predict_points(model, plots / "plot2.las", tmp_path / "out", format=suffix, n_jobs=1)
    assert file == tmp_path / "out" / f"plot2.{suffix}"
    cloud, source = hf.read_cloud(file), hf.read_cloud(plots / "plot2.las")
    np.testing.assert_array_equal(cloud.points, source.points)
    fitted = hf.HFSPointClassifier.load(model)
    shares = fitted.predict_proba([source])[0]
    np.testing.assert_array_equal(cloud.columns["classification"], fitted.classes_[shares.argmax(axis=1)])
    np.testing.assert_allclose(cloud.columns["confidence"], shares.max(axis=1), rtol=1e-6)
    assert (cloud.columns["intensity"] == 7).all(), "columns of the source stay"


def test_a_labelled_las_opens_in_laspy(plots, model, tmp_path):
    laspy = pytest.importorskip("laspy")
    files = hf.predict_points(model, plots, tmp_path / "o", n_jobs=1)
    assert [file.name for file in files] == ["plot0.las", "plot1.las", "plot2.las"]
    assert [os.path.basename(error.file) for error in files.errors] == ["broken.las"]
    assert "broken.las" in (tmp_path / "o" / "predict.errors.csv").read_text()
    las = laspy.read(files[2])
    assert las.confidence.dtype == np.float32
    assert 0.0 < las.confidence.min() <= las.confidence.max() <= 1.0
    assert set(np.unique(las.classification).tolist()) <= {2, 3, 4, 5, 6}
    (record,) = [v for v in las.vlrs if v.user_id == "heatfield"]
    assert b"classification: 2 2, 3 3" in record.record_data_bytes()


def test_a_stopped_prediction_goes_on(plots, model, tmp_path, monkeypatch):
    files = [plots / f"plot{i}.las" for i in (0, 1, 2)]
    with monkeypatch.context() as patch:
        patch.setattr(workflow, "label_file", interrupted_at(3, workflow.label_file))
        with pytest.raises(KeyboardInterrupt):
            hf.predict_points(model, files, tmp_path / "o", n_jobs=1)
    found = hf.predict_points(model, files, tmp_path / "o", n_jobs=1)
    assert (len(found), found.points) == (3, 2100)
    assert found.resumed >= 1
    hf.predict_points(model, files, tmp_path / "whole", n_jobs=1)
    assert contents(tmp_path / "o") == contents(tmp_path / "whole")


def test_words_become_codes_where_needed(tmp_path):
    clouds, labels = hf.datasets.make_forest(2, n_points=600, random_state=4)
    names = np.array(hf.datasets.FOREST_CLASSES)
    for i in (0, 1):
        np.savez(tmp_path / f"p{i}.npz", points=clouds[i], part=names[labels[i]])
    model = hf.train_points(tmp_path / "p0.npz", label="part", ignore="outlier", **FAST)
    assert model.classes_.tolist() == ["branch", "ground", "leaf", "trunk"]
    (text,) = hf.predict_points(model, tmp_path / "p1.npz", tmp_path / "o", format="csv", n_jobs=1)
    words = hf.read_cloud(text).columns["classification"]
    assert set(words.tolist()) <= set(model.classes_.tolist())
    (ply,) = hf.predict_points(model, tmp_path / "p1.npz", tmp_path / "o", format="ply", n_jobs=1)
    assert b"2 leaf" in ply.read_bytes()[:2000]
    assert (model.classes_[hf.read_cloud(ply).columns["classification"]] == words).all()


def test_files_that_do_not_fit_are_errors(tmp_path):
    rng = np.random.default_rng(0)
    for name, columns in {
        "a": {"label": np.arange(300) % 2},
        "b": {"label": np.where(np.arange(300) % 2, "x", "y")},
        "c": {"class": np.arange(300) % 2},
        "d": {"label": np.where(np.arange(300) < 9, np.nan, 1.0)},
        "e": {"hue": np.arange(300)},
    }.items():
        np.savez(tmp_path / f"{name}.npz", points=rng.random((300, 3)), **columns)
    np.savez(tmp_path / "f.npz", points=rng.random((300, 2)), label=np.arange(300) % 2)
    model = hf.train_points(tmp_path, **{**FAST, "lengths": None})
    assert len(model.settings_.lengths) == 6
    assert [error.problem.partition(";")[0] for error in model.errors] == [
        "its column 'label' holds <U1, that of others int64",
        "its labels are in the column 'class', those of others in 'label'",
        "its column 'label' has nan in row 0",
        "it has no column of labels (classification, label, labels, class)",
        "its points have 2 coordinates where most files have 3",
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"out": "no/m"}, "there is no folder"),
        ({"blocks": ["hue"]}, "blocks must be one of"),
        ({"label": "hue"}, "no file has labelled points; 2 of 3 files: it has no column 'hue'; its columns"),
        ({"columns": ["hue"]}, "it has no column 'hue'; its columns: "),
        ({"ignore": ["x"]}, "ignore must be labels of the files, which are numbers, got 'x'"),
        ({"ignore": [2, 3, 4, 5, 6]}, "at least two classes"),
    ],
)
def test_wrong_options_of_a_training(plots, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    paths = [plots / name for name in ("plot0.las", "plot1.las", "broken.las")]
    with pytest.raises(ValueError, match=words):
        hf.train_points(options.pop("paths", paths), options.pop("out", "m"), **{**FAST, **options})
    with pytest.raises(TypeError, match="has no option 'nodes'"):
        hf.train_points(paths, nodes=False)


def test_wrong_arguments_of_a_prediction(plots, model, tmp_path):
    with pytest.raises(ValueError, match="no such folder"):
        hf.predict_points(tmp_path / "none", plots, tmp_path / "o")
    with pytest.raises(ValueError, match="the folder exists and was not written by heatfield"):
        hf.predict_points(model, plots / "plot0.las", model)
    with pytest.raises(ValueError, match=r"nothing in .* but earlier results"):
        hf.predict_points(model, plots, plots)
    with pytest.raises(ValueError, match="format must be one of"):
        hf.predict_points(model, plots, tmp_path / "o", format="xyz")
    assert not [*tmp_path.iterdir()]
