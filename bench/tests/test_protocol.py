"""Splits by content, scores by hand, and the corrected standard error."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from heatfield_bench import Protocol
from heatfield_bench._evaluate import scores
from heatfield_bench._grid import difference, mean_of
from heatfield_bench._sets import ORBITS, REAL, splits_digest

rng = np.random.default_rng(0)
CLOUDS = [rng.normal(size=(5, 2)) for _ in range(60)]
LABELS = np.repeat([0, 1, 2], 20)


def test_splits_are_stratified_and_the_same_for_the_same_content():
    first, again = ORBITS.tests(CLOUDS, LABELS), ORBITS.tests(CLOUDS, LABELS)
    assert len(first) == 20
    assert all(np.bincount(LABELS[t]).tolist() == [6, 6, 6] for t in first)
    assert splits_digest(first) == splits_digest(again)
    moved = [CLOUDS[0] + 1e-9, *CLOUDS[1:]]
    assert splits_digest(ORBITS.tests(moved, LABELS)) != splits_digest(first)


def test_folds_test_every_cloud_once():
    tests = REAL.tests(CLOUDS, LABELS)
    assert len(tests) == 5
    assert (np.sum(tests, axis=0) == 1).all()


def test_scores_by_hand():
    truth = np.array(["a", "a", "a", "b", "b", "c"])
    said = np.array(["a", "a", "b", "b", "a", "a"])
    found = scores(truth, said)
    assert found["oa"] == 50.0
    assert found["macc"] == pytest.approx(100 * (2 / 3 + 1 / 2 + 0) / 3, abs=1e-3)
    assert found["f1"] == pytest.approx(100 * (4 / 7 + 1 / 2 + 0) / 3, abs=1e-3)


def test_a_class_that_is_only_predicted_does_not_count():
    assert scores(np.array([0, 0]), np.array([0, 9]))["macc"] == 50.0


def test_the_difference_is_student_s_but_for_the_correction():
    a = {k: 90.0 + v for k, v in enumerate([1.0, 2.0, 0.5, 1.5, 3.0])}
    b = {k: 90.0 + v for k, v in enumerate([0.5, 0.5, 1.0, 1.0, 1.0])} | {9: 50.0}  # split 9 is not common
    gaps = np.array([a[k] - b[k] for k in range(5)])
    plain = ttest_rel([a[k] for k in range(5)], [b[k] for k in range(5)])
    folds = Protocol("folds", 5, 0.2, "macc")
    found = difference(a, b, folds)
    assert found.n == 5
    assert found.mean == pytest.approx(gaps.mean())
    uncorrected = gaps.std(ddof=1) / np.sqrt(5)
    assert found.mean / uncorrected == pytest.approx(plain.statistic)
    # 1/5 + 0.2/0.8 in place of 1/5.
    assert found.error == pytest.approx(uncorrected * np.sqrt((0.2 + 0.25) / 0.2))
    assert found.p > plain.pvalue


def test_one_common_split_has_no_error():
    found = difference({0: 2.0}, {0: 1.0, 1: 3.0}, REAL)
    assert found.mean == 1.0
    assert np.isnan(found.error)


def test_the_mean_of_one_split_has_no_spread():
    assert np.isnan(mean_of({0: 1.0}).sd)
    assert mean_of({}).n == 0
