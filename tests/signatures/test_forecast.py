"""What signatures would take: the plan's own cost."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from heatfield.heat_signatures import expected_seconds


def sphere(m):
    points = np.random.default_rng(m).normal(size=(m, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_the_price_is_the_plan_s_own(tol):
    points = sphere(5000)
    found = expected_seconds(points, n_scales=5, method="fast", tol=tol)
    plan = hf.signatures(points, n_scales=5, method="fast", tol=tol).plan
    assert found.path == "fast"
    assert found.seconds == pytest.approx(sum(s.expected_seconds for s in plan.scales), rel=1e-12)
    assert expected_seconds(points, hf.scale_schedule(points, 5), method="fast", tol=tol) == found


def test_the_path_is_the_one_that_is_taken():
    for points in (sphere(1000), sphere(3000)[:, :2], sphere(12_000)):
        taken = "dense" if hf.signatures(points, n_scales=3).plan.methods[0] == "dense" else "fast"
        assert expected_seconds(points, n_scales=3).path == taken


def test_large_clouds_are_far_below_the_square():
    """A hundred times the points: ten thousand times the pairs, but not the cost."""
    small, large = (expected_seconds(sphere(m), method="fast", tol=1e-8).seconds for m in (2_000, 200_000))
    assert 20 < large / small < 1000
    # The square of the points, as it was quoted before: 480 s.
    assert large < 0.2 * 1.2e-8 * 200_000**2


def test_dense_grows_with_the_square():
    small, large = (expected_seconds(sphere(m), method="dense").seconds for m in (1_000, 10_000))
    assert 50 < large / small < 150


def test_no_scales_no_price():
    with pytest.warns(hf.HeatFieldWarning):
        assert np.isnan(expected_seconds(np.zeros((3, 2))).seconds)
    assert np.isnan(expected_seconds(np.zeros((0, 2)), [1.0]).seconds)


@pytest.mark.parametrize("n", [1, 4, 10])
def test_other_dimensions(n):
    points = np.random.default_rng(0).random((500, n))
    found = expected_seconds(points)
    assert found.path == "dense"
    assert 500**2 * 8 * 1e-10 < found.seconds < 500**2 * 8 * 1e-6
    if n > 3:  # every pair, whatever the scale
        assert expected_seconds(np.tile(points, (2, 1))).seconds == pytest.approx(4 * found.seconds)


def test_info_quotes_it(tmp_path, capsys):
    hf.write_points(tmp_path / "a.npy", sphere(100_000))
    assert main(["info", str(tmp_path / "a.npy"), "--n-scales", "4"]) == 0
    words = capsys.readouterr().out
    line = next(line for line in words.splitlines() if "describing" in line)
    assert "on one core, by the fast path; this machine has " in line
    assert " h " not in line
    assert main(["info", str(tmp_path / "a.npy"), "--n-scales", "4", "--budget", "500"]) == 0
    words = capsys.readouterr().out
    assert "described   500 points" in words
    assert "by the dense path" in words
