"""Cross-validation on features that were computed before: the one that `train` and `report` share."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import heatfield as hf
from heatfield._classifier.cross_validation import cross_validate
from tests.helpers.estimator_checks import some_clouds

LEARNED = {"epochs": 2, "progress": False, "device": "cpu", "random_state": 0}


def test_closed_form_is_what_scikit_learn_finds():
    clouds, labels = some_clouds(22)
    labels = np.array(labels)
    features = hf.HFSDescriptor("simple").fit_transform(clouds)
    model = hf.HFSClassifier("simple", head="lda")
    predicted, seen = np.empty_like(labels), []
    for fold in cross_validate(model, features, labels, n_dims=3, n_splits=4, random_state=3):
        predicted[fold.test] = fold.predicted
        seen += fold.test.tolist()
        np.testing.assert_array_equal(fold.features, features[fold.test])
    assert sorted(seen) == list(range(22))
    cv = StratifiedKFold(4, shuffle=True, random_state=3)
    np.testing.assert_array_equal(predicted, cross_val_predict(model, clouds, labels, cv=cv))
    assert not hasattr(model, "classes_")  # clones are fitted


@pytest.mark.parametrize("variant", ["full", "dgcnn"])
def test_learned_variants_take_clouds_of_a_table(variant):
    pytest.importorskip("torch")
    clouds, labels = some_clouds(12)
    labels = np.array(labels)
    model = hf.HFSClassifier(variant, n_scales=3, **LEARNED)
    table = model.point_table(clouds)
    for fold in cross_validate(model, table, labels, n_dims=3, n_splits=2, random_state=0):
        train = np.setdiff1d(np.arange(12), fold.test)
        own = hf.HFSClassifier(variant, n_scales=3, **LEARNED)
        own.fit_features(table.take(train), labels[train], n_dims=3)
        proba = own.predict_proba_features(table.take(fold.test))
        np.testing.assert_array_equal(fold.predicted, own.classes_[proba.argmax(axis=1)])


def test_fewer_folds_where_a_class_is_rare_and_each_is_prepared():
    clouds, labels = some_clouds(20)
    labels = np.array(labels)
    kept = np.concatenate([np.flatnonzero(labels == "ball"), np.flatnonzero(labels == "ring")[:3]])
    features = hf.HFSDescriptor("simple", n_scales=3).fit_transform([clouds[i] for i in kept])
    calls = []
    model = hf.HFSClassifier("simple", head="lda", n_scales=3)
    folds = cross_validate(
        model, features, labels[kept], n_dims=3, n_splits=5, prepare=lambda *call: calls.append(call)
    )
    models = [fold.model for fold in folds]
    assert [call[1:] for call in calls] == [(0, 3), (1, 3), (2, 3)]
    assert [call[0] for call in calls] == models


def test_wrong_settings_are_said_before_the_first_fold():
    """The class that is too rare for validation is so in one fold only."""
    pytest.importorskip("torch")
    clouds, labels = some_clouds(12)
    labels = np.array([*labels[:10], "solo", "solo"])
    model = hf.HFSClassifier("full", n_scales=3, validation=0.3, **LEARNED)
    table = model.point_table(clouds)
    prepared = []
    with pytest.raises(ValueError, match="class 'solo' has 1"):
        list(
            cross_validate(
                model, table, labels, n_dims=3, n_splits=2, prepare=lambda *call: prepared.append(call)
            )
        )
    assert prepared == []


@pytest.mark.parametrize("head", ["mlp", "lda", "svm"])
def test_predicting_from_features_is_predicting_from_clouds(head):
    clouds, labels = some_clouds(16)
    model = hf.HFSClassifier("simple", head=head, random_state=0, epochs=3000).fit(clouds, labels)
    features = hf.HFSDescriptor("simple").fit_transform(clouds)
    np.testing.assert_array_equal(model.predict_features(features), model.predict(clouds))
    np.testing.assert_array_equal(model.predict_proba_features(features), model.predict_proba(clouds))
    with pytest.raises(
        ValueError, match=r"shape \(N, 216\) for variant='simple' in 3 dimensions, got \(16, 5\)"
    ):
        model.predict_features(features[:, :5])


def test_predicting_from_a_table_is_predicting_from_clouds():
    pytest.importorskip("torch")
    clouds, labels = some_clouds(10)
    model = hf.HFSClassifier("full", n_scales=3, **LEARNED).fit(clouds, labels)
    table = model.point_table(clouds)
    np.testing.assert_array_equal(model.predict_proba_features(table), model.predict_proba(clouds))
    np.testing.assert_array_equal(model.predict_features(table), model.predict(clouds))
    assert model.n_dims_ == 3
    other = hf.HFSClassifier("full", n_scales=4).point_table(clouds)
    with pytest.raises(ValueError, match="table by point_table with the settings of the fit"):
        model.predict_features(other)


def test_features_need_a_fit():
    for ask in ("predict_features", "predict_proba_features"):
        with pytest.raises(ValueError, match="not fitted"):
            getattr(hf.HFSClassifier(), ask)(np.zeros((2, 336)))
    assert not hasattr(hf.HFSClassifier(), "n_dims_")
