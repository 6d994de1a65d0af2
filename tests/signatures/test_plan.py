"""Options method, tol and targets of `signatures`, the plan that it returns, and its forecast."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from heatfield.core.planner import Costs
from heatfield.heat_signatures import expected_seconds


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(900, 3))


def sphere(m):
    points = np.random.default_rng(m).normal(size=(m, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def test_small_clouds_stay_dense(points):
    s = hf.signatures(points)
    assert s.plan.methods == ["dense"] * 8
    assert s.plan.tol is None
    np.testing.assert_array_equal(s.density, hf.signatures(points, method="dense").density)


def test_large_clouds_leave_the_dense_path():
    points = np.random.default_rng(1).normal(size=(30_000, 2))
    s = hf.signatures(points, n_scales=4, tol=1e-4)
    assert "dense" not in s.plan.methods
    rows = np.arange(0, 30_000, 500)
    exact = hf.signatures(points, s.scales, targets=rows, tol=1e-12)
    assert np.abs(s.density[rows] / exact.density - 1).max() <= 1e-4


def test_plan_can_be_read(points):
    plan = hf.signatures(points, method="fast", tol=1e-5).plan
    assert str(plan).startswith("tol=1e-05")
    assert len(str(plan).splitlines()) == 9
    assert [scale.t for scale in plan.scales] == pytest.approx(hf.scale_schedule(points).tolist())
    assert all(scale.reason for scale in plan.scales)


@pytest.mark.parametrize("rows", [[5, 899, 0, 5], [5, 899, 5] * 100], ids=["few", "repeated"])
def test_targets_by_index(points, rows):
    """More often than a group of targets has places; the sanitizers look at the memory."""
    whole, s = hf.signatures(points, method="dense"), hf.signatures(points, targets=rows, tol=1e-11)
    np.testing.assert_allclose(s.density, whole.density[rows], rtol=1e-10)
    np.testing.assert_allclose(s.spectrum, whole.spectrum[rows], atol=1e-9)
    np.testing.assert_allclose(s.transition, whole.transition[rows], atol=1e-9)
    assert np.isnan(s.energy).all()
    assert s.per_point().shape == (len(rows), 48)


def test_targets_by_index_with_per_point_times(points):
    scales, rows = hf.adaptive_scales(points, 3), np.array([7, 3, 500])
    s = hf.signatures(points, scales, targets=rows, tol=1e-11)
    np.testing.assert_array_equal(s.scales, scales[rows])
    whole = hf.signatures(points, scales, method="dense")
    np.testing.assert_allclose(s.density, whole.density[rows], rtol=1e-10)


@pytest.mark.parametrize("costs", [Costs(), Costs(pair=6e-8, ring=3e-8, call=1e-6)])
def test_targets_anywhere(points, costs, monkeypatch):
    monkeypatch.setattr("heatfield.core.planner.COSTS", costs)
    rng = np.random.default_rng(2)
    at = np.concatenate([rng.normal(size=(300, 3)), [[9.0, 0.0, 0.0], [0.0, -20.0, 5.0]]])
    scales = [0.05, 0.3, 2.0]
    s = hf.signatures(points, scales, targets=at, tol=1e-9)
    D2 = ((at[:, None] - points[None]) ** 2).sum(axis=2)
    for a, t in enumerate(scales):
        w = np.exp(-D2 / (4 * t))
        u = (4 * np.pi * t) ** -1.5 * w.sum(axis=1)
        seen = u > 1e-290
        np.testing.assert_allclose(s.density[seen, a], u[seen], rtol=1e-9)
        d = (w * D2).sum(axis=1)[seen] / w.sum(axis=1)[seen] / (2 * t)
        np.testing.assert_allclose(s.dimension[seen, a], d, rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "tol must be a number above 0 and below 1, got 0.0"),
        ({"tol": "small"}, "tol must be a number above 0 and below 1, got 'small'"),
        ({"tol": 1e-14}, "tol=1e-14 is out of reach in float64: at least 1e-13"),
        ({"tol": 1e-6, "dtype": "float32"}, "tol=1e-06 is out of reach in float32: at least 1e-05"),
        ({"targets": [0, 900]}, r"targets\[1\] = 900 is not an index of 900 points"),
        ({"targets": [0.5]}, "targets must be indices"),
        ({"targets": [[0.0, 1.0]]}, "targets must have 3 coordinates"),
        ({"targets": [0], "method": "dense"}, "targets needs method='fast' or 'auto'"),
        ({"method": "quick"}, "method must be one of 'auto', 'dense', 'fast'"),
    ],
)
def test_wrong_options_are_named(points, options, message):
    with pytest.raises(ValueError, match=message):
        hf.signatures(points, **options)


# --- what it would take --------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_forecast_is_the_plan_s_own_cost(tol):
    points = sphere(5000)
    found = expected_seconds(points, n_scales=5, method="fast", tol=tol)
    plan = hf.signatures(points, n_scales=5, method="fast", tol=tol).plan
    assert found.path == "fast"
    assert found.seconds == pytest.approx(sum(s.expected_seconds for s in plan.scales), rel=1e-12)
    assert expected_seconds(points, hf.scale_schedule(points, 5), method="fast", tol=tol) == found


def test_forecast_names_the_path_taken():
    for points in (sphere(1000), sphere(3000)[:, :2], sphere(12_000)):
        taken = "dense" if hf.signatures(points, n_scales=3).plan.methods[0] == "dense" else "fast"
        assert expected_seconds(points, n_scales=3).path == taken


def test_forecast_grows_as_the_path_does():
    """A hundred times the points: ten thousand times the pairs, but not the cost of the fast path."""
    small, large = (expected_seconds(sphere(m), method="fast", tol=1e-8).seconds for m in (2_000, 200_000))
    assert 20 < large / small < 1000
    small, large = (expected_seconds(sphere(m), method="dense").seconds for m in (1_000, 10_000))
    assert 50 < large / small < 150
    in_ten = expected_seconds(np.random.default_rng(0).random((500, 10)))
    assert in_ten.path == "dense"
    assert expected_seconds(np.random.default_rng(0).random((1000, 10))).seconds == pytest.approx(
        4 * in_ten.seconds
    )


def test_no_scales_have_no_forecast():
    with pytest.warns(hf.HeatFieldWarning):
        assert np.isnan(expected_seconds(np.zeros((3, 2))).seconds)
    assert np.isnan(expected_seconds(np.zeros((0, 2)), [1.0]).seconds)


def test_info_prints_the_forecast(tmp_path, capsys):
    hf.write_points(tmp_path / "a.npy", sphere(100_000))
    words = ["info", str(tmp_path / "a.npy"), "--n-scales", "4"]
    assert main(words) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "describing" in line)
    assert "on one core, by the fast path; this machine has " in line
    assert main([*words, "--budget", "500"]) == 0
    said = capsys.readouterr().out
    assert "described   500 points" in said
    assert "by the dense path" in said
