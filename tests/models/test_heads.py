"""Plain arrays predict what the estimators of scikit-learn predict that they were read from."""

import copy
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import heatfield as hf
from heatfield.models.heads import Discriminants, Network, SupportVectors, Trees, softmax
from heatfield.models.read_out import Candidate, GapImputer, GaussianSVC

SAME = {"rtol": 0.0, "atol": 1e-12}
KINDS = {
    "mlp": (Network, MLPClassifier((12, 7), max_iter=60, random_state=0)),
    "lda": (Discriminants, LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
    "svm": (SupportVectors, GaussianSVC(C=10.0, break_ties=True)),
}


def some_rows(classes, count=160, width=9, seed=0):
    """Standardised rows of classes that overlap, and others that are far away."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % classes
    rows = rng.normal(size=(count, width)) + 0.8 * rng.normal(size=(classes, width))[labels]
    return rows, labels, np.concatenate([rng.normal(size=(200, width)), 30.0 * rng.normal(size=(20, width))])


def two_columns(values):
    return np.stack([0.0 * values, values], axis=1) if values.ndim == 1 else values


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("kind", KINDS)
def test_heads_are_those_of_scikit_learn(kind, classes):
    rows, labels, new = some_rows(classes)
    head, estimator = KINDS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few epochs
        fitted = clone(estimator).fit(rows, labels)
    mine = head.of(fitted)
    margins = mine.margins(new)
    assert margins.shape == (220, classes)
    np.testing.assert_array_equal(mine.positions(margins), fitted.predict(new))
    if kind == "svm":
        theirs = fitted.decision_function(new)
        theirs = np.stack([-theirs, theirs], axis=1) if classes == 2 else theirs
        np.testing.assert_allclose(margins, theirs, **SAME)
    else:
        np.testing.assert_allclose(softmax(margins), fitted.predict_proba(new), **SAME)
    if kind == "lda":
        np.testing.assert_allclose(
            margins, two_columns(fitted.decision_function(new)), rtol=1e-12, atol=1e-12
        )
    again = head.loaded(dict(mine.tensors()), mine.values(), 9, classes)
    np.testing.assert_array_equal(again.margins(new), margins)


@pytest.mark.parametrize("classes", [2, 4])
def test_gamma_is_the_default_as_a_number(classes):
    rows, labels, new = some_rows(classes)
    own, default = GaussianSVC(C=3.0).fit(rows, labels), SVC(C=3.0).fit(rows, labels)
    assert own.gamma == 1.0 / (9 * rows.var())
    np.testing.assert_array_equal(own.decision_function(new), default.decision_function(new))
    same = np.ones((4, 3))
    assert GaussianSVC().fit(same, [0, 1, 0, 1]).gamma == 1.0


def test_even_support_vectors_say_what_libsvm_says():
    """Rows that are all alike: no margin is above the other."""
    rows, labels = np.ones((6, 3)), np.arange(6) % 2
    fitted = GaussianSVC(break_ties=True).fit(rows, labels)
    mine = SupportVectors.of(fitted)
    np.testing.assert_array_equal(mine.positions(mine.margins(rows)), fitted.predict(rows))


def test_many_rows_are_taken_in_pieces(monkeypatch):
    rows, labels, new = some_rows(3)
    mine = SupportVectors.of(GaussianSVC().fit(rows, labels))
    whole = mine.margins(new)
    monkeypatch.setattr("heatfield.models.heads._TOGETHER", 1000)
    np.testing.assert_allclose(mine.margins(new), whole, **SAME)
    assert mine.margins(new[:0]).shape == (0, 3)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("head", ["mlp", "lda", "svm"])
def test_a_classifier_predicts_as_its_pipeline(head, classes):
    """From descriptors with gaps and constant columns, as `HFSClassifier` trains it."""
    rng = np.random.default_rng(1)
    clouds = [rng.normal(size=(40, 3)) * [1, 1, 0.2 + 0.2 * (i % classes)] for i in range(48)]
    labels = np.arange(48) % classes
    model = hf.HFSClassifier("joint", n_scales=3, head=head, epochs=40, random_state=0)
    features = hf.HFSDescriptor("joint", n_scales=3).fit_transform(clouds)
    features[::7, 5] = np.nan
    features[:, 11] = 4.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit_features(features[:36], labels[:36], n_dims=3)
        steps = GapImputer(), model._scaler(dense=True), Candidate("joint", head).estimator(model)
        pipeline = make_pipeline(*steps).fit(features[:36], labels[:36])
    assert model.readout_.constant[11]
    np.testing.assert_array_equal(model.predict_features(features), pipeline.predict(features))
    found = model.predict_proba_features(features)
    if head == "mlp":
        np.testing.assert_allclose(found, pipeline.predict_proba(features), **SAME)
    else:
        values = two_columns(pipeline.decision_function(features))
        if head == "svm" and classes == 2:
            values[:, 0] = -values[:, 1]
        expected = softmax(values / (model.readout_.head.temperature or 1.0))
        np.testing.assert_allclose(found, expected, **SAME)


@pytest.mark.parametrize("classes", [2, 3])
def test_trees_are_those_of_scikit_learn(classes):
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0] * 2).astype(int) % classes
    grown = HistGradientBoostingClassifier(max_iter=8, early_stopping=False).fit(X, y)
    trees = Trees.of(grown, X)
    np.testing.assert_allclose(trees.probabilities(X, 2), grown.predict_proba(X), **SAME)
    np.testing.assert_array_equal(trees.probabilities(X).argmax(axis=1), grown.predict(X))
    again = Trees.loaded(trees.tensors(), 4, classes)
    np.testing.assert_array_equal(again.probabilities(X), trees.probabilities(X))


@pytest.fixture(scope="module")
def grown():
    X = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    return HistGradientBoostingClassifier(max_iter=2, early_stopping=False).fit(X, X[:, 0] > 0), X


def _without(field):
    def change(model):
        for stage in model._predictors:
            for tree in stage:
                names = [name for name in tree.nodes.dtype.names if name != field]
                tree.nodes = tree.nodes[names]

    return change


def _turned(model):
    for stage in model._predictors:
        for tree in stage:
            tree.nodes["value"] *= -1.0
    model.predict_proba = lambda rows: np.full((len(rows), 2), 0.5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: delattr(m, "_predictors"), "_predictors"),
        (lambda m: delattr(m, "_baseline_prediction"), "_baseline_prediction"),
        (_without("missing_go_to_left"), "missing_go_to_left"),
        (_without("num_threshold"), "num_threshold"),
        (lambda m: setattr(m, "_baseline_prediction", np.zeros(3)), "not those of 2 classes"),
        (lambda m: m._predictors[0][0].nodes["left"].__setitem__(0, 999), "nodes that they do not have"),
        (_turned, "probabilities differ by"),
    ],
)
def test_trees_of_another_form_are_a_clear_error(grown, change, words):
    model = copy.deepcopy(grown[0])
    change(model)
    with pytest.raises(RuntimeError, match=f"keeps its boosted trees in a form not known here.*{words}"):
        Trees.of(model, grown[1])


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("left", 0, "nodes that they do not have"),
        ("right", 10**6, "nodes that they do not have"),
        ("feature", 3, "a feature index >= 3"),
        ("value", np.nan, "non-finite"),
        ("threshold", np.nan, "'threshold' must be"),
        ("starts", 1, "do not fit together"),
    ],
)
def test_trees_with_wrong_numbers_are_refused(grown, name, value, words):
    tensors = {key: array.copy() for key, array in Trees.of(*grown).tensors().items()}
    tensors[name][0] = value
    with pytest.raises(ValueError, match=words):
        Trees.loaded(tensors, 3, 2)
