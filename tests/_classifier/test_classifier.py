"""HFSClassifier: learning from clouds, and what it promises under rotation."""

import re

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import heatfield as hf
from heatfield._classifier.preprocessing import GapImputer, RoundOffScaler, magnitudes
from tests.helpers.clouds import rotation
from tests.helpers.estimator_checks import CHECKS, some_clouds


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("head", ["lda", "svm"])
def test_estimator_check(check, head):
    check(hf.HFSClassifier("simple", head=head, n_scales=4, random_state=0))


@pytest.mark.parametrize("head", ["mlp", "lda", "svm", "auto"])
def test_learns(head):
    clouds, labels = some_clouds(40)
    model = hf.HFSClassifier("desc", head=head, inner_folds=3, random_state=0).fit(clouds[:30], labels[:30])
    assert model.score(clouds[30:], labels[30:]) == 1.0
    assert model.classes_.tolist() == ["ball", "ring"]
    proba = model.predict_proba(clouds[30:])
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(clouds[30:])).all()


@pytest.mark.parametrize("head", ["lda", "svm"])
def test_probabilities_of_many_classes(head):
    clouds, labels = hf.datasets.make_orbit5k(n_per_class=8, n_points=120)
    model = hf.HFSClassifier("simple", head=head).fit(clouds, labels)
    proba = model.predict_proba(clouds)
    assert proba.shape == (40, 5)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(clouds)).all()


def test_auto_says_what_it_chose():
    clouds, labels = some_clouds(30)
    model = hf.HFSClassifier("simple", head="auto", inner_folds=2, random_state=0).fit(clouds, labels)
    assert set(model.head_scores_) == {"lda", "svm"}, "30 clouds are too few for the network"
    assert model.head_ == max(model.head_scores_, key=model.head_scores_.get)
    assert all(0.0 <= score <= 1.0 for score in model.head_scores_.values())


def test_auto_tries_the_network_where_there_are_many_clouds(monkeypatch):
    """For a bounded number of epochs, on one fold; and no support vectors where they would take hours."""
    from heatfield._classifier import heads

    fitted = []
    fit = heads.AnnealedMLP.fit

    def counted(self, X, y):
        fitted.append((len(X), self.max_iter))
        return fit(self, X, y)

    monkeypatch.setattr(heads.AnnealedMLP, "fit", counted)
    monkeypatch.setattr(heads, "LEAST_FOR_NETWORK", 40)
    monkeypatch.setattr(heads, "NETWORK_PASSES", 32 * 60)
    clouds, labels = some_clouds(40)
    model = hf.HFSClassifier("simple", head="auto", random_state=0).fit(clouds, labels)
    assert {*model.head_scores_} == {"lda", "svm", "mlp"}
    assert fitted[0] == (32, 60)
    assert len(fitted) == (2 if model.head_ == "mlp" else 1)
    monkeypatch.setattr(heads, "NETWORK_PASSES", 32 * 49)  # too few epochs to tell anything
    monkeypatch.setattr(heads, "MOST_FOR_VECTORS", 39)
    model = hf.HFSClassifier("simple", head="auto", random_state=0).fit(clouds, labels)
    assert {*model.head_scores_} == {"lda"}


def test_same_seed_same_model():
    clouds, labels = some_clouds(20)
    first, second = (
        hf.HFSClassifier(random_state=3).fit(clouds, labels).predict_proba(clouds) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_cross_validation():
    clouds, labels = some_clouds(24)
    assert cross_val_score(hf.HFSClassifier("simple", head="lda"), clouds, labels, cv=3).mean() > 0.9


@pytest.mark.parametrize("variant", ["simple", "desc", "joint"])
def test_rotation_changes_no_prediction(variant):
    """Lattice-like clouds have features that are constant up to round-off: the paper's trap."""
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    clouds = [grid + (0.02 + 0.01 * (i % 2)) * rng.normal(size=grid.shape) for i in range(40)]
    labels = np.arange(40) % 2
    model = hf.HFSClassifier(variant, random_state=0).fit(clouds, labels)
    turned = [cloud @ rotation(3, seed=i).T for i, cloud in enumerate(clouds)]
    np.testing.assert_allclose(model.predict_proba(turned), model.predict_proba(clouds), atol=1e-6)


def test_features_computed_before():
    clouds, labels = some_clouds(20)
    features = hf.HFSDescriptor("simple").fit_transform(clouds)
    model = hf.HFSClassifier("simple", head="lda").fit_features(features, labels, n_dims=3)
    direct = hf.HFSClassifier("simple", head="lda").fit(clouds, labels)
    np.testing.assert_array_equal(model.predict_proba(clouds), direct.predict_proba(clouds))
    with pytest.raises(
        ValueError, match=re.escape("features must have shape (N, 336) for variant='desc' in 3")
    ):
        hf.HFSClassifier("desc").fit_features(features, labels, n_dims=3)


def test_gaps_are_filled_and_the_rest_kept():
    clouds, labels = some_clouds(20)
    with pytest.warns(hf.HeatFieldWarning, match=r"1 of 20 clouds .* clouds 4$"):
        model = hf.HFSClassifier("simple", head="lda").fit([*clouds[:4], clouds[4][:1], *clouds[5:]], labels)
    assert model.score(clouds, labels) == 1.0
    X = np.array([[1.0, np.nan, 5.0], [2.0, 8.0, np.inf], [4.0, 2.0, np.nan]])
    filled = GapImputer().fit_transform(X)
    np.testing.assert_array_equal(filled, [[1.0, 5.0, 5.0], [2.0, 8.0, 5.0], [4.0, 2.0, 5.0]])
    assert (GapImputer().fit(np.full((3, 1), np.nan)).transform([[np.nan]]) == 0.0).all()


def test_round_off_is_set_to_zero():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=50), 1.0 + 1e-13 * rng.normal(size=50), 1e-12 * rng.normal(size=50)]
    found = RoundOffScaler(1e-9).fit_transform(X)
    assert (found[:, 1] == 0.0).all()
    np.testing.assert_allclose(found[:, [0, 2]].std(axis=0), 1.0)
    # A difference of numbers of order one has their round-off, however small it is.
    assert (RoundOffScaler(1e-9, magnitude=[0.0, 0.0, 1.0]).fit_transform(X)[:, 2] == 0.0).all()
    columns = hf.HFSDescriptor("desc").layout()
    assert magnitudes(columns)[columns.columns["spectrum"]].min() == 1.0
    assert magnitudes(columns)[columns.columns["dimension"]].max() == 0.0


@pytest.mark.parametrize(
    ("options", "labels", "message"),
    [
        ({"head": "tree"}, None, "head must be one of 'mlp', 'lda', 'svm', 'auto', got 'tree'"),
        ({"epochs": 0}, None, "epochs must be an integer of at least 1, got 0"),
        ({}, ["a"] * 12, "y must hold at least two classes, got only ['a']"),
        ({}, ["a", "b"], "y has 2 labels for 12 clouds"),
        (
            {"head": "auto"},
            ["a"] * 11 + ["b"],
            "head='auto' needs at least 2 clouds per class, but class 'b' has 1",
        ),
    ],
)
def test_wrong_input(options, labels, message):
    clouds, own = some_clouds()
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        hf.HFSClassifier("simple", **options).fit(clouds, own if labels is None else labels)


@pytest.mark.parametrize("variant", ["simple", "full"])
def test_warnings_point_at_the_callers_line(variant):
    """However deep inside the library a cloud without extent, or one unlike the training, is noticed."""
    options = {"head": "lda"}
    if variant == "full":
        pytest.importorskip("torch")
        options = {"epochs": 1, "progress": False, "device": "cpu"}
    clouds, labels = some_clouds(8)
    empty = [*clouds, np.zeros((4, 3))]
    model = hf.HFSClassifier(variant, n_scales=3, **options)
    descriptor = hf.HFSDescriptor("simple", n_scales=3)
    calls = {
        "two distinct points": [
            lambda: model.fit(empty, [*labels, labels[0]]),
            lambda: model.predict(empty),
            lambda: model.predict_proba(empty),
            lambda: descriptor.fit_transform(empty),
            lambda: descriptor.transform(empty),
        ],
        "unlike the training set": [lambda: model.predict([100.0 * clouds[0]])],
    }
    for text, some in calls.items():
        for call in some:
            with pytest.warns(hf.HeatFieldWarning, match=text) as caught:
                call()
            assert {w.filename for w in caught} == {__file__}


def test_threads_may_change_after_the_fit(monkeypatch):
    """As of a model that was loaded: ``heatfield predict --jobs``."""
    from heatfield._features import descriptor as descriptors

    clouds, labels = some_clouds(8)
    model = hf.HFSClassifier("simple", head="lda", n_scales=3).fit(clouds, labels)
    seen = []
    real = descriptors.describe_clouds
    monkeypatch.setattr(
        descriptors, "describe_clouds", lambda *a, **k: (seen.append(k["n_threads"]), real(*a, **k))[1]
    )
    model.predict(clouds)
    model.set_params(n_jobs=2).predict(clouds)
    assert seen == [1, 2]
