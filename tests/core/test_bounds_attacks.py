"""Clouds that broke a promise of the fast path once, and a short randomised search for more."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.core import bounds
from tools.search_promises import attack


def test_far_places_in_single_precision_zones():
    """w underflows in single precision, and a zone of zeros passed the check of its share."""
    distance, t, tol = 40.0, 1.0, 1e-3
    points = np.concatenate([[0.0], np.full(1000, np.sqrt(distance**2 + 4 * 6.0) - distance)])[:, None]
    at = np.array([[-distance]])
    found = hf.signatures(points, [t, 2 * t], targets=at, tol=tol, method="fast")
    field = hf.HeatField(points, method="dense")
    np.testing.assert_allclose(found.density[0], field.value(at, [t, 2 * t])[0], rtol=tol)
    d = field.dimension(at, [t, 2 * t])[0]
    assert (np.abs(found.dimension[0] - d) / (1 + d)).max() <= bounds.DIMENSION * tol


def test_places_without_weight_have_no_dimension():
    """Just above the smallest numbers there are: digits were lost, and the dimension was wrong."""
    found = hf.signatures(np.zeros((3, 2)), [1.0, 1.5], targets=[[np.sqrt(4 * 735.0), 0.0]], method="fast")
    assert found.density[0, 0] == 0.0
    assert np.isnan(found.dimension[0, 0])
    assert found.dimension[0, 1] == pytest.approx(735.0 * 2 / 1.5, rel=1e-8)


@pytest.mark.parametrize("width", [1e-6, 1e-9])
def test_a_tight_cluster_with_times_of_its_own(width):
    """Differences from a common centre were rounded relative to the block, and w D**4 underflowed."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.random((700, 2)), 0.5 + width * rng.random((700, 2))])
    scales = hf.adaptive_scales(points, 3)
    exact, found = (
        hf.signatures(points, scales, method=method, tol=1e-8, transition="exact")
        for method in ("dense", "fast")
    )
    for name in ("density", "dimension", "transition", "spectrum"):
        one, other = getattr(found, name), getattr(exact, name)
        unit = np.abs(other) if name in bounds.RELATIVE else 1.0
        assert (np.abs(one - other) / unit).max() <= bounds.SIGNATURES[name] * 1e-8, name


def test_an_outlier_in_single_precision():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.random((3000, 3)), [[1000.0, 0, 0]]])
    found = hf.signatures(points, method="fast", dtype="float32")
    exact = hf.signatures(points, method="dense")
    assert np.abs(found.density / exact.density - 1).max() <= 1e-5
    assert np.abs(found.dimension - exact.dimension).max() <= bounds.DIMENSION * 1e-5


@pytest.mark.parametrize("n", [1, 2])
def test_the_cut_off_allows_for_the_moments(n):
    """All sources but one just beyond the cut-off: little weight, but D**2 and D**4 multiply it."""
    tol, m, t = 1e-3, 3000, 1.0
    reach = np.log(m / tol) + 2.01  # what was enough for the weight
    points = np.zeros((m, n))
    points[1:, 0] = np.sqrt(4 * t * reach)
    points[1:, 0] += 1e-3 * np.arange(m - 1) / m
    found = hf.signatures(points, [t, 2 * t], targets=[0], tol=tol, method="fast", transition="exact")
    exact = hf.signatures(points, [t, 2 * t], method="dense", transition="exact")
    assert np.abs(found.dimension[0] - exact.dimension[0]).max() <= bounds.DIMENSION * tol
    assert np.abs(found.transition[0] - exact.transition[0]).max() <= bounds.TRANSITION * tol


@pytest.mark.filterwarnings("ignore::heatfield.HeatFieldWarning")
@pytest.mark.parametrize("block", range(4))
def test_randomised_search(block):
    """A part of ``python -m tools.search_promises``; its long run is in tools/results/promises.json."""
    for seed in range(1_000_000 + 40 * block, 1_000_000 + 40 * (block + 1)):
        drawn = attack(seed)
        for name, ratio in drawn["ratios"].items():
            assert ratio <= 1.0, (name, drawn)


def small_clusters(width):
    """Clusters of three points, and a place in each: a block of sixteen is far larger than any of them."""
    rng = np.random.default_rng(1)
    centres = rng.random((300, 1, 2))
    return (centres + width * rng.random((300, 3, 2))).reshape(-1, 2), (
        centres[:, 0] + width * rng.random((300, 2))
    )


@pytest.mark.parametrize("width", [1e-6, 1e-9])
def test_small_clusters_with_times_of_their_own(width):
    """Differences from a common centre are rounded relative to the block, not to the cluster."""
    points, _ = small_clusters(width)
    scales = hf.adaptive_scales(points, 3, k=2)
    exact, found = (
        hf.signatures(points, scales, method=method, tol=1e-8, transition="exact")
        for method in ("dense", "fast")
    )
    for name in ("density", "dimension", "transition", "spectrum"):
        one, other = getattr(found, name), getattr(exact, name)
        unit = np.abs(other) if name in bounds.RELATIVE else 1.0
        assert (np.abs(one - other) / unit).max() <= bounds.SIGNATURES[name] * 1e-8, name


@pytest.mark.parametrize("width", [1e-6, 1e-9])
def test_places_of_a_field_of_small_clusters(width):
    points, at = small_clusters(width)
    times = np.array([0.03, 0.3]) * width**2
    exact, fast = (hf.HeatField(points, method=method, tol=1e-8) for method in ("dense", "fast"))
    log_u, d = exact.log_value(at, times), exact.dimension(at, times)
    error = np.abs(fast.log_value(at, times) - log_u) - 4e-16 * np.abs(log_u)
    assert error.max() <= bounds.DENSITY * 1e-8
    assert (np.abs(fast.dimension(at, times) - d) / (1 + d)).max() <= bounds.DIMENSION * 1e-8
