"""Plain arrays predict what the estimators of scikit-learn predict."""

import copy
import warnings

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

import heatfield as hf
from heatfield.models.heads import Network, SupportVectors, Trees, softmax
from heatfield.models.read_out import (
    AnnealedMLP,
    Candidate,
    Prepared,
    RoundOffScaler,
    discriminants,
    fit_classifier,
)

SAME = {"rtol": 0.0, "atol": 1e-12}
SOLVED = {"rtol": 1e-9, "atol": 1e-9}  # of a system of equations, solved in another way
LDA = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")


def some_rows(classes, count=160, width=9, seed=0):
    """Standardised rows of classes that overlap, and others that are far away."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % classes
    rows = rng.normal(size=(count, width)) + 0.8 * rng.normal(size=(classes, width))[labels]
    return rows, labels, np.concatenate([rng.normal(size=(200, width)), 30.0 * rng.normal(size=(20, width))])


def two_columns(values):
    return np.stack([-values, values], axis=1) if values.ndim == 1 else values


def loaded_again(head, classes, width=9):
    return type(head).loaded(dict(head.tensors()), head.values(), width, classes)


def prepared(rows, labels):
    """Rows that are taken as they are, but for their mean and deviation."""
    return Prepared.of(rows, labels, RoundOffScaler(), "standard")


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("shape", [(160, 9), (40, 90), (36, 36)])
def test_discriminants_are_those_of_scikit_learn(shape, classes):
    """In the space of the columns and in that of the rows."""
    rows, labels, new = some_rows(classes, *shape)
    rows[:, 3], new[:, 3] = 0.0, 0.0  # as of a constant feature
    rows[labels == 0, 4] = 0.5  # constant in one class
    mine, fitted = discriminants(rows, labels), LDA.fit(rows, labels)
    margins = mine.margins(new)
    theirs = fitted.decision_function(new)
    lead = margins[:, 1] - margins[:, 0] if classes == 2 else margins
    np.testing.assert_allclose(lead, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())
    np.testing.assert_array_equal(mine.positions(margins), fitted.predict(new))
    np.testing.assert_array_equal(loaded_again(mine, classes, shape[1]).margins(new), margins)


def test_discriminants_do_not_divide_by_round_off():
    """A column that tells the classes apart but for its last digits has a bounded weight."""
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    for width in (5, 90):
        rows = rng.normal(size=(40, width))
        rows[:, 0] = 2.0 * labels - 1.0
        noisy = rows.copy()
        noisy[:, 0] += 1e-13 * rng.normal(size=40)
        one, other = (discriminants(each, labels).margins(rows) for each in (rows, noisy))
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_support_vectors_are_those_of_scikit_learn(classes):
    rows, labels, new = some_rows(classes)
    training = prepared(rows, labels)
    rows, new = training.rows, training.scaling.rows(new)
    mine = fit_classifier(Candidate("", "svm", strength=3.0), training, hf.HFSClassifier(), None)
    fitted = SVC(C=3.0, break_ties=True).fit(rows, labels)
    assert mine.gamma == 1.0 / (9 * rows.var())
    margins = mine.margins(new)
    np.testing.assert_allclose(margins, two_columns(fitted.decision_function(new)), rtol=0.0, atol=2e-3)
    assert (mine.positions(margins) == fitted.predict(new)).mean() > 0.99
    exact = SVC(C=3.0, kernel="precomputed").fit(training.kernel[1], labels)
    kernel = np.exp(-mine.gamma * ((new[:, None] - rows) ** 2).sum(axis=2))
    np.testing.assert_allclose(margins, two_columns(exact.decision_function(kernel)), **SAME)
    np.testing.assert_array_equal(loaded_again(mine, classes).margins(new), margins)


def test_even_support_vectors_say_what_libsvm_says():
    """Rows that are all alike: no margin is above the other."""
    labels = np.arange(6) % 2
    training = prepared(np.ones((6, 3)), labels)
    assert training.kernel[0] == 1.0
    mine = fit_classifier(Candidate("", "svm"), training, hf.HFSClassifier(), None)
    fitted = SVC(kernel="precomputed").fit(training.kernel[1], labels)
    np.testing.assert_array_equal(
        mine.positions(mine.margins(training.rows)), fitted.predict(training.kernel[1])
    )


def test_many_rows_are_taken_in_pieces(monkeypatch):
    rows, labels, new = some_rows(3)
    mine = fit_classifier(Candidate("", "svm"), prepared(rows, labels), hf.HFSClassifier(), None)
    assert isinstance(mine, SupportVectors)
    whole = mine.margins(new)
    monkeypatch.setattr("heatfield.models.heads._TOGETHER", 1000)
    np.testing.assert_allclose(mine.margins(new), whole, **SAME)
    assert mine.margins(new[:0]).shape == (0, 3)


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_networks_are_those_of_scikit_learn(classes):
    rows, labels, new = some_rows(classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few epochs
        fitted = MLPClassifier((12, 7), max_iter=60, random_state=0).fit(rows, labels)
    mine = Network.of(fitted)
    margins = mine.margins(new)
    np.testing.assert_array_equal(mine.positions(margins), fitted.predict(new))
    np.testing.assert_allclose(softmax(margins), fitted.predict_proba(new), **SAME)
    np.testing.assert_array_equal(loaded_again(mine, classes).margins(new), margins)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("head", ["mlp", "lda", "svm"])
def test_a_classifier_predicts_as_its_pipeline(head, classes):
    """From descriptors with gaps and constant columns."""
    rng = np.random.default_rng(1)
    clouds = [rng.normal(size=(40, 3)) * [1, 1, 0.2 + 0.2 * (i % classes)] for i in range(48)]
    labels = np.arange(48) % classes
    model = hf.HFSClassifier("joint", n_scales=3, head=head, epochs=40, random_state=0)
    features = hf.HFSDescriptor("joint", n_scales=3).fit_transform(clouds)
    features[::7, 5] = np.nan
    features[:, 11] = 4.0
    step = {
        "mlp": AnnealedMLP((128, 64), alpha=1.0, max_iter=40, random_state=0),
        "lda": LDA,
        "svm": SVC(C=10.0, break_ties=True),
    }[head]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit_features(features[:36], labels[:36], n_dims=3)
        clip = FunctionTransformer(np.clip, kw_args={"min": -3.0, "max": 3.0})
        pipeline = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), clip, step)
        pipeline.fit(features[:36], labels[:36])
    assert model.readout_.scaling.constant[11]
    np.testing.assert_array_equal(model.predict_features(features), pipeline.predict(features))
    found = model.predict_proba_features(features)
    if head == "mlp":
        np.testing.assert_allclose(found, pipeline.predict_proba(features), **SOLVED)
    elif head == "lda":
        values = pipeline.decision_function(features) / model.readout_.head.temperature
        values = np.stack([0.0 * values, values], axis=1) if classes == 2 else values
        np.testing.assert_allclose(found, softmax(values), rtol=0.0, atol=1e-6)


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
