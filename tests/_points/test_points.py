"""Labels of points: features, trees, validation on whole files, saving."""

import json

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier

import heatfield as hf
from heatfield._points.features import height_above_floor, point_features
from heatfield._points.sampling import balanced_rows, even_rows, propose_lengths
from heatfield._points.scores import confusion, groups_of, importance, iou, mean_iou, scores_of
from heatfield._points.settings import BLOCKS, PointFeatureSettings
from heatfield._points.trees import Trees
from heatfield._points.validation import chosen_rows, file_table, folds_of_files, validate_files

LENGTHS = (0.2, 0.5, 1.0)


@pytest.fixture(scope="module")
def forest():
    return hf.datasets.make_forest(3, n_points=1500, random_state=2)


@pytest.fixture(scope="module")
def model(forest):
    clouds, labels = forest
    return hf.HFSPointClassifier(lengths=LENGTHS, iterations=15).fit(clouds[:2], labels[:2])


def test_features_are_those_of_signatures(forest):
    cloud = forest[0][0]
    settings = PointFeatureSettings(3, LENGTHS, blocks=BLOCKS, tol=1e-8)
    s = hf.signatures(cloud, lengths=LENGTHS, with_directions=True)
    found = dict(zip(settings.names, point_features(cloud, settings).T, strict=True))
    expected = {
        "log_density_s1": np.log(s.density[:, 1]),
        "dimension_s0": s.dimension[:, 0],
        "transition_s2": s.transition[:, 2],
        "spectrum2_s1": s.spectrum[:, 1, 1],
        "planarity_s2": s.planarity[:, 2],
        "verticality_s2": s.verticality[:, 2],
        "uprightness_s0": np.abs(s.directions[:, 0, 0, 2]),
        "height": height_above_floor(cloud, 4.0),
    }
    finer = hf.signatures(cloud, lengths=[LENGTHS[0] / 10**0.5], with_directions=True, transition="exact")
    expected |= {
        "log_density_fine": np.log(finer.density[:, 0]),
        "dimension_fine": finer.dimension[:, 0],
        "spectrum3_fine": finer.spectrum[:, 0, 2],
        "verticality_fine": finer.verticality[:, 0],
        "uprightness_fine": np.abs(finer.directions[:, 0, 0, 2]),
    }
    # Directions exist where extents differ: an isolated point has none.
    spectra = {"_s0": s.spectrum[:, 0], "_fine": finer.spectrum[:, 0]}
    for name, values in expected.items():
        where = np.full(len(cloud), True)
        if name in ("uprightness_s0", "uprightness_fine", "verticality_fine"):
            gaps = -np.diff(spectra[name[name.rindex("_") :]], axis=1)
            where = gaps.min(axis=1) > 1e-4
            assert where.mean() > 0.8
            if name.startswith("uprightness"):
                assert np.isnan(found[name][gaps[:, 0] < 1e-9]).all()
        np.testing.assert_allclose(found[name][where], values[where], rtol=2e-5, atol=2e-5, err_msg=name)
    assert np.isnan(found["uprightness_fine"]).any()
    assert np.isfinite(found["neighbourhood_dimension_s0_s1"]).all()
    assert len(settings.names) == len({*settings.names})


def test_features_at_some_points_are_those_of_all(forest):
    cloud = forest[0][1]
    settings = PointFeatureSettings(3, LENGTHS, columns=("charge",), tol=1e-8)
    columns = {"charge": np.arange(len(cloud))}
    rows = np.array([3, 700, 1499])
    some = point_features(cloud, settings, columns, rows)
    np.testing.assert_allclose(some, point_features(cloud, settings, columns)[rows], rtol=1e-4, atol=1e-4)
    assert some[:, settings.names.index("charge")].tolist() == [3, 700, 1499]
    assert point_features(cloud, settings, columns, rows[:0]).shape == (0, len(settings.names))


def test_height_by_hand():
    rng = np.random.default_rng(0)
    cloud = rng.uniform(0, 6, (5000, 3))
    found = height_above_floor(cloud, 2.0)
    corner = cloud.min(axis=0)
    for i in (0, 100, 4999):
        cell = np.floor((cloud[:, :2] - corner[:2]) / 2.0)
        own = np.sort(cloud[(cell == cell[i]).all(axis=1), 2])
        assert found[i] == cloud[i, 2] - own[int(0.01 * len(own))]
    low = cloud.copy()
    low[0, 2] = -50.0  # one point under the ground is no floor
    np.testing.assert_allclose(height_above_floor(low, 2.0)[1:], found[1:], atol=0.2)


@pytest.mark.parametrize("classes", [2, 3])
def test_trees_are_those_of_scikit_learn(classes):
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0] * 2).astype(int) % classes
    grown = HistGradientBoostingClassifier(max_iter=8, early_stopping=False).fit(X, y)
    trees = Trees.of(grown)
    np.testing.assert_allclose(trees.probabilities(X, 2), grown.predict_proba(X), atol=1e-12)
    again = Trees.from_tensors(trees.tensors(), 4, classes)
    np.testing.assert_array_equal(again.probabilities(X), trees.probabilities(X))


def test_trees_with_wrong_indices_are_refused():
    X = np.random.default_rng(0).normal(size=(100, 3))
    trees = Trees.of(HistGradientBoostingClassifier(max_iter=2, early_stopping=False).fit(X, X[:, 0] > 0))
    for name, value, words in (
        ("left", 0, "nodes that they do not have"),
        ("right", 10**6, "nodes that they do not have"),
        ("feature", 3, "beyond the 3"),
        ("value", np.nan, "not finite"),
        ("starts", 1, "do not fit together"),
    ):
        tensors = {key: array.copy() for key, array in trees.tensors().items()}
        tensors[name][0] = value
        with pytest.raises(ValueError, match=words):
            Trees.from_tensors(tensors, 3, 2)
    with pytest.raises(ValueError, match="not those of 5 classes"):
        Trees.from_tensors(trees.tensors(), 3, 5)


def test_it_learns_and_is_saved(forest, model, tmp_path):
    clouds, labels = forest
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert model.score(clouds[2:], labels[2:]) > 0.4
    shares = model.predict_proba(clouds[2:])[0]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    model.save(tmp_path / "m", notes={"label": "classification"})
    again = hf.HFSPointClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(clouds[2:])[0], shares)
    assert again.notes_ == {"label": "classification"}
    with pytest.raises(ValueError, match="holds a saved HFSPointClassifier, not a saved HFSClassifier"):
        hf.HFSClassifier.load(tmp_path / "m")
    facts = json.loads((tmp_path / "m" / "model.json").read_text())
    facts["features"]["lengths"] = [1, 2, 3]
    (tmp_path / "m" / "model.json").write_text(json.dumps(facts))
    with pytest.raises(ValueError, match="was changed"):
        hf.HFSPointClassifier.load(tmp_path / "m")


def test_clouds_with_columns_words_and_labels_to_ignore(forest):
    clouds, labels = forest
    names = np.array(["ground", "trunk", "branch", "leaf", "none"])
    given = [hf.Cloud(c, {"intensity": y.astype(float)}) for c, y in zip(clouds, labels, strict=True)]
    model = hf.HFSPointClassifier(
        lengths=LENGTHS, blocks=["dimension"], columns=["intensity"], iterations=10, points_per_class=200
    ).fit(given[:1], [names[labels[0]]], ignore=["none"])
    assert model.classes_.tolist() == ["branch", "ground", "leaf", "trunk"]
    found = model.predict(given[1:2])[0]
    own = labels[1] < 4
    assert (found == names[labels[1]])[own].mean() > 0.99, "the column gives the label away"
    with pytest.raises(ValueError, match="has no column 'intensity'; it has none"):
        model.predict(clouds[1:2])


def test_another_reader(forest, tmp_path):
    clouds, labels = forest
    reader = KNeighborsClassifier(5)
    model = hf.HFSPointClassifier(lengths=LENGTHS, blocks=["dimension"], reader=reader)
    model.fit(clouds[:1], labels[:1])
    assert model.predict(clouds[1:2])[0].shape == (1500,)
    with pytest.raises(ValueError, match="only reader='boosting' can be saved"):
        model.save(tmp_path / "m")


def test_no_file_tests_itself(forest):
    clouds, labels = forest
    classes = np.arange(5)
    model = hf.HFSPointClassifier(lengths=LENGTHS, blocks=["dimension", "height"], iterations=5)
    settings = model.settings_for(clouds)
    rows = chosen_rows(labels, classes, per_class=100, test_points=300, seed=0, ignore=())
    tables = [file_table(model, settings, clouds[i], {}, labels[i], rows[i]) for i in range(3)]
    assert all(table.test.sum() == 300 for table in tables)
    assert sum((t.labels[t.learn] == 0).sum() for t in tables) <= 100
    seen = []

    class Watched(hf.HFSPointClassifier):
        def fit_features(self, features, labels, settings):
            seen.append(len(features))
            return super().fit_features(features, labels, settings)

    watched = Watched(**model.get_params())
    folds = list(validate_files(watched, tables, settings, classes, n_splits=3))
    assert sorted(i for fold in folds for i in fold.files) == [0, 1, 2]
    learnt = [int(table.learn.sum()) for table in tables]
    assert seen == [sum(learnt) - learnt[fold.files[0]] for fold in folds]
    assert sum(fold.confusion.sum() for fold in folds) == 900
    assert {name for kind, name in folds[0].importance if kind == "length"} == {"0.2", "0.5", "1"}
    assert [*map(len, folds_of_files(7, 5, 0))] == [2, 2, 1, 1, 1]


def test_scores_by_hand():
    matrix = confusion(np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 0]), np.array([0, 1, 2, 3]))
    assert matrix.tolist() == [[2, 1, 0, 0], [0, 2, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(iou(matrix), [2 / 4, 2 / 3, 0.0, np.nan])
    assert mean_iou(matrix) == pytest.approx((0.5 + 2 / 3) / 3)
    found = scores_of(matrix, np.array(["a", "b", "c", "d"]))
    assert found["accuracy"] == pytest.approx(4 / 6)
    assert found["recall"] == {"a": pytest.approx(2 / 3), "b": 1.0, "c": 0.0, "d": None}


def test_only_what_is_used_is_important():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).astype(np.float32)
    y = (X[:, 1] > 0).astype(int)
    groups = groups_of([("one", ["a_s0"]), ("two", ["b_s0", "b_s1"])], [0.1, 0.2])
    assert groups["length", "0.1"].tolist() == [0, 1]
    lost = importance(lambda f: (f[:, 1] > 0).astype(int), X, y, groups, classes=np.array([0, 1]))
    assert lost["block", "one"] == lost["length", "0.2"] == 0.0
    assert lost["block", "two"] > 0.5


def test_training_points_per_class():
    labels = [np.array([0] * 90 + [1] * 10), np.array([0] * 5 + [1] * 300)]
    rows = balanced_rows(labels, np.array([0, 1]), 50, seed=0)
    found = np.concatenate([own[r] for own, r in zip(labels, rows, strict=True)])
    assert np.bincount(found).tolist() == [50, 50]
    assert (labels[1][rows[1]] == 0).sum() == 5, "all of the few, the rest from the other cloud"
    assert even_rows(np.array([True, False, True]), 9, 0).tolist() == [0, 2]


def test_lengths_are_proposed_from_the_spacing(forest):
    found = propose_lengths(forest[0])
    spacing = np.median([np.sqrt(hf.scale_schedule(c)[0] / 0.05) for c in forest[0]])
    assert len(found) == 6
    assert found[0] == pytest.approx(1.5 * spacing, rel=0.06)
    np.testing.assert_allclose(propose_lengths([10 * c for c in forest[0]]), 10 * np.array(found), rtol=0.07)
    with pytest.raises(ValueError, match="no lengths to propose"):
        propose_lengths([np.zeros((4, 3))])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lengths": [1.0]}, "lengths must hold at least 2"),
        ({"blocks": ["colour"]}, "blocks must be one of .*got 'colour'"),
        ({"blocks": "height"}, "must be a sequence of names"),
        ({"cell": -1}, "cell must be a positive length, got -1"),
        ({"tol": 2}, "tol must be a number between 0 and 1"),
        ({"reader": "forest"}, "reader must be 'boosting'"),
        ({"iterations": 0}, "iterations must be an integer"),
        ({"points_per_class": 0}, "points_per_class must be"),
        ({"columns": ["hue"]}, "no column 'hue'"),
    ],
)
def test_wrong_options(forest, options, words):
    model = hf.HFSPointClassifier(**{"lengths": LENGTHS, "blocks": ["dimension"], "iterations": 2, **options})
    with pytest.raises(ValueError, match=words):
        model.fit(forest[0][:1], forest[1][:1])


def test_wrong_input(forest, model):
    clouds, labels = forest
    for given, own, words in (
        (clouds[0], labels[0], "must be a list of clouds"),
        (clouds[:2], labels[:1], "one array per cloud, got 1 for 2"),
        (clouds[:1], [labels[0][:9]], r"labels\[0\] must hold 1500 labels"),
        (clouds[:1], [np.zeros(1500)], "at least two classes"),
        ([], [], "clouds is empty"),
        ([clouds[0][:, :2], clouds[0]], labels[:2], r"clouds\[1\] has 3 coordinates"),
    ):
        with pytest.raises(ValueError, match=words):
            hf.HFSPointClassifier(lengths=LENGTHS).fit(given, own)
    with pytest.raises(ValueError, match="fitted on 3"):
        model.predict([clouds[0][:, :2]])
    assert model.predict([np.empty((0, 3))])[0].shape == (0,)


def test_what_people_have(forest, tmp_path):
    """Paths, iterators, tables and objects of laspy, with the columns that they bring."""
    pandas, laspy = pytest.importorskip("pandas"), pytest.importorskip("laspy")
    clouds, labels = forest
    files = [tmp_path / f"{i}.las" for i in (0, 1)]
    for file, cloud in zip(files, clouds, strict=False):
        hf.write_points(file, cloud, {"intensity": np.arange(len(cloud), dtype=np.uint16)})
    options = {"lengths": LENGTHS, "blocks": ["dimension"], "columns": ["intensity"], "iterations": 3}
    model = hf.HFSPointClassifier(**options).fit(files, iter(labels[:2]))
    expected = model.predict_proba([hf.read_cloud(files[0])])[0]
    table = pandas.DataFrame(hf.read_points(files[0]), columns=["x", "y", "z"])
    table["intensity"] = np.arange(len(table))
    for given in (str(files[0]), iter(files[:1]), [table], [laspy.read(files[0])]):
        np.testing.assert_array_equal(model.predict_proba(given)[0], expected)
    with pytest.raises(ValueError, match="has no column 'intensity'; it has none"):
        model.predict([clouds[0]])
