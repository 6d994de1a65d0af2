"""Options method, tol and targets of `signatures`, and the plan that it returns."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.core.planner import Costs


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(900, 3))


def test_small_clouds_stay_dense(points):
    s = hf.signatures(points)
    assert s.plan.methods == ["dense"] * 8
    assert s.plan.tol is None
    dense = hf.signatures(points, method="dense")
    np.testing.assert_array_equal(s.density, dense.density)


def test_auto_leaves_dense_when_it_pays():
    points = np.random.default_rng(1).normal(size=(30_000, 2))
    s = hf.signatures(points, n_scales=4, tol=1e-4)
    assert "dense" not in s.plan.methods
    rows = np.arange(0, 30_000, 500)
    exact = hf.signatures(points, s.scales, targets=rows, tol=1e-12)
    assert np.abs(s.density[rows] / exact.density - 1).max() <= 1e-4


def test_plan_can_be_read(points):
    plan = hf.signatures(points, method="fast", tol=1e-5).plan
    text = str(plan)
    assert text.startswith("tol=1e-05")
    assert len(text.splitlines()) == 9
    assert [scale.t for scale in plan.scales] == pytest.approx(hf.scale_schedule(points).tolist())
    assert all(scale.reason for scale in plan.scales)


def test_targets_by_index(points):
    whole = hf.signatures(points, method="fast", tol=1e-11)
    rows = np.array([5, 899, 0, 5])
    s = hf.signatures(points, targets=rows, tol=1e-11)
    np.testing.assert_allclose(s.density, whole.density[rows], rtol=1e-10)
    np.testing.assert_allclose(s.spectrum, whole.spectrum[rows], atol=1e-9)
    np.testing.assert_allclose(s.transition, whole.transition[rows], atol=1e-9)
    assert np.isnan(s.energy).all()
    assert s.per_point().shape == (4, 48)


def test_a_target_may_be_asked_for_often(points):
    """More often than a group of targets has places; the sanitizers look at the memory."""
    whole = hf.signatures(points, method="dense")
    rows = np.repeat([5, 899, 5], 100)
    s = hf.signatures(points, targets=rows, method="fast", tol=1e-11)
    np.testing.assert_allclose(s.density, whole.density[rows], rtol=1e-10)
    np.testing.assert_allclose(s.spectrum, whole.spectrum[rows], atol=1e-9)


def test_targets_by_index_with_separate_scales(points):
    scales = hf.adaptive_scales(points, 3)
    rows = np.array([7, 3, 500])
    s = hf.signatures(points, scales, targets=rows, tol=1e-11)
    whole = hf.signatures(points, scales, method="dense")
    np.testing.assert_array_equal(s.scales, scales[rows])
    np.testing.assert_allclose(s.density, whole.density[rows], rtol=1e-10)


@pytest.mark.parametrize("costs", [Costs(), Costs(pair=6e-8, ring=3e-8, call=1e-6)])
def test_targets_by_place(points, costs, monkeypatch):
    monkeypatch.setattr("heatfield.core.planner.COSTS", costs)
    rng = np.random.default_rng(2)
    at = np.concatenate([rng.normal(size=(300, 3)), [[9.0, 0.0, 0.0], [0.0, -20.0, 5.0]]])
    scales = [0.05, 0.3, 2.0]
    s = hf.signatures(points, scales, targets=at, tol=1e-9)
    for a, t in enumerate(scales):
        D2 = ((at[:, None] - points[None]) ** 2).sum(axis=2)
        w = np.exp(-D2 / (4 * t))
        u = (4 * np.pi * t) ** -1.5 * w.sum(axis=1)
        seen = u > 1e-290
        np.testing.assert_allclose(s.density[seen, a], u[seen], rtol=1e-9)
        d = (w * D2).sum(axis=1)[seen] / w.sum(axis=1)[seen] / (2 * t)
        np.testing.assert_allclose(s.dimension[seen, a], d, rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "tol must be a number between 0 and 1, got 0.0"),
        ({"tol": "small"}, "tol must be a number between 0 and 1, got 'small'"),
        ({"tol": 1e-14}, "tol=1e-14 is out of reach in float64: at least 1e-13"),
        ({"tol": 1e-6, "dtype": "float32"}, "tol=1e-06 is out of reach in float32: at least 1e-05"),
        ({"targets": [0, 900]}, r"targets\[1\] = 900 is no index of 900 points"),
        ({"targets": [0.5]}, "targets must be indices"),
        ({"targets": [[0.0, 1.0]]}, "targets must have 3 coordinates"),
        ({"targets": [0], "method": "dense"}, "targets needs method='fast' or 'auto'"),
        ({"method": "quick"}, "method must be one of 'auto', 'dense', 'fast'"),
    ],
)
def test_wrong_options(points, options, message):
    with pytest.raises(ValueError, match=message):
        hf.signatures(points, **options)
