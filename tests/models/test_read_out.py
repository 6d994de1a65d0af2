"""From descriptors to classes: folds and groups, gaps, round-off, the choice of a head, calibration."""

import _thread
import threading
import warnings

import numpy as np
import pytest
from scipy.stats import norm

import heatfield as hf
from heatfield.models import read_out
from heatfield.models.heads import softmax
from heatfield.models.read_out import (
    AnnealedMLP,
    RoundOffScaler,
    choose_classifier,
    magnitudes,
    split_folds,
)
from tests.helpers.estimator_checks import some_clouds
from tests.helpers.files import forged, put, said

# --- folds and groups ----------------------------------------------------------------


def grouped(seed, classes=3, clouds=60, groups=12):
    """Labels and groups such that every class lies in two groups or more."""
    rng = np.random.default_rng(seed)
    labels, own = rng.integers(classes, size=clouds), rng.integers(groups, size=clouds)
    for label in range(classes):
        for group in rng.choice(groups, 2, replace=False):
            labels, own = np.append(labels, label), np.append(own, group)
    return labels, own


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shape", [(3, 60, 12), (5, 20, 4), (2, 0, 2), (6, 0, 3), (4, 100, 50)])
def test_no_group_is_on_both_sides(seed, shape):
    labels, groups = grouped(seed, *shape)
    folds = split_folds(labels, 5, groups, random_state=seed)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(len(labels)))
    for train, test in folds:
        assert not {*groups[train]} & {*groups[test]}
        assert sorted([*train, *test]) == list(range(len(labels)))
        assert {*labels[train]} == {*labels}, "every class can be learnt"


def test_classes_that_share_groups_in_a_circle():
    """No two folds keep all three apart: then every group is a fold."""
    labels, groups = np.array([0, 0, 1, 1, 2, 2]), np.array([1, 2, 2, 3, 3, 1])
    folds = split_folds(labels, 2, groups)
    assert [groups[test].tolist() for _, test in folds] == [[1, 1], [2, 2], [3, 3]]


def test_a_class_in_one_group_is_an_error():
    labels, groups = np.array(["a", "a", "b", "b"]), np.array([0, 1, 2, 2])
    with pytest.raises(ValueError, match="class 'b' lies in one group: it cannot be learnt from other"):
        split_folds(labels, 2, groups)


def test_rare_classes_set_the_number_of_folds():
    labels = np.array([0] * 10 + [1] * 3)
    assert len(split_folds(labels, 5)) == 3
    assert len(split_folds(np.arange(20) % 2, 5, np.arange(20) // 5)) == 4


def test_folds_depend_on_the_seed_alone():
    labels, groups = grouped(0)
    for own in (None, groups):
        one, two, other = (split_folds(labels, 4, own, random_state=s) for s in (1, 1, 2))
        assert all((a[1] == b[1]).all() for a, b in zip(one, two, strict=True))
        assert any(a[1].tolist() != b[1].tolist() for a, b in zip(one, other, strict=True))


def test_heads_are_chosen_and_calibrated_by_groups(monkeypatch):
    clouds, labels = some_clouds(24)
    groups, seen = np.arange(24) // 4, []
    real = read_out.split_folds

    def noted(labels, folds, own=None, random_state=0):
        seen.append(own)
        return real(labels, folds, own, random_state)

    monkeypatch.setattr(read_out, "split_folds", noted)
    model = hf.HFSClassifier("simple", n_scales=3).fit(clouds, labels, groups=groups)
    assert len(seen) == 1, "calibrated on the folds of the choice"
    hf.HFSClassifier("simple", head="lda", n_scales=3).fit(clouds, labels, groups=groups)
    assert len(seen) == 2
    assert all((own == groups).all() for own in seen)
    assert {*model.head_scores_} == FAST


def test_one_group_for_a_class_leaves_no_choice():
    clouds, labels = some_clouds(12)
    groups = np.where(labels == "ring", "here", np.arange(12).astype(str))
    with pytest.raises(ValueError, match=r"head='auto' is chosen by .* 'ring' lies in one group.*choose a"):
        hf.HFSClassifier("simple").fit(clouds, labels, groups=groups)
    model = hf.HFSClassifier("simple", head="lda", n_scales=3).fit(clouds, labels, groups=groups)
    assert "two groups" in model.uncalibrated()


# --- gaps and round-off --------------------------------------------------------------


def test_gaps_get_the_median_of_the_training_set():
    X = np.array([[1.0, np.nan, 5.0], [2.0, 8.0, np.inf], [4.0, 2.0, np.nan]])
    scaler = RoundOffScaler().fit(X)
    filled = np.array([[1.0, 5.0, 5.0], [2.0, 8.0, 5.0], [4.0, 2.0, 5.0]])
    np.testing.assert_array_equal(scaler.transform(X), scaler.transform(filled))
    np.testing.assert_allclose(scaler.transform(X)[:, :2].std(axis=0), 1.0)
    assert (RoundOffScaler().fit(np.full((3, 1), np.nan)).transform([[np.nan]]) == 0.0).all()


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


def test_heads_read_no_feature_beyond_three_deviations():
    X = np.random.default_rng(0).normal(size=(50, 2))
    scaler = RoundOffScaler().fit(X)
    far = np.array([[1e6, 0.0], [-1e6, 0.1]])
    np.testing.assert_array_equal(scaler.scaling_.rows(far)[:, 0], [3.0, -3.0])
    np.testing.assert_array_equal(scaler.scaling_.rows(far)[:, 1], scaler.transform(far)[:, 1])
    assert (np.abs(scaler.transform(far)[:, 0]) > 1e5).all()  # distances of an index are not clipped


# --- normal scores -------------------------------------------------------------------


def plain_scores(train, rows):
    """The specification: quantiles 0, 2, ..., 100 % to normal quantiles, at most 3, linear between."""
    out = np.zeros(rows.shape)
    for j in range(train.shape[1]):
        if train[:, j].std() <= 1e-9 * np.abs(train[:, j]).max():
            continue
        knots = [np.percentile(train[:, j], 2 * k) for k in range(51)]
        scores = [max(-3.0, min(3.0, norm.ppf(k / 50))) for k in range(51)]
        for i, x in enumerate(rows[:, j]):
            if x <= knots[0] or x >= knots[-1]:
                out[i, j] = -3.0 if x <= knots[0] else 3.0
                continue
            k = max(k for k in range(50) if knots[k] <= x)
            share = (x - knots[k]) / (knots[k + 1] - knots[k])
            out[i, j] = scores[k] + share * (scores[k + 1] - scores[k])
    return out


def test_rank_scores_are_those_of_the_specification():
    rng = np.random.default_rng(0)
    train = np.c_[rng.normal(size=80), np.exp(3 * rng.normal(size=80)), 1.0 + 1e-13 * rng.normal(size=80)]
    rows = np.r_[train, [[-9.0, 1e9, 5.0], [9.0, -1.0, 1.0]]]
    np.testing.assert_allclose(
        RoundOffScaler(1e-9, normalise="rank").fit(train).transform(rows),
        plain_scores(train, rows),
        atol=1e-12,
    )


def test_ranks_do_not_spread_round_off():
    """Of a value that most clouds have, the last digits are no order."""
    rng = np.random.default_rng(0)
    value = np.where(np.arange(100) < 70, 2.0 + 1e-14 * rng.normal(size=100), rng.normal(size=100))
    found = RoundOffScaler(1e-9, normalise="rank").fit_transform(value[:, None])[:70, 0]
    assert np.ptp(found) < 1e-3
    exact = RoundOffScaler(1e-9, normalise="rank").fit_transform(
        np.where(np.arange(100) < 70, 2.0, value)[:, None]
    )[:70, 0]
    assert np.ptp(exact) == 0.0
    np.testing.assert_allclose(found, exact, atol=1e-3)


@pytest.mark.parametrize("head", ["lda", "svm", "mlp"])
def test_ranks_are_saved_with_the_model(head, tmp_path):
    clouds, labels = some_clouds(16)
    model = hf.HFSClassifier("simple", head=head, normalise="rank", n_scales=3).fit(clouds, labels)
    model.save(tmp_path / "m")
    again = hf.HFSClassifier.load(tmp_path / "m")
    assert (model.normalise_, again.normalise_) == ("rank", "rank")
    np.testing.assert_array_equal(again.predict_proba(clouds), model.predict_proba(clouds))
    assert np.abs(model.readout_.scaling.rows(hf.describe(clouds, "simple", n_scales=3))).max() <= 3.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("quantiles", 0, np.inf), "non-finite"),
        (lambda _, t: t.update(quantiles=t["quantiles"][::-1].copy()), "do not rise"),
        (lambda _, t: t.update(scores=2.0 * t["scores"]), "beyond 3"),
        (lambda _, t: t.pop("scores"), "'scores' is missing"),
        (lambda _, t: t.update(quantiles=t["quantiles"][:9].copy()), "'quantiles' must be float64 of shape"),
    ],
)
def test_forged_ranks_are_refused(change, words, tmp_path):
    clouds, labels = some_clouds()
    hf.HFSClassifier("simple", head="lda", normalise="rank", n_scales=2).fit(clouds, labels).save(
        tmp_path / "m"
    )
    with pytest.raises(hf.ReadError, match=words):
        hf.HFSClassifier.load(forged(tmp_path / "m", change))


# --- heads ---------------------------------------------------------------------------

FAST = {"lda", "lda rank", "svm C=1", "svm C=10", "svm C=100"}


def test_auto_says_what_it_chose():
    clouds, labels = some_clouds(30)
    model = hf.HFSClassifier("simple", inner_folds=2).fit(clouds, labels)
    assert set(model.head_scores_) == FAST, "30 clouds are too few for the network"
    best = max(model.head_scores_, key=model.head_scores_.get)
    assert (model.head_, model.normalise_) == (best.split()[0], "rank" if "rank" in best else "standard")
    assert all(0.0 <= score <= 1.0 for score in model.head_scores_.values())
    assert model.choice().startswith(f"read-out {best}, the best by mean accuracy over classes (lda ")
    only = hf.HFSClassifier("simple", inner_folds=2, normalise="rank").fit(clouds, labels)
    assert set(only.head_scores_) == {"lda rank", *(f"svm rank C={cost}" for cost in (1, 10, 100))}
    assert only.normalise_ == "rank"
    assert hf.HFSClassifier("simple", head="lda").fit(clouds, labels).choice() == ""


def test_auto_compares_descriptor_variants():
    """The one that tells the classes apart, the labels themselves, is chosen."""
    rng = np.random.default_rng(0)
    labels, noise = np.arange(40) % 2, rng.normal(size=(40, 3))
    scaler = RoundOffScaler()
    tables = {"noise": (noise, scaler), "labels": (noise + 9.0 * labels[:, None], scaler)}
    chosen, scores, readout = choose_classifier(hf.HFSClassifier(), tables, labels, None)
    assert chosen.variant == "labels"
    assert {*scores} == {f"{variant} {name}" for variant in tables for name in FAST}
    np.testing.assert_array_equal(readout.predict(tables["labels"][0]), labels)


def test_auto_tries_the_network_where_there_are_many_clouds(monkeypatch):
    """For a bounded number of epochs, on one fold; and no support vectors where they would take hours."""
    fitted = []
    fit = AnnealedMLP.fit

    def counted(self, X, y):
        fitted.append((len(X), self.max_iter))
        return fit(self, X, y)

    monkeypatch.setattr(AnnealedMLP, "fit", counted)
    monkeypatch.setattr(read_out, "LEAST_FOR_NETWORK", 40)
    monkeypatch.setattr(read_out, "NETWORK_PASSES", 32 * 60)
    clouds, labels = some_clouds(40)
    model = hf.HFSClassifier("simple").fit(clouds, labels)
    assert {*model.head_scores_} == {*FAST, "mlp"}
    assert fitted[0] == (32, 60)
    assert len(fitted) == (2 if model.head_ == "mlp" else 1)
    monkeypatch.setattr(read_out, "NETWORK_PASSES", 32 * 49)  # too few epochs to tell anything
    monkeypatch.setattr(read_out, "MOST_FOR_GRID", 39)
    model = hf.HFSClassifier("simple").fit(clouds, labels)
    assert {*model.head_scores_} == {"lda", "lda rank", "svm C=10"}
    monkeypatch.setattr(read_out, "MOST_FOR_VECTORS", 39)
    model = hf.HFSClassifier("simple").fit(clouds, labels)
    assert {*model.head_scores_} == {"lda", "lda rank"}


def test_two_clouds_of_a_class_are_enough():
    clouds, labels = some_clouds(4)
    assert hf.HFSClassifier("simple", n_scales=3).fit(clouds, labels).head_ in ("lda", "svm")


def test_the_network_is_interrupted_rather_than_half_trained():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    # It learns noise without a tolerance: it would be at it for many seconds.
    network = AnnealedMLP((64,), max_iter=4000, n_iter_no_change=4000, random_state=0)
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        network.fit(X, y)
    assert network.warm_start is False


def test_other_warnings_of_the_network_stay_warnings():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    with pytest.warns(UserWarning, match="Maximum iterations"):
        AnnealedMLP((4,), max_iter=2, random_state=0).fit(X, y)


# --- probabilities that mean what they say -------------------------------------------


@pytest.fixture(scope="module")
def orbits():
    """Clouds that are hard to tell apart, and others to look at."""
    clouds, labels = hf.datasets.make_orbit5k(n_per_class=160, n_points=120, random_state=3)
    features = hf.HFSDescriptor("simple").fit_transform(clouds)
    chosen = np.arange(len(labels)) % 2 == 0
    return features[chosen], labels[chosen], features[~chosen], labels[~chosen]


def surprise(shares, labels):
    return float(-np.log(shares[np.arange(len(labels)), labels]).mean())


@pytest.mark.parametrize("kept", [5, 2])
def test_discriminant_analysis_is_as_confident_as_right(orbits, kept):
    train, labels, test, truth = orbits
    mine, its = labels < kept, truth < kept
    model = hf.HFSClassifier("simple", head="lda").fit_features(train[mine], labels[mine], n_dims=2)
    shares = model.predict_proba_features(test[its])
    plain = softmax(model.readout_.margins(test[its]))
    np.testing.assert_array_equal(shares.argmax(axis=1), plain.argmax(axis=1))
    assert surprise(shares, truth[its]) < surprise(plain, truth[its])
    right = (shares.argmax(axis=1) == truth[its]).mean()
    # Two shares of so many clouds, one to calibrate by and one to look at, differ by so much.
    deviation = np.sqrt(right * (1.0 - right) * (1.0 / mine.sum() + 1.0 / its.sum()))
    assert abs(shares.max(axis=1).mean() - right) < 2.0 * deviation
    assert abs(shares.max(axis=1).mean() - right) < abs(plain.max(axis=1).mean() - right)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert model.uncalibrated() == ""


def test_the_temperature_is_saved_where_there_is_one(tmp_path):
    clouds, labels = some_clouds()
    for count, calibrated in ((12, True), (4, False)):
        model = hf.HFSClassifier("simple", head="lda", n_scales=2).fit(clouds[:count], labels[:count])
        assert (model.readout_.head.temperature is not None) == calibrated
        model.save(tmp_path / "m")
        again = hf.HFSClassifier.load(tmp_path / "m")
        np.testing.assert_array_equal(again.predict_proba(clouds), model.predict_proba(clouds))
        assert ("not calibrated" in again.uncalibrated()) != calibrated


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), "1", [1.0], True, 10**400])
def test_a_forged_temperature_is_refused(value, tmp_path):
    clouds, labels = some_clouds()
    hf.HFSClassifier("simple", head="lda", n_scales=2).fit(clouds, labels).save(tmp_path / "m")
    with pytest.raises(hf.ReadError, match="its temperature is"):
        hf.HFSClassifier.load(forged(tmp_path / "m", said("readout", "temperature", value=value)))


@pytest.mark.parametrize("head", ["svm", "mlp"])
def test_other_heads_say_that_they_are_not_calibrated(head):
    clouds, labels = some_clouds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few epochs
        model = hf.HFSClassifier("simple", head=head, n_scales=2, epochs=2).fit(clouds, labels)
    assert "not calibrated" in model.uncalibrated()
