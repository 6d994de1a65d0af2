"""Probabilities that mean what they say, and a word where they do not."""

import numpy as np
import pytest

import heatfield as hf
from heatfield._classifier.heads import uncalibrated
from heatfield.cli import main
from tests.helpers.estimator_checks import some_clouds
from tests.helpers.forgery import forged


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
def test_discriminant_analysis_is_as_confident_as_it_is_right(orbits, kept):
    train, labels, test, truth = orbits
    mine, its = labels < kept, truth < kept
    model = hf.HFSClassifier("simple", head="lda").fit_features(train[mine], labels[mine], n_dims=2)
    shares = model.predict_proba_features(test[its])
    plain = model.readout_.predict_proba(test[its])
    np.testing.assert_array_equal(shares.argmax(axis=1), plain.argmax(axis=1))
    assert surprise(shares, truth[its]) < surprise(plain, truth[its])
    right = (shares.argmax(axis=1) == truth[its]).mean()
    # Two shares of so many clouds, one to calibrate by and one to look at, differ by so much.
    deviation = np.sqrt(right * (1.0 - right) * (1.0 / mine.sum() + 1.0 / its.sum()))
    assert abs(shares.max(axis=1).mean() - right) < 2.0 * deviation
    assert abs(shares.max(axis=1).mean() - right) < abs(plain.max(axis=1).mean() - right)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert uncalibrated(model) == ""


def test_the_temperature_is_saved_and_models_without_one_are_read(tmp_path):
    clouds, labels = some_clouds()
    model = hf.HFSClassifier("simple", head="lda", n_scales=2).fit(clouds, labels)
    model.save(tmp_path / "m")
    again = hf.HFSClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(clouds), model.predict_proba(clouds))

    def older(facts, _tensors):
        del facts["readout"]["lineardiscriminantanalysis"]["temperature_"]

    forged(tmp_path / "m", older)
    old = hf.HFSClassifier.load(tmp_path / "m")
    features = model.descriptor_.transform(clouds)
    np.testing.assert_allclose(
        old.predict_proba(clouds), model.readout_.predict_proba(features), rtol=1e-9, atol=1e-300
    )
    assert "not calibrated" in uncalibrated(old)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), "1", None, [1.0], True, 10**400])
def test_a_forged_temperature_is_refused(value, tmp_path):
    clouds, labels = some_clouds()
    hf.HFSClassifier("simple", head="lda", n_scales=2).fit(clouds, labels).save(tmp_path / "m")

    def change(facts, _tensors):
        facts["readout"]["lineardiscriminantanalysis"]["temperature_"] = value

    forged(tmp_path / "m", change)
    with pytest.raises(ValueError, match="the saved temperature is"):
        hf.HFSClassifier.load(tmp_path / "m")


@pytest.mark.parametrize(("head", "count"), [("svm", 12), ("lda", 4), ("lda", 12)])
def test_commands_say_where_probabilities_are_not_calibrated(head, count, tmp_path, capsys):
    clouds, labels = some_clouds(count)
    for i, (points, label) in enumerate(zip(clouds, labels, strict=True)):
        (tmp_path / "in" / label).mkdir(parents=True, exist_ok=True)
        hf.write_points(tmp_path / "in" / label / f"{i}.npy", points)
    model, table = str(tmp_path / "m"), str(tmp_path / "p.csv")
    words = ["--variant", "simple", "--head", head, "--scales", "2", "--folds", "0", "--jobs", "1"]
    assert main(["train", str(tmp_path / "in"), "-o", model, *words]) == 0
    train = capsys.readouterr().err
    assert main(["predict", model, str(tmp_path / "in"), "-o", table, "--jobs", "1"]) == 0
    predict = capsys.readouterr().err
    calibrated = (head, count) == ("lda", 12)
    assert ("not calibrated" in train, "not calibrated" in predict) == (not calibrated, not calibrated)
