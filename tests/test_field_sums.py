"""The heat field to a tolerance: the promise at every place, however far, and the choice of path."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.core import bounds, query_points
from heatfield.core.planner import Costs
from tests.helpers.clouds import cloud

# Costs at which transforms are taken wherever they can be, and costs at which none is.
COSTS = {"transforms": Costs(pair=6e-8, ring=3e-8, call=1e-6), "neighbours": Costs(call=1e3)}
WEIGHTS = {
    "none": lambda rng, m: None,  # noqa: ARG005
    "mild": lambda rng, m: rng.random(m) + 0.1,
    "wild": lambda rng, m: 10 ** rng.uniform(-7, 0, m),
}
TIMES = np.geomspace(1e-3, 2.0, 3)


def places(points, rng):
    """On the data, beside it, around it, and far away."""
    n = points.shape[1]
    around = [size * rng.normal(size=(q, n)) for size, q in ((3.0, 150), (300.0, 30), (1e7, 10))]
    return np.concatenate([points[:120], points[:120] + 0.05 * rng.normal(size=(120, n)), *around])


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", ["sphere", "clusters", "duplicates"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_promise_holds_at_every_place(n, name, weights, costs, monkeypatch):
    monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS[costs])
    tol = 1e-7
    rng = np.random.default_rng(n)
    points = cloud(name, n, 400)
    at = places(points, rng)
    heat = WEIGHTS[weights](rng, len(points))
    exact = hf.HeatField(points, heat, method="dense")
    fast = hf.HeatField(points, heat, method="fast", tol=tol)
    expected = exact.log_value(at, TIMES)
    # Far away the logarithm is -1e14, and its last digit larger than tol.
    error = np.abs(fast.log_value(at, TIMES) - expected) - 4e-16 * np.abs(expected)
    assert error.max() <= tol
    d = exact.dimension(at, TIMES)
    assert (np.abs(fast.dimension(at, TIMES) - d) / (1 + d)).max() <= bounds.DIMENSION * tol
    scaled = np.abs(fast.log_hessian(at, TIMES) - exact.log_hessian(at, TIMES)) * 2 * TIMES[:, None, None]
    assert scaled.max() <= bounds.SPECTRUM * tol
    u = exact.value(at, TIMES)
    seen = u > 1e-250
    np.testing.assert_allclose(fast.value(at, TIMES)[seen], u[seen], rtol=1.1 * tol)
    unit = np.sqrt((1 + d) / (2 * TIMES))
    slope = np.abs(fast.gradient(at, TIMES) - exact.gradient(at, TIMES)).max(axis=2)
    assert (slope[seen] / (u * unit)[seen]).max() <= bounds.DIMENSION * tol
    bend = np.abs(fast.hessian(at, TIMES) - exact.hessian(at, TIMES)).max(axis=(2, 3))
    assert (bend[seen] / (u * unit**2)[seen]).max() <= bounds.SPECTRUM * tol


def test_far_query_points_take_the_tree(monkeypatch):
    monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS["transforms"])
    seen = []
    original = query_points.scale_sums

    def spy(*args, **options):
        out = original(*args, **options)
        seen.append((out[1].transforms, args[0].points.shape[1]))
        return out

    monkeypatch.setattr(query_points, "scale_sums", spy)
    points = cloud("ball", 3, 500)
    field = hf.HeatField(points, method="fast", tol=1e-5)
    field.value(points, 0.5)
    assert seen[0] == (1, 500)
    seen.clear()
    assert np.isfinite(field.log_value(points + 1e3, 0.5)).all()
    assert seen == []


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_signatures_at_places_beside_a_heavy_cluster(n, tol, monkeypatch):
    """A transform's error is that of the cluster, which no place sees."""
    monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS["transforms"])
    rng = np.random.default_rng(n)
    points = np.concatenate([1e-3 * rng.normal(size=(3000, n)), rng.uniform(-1, 1, (1000, n))])
    at = rng.uniform(-1.5, 1.5, (300, n))
    times = np.geomspace(1e-3, 1e-1, 4)
    found = hf.signatures(points, times, targets=at, tol=tol)
    exact = hf.HeatField(points, method="dense")
    u, d = exact.value(at, times), exact.dimension(at, times)
    seen = u > 1e-250
    assert np.abs(found.density[seen] / u[seen] - 1).max() <= tol
    assert (np.abs(found.dimension - d)[seen] / (1 + d[seen])).max() <= bounds.DIMENSION * tol


def test_more_than_three_dimensions():
    points = cloud("ball", 5, 200)
    at = np.concatenate([points[:30], points[:30] + 0.2, 50 * points[:10]])
    fast, exact = (hf.HeatField(points, method=method, tol=1e-9) for method in ("fast", "dense"))
    np.testing.assert_allclose(fast.log_value(at, 0.05), exact.log_value(at, 0.05), atol=1e-9, rtol=1e-15)
    np.testing.assert_allclose(0.1 * fast.log_hessian(at, 0.05), 0.1 * exact.log_hessian(at, 0.05), atol=2e-8)


def test_auto_is_exact_where_that_is_quick():
    points = np.random.default_rng(0).normal(size=(12_000, 2))
    at = points[:9_000] + 0.01
    auto = hf.HeatField(points, tol=1e-5)
    exact = hf.HeatField(points, method="dense")
    few = exact.value(at[:100], 0.1)
    np.testing.assert_array_equal(auto.value(at[:100], 0.1), few)
    many = auto.value(at, 0.1)[:100]
    assert (many != few).any()
    np.testing.assert_allclose(many, few, rtol=1e-5)


def test_threads_change_no_bit_on_the_near_path(monkeypatch):
    monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS["neighbours"])
    points = cloud("clusters", 3, 2000)
    at = places(points, np.random.default_rng(4))
    one, two = (hf.HeatField(points, method="fast", n_jobs=j).log_hessian(at, 0.01) for j in (1, 3))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "quick"}, "method must be one of 'auto', 'dense', 'fast', got 'quick'"),
        ({"tol": 1e-14}, "tol=1e-14 is out of reach in float64: at least 1e-13"),
        ({"tol": True}, "tol must be a number above 0 and below 1, got True"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        hf.HeatField([[0.0, 1.0]], **options)
