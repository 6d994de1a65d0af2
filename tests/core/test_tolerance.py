"""The fast path keeps its tolerance at every point, isolated points included."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.core import bounds
from heatfield.core.clouds import ArrangedCloud, nearest_source
from heatfield.core.moments import SQUARE, WEIGHT
from heatfield.core.planner import Costs, Request
from heatfield.core.sums import scale_sums
from tests.helpers import reference
from tests.helpers.fast_path import COSTS, MAKERS, heavy_cluster


@pytest.fixture(scope="module")
def expected():
    """Points, scales and the reference's answer for each cloud, computed once."""
    found = {}

    def get(name, n):
        if (name, n) not in found:
            points = MAKERS[name](np.random.default_rng([n, len(name)]), n, 700)
            scales = reference.scale_schedule(points, 5)
            local = reference.local_signatures(points, scales, "exact")
            found[name, n] = points, scales, local, reference.global_signatures(points, scales)
        return found[name, n]

    return get


def errors(s, local, whole):
    u, d, tau, spectrum = local
    return {
        "density": np.abs(s.density / u - 1).max(),
        "dimension": np.abs(s.dimension - d).max(),
        "transition": np.abs(s.transition - tau).max(),
        "spectrum": np.abs(s.spectrum - spectrum).max(),
        "energy": np.abs(s.energy / whole[0] - 1).max(),
        "response": np.abs(s.response - whole[1]).max(),
    }


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("name", MAKERS)
def test_tolerance_holds_at_every_point(name, n, costs, expected, monkeypatch):
    monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS[costs])
    points, scales, local, whole = expected(name, n)
    used = set()
    for tol in (1e-3, 1e-6, 1e-9, 1e-12) if costs != "default" else (1e-7,):
        s = hf.signatures(points, scales, method="fast", transition="exact", tol=tol)
        used.update(s.plan.methods)
        for output, error in errors(s, local, whole).items():
            assert error <= bounds.SIGNATURES[output] * tol, (output, tol, error / tol, str(s.plan))
    if costs == "transforms":
        assert used & {"fourier", "boxes"}, used
    if costs == "neighbours":
        assert used == {"near"}


def test_without_spectrum_and_fourth(expected, monkeypatch):
    monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS["transforms"])
    points, scales, local, _ = expected("heavy_cluster", 3)
    s = hf.signatures(points, scales, method="fast", tol=1e-9, with_spectrum=False)
    assert s.spectrum is None
    assert np.abs(s.density / local[0] - 1).max() <= 1e-9
    assert np.abs(s.dimension - local[1]).max() <= 4e-9


def test_single_precision(expected, monkeypatch):
    for costs in ("transforms", "neighbours"):
        monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS[costs])
        points, scales, local, _ = expected("sphere", 3)
        s = hf.signatures(points, scales, method="fast", tol=1e-4, dtype="float32", transition="exact")
        assert np.abs(s.density / local[0] - 1).max() <= 1e-4
        assert np.abs(s.dimension - local[1]).max() <= 4e-4
        assert np.abs(s.spectrum - local[3]).max() <= 16e-4


def test_isolated_points_of_a_transform_are_summed_again(expected, monkeypatch):
    monkeypatch.setattr("heatfield.core.planner.COSTS", Costs(pair=1e-8, ring=1e-8, call=1e-6))
    points, scales, _, _ = expected("heavy_cluster", 2)
    plan = hf.signatures(points, scales, method="fast", tol=1e-12).plan
    assert sum(scale.points_checked for scale in plan.scales) > 0


@pytest.mark.parametrize("n", [2, 3])
def test_near_path_is_the_same_to_the_bit_for_any_number_of_threads(n, monkeypatch):
    monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS["neighbours"])
    points = heavy_cluster(np.random.default_rng(3), n, 5000)
    one, three = (hf.signatures(points, method="fast", n_jobs=k) for k in (1, 3))
    for name in ("density", "dimension", "transition", "spectrum", "energy", "response"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name), err_msg=name)


def test_adaptive_scales():
    points = heavy_cluster(np.random.default_rng(5), 2, 1500)
    scales = hf.adaptive_scales(points, 4)
    u, d, tau, spectrum = reference.local_signatures(points, scales, "exact")
    s = hf.signatures(points, scales, method="fast", tol=1e-9, transition="exact")
    assert np.abs(s.density / u - 1).max() <= 1e-9
    assert np.abs(s.dimension - d).max() <= 4e-9
    assert np.abs(s.transition - tau).max() <= 16e-9
    assert np.abs(s.spectrum - spectrum).max() <= 16e-9
    assert np.isnan(s.energy).all()


def test_four_dimensions():
    points = heavy_cluster(np.random.default_rng(6), 4, 800)
    scales = reference.scale_schedule(points, 4)
    u, d, _, spectrum = reference.local_signatures(points, scales)
    s = hf.signatures(points, scales, method="fast", tol=1e-9)
    assert np.abs(s.density / u - 1).max() <= 1e-9
    assert np.abs(s.dimension - d).max() <= 4e-9
    assert np.abs(s.spectrum - spectrum).max() <= 16e-9


@pytest.mark.parametrize("m", [1, 2, 3, 17])
def test_few_points(m):
    points = np.random.default_rng(m).normal(size=(m, 3))
    scales = [0.01, 0.1, 1.0]
    u, d, _, spectrum = reference.local_signatures(points, np.array(scales))
    s = hf.signatures(points, scales, method="fast", tol=1e-10)
    np.testing.assert_allclose(s.density, u, rtol=1e-10)
    np.testing.assert_allclose(s.dimension, d, atol=4e-10)
    np.testing.assert_allclose(s.spectrum, spectrum, atol=16e-10)


@pytest.mark.parametrize("costs", ["transforms", "neighbours"])
def test_weights_and_places_that_are_no_sources(costs):
    rng = np.random.default_rng(8)
    points, at = heavy_cluster(rng, 3, 900), rng.normal(size=(500, 3))
    around = ArrangedCloud.of(points)
    weights = rng.random(900)[around.order] ** 4 + 1e-3
    targets = around.arrange_like(at)
    sources, places = around.points, targets.points
    offsets = nearest_source(places, sources, around.tree)[0]
    used = set()
    D2 = ((places[:, :, None] - sources[:, None, :]) ** 2).sum(axis=0)
    for t in (1e-6, 1e-4, 1e-2):
        own = Costs(pair=1e-6, ring=1e-6) if costs == "transforms" else COSTS[costs]
        request = Request(tol=1e-8, directions=True, costs=own)
        table, report = scale_sums(targets, around, np.array([t]), request, offsets=offsets, weights=weights)
        used.add(report.method)
        w = weights * np.exp(-D2 / (4 * t))
        W = w.sum(axis=1)
        seen = W > 1e-280
        assert np.abs(table[seen, WEIGHT] / W[seen] - 1).max() <= 1e-8
        squares = (w * D2).sum(axis=1)
        natural = np.maximum(2 * t * W, squares)[seen]  # absolute where it is small
        assert (np.abs(table[seen, SQUARE] - squares[seen]) / natural).max() <= 4e-8
    assert (used == {"near"}) == (costs == "neighbours")


@pytest.mark.parametrize(
    ("tol", "dtype"),
    [(1e-6, "float64"), (1e-9, "float64"), (1e-12, "float64"), (1e-3, "float32"), (1e-5, "float32")],
)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_transforms_are_the_same_to_the_bit_for_any_number_of_threads(n, tol, dtype, monkeypatch):
    """Runs of points from several threads are added to one grid in their order."""
    monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS["transforms"])
    points = heavy_cluster(np.random.default_rng(4), n, 20_000)
    scales = hf.scale_schedule(points, 3)[1:]
    one, *others = (
        hf.signatures(points, scales, method="fast", tol=tol, dtype=dtype, n_jobs=k) for k in (1, 2, 4)
    )
    assert sum(scale.transforms for scale in one.plan.scales) > 0
    for other in others:
        for name in ("density", "dimension", "transition", "spectrum", "energy", "response"):
            np.testing.assert_array_equal(getattr(other, name), getattr(one, name), err_msg=name)


@pytest.mark.parametrize("x", [18.5, 20.0, 24.0, 28.0, 31.0])
def test_many_sources_beyond_the_cut_off_count_where_they_matter(x):
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
