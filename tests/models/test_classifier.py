"""HFSClassifier: learning from clouds, and what it promises under rotation."""

import re

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import heatfield as hf
from heatfield.models import cloud_model
from tests.helpers.clouds import rotation
from tests.helpers.estimator_checks import CHECKS, some_clouds


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("head", ["lda", "svm"])
def test_estimator_check(check, head):
    check(hf.HFSClassifier("simple", head=head, n_scales=4))


@pytest.mark.parametrize("head", ["mlp", "lda", "svm", "auto"])
def test_learns(head):
    clouds, labels = some_clouds(40)
    model = hf.HFSClassifier("desc", head=head, inner_folds=3).fit(clouds[:30], labels[:30])
    assert model.score(clouds[30:], labels[30:]) == 1.0
    assert model.classes_.tolist() == ["ball", "ring"]
    assert (model.n_clouds_, model.n_dims_) == (30, 3)
    proba = model.predict_proba(clouds[30:])
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(clouds[30:])).all()


@pytest.mark.parametrize("better", ["simple", "desc"])
@pytest.mark.parametrize("kind", [hf.HFSClassifier, hf.HFSRegressor])
def test_variant_auto_takes_the_better_one(kind, better, tmp_path, monkeypatch):
    """Of two where one has the columns of both, of which those of one tell the classes apart."""
    monkeypatch.setattr(cloud_model, "AUTO_VARIANTS", ("simple", "desc"))
    rng = np.random.default_rng(0)
    whole, narrow_layout = (hf.HFSDescriptor(v, n_dims=3, n_scales=3).layout() for v in ("desc", "simple"))
    labels, rows = np.arange(40) % 2, rng.normal(size=(40, whole.width))
    shared = [name in narrow_layout.names for name in whole.names]
    if better == "desc":
        rows[:, ~np.array(shared)] += 4.0 * labels[:, None]
    else:
        rows[:, shared] += 4.0 * labels[:, None]
    model = kind(head="svm", n_scales=3).fit_features(rows, labels, n_dims=3)
    narrow = kind("simple", head="svm", n_scales=3).fit_features(rows[:, shared], labels, n_dims=3)
    assert (model.variant, model.descriptor_.variant) == ("auto", better)
    assert {name.split()[0] for name in model.head_scores_} == {"simple", "desc"}
    assert model.choice().startswith(f"read-out {better} svm")
    if better == "simple":
        np.testing.assert_array_equal(model.predict_features(rows), narrow.predict_features(rows[:, shared]))
        np.testing.assert_array_equal(model.predict_features(rows), model.predict_features(rows[:, shared]))
    model.save(tmp_path / "m")
    again = kind.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_features(rows), model.predict_features(rows))
    only = kind(head="svm", n_scales=3).fit_features(rows[:, shared], labels, n_dims=3)
    assert only.descriptor_.variant == "simple"
    np.testing.assert_array_equal(
        only.predict_features(rows[:, shared]), narrow.predict_features(rows[:, shared])
    )


def test_variant_auto_describes_once(monkeypatch):
    monkeypatch.setattr(cloud_model, "AUTO_VARIANTS", ("simple", "desc"))
    clouds, labels = some_clouds(16)
    model = hf.HFSClassifier(head="lda", n_scales=3).fit(clouds, labels)
    rows = hf.describe(clouds, **model.descriptor_options())
    again = hf.HFSClassifier(head="lda", n_scales=3).fit_features(rows, labels, n_dims=3)
    assert (again.descriptor_.variant, again.head_scores_) == (model.descriptor_.variant, model.head_scores_)
    np.testing.assert_array_equal(again.predict_features(rows), model.predict(clouds))
    alone = hf.HFSClassifier(head="svm", n_scales=3).fit(clouds, [*labels[1:], "alone"])
    assert (alone.descriptor_.variant, alone.head_scores_) == ("simple", {}), "nothing to compare on"
    few = hf.HFSClassifier(head="lda", n_scales=3, blocks=["hds", "dimension"]).fit(clouds, labels)
    assert (few.descriptor_.variant, few.head_scores_) == ("simple", {}), "the same columns in both"


@pytest.mark.parametrize(
    ("variant", "options"),
    [
        ("simple", {}),
        ("desc", {}),
        ("joint", {}),
        ("joint", {"head": "lda", "normalise": "rank"}),
        ("joint", {"head": "svm", "normalise": "rank"}),
        ("auto", {}),
    ],
)
def test_rotation_changes_no_prediction(variant, options):
    """Lattice-like clouds have features that are constant up to round-off: the paper's trap."""
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    clouds = [grid + (0.02 + 0.01 * (i % 2)) * rng.normal(size=grid.shape) for i in range(40)]
    labels = np.arange(40) % 2
    model = hf.HFSClassifier(variant, **options).fit(clouds, labels)
    turned = [cloud @ rotation(3, seed=i).T for i, cloud in enumerate(clouds)]
    np.testing.assert_allclose(model.predict_proba(turned), model.predict_proba(clouds), atol=1e-6)
    np.testing.assert_array_equal(model.predict(turned), model.predict(clouds))


# --- features computed before ------------------------------------------------------


@pytest.mark.parametrize("head", ["mlp", "lda", "svm"])
def test_features_computed_before_give_the_same(head):
    clouds, labels = some_clouds(16)
    features = hf.HFSDescriptor("simple").fit_transform(clouds)
    model = hf.HFSClassifier("simple", head=head).fit_features(features, labels, n_dims=3)
    direct = hf.HFSClassifier("simple", head=head).fit(clouds, labels)
    np.testing.assert_array_equal(model.predict_proba(clouds), direct.predict_proba(clouds))
    np.testing.assert_array_equal(direct.predict_features(features), direct.predict(clouds))
    np.testing.assert_array_equal(direct.predict_proba_features(features), direct.predict_proba(clouds))
    assert model.unlike(clouds) == {}  # nothing is known of the training clouds


def test_splits_of_features_are_splits_of_clouds():
    clouds, labels = some_clouds(22)
    features = hf.HFSDescriptor("simple").fit_transform(clouds)
    model, cv = hf.HFSClassifier("simple", head="lda"), StratifiedKFold(4, shuffle=True, random_state=3)
    predicted = np.empty_like(labels)
    for train, test in cv.split(labels, labels):
        own = hf.HFSClassifier("simple", head="lda").fit_features(features[train], labels[train], n_dims=3)
        predicted[test] = own.predict_features(features[test])
    np.testing.assert_array_equal(predicted, cross_val_predict(model, clouds, labels, cv=cv))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda rows, y: hf.HFSClassifier("desc").fit_features(rows, y, n_dims=3),
            "features must have shape (N, 336) for variant='desc' in 3 dimensions, got (12, 216)",
        ),
        (
            lambda rows, y: hf.HFSClassifier("simple").fit_features(rows, y[:5], n_dims=3),
            "y has 5 labels for 12 clouds",
        ),
        (
            lambda rows, y: hf.HFSClassifier("simple").fit_features(rows, y, n_dims=3, groups=[1, 2]),
            "groups has 2 entries for 12 clouds",
        ),
        (
            lambda rows, y: (
                hf.HFSClassifier("simple", head="lda")
                .fit_features(rows, y, n_dims=3)
                .predict_features(rows[:, :5])
            ),
            "features must have shape (N, 216) for variant='simple' in 3 dimensions, got (12, 5)",
        ),
    ],
)
def test_features_that_do_not_fit(call, message):
    clouds, labels = some_clouds()
    rows = hf.HFSDescriptor("simple").fit_transform(clouds)
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        call(rows, labels)


# --- input ---------------------------------------------------------------------------


def test_gaps_are_filled_and_the_rest_kept():
    clouds, labels = some_clouds(20)
    with pytest.warns(hf.HeatFieldWarning, match=r"1 of 20 clouds .* clouds 4$"):
        model = hf.HFSClassifier("simple", head="lda").fit([*clouds[:4], clouds[4][:1], *clouds[5:]], labels)
    assert model.score(clouds, labels) == 1.0


def test_labels_in_an_array_of_objects(tmp_path):
    """As pandas gives them. They are saved, and loaded again."""
    clouds, labels = some_clouds(12)
    model = hf.HFSClassifier("simple", head="lda", n_scales=3).fit(clouds, labels.astype(object))
    assert model.classes_.dtype == labels.dtype
    model.save(tmp_path / "m")
    assert (hf.HFSClassifier.load(tmp_path / "m").predict(clouds) == model.predict(clouds)).all()
    mixed = np.array([None if label == "ring" else "ball" for label in labels], dtype=object)
    for y in (mixed, np.where(mixed == "ball", 1, labels.astype(object))):
        with pytest.raises(ValueError, match=r"y must be all words or all numbers, got "):
            model.fit(clouds, y)


WRONG = [
    ({"head": "tree"}, None, "head must be one of 'auto', 'lda', 'svm', 'mlp', got 'tree'"),
    (
        {"variant": "full"},
        None,
        "variant must be one of 'auto', 'simple', 'desc', 'joint', 'oriented', got 'full'",
    ),
    ({"normalise": "log"}, None, "normalise must be one of 'auto', 'standard', 'rank', got 'log'"),
    ({"epochs": 0}, None, "epochs must be an integer of at least 1, got 0"),
    ({"inner_folds": 1}, None, "inner_folds must be an integer of at least 2, got 1"),
    ({}, ["a"] * 12, "y must hold at least two classes, got only ['a']"),
    ({}, ["a", "b"], "y has 2 labels for 12 clouds"),
    ({}, 3, "y must be a label for each cloud, got 3"),
    ({"head": "auto"}, ["a"] * 11 + ["b"], "head='auto' is chosen by cross-validation: at least 2"),
]


@pytest.mark.parametrize(("options", "labels", "message"), WRONG)
def test_wrong_input_is_said_before_the_work(options, labels, message, monkeypatch):
    clouds, own = some_clouds()
    monkeypatch.setattr(hf.HFSDescriptor, "_compute", lambda *_a, **_k: pytest.fail("it described first"))
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        hf.HFSClassifier(**{"variant": "simple"} | options).fit(clouds, own if labels is None else labels)


def test_warnings_point_at_the_callers_line():
    """However deep inside the library a cloud without extent, or one unlike the training, is noticed."""
    clouds, labels = some_clouds(8)
    empty = [*clouds, np.zeros((4, 3))]
    model = hf.HFSClassifier("simple", head="lda", n_scales=3)
    calls = {
        "two distinct points": [
            lambda: model.fit(empty, [*labels, labels[0]]),
            lambda: model.predict(empty),
            lambda: model.predict_proba(empty),
        ],
        "unlike the training set": [lambda: model.predict([100.0 * clouds[0]])],
    }
    for text, some in calls.items():
        for call in some:
            with pytest.warns(hf.HeatFieldWarning, match=text) as caught:
                call()
            assert {w.filename for w in caught} == {__file__}


def test_unlike_clouds_are_reported(recwarn):
    clouds, labels = some_clouds(20)
    model = hf.HFSClassifier("simple", head="lda").fit(clouds, labels)
    model.predict(clouds)
    assert not recwarn.list
    with pytest.warns(
        hf.HeatFieldWarning, match=r"1 of 2 clouds are unlike .* clouds\[1\] has a diameter of .* unit\?"
    ):
        model.predict([clouds[0], 1000 * clouds[1]])
    with pytest.warns(
        hf.HeatFieldWarning, match=r"clouds\[0\] has a number of points of 400, training had 20 to 38"
    ):
        model.predict([np.concatenate([clouds[0]] * 20)])
    assert set(model.unlike([clouds[0], 1000 * clouds[1]])) == {1}


def test_threads_may_change_after_the_fit(monkeypatch):
    """As of a model that was loaded: ``heatfield predict --n-jobs``."""
    from heatfield.features import descriptor as descriptors

    clouds, labels = some_clouds(8)
    model = hf.HFSClassifier("simple", head="lda", n_scales=3, n_jobs=1).fit(clouds, labels)
    seen = []
    real = descriptors.describe_clouds
    monkeypatch.setattr(
        descriptors, "describe_clouds", lambda *a, **k: (seen.append(k["n_threads"]), real(*a, **k))[1]
    )
    model.predict(clouds)
    model.set_params(n_jobs=2).predict(clouds)
    assert seen == [1, 2]
