"""HFSRegressor and HFSNetworkRegressor: a number of each cloud."""

import re

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVR

import heatfield as hf
from heatfield.models import regressor
from heatfield.models.heads import Linear
from heatfield.models.read_out import Candidate, Prepared, RoundOffScaler, held_out_margins
from heatfield.models.regressor import STRENGTHS, determination, fit_regressor, number_folds
from tests.helpers.estimator_checks import CHECKS, SMALL, some_clouds
from tests.helpers.files import forged, put, said

EXACT = {"clouds_do_not_influence_each_other", "float32_and_integer_points_are_taken"}
NETWORK_CHECKS = [check for check in CHECKS if check.__name__ not in EXACT]  # single precision


def flat_clouds(count=60, seed=0):
    """Clouds that are more or less flat, and how flat each is."""
    rng = np.random.default_rng(seed)
    share = rng.uniform(0.1, 1.0, count)
    return [rng.normal(size=(30 + 2 * (i % 9), 3)) * [1, 1, s] for i, s in enumerate(share)], share


def network(**options):
    pytest.importorskip("torch")
    small = {"n_scales": 3, "network": SMALL["full"], "epochs": 2, "device": "cpu"}
    return hf.HFSNetworkRegressor(**small | options)


KINDS = {
    "ridge": lambda: hf.HFSRegressor("simple", head="ridge", n_scales=4),
    "svm": lambda: hf.HFSRegressor("simple", head="svm", n_scales=4),
    "network": network,
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("head", ["ridge", "svm"])
def test_estimator_check(check, head):
    check(KINDS[head]())


@pytest.mark.parametrize("check", NETWORK_CHECKS, ids=lambda c: c.__name__)
def test_estimator_check_of_the_network(check):
    check(network(epochs=1))


def test_they_are_regressors_for_scikit_learn():
    for make in KINDS.values():
        assert is_regressor(make())
        assert not is_classifier(make())
    clouds, share = flat_clouds(30)
    assert cross_val_score(KINDS["ridge"](), clouds, share, cv=3).mean() > 0.5
    assert repr(hf.HFSRegressor(head="svm")) == "HFSRegressor(head='svm')"


@pytest.mark.parametrize("head", ["auto", "ridge", "svm"])
@pytest.mark.parametrize(("shift", "unit"), [(0.0, 1.0), (-300.0, 1e6), (5.0, 1e-9)])
def test_learns_in_any_unit(head, shift, unit):
    clouds, share = flat_clouds()
    model = hf.HFSRegressor("desc", head=head).fit(clouds[:45], shift + unit * share[:45])
    assert model.score(clouds[45:], shift + unit * share[45:]) > 0.8
    plain = hf.HFSRegressor("desc", head=head).fit(clouds[:45], share[:45])
    np.testing.assert_allclose((model.predict(clouds) - shift) / unit, plain.predict(clouds), atol=1e-5)
    assert (model.n_clouds_, model.n_dims_, model.strength_) == (45, 3, plain.strength_)


@pytest.mark.parametrize("variant", ["full", "dgcnn"])
def test_networks_learn(variant):
    clouds, share = flat_clouds()
    model = network(variant=variant, network=SMALL[variant], epochs=60, batch_size=8, learning_rate=0.01)
    model.set_params(optimizer="adam").fit(clouds[:45], 100.0 * share[:45])
    assert model.score(clouds[45:], 100.0 * share[45:]) > 0.6
    assert model.history_[-1]["r2"] > model.history_[0]["r2"]
    assert set(model.history_[0]) == {"loss", "r2", "seconds"}


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_bits(kind, tmp_path):
    clouds, share = flat_clouds(20)
    for name in ("one", "two"):
        KINDS[kind]().fit(clouds, share).save(tmp_path / name)
    for file in ("model.json", "model.safetensors"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_features_computed_before_give_the_same(kind):
    clouds, share = flat_clouds(20)
    model = KINDS[kind]().fit(clouds, share)
    features = hf.describe(clouds, "simple", n_scales=4) if kind != "network" else model.point_table(clouds)
    again = KINDS[kind]().fit_features(features, share, n_dims=3)
    np.testing.assert_array_equal(model.predict_features(features), model.predict(clouds))
    np.testing.assert_allclose(again.predict(clouds), model.predict(clouds), rtol=1e-3)
    with pytest.raises(ValueError, match="not fitted"):
        KINDS[kind]().predict_features(features)


# --- what is chosen ------------------------------------------------------------------


def test_auto_takes_the_better_head():
    clouds, share = flat_clouds()
    model = hf.HFSRegressor("simple").fit(clouds, share)
    assert set(model.head_scores_) == {"ridge", "svm"}
    assert model.head_ == max(model.head_scores_, key=model.head_scores_.get)
    assert re.fullmatch(
        rf"read-out {model.head_}, the best by R² on clouds held out \(ridge [\d.]+, svm [\d.]+\)",
        model.choice(),
    )
    alone = hf.HFSRegressor("simple", head=model.head_).fit(clouds, share)
    assert (alone.choice(), alone.strength_) == ("", model.strength_)
    np.testing.assert_array_equal(alone.predict(clouds), model.predict(clouds))


def test_auto_takes_no_support_vectors_for_many_clouds(monkeypatch):
    monkeypatch.setattr(regressor, "MOST_FOR_VECTORS", 30)
    clouds, share = flat_clouds(31)
    assert set(hf.HFSRegressor("simple", n_scales=3).fit(clouds, share).head_scores_) == {"ridge"}


def test_scores_are_those_of_rows_held_out():
    """As scikit-learn finds them, fold by fold."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(50, 6)) * [1, 5, 0.1, 1, 1, 1] + 3.0
    target = 100.0 + 7.0 * (features[:, 0] + 0.3 * rng.normal(size=50))
    folds = number_folds(50, 4, None, 3)
    tried = [Candidate("", head, strength=10.0) for head in ("ridge", "svm")]
    tables = {"": (features, RoundOffScaler())}
    margins = held_out_margins(tried, tables, target, folds, fit_regressor)
    for candidate in tried:
        predicted = np.empty(50)
        for train, test in folds:
            mean, scale = features[train].mean(axis=0), features[train].std(axis=0)
            low, wide = target[train].mean(), target[train].std()
            rows, others = (np.clip((features[k] - mean) / scale, -3, 3) for k in (train, test))
            if candidate.head == "ridge":
                fitted = Ridge(alpha=10.0)
            else:
                fitted = SVR(C=10.0, epsilon=0.05, gamma="scale", tol=1e-6)
            fitted.fit(rows, (target[train] - low) / wide)
            predicted[test] = low + wide * fitted.predict(others)
        mine = determination(target, margins[candidate][:, 0])
        assert mine == pytest.approx(determination(target, predicted), abs=1e-3)


@pytest.mark.parametrize("groups", [12, 2])
def test_no_group_is_on_both_sides(groups):
    own = np.random.default_rng(0).permutation(np.arange(36) % groups)
    folds = number_folds(36, 5, own, 0)
    assert len(folds) == min(5, groups)
    for train, test in folds:
        assert {*own[train]}.isdisjoint(own[test])
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(36))


def test_groups_reach_the_choice_and_the_validation(monkeypatch):
    clouds, share = flat_clouds(24)
    groups, seen = np.arange(24) // 6, []
    real = regressor.number_folds

    def noted(count, folds, own, seed):
        seen.append(own)
        return real(count, folds, own, seed)

    monkeypatch.setattr(regressor, "number_folds", noted)
    hf.HFSRegressor("simple", n_scales=3).fit(clouds, share, groups=groups)
    assert all((own == groups).all() for own in seen)
    model = network(validation=0.3)
    held = model._plan(model._recipe(3), share, groups).validation
    assert held.sum() == 6
    assert {*groups[held]}.isdisjoint(groups[~held])
    model.fit(clouds, share, groups=groups)
    assert {"validation_loss", "validation_r2"} < set(model.history_[0])
    for wrong in (hf.HFSRegressor("simple"), network(validation=0.3)):
        with pytest.raises(ValueError, match=r"one group only|at least 2 groups"):
            wrong.fit(clouds, share, groups=[1] * 24)


# --- input ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"head": "lda"}, np.arange(12.0), "head must be one of 'auto', 'ridge', 'svm', got 'lda'"),
        ({"inner_folds": 1}, np.arange(12.0), "inner_folds must be an integer of at least 2, got 1"),
        ({}, [1.0, 2.0], "y has 2 numbers for 12 clouds"),
        ({}, ["a"] * 12, "y must be numbers, got 'a', 'a'"),
        ({}, np.zeros((12, 2)), "y must be one number for each cloud, got shape (12, 2)"),
        ({}, [*range(11), np.nan], "y must be finite, got nan for clouds[11]"),
        ({}, 3, "y must be a number for each cloud, got 3"),
    ],
)
def test_wrong_input_is_said_before_the_work(options, y, message, monkeypatch):
    monkeypatch.setattr(hf.HFSDescriptor, "_compute", lambda *_a, **_k: pytest.fail("it described first"))
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        hf.HFSRegressor("simple", **options).fit(some_clouds()[0], y)


def test_few_clouds_and_equal_numbers():
    clouds, _ = some_clouds(5)
    with pytest.raises(ValueError, match="y has one number: at least two clouds are needed"):
        hf.HFSRegressor("simple").fit(clouds[:1], [1.0])
    for head in ("ridge", "svm"):
        two = hf.HFSRegressor("simple", head=head, n_scales=3).fit(clouds[:2], [1.0, 2.0])
        assert np.isfinite(two.predict(clouds[:2])).all()
        same = hf.HFSRegressor("simple", head=head, n_scales=3).fit(clouds, [4.0] * 5)
        np.testing.assert_array_equal(same.predict(clouds), 4.0)
    np.testing.assert_allclose(network().fit(clouds, [4] * 5).predict(clouds), 4.0, atol=3.0)


# --- saved ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_loaded_predicts_the_same(kind, tmp_path):
    clouds, share = flat_clouds(20)
    model = KINDS[kind]().fit(clouds, share)
    model.save(tmp_path / "m", notes={"unit": "mm"})
    again = type(model).load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(clouds), model.predict(clouds))
    assert (again.notes_, again.n_clouds_) == ({"unit": "mm"}, 20)
    assert again.unlike([1000 * clouds[0]]) == model.unlike([1000 * clouds[0]]) != {}
    other = hf.HFSClassifier if kind != "network" else hf.HFSNetworkClassifier
    with pytest.raises(hf.ReadError, match=f"holds a saved {type(model).__name__}, not a saved"):
        other.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("ridge", said("head", value="lda"), "head must be one of 'ridge', 'svm', got 'lda'"),
        ("ridge", said("head", value="svm"), "cannot be loaded"),
        ("ridge", said("strength", value=7.0), "its strength is 7.0, which 'ridge' does not have"),
        ("ridge", said("head_scores", value={"ridge": 2.0}), "are not values of R²"),
        ("ridge", said("readout", "temperature", value="x"), "its temperature is x, expected a number"),
        ("ridge", put("head.coef", 0, np.nan), "non-finite"),
        ("ridge", lambda _, t: t.pop("head.coef"), "'head.coef' is missing"),
        ("svm", said("readout", "gamma", value=-1.0), "its gamma is -1.0"),
        ("svm", lambda _, t: t.update({"head.dual": t["head.dual"][:-1]}), "'head.dual' must be float64"),
        ("svm", said("n_dims", value=10**9), "do not fit its"),
        ("network", said("target", value=[0.0, 0.0]), "its target has no mean and deviation"),
        ("network", said("target", value=[0.0]), "cannot be loaded"),
        ("network", lambda m, _: m.pop("target"), "'target' is missing"),
    ],
)
def test_forged_models_are_refused(kind, change, message, tmp_path):
    clouds, share = flat_clouds(12)
    model = KINDS[kind]().fit(clouds, share)
    model.save(tmp_path / "m")
    with pytest.raises(hf.ReadError, match=re.escape(message)):
        type(model).load(forged(tmp_path / "m", change))


def test_heads_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    training = Prepared.of(rng.normal(size=(60, 5)), rng.normal(size=60), RoundOffScaler(), "standard")
    rows, new = training.rows, 3.0 * rng.normal(size=(40, 5))
    low, wide = training.target.mean(), training.target.std()
    target = (training.target - low) / wide
    vectors = fit_regressor(Candidate("", "svm", strength=10.0), training)
    kernel = np.exp(-vectors.gamma * ((new[:, None] - rows) ** 2).sum(axis=2))
    theirs = SVR(C=10.0, epsilon=0.05, kernel="precomputed").fit(training.kernel[1], target)
    np.testing.assert_allclose(vectors.margins(new)[:, 0], low + wide * theirs.predict(kernel), atol=1e-12)
    for strength in STRENGTHS["ridge"]:
        line = fit_regressor(Candidate("", "ridge", strength=strength), training)
        theirs = Ridge(alpha=strength).fit(rows, target)
        np.testing.assert_allclose(line.coef[0], wide * theirs.coef_, atol=1e-12)
        np.testing.assert_allclose(line.margins(new)[:, 0], low + wide * theirs.predict(new), atol=1e-12)
    again = Linear.loaded(dict(line.tensors()), line.values(), 5, 0)
    np.testing.assert_array_equal(again.margins(new), line.margins(new))


def test_the_line_of_a_training_says_r2(capsys):
    clouds, share = flat_clouds(12)
    network(epochs=1, validation=0.2, progress=True).fit(clouds, share)
    assert re.match(r"epoch 1/1  loss [\d.]+  R² -?[\d.]+  validation -?[\d.]+  ", capsys.readouterr().err)
