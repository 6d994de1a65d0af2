"""The guarantees of `core.bounds`: in docstrings, on clouds that broke one once, and in a random search."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.channels import BOUNDS, RELATIVE
from heatfield.core import bounds
from tools.search_promises import attack


def test_docstrings_repeat_the_bounds():
    def words(value):
        return " ".join(value.__doc__.split())

    dimension, spectrum = f"{bounds.DIMENSION:g} tol", f"{bounds.SPECTRUM:g} tol"
    assert bounds.SPECTRUM == bounds.TRANSITION
    assert bounds.DENSITY == bounds.ENERGY == 1.0
    text = words(hf.signatures)
    assert f"the density to ``tol`` relative to itself, dimension to {dimension}" in text
    assert f"spectrum and closed-form transition to {spectrum} absolute, energy to tol" in text
    text = words(hf.HeatField)
    assert f"`dimension` to {dimension} relative to 1 + d, 2t `log_hessian` to {spectrum} absolute" in text
    assert f"its square to {bounds.DEVIATION_SQUARED:g} tol of the range squared" in words(hf.HFSDescriptor)
    assert f"right to {bounds.ORIENTATION:g} tol over the size of the tensors" in words(hf.HFSDescriptor)


def test_far_query_points_in_single_precision():
    """w underflows in single precision, and a zone of zeros passed the check of its share."""
    distance, t, tol = 40.0, 1.0, 1e-3
    points = np.concatenate([[0.0], np.full(1000, np.sqrt(distance**2 + 4 * 6.0) - distance)])[:, None]
    at = np.array([[-distance]])
    found = hf.signatures(points, [t, 2 * t], targets=at, tol=tol, method="fast")
    field = hf.HeatField(points, method="dense")
    np.testing.assert_allclose(found.density[0], field.value(at, [t, 2 * t])[0], rtol=tol)
    d = field.dimension(at, [t, 2 * t])[0]
    assert (np.abs(found.dimension[0] - d) / (1 + d)).max() <= bounds.DIMENSION * tol


def test_query_points_without_weight_have_no_dimension():
    """Just above the smallest numbers there are: digits were lost, and the dimension was wrong."""
    found = hf.signatures(np.zeros((3, 2)), [1.0, 1.5], targets=[[np.sqrt(4 * 735.0), 0.0]], method="fast")
    assert found.density[0, 0] == 0.0
    assert np.isnan(found.dimension[0, 0])
    assert found.dimension[0, 1] == pytest.approx(735.0 * 2 / 1.5, rel=1e-8)


def small_clusters(width):
    """Clusters of three points, and a place in each: a block of sixteen is far larger than any of them."""
    rng = np.random.default_rng(1)
    centres = rng.random((300, 1, 2))
    points = (centres + width * rng.random((300, 3, 2))).reshape(-1, 2)
    return points, centres[:, 0] + width * rng.random((300, 2))


def tight_cluster(width):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.random((700, 2)), 0.5 + width * rng.random((700, 2))]), None


@pytest.mark.parametrize("width", [1e-6, 1e-9])
@pytest.mark.parametrize(("make", "k"), [(tight_cluster, 8), (small_clusters, 2)])
def test_tight_clusters_with_per_point_times(make, k, width):
    """Differences from a common centre were rounded relative to the block, and w D**4 underflowed."""
    points, _ = make(width)
    scales = hf.adaptive_scales(points, 3, k=k)
    exact, found = (
        hf.signatures(points, scales, method=method, tol=1e-8, transition="exact")
        for method in ("dense", "fast")
    )
    for name in ("density", "dimension", "transition", "spectrum"):
        one, other = getattr(found, name), getattr(exact, name)
        unit = np.abs(other) if name in RELATIVE else 1.0
        assert (np.abs(one - other) / unit).max() <= BOUNDS[name] * 1e-8, name


@pytest.mark.parametrize("width", [1e-6, 1e-9])
def test_field_of_small_clusters(width):
    points, at = small_clusters(width)
    times = np.array([0.03, 0.3]) * width**2
    exact, fast = (hf.HeatField(points, method=method, tol=1e-8) for method in ("dense", "fast"))
    log_u, d = exact.log_value(at, times), exact.dimension(at, times)
    error = np.abs(fast.log_value(at, times) - log_u) - 4e-16 * np.abs(log_u)
    assert error.max() <= bounds.DENSITY * 1e-8
    assert (np.abs(fast.dimension(at, times) - d) / (1 + d)).max() <= bounds.DIMENSION * 1e-8


def test_outlier_in_single_precision():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.random((3000, 3)), [[1000.0, 0, 0]]])
    found = hf.signatures(points, method="fast", dtype="float32")
    exact = hf.signatures(points, method="dense")
    assert np.abs(found.density / exact.density - 1).max() <= 1e-5
    assert np.abs(found.dimension - exact.dimension).max() <= bounds.DIMENSION * 1e-5


@pytest.mark.parametrize("n", [1, 2])
def test_cutoff_allows_for_the_moments(n):
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


@pytest.mark.parametrize("x", [18.5, 20.0, 24.0, 28.0, 31.0])
def test_many_sources_beyond_the_cutoff_count(x):
    """One point and 20,000 at D**2 = 4t x: blocks are left out by what they can weigh together."""
    t, tol, count = 0.01, 1e-6, 20_000
    far = np.zeros((count, 3))
    far[:, 0] = np.sqrt(4.0 * t * x)
    points = np.concatenate([np.zeros((1, 3)), far])
    s = hf.signatures(points, [t], targets=[0], transition="exact", method="fast", tol=tol)
    weight = 1.0 + count * np.exp(-x)
    dimension = 2.0 * x * count * np.exp(-x) / weight
    assert abs(s.density[0, 0] * (4.0 * np.pi * t) ** 1.5 / weight - 1.0) <= tol
    assert abs(s.dimension[0, 0] - dimension) <= 4.0 * tol


@pytest.mark.filterwarnings("ignore::heatfield.HeatFieldWarning")
@pytest.mark.parametrize("block", range(4))
def test_random_search_breaks_no_bound(block):
    """A part of ``python -m tools.search_promises``; its long run is in tools/results/promises.json."""
    for seed in range(1_000_000 + 40 * block, 1_000_000 + 40 * (block + 1)):
        drawn = attack(seed)
        for name, ratio in drawn["ratios"].items():
            assert ratio <= 1.0, (name, drawn)
