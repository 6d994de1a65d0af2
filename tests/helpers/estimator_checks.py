"""Checks that every estimator over lists of clouds must pass.

scikit-learn's own `check_estimator` feeds 2-D arrays and skips estimators that take
anything else, so these checks ask the same questions with clouds of different sizes.
"""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError

import heatfield as hf

CHECKS = []
# Learned models that are small enough for a test.
SMALL = {
    "full": {"widths": (8, 16), "head": 8},
    "dgcnn": {"k": 4, "widths": (8, 8), "embedding": 16, "head": (8,)},
}


def classifier(variant="full", **options):
    return hf.HFSNetworkClassifier(
        variant, **{"n_scales": 3, "network": SMALL[variant], "epochs": 3, **options}
    )


def check(function):
    CHECKS.append(function)
    return function


def some_clouds(count=12, n=3, seed=0):
    """Two kinds of clouds, rings and balls, of 20 to 40 points."""
    rng = np.random.default_rng(seed)
    clouds, labels = [], []
    for i in range(count):
        points = rng.normal(size=(20 + 2 * (i % 10), n))
        if i % 2:
            points[:, -1] *= 0.01
            points /= np.linalg.norm(points, axis=1, keepdims=True)
        clouds.append(points)
        labels.append("ring" if i % 2 else "ball")
    return clouds, np.array(labels)


def output(estimator, clouds):
    name = next(name for name in ("transform", "predict_proba", "predict") if hasattr(estimator, name))
    return getattr(estimator, name)(clouds)


def clouds_for(estimator, **options):
    """Clouds, and their labels, or numbers for a regressor."""
    clouds, labels = some_clouds(**options)
    return clouds, np.arange(len(labels)) + 5.0 * (labels == "ring") if is_regressor(estimator) else labels


@check
def constructor_only_stores(estimator):
    for name, value in estimator.get_params(deep=False).items():
        assert getattr(estimator, name) is value
    assert not [name for name in vars(estimator) if name.endswith("_")]


@check
def constructor_does_not_validate(estimator):
    changed = clone(estimator).set_params(variant="no such variant")
    with pytest.raises(ValueError, match="variant must be one of"):
        changed.fit(*clouds_for(changed))


@check
def clone_and_params_round_trip(estimator):
    twin = clone(estimator)
    assert twin is not estimator
    assert twin.get_params() == estimator.get_params()
    assert type(estimator)(**estimator.get_params()).get_params() == estimator.get_params()


@check
def fit_returns_self_and_keeps_params_and_data(estimator):
    clouds, labels = clouds_for(estimator)
    before, kept = copy.deepcopy(estimator.get_params()), copy.deepcopy(clouds)
    assert estimator.fit(clouds, labels) is estimator
    assert estimator.get_params() == before
    output(estimator, clouds)
    for cloud, original in zip(clouds, kept, strict=True):
        np.testing.assert_array_equal(cloud, original)


@check
def not_fitted_is_said(estimator):
    with pytest.raises(NotFittedError):
        output(clone(estimator), some_clouds()[0])


@check
def pickle_keeps_the_output(estimator):
    clouds, labels = clouds_for(estimator)
    estimator.fit(clouds, labels)
    np.testing.assert_array_equal(
        output(pickle.loads(pickle.dumps(estimator)), clouds), output(estimator, clouds)
    )


@check
def clouds_do_not_influence_each_other(estimator):
    clouds, labels = clouds_for(estimator)
    estimator.fit(clouds, labels)
    together = output(estimator, clouds)
    alone = np.concatenate([output(estimator, [cloud]) for cloud in clouds])
    np.testing.assert_allclose(together, alone, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(output(estimator, clouds[::-1])[::-1], together, rtol=1e-12, atol=1e-15)


@check
def any_sequence_of_clouds_will_do(estimator):
    clouds, labels = clouds_for(estimator)
    clouds = [cloud[:20] for cloud in clouds]
    expected = output(estimator.fit(clouds, labels), clouds)
    ragged = np.empty(len(clouds), dtype=object)
    ragged[:] = clouds
    for form in (tuple(clouds), np.stack(clouds), ragged, [cloud.tolist() for cloud in clouds]):
        np.testing.assert_array_equal(output(clone(estimator).fit(form, labels), form), expected)


@check
def float32_and_integer_points_are_taken(estimator):
    clouds, labels = clouds_for(estimator)
    for kind in (np.float32, np.int64):
        shaped = [(1000 * cloud).astype(kind) for cloud in clouds]
        wide = [cloud.astype(np.float64) for cloud in shaped]
        found = output(clone(estimator).fit(shaped, labels), shaped)
        np.testing.assert_array_equal(found, output(clone(estimator).fit(wide, labels), wide))


@check
def broken_cloud_is_named(estimator):
    clouds, labels = clouds_for(estimator)
    bad = list(clouds)
    bad[7] = clouds[7].copy()
    bad[7][3, 1] = np.nan
    with pytest.raises(ValueError, match=r"clouds\[7\] has nan in row 3, column 1"):
        estimator.fit(bad, labels)
    bad[7] = clouds[7][:, :2]
    with pytest.raises(ValueError, match=r"clouds\[7\] has 2 coordinates per point, clouds\[0\] has 3"):
        estimator.fit(bad, labels)


@check
def wrong_input_is_refused(estimator):
    clouds, labels = clouds_for(estimator)
    with pytest.raises(ValueError, match="clouds is empty"):
        estimator.fit([], [])
    with pytest.raises(ValueError, match=r"for a single cloud pass \[points\]"):
        estimator.fit(clouds[0], labels[: len(clouds[0])])
    estimator.fit(clouds, labels)
    with pytest.raises(ValueError, match="has 2 coordinates per point, but"):
        output(estimator, [cloud[:, :2] for cloud in clouds])


@check
def fitting_again_forgets(estimator):
    clouds, labels = clouds_for(estimator)
    flat, _ = some_clouds(n=2, seed=3)
    expected = output(clone(estimator).fit(clouds, labels), clouds)
    estimator.fit(flat, labels)
    np.testing.assert_array_equal(output(estimator.fit(clouds, labels), clouds), expected)


@check
def threads_change_no_bit(estimator):
    clouds, labels = clouds_for(estimator)
    one = output(clone(estimator).set_params(n_jobs=1).fit(clouds, labels), clouds)
    three = output(clone(estimator).set_params(n_jobs=3).fit(clouds, labels), clouds)
    np.testing.assert_array_equal(one, three)
