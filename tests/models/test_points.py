"""`HFSPointClassifier`: features at lengths, what is learnt from, scores, saving."""

import json

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import heatfield as hf
from heatfield.models import points as module
from heatfield.models.features_at_lengths import (
    BLOCKS,
    PointFeatureSettings,
    features_at_lengths,
    height_above_floor,
)
from heatfield.models.points import (
    balanced_rows,
    confusion,
    extent_of,
    groups_of,
    importance,
    iou,
    mean_iou,
    propose_lengths,
    scores_of,
)
from tests.helpers.files import forged, put, said

LENGTHS = (0.2, 0.5, 1.0)


@pytest.fixture(scope="module")
def forest():
    return hf.datasets.make_forest(3, n_points=1500, random_state=2)


@pytest.fixture(scope="module")
def model(forest):
    clouds, labels = forest
    return hf.HFSPointClassifier(lengths=LENGTHS, iterations=15, n_jobs=1).fit(clouds[:2], labels[:2])


def test_features_are_those_of_signatures(forest):
    cloud = forest[0][0]
    settings = PointFeatureSettings(3, LENGTHS, blocks=BLOCKS, tol=1e-8)
    s = hf.signatures(cloud, lengths=LENGTHS, with_directions=True)
    found = dict(zip(settings.names, features_at_lengths(cloud, settings).T, strict=True))
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
    some = features_at_lengths(cloud, settings, columns, rows)
    np.testing.assert_allclose(
        some, features_at_lengths(cloud, settings, columns)[rows], rtol=1e-4, atol=1e-4
    )
    assert some[:, settings.names.index("charge")].tolist() == [3, 700, 1499]
    assert features_at_lengths(cloud, settings, columns, rows[:0]).shape == (0, len(settings.names))


def test_height_is_above_the_floor_of_the_cell():
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


def test_a_loaded_model_predicts_the_same(forest, model, tmp_path):
    clouds, labels = forest
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert model.score(clouds[2:], labels[2:]) > 0.4
    shares = model.predict_proba(clouds[2:])[0]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    model.save(tmp_path / "m", notes={"label": "classification"})
    again = hf.HFSPointClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(clouds[2:])[0], shares)
    assert again.notes_ == {"label": "classification"}
    with pytest.raises(hf.ReadError, match="holds a saved HFSPointClassifier, not a saved HFSClassifier"):
        hf.HFSClassifier.load(tmp_path / "m")
    facts = json.loads((tmp_path / "m" / "model.json").read_text())
    facts["features"]["lengths"] = [1, 2, 3]
    (tmp_path / "m" / "model.json").write_text(json.dumps(facts))
    with pytest.raises(hf.ReadError, match="was changed"):
        hf.HFSPointClassifier.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (said("features", "lengths", value=[0.2, 0.5]), "a tree uses a feature index >="),
        (said("features", "n_dims", value=10**6), "2 or 3 coordinates"),
        (said("features", "colour", value=1), "colour"),
        (said("schema", value=1), "was trained on features of schema 1"),
        (put("left", 0, 0), "nodes that they do not have"),
        (put("value", 0, np.inf), "non-finite"),
        (lambda _, t: t.pop("base"), "'base' is missing"),
        (lambda _, t: t.update(more=np.zeros(2)), "a tensor 'more'"),
    ],
)
def test_a_forged_model_is_a_clear_error(model, change, words, tmp_path):
    model.save(tmp_path / "m")
    with pytest.raises(hf.ReadError, match=words):
        hf.HFSPointClassifier.load(forged(tmp_path / "m", change))


def test_columns_words_and_ignored_labels(forest):
    clouds, labels = forest
    names = np.array(["ground", "trunk", "branch", "leaf", "none"])
    given = [hf.Cloud(c, {"intensity": y.astype(float)}) for c, y in zip(clouds, labels, strict=True)]
    model = hf.HFSPointClassifier(
        lengths=LENGTHS,
        blocks=["dimension"],
        columns=["intensity"],
        iterations=10,
        points_per_class=200,
        n_jobs=1,
    ).fit(given[:1], [names[labels[0]]], ignore=["none"])
    assert model.classes_.tolist() == ["branch", "ground", "leaf", "trunk"]
    found = model.predict(given[1:2])[0]
    own = labels[1] < 4
    assert (found == names[labels[1]])[own].mean() > 0.99, "the column gives the label away"
    with pytest.raises(ValueError, match="has no column 'intensity'; it has none"):
        model.predict(clouds[1:2])


def test_scores_of_a_small_confusion_matrix():
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


def test_training_points_are_balanced_over_classes_and_clouds():
    labels = [np.array([0] * 90 + [1] * 10), np.array([0] * 5 + [1] * 300)]
    rows = balanced_rows(labels, np.array([0, 1]), 50, seed=0)
    found = np.concatenate([own[r] for own, r in zip(labels, rows, strict=True)])
    assert np.bincount(found).tolist() == [50, 50]
    assert (labels[1][rows[1]] == 0).sum() == 5, "all of the few, the rest from the other cloud"


def test_lengths_are_proposed_from_the_spacing(forest):
    found = propose_lengths([extent_of(c) for c in forest[0]])
    spacing = np.median([np.sqrt(hf.scale_schedule(c[~hf.isolated_points(c)])[0] / 0.05) for c in forest[0]])
    assert len(found) == 6
    assert found[0] == pytest.approx(1.5 * spacing, rel=0.06)
    larger = propose_lengths([extent_of(10 * c) for c in forest[0]])
    np.testing.assert_allclose(larger, 10 * np.array(found), rtol=0.07)
    with pytest.raises(ValueError, match="no lengths to propose"):
        propose_lengths([extent_of(np.zeros((4, 3)))])


def test_a_long_fit_in_parts_grows_the_same_trees(forest, model, monkeypatch):
    monkeypatch.setattr(module, "_LONG", 0)
    again = hf.HFSPointClassifier(lengths=LENGTHS, iterations=15, n_jobs=1).fit(forest[0][:2], forest[1][:2])
    for name, array in model.trees_.tensors().items():
        assert array.tobytes() == again.trees_.tensors()[name].tobytes(), name


@pytest.mark.parametrize("weight", [None, "balanced"])
def test_trees_are_those_of_scikit_learn(weight):
    """Of few values exactly, of many as good: scikit-learn draws its bins otherwise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:3, 0] = np.inf, -np.inf, np.inf
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) > 0.5) * 2 + (X[:, 2] > 1)
    settings = PointFeatureSettings(3, LENGTHS, ["dimension", "height"])
    few = np.where(np.isinf(X), X, np.round(X * 4))
    for features, same in ((few, True), (X, False)):
        model = hf.HFSPointClassifier(iterations=12, class_weight=weight, n_jobs=1)
        found = model.fit_features(features, y, settings).predict_proba_features(features)
        theirs = HistGradientBoostingClassifier(max_iter=12, class_weight=weight, early_stopping=False)
        expected = theirs.fit(features, y).predict_proba(features)
        if same:
            np.testing.assert_allclose(found, expected, atol=1e-12)
        else:
            right = [(shares.argmax(axis=1) == y).mean() for shares in (found, expected)]
            assert right[0] > right[1] - 0.01


def test_a_feature_without_a_number_is_left_aside(forest):
    clouds, labels = forest
    options = {"lengths": LENGTHS, "blocks": ["dimension"], "iterations": 3, "n_jobs": 1}
    nothing = [{"gap": np.full(1500, np.nan)}]
    model = hf.HFSPointClassifier(**options, columns=["gap"]).fit(clouds[:1], labels[:1], columns=nothing)
    plain = hf.HFSPointClassifier(**options).fit(clouds[:1], labels[:1])
    found = model.predict_proba(clouds[1:2], columns=nothing)[0]
    np.testing.assert_array_equal(found, plain.predict_proba(clouds[1:2])[0])


def test_a_class_that_was_not_learnt_counts_as_missed(forest, model):
    clouds, labels = forest
    other = np.where(labels[2] == 4, 7, labels[2])
    classes = np.array([0, 1, 2, 3, 4, 7])
    expected = mean_iou(confusion(other, model.predict(clouds[2:])[0], classes))
    assert model.score(clouds[2:], [other]) == expected


def test_files_are_read_by_nodes(tmp_path):
    """A skeleton of 40 nodes has 40 labels."""
    rng = np.random.default_rng(0)
    nodes = np.cumsum(rng.normal(size=(40, 3)), axis=0)
    lines = [f"{i + 1} {2 + i % 2} {x} {y} {z} 1 {i or -1}" for i, (x, y, z) in enumerate(nodes)]
    (tmp_path / "n.swc").write_text("\n".join(lines))
    labels = [np.arange(40) % 2]
    model = hf.HFSPointClassifier(lengths=[1.0, 3.0], blocks=["dimension"], iterations=2, n_jobs=1)
    assert model.fit([tmp_path / "n.swc"], labels).predict(tmp_path / "n.swc")[0].shape == (40,)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lengths": [1.0]}, "lengths must hold at least 2"),
        ({"blocks": ["colour"]}, "blocks must be one of .*got 'colour'"),
        ({"blocks": "height"}, "must be a sequence of names"),
        ({"cell": -1}, "cell must be a number above 0, got -1"),
        ({"tol": 2}, "tol must be a number above 0 and below 1"),
        ({"class_weight": "even"}, "class_weight must be one of 'balanced', 'none'"),
        ({"iterations": 0}, "iterations must be an integer"),
        ({"points_per_class": 0}, "points_per_class must be"),
        ({"columns": ["hue"]}, "no column 'hue'"),
    ],
)
def test_wrong_options_are_refused(forest, options, words):
    model = hf.HFSPointClassifier(
        **{"lengths": LENGTHS, "blocks": ["dimension"], "iterations": 2, "n_jobs": 1, **options}
    )
    with pytest.raises(ValueError, match=words):
        model.fit(forest[0][:1], forest[1][:1])


def test_wrong_clouds_or_labels_are_refused(forest, model):
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


def test_paths_tables_and_laspy_bring_their_columns(forest, tmp_path):
    """Paths, iterators, tables and objects of laspy, with the columns that they bring."""
    pandas, laspy = pytest.importorskip("pandas"), pytest.importorskip("laspy")
    clouds, labels = forest
    files = [tmp_path / f"{i}.las" for i in (0, 1)]
    for file, cloud in zip(files, clouds, strict=False):
        hf.write_points(file, cloud, {"intensity": np.arange(len(cloud), dtype=np.uint16)})
    options = {"lengths": LENGTHS, "blocks": ["dimension"], "columns": ["intensity"], "iterations": 3}
    options["n_jobs"] = 1
    model = hf.HFSPointClassifier(**options).fit(files, iter(labels[:2]))
    expected = model.predict_proba([hf.read_cloud(files[0])])[0]
    table = pandas.DataFrame(hf.read_points(files[0]), columns=["x", "y", "z"])
    table["intensity"] = np.arange(len(table))
    for given in (str(files[0]), iter(files[:1]), [table], [laspy.read(files[0])]):
        np.testing.assert_array_equal(model.predict_proba(given)[0], expected)
    with pytest.raises(ValueError, match="has no column 'intensity'; it has none"):
        model.predict([clouds[0]])
