"""Separate times for each point on the fast path: neighbours within its reach, interpolation in log t."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.core import bounds
from heatfield.core import per_point_times as _adaptive
from tests.helpers import reference
from tests.helpers.fast_path import COSTS, MAKERS


def distinct(name, n, m=500):
    return np.unique(MAKERS[name](np.random.default_rng([n, len(name)]), n, m), axis=0)


@pytest.mark.parametrize("costs", ["transforms", "neighbours"])
@pytest.mark.parametrize("tol", [1e-4, 1e-9])
@pytest.mark.parametrize("name", ["heavy_cluster", "sphere", "curves", "lattice"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_promise_holds_with_separate_times(n, name, tol, costs, monkeypatch):
    monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS[costs])
    monkeypatch.setattr(_adaptive, "MANY_NEIGHBOURS", 20 if costs == "transforms" else 1e9)
    points = distinct(name, n)
    scales = hf.adaptive_scales(points, 4)
    s = hf.signatures(points, scales, method="fast", tol=tol, transition="exact")
    u, d, tau, spectrum = reference.local_signatures(points, scales, "exact")
    assert np.abs(s.density / u - 1).max() <= tol
    assert np.abs(s.dimension - d).max() <= bounds.DIMENSION * tol
    assert np.abs(s.transition - tau).max() <= bounds.TRANSITION * tol
    assert np.abs(s.spectrum - spectrum).max() <= bounds.SPECTRUM * tol
    assert np.isnan(s.energy).all()
    interpolated = sum(scale.points_transformed for scale in s.plan.scales)
    assert (interpolated > 0.3 * s.density.size) == (costs == "transforms")


def test_any_times_not_only_smooth_ones(monkeypatch):
    monkeypatch.setattr(_adaptive, "MANY_NEIGHBOURS", 5)
    rng = np.random.default_rng(8)
    points = rng.normal(size=(400, 2))
    scales = 10 ** rng.uniform(-4, 2, (400, 1))
    s = hf.signatures(points, scales, method="fast", tol=1e-7, transition="exact")
    u, d, _, _ = reference.local_signatures(points, scales, "exact")
    assert np.abs(s.density / u - 1).max() <= 1e-7
    assert np.abs(s.dimension - d).max() <= 4e-7


def test_threads_change_no_bit_by_neighbours():
    points = distinct("heavy_cluster", 3, 3000)
    scales = hf.adaptive_scales(points, 3)
    one, two = (hf.signatures(points, scales, method="fast", tol=1e-6, n_jobs=j) for j in (1, 3))
    np.testing.assert_array_equal(one.per_point(), two.per_point())
    assert one.plan.methods == ["near"] * 3


def test_the_plan_says_what_was_interpolated(monkeypatch):
    monkeypatch.setattr(_adaptive, "MANY_NEIGHBOURS", 50)
    points = distinct("sphere", 3)
    plan = hf.signatures(points, hf.adaptive_scales(points, 4), method="fast", tol=1e-5).plan
    assert "interpolated between" in plan.scales[-1].reason
    assert plan.scales[-1].points_near + plan.scales[-1].points_transformed == len(points)


def test_two_points_with_equal_times():
    s = hf.signatures([[0.0], [1.0]], [[0.5], [0.5]], method="fast", tol=1e-9, transition="exact")
    np.testing.assert_allclose(s.density[:, 0], (1 + np.exp(-0.5)) / np.sqrt(2 * np.pi), rtol=1e-9)
