"""The fast path keeps its tolerance at every point, isolated ones included, with common or separate times."""

import numpy as np
import pytest

import heatfield as hf
from benchmarks import grid_error
from heatfield.channels import BOUNDS, RELATIVE
from heatfield.core import per_point_times as separate
from heatfield.core.clouds import ArrangedCloud, nearest_source
from heatfield.core.fourier import GRID_EPS, FourierTask, ModeGrid, fourier_sums, log_accuracy_for
from heatfield.core.moments import SQUARE, WEIGHT
from heatfield.core.planner import Costs, Request
from heatfield.core.sums import scale_sums
from tests.helpers import reference

# Costs at which transforms are taken at most scales, costs at which none is, and the default ones.
COSTS = {
    "transforms": Costs(pair=6e-8, ring=3e-8, call=1e-6),
    "neighbours": Costs(call=1e3),
    "default": Costs(),
}
ALL = ("density", "dimension", "transition", "spectrum", "energy", "response")


def heavy_cluster(rng, n, m):
    """Half of the points in a tight cluster inside a large sparse extent, and far outliers."""
    points = rng.normal(size=(m, n))
    points[: m // 2] *= 1e-3
    points[m // 2 : m // 2 + 5] *= 300.0
    return points


def duplicates(rng, n, m):
    points = rng.normal(size=(m, n))
    points[: m // 2] = points[0]
    return points


def sphere(rng, n, m):
    points = rng.normal(size=(m, n))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points[0] = 40.0
    return points if n > 1 else points + 0.1 * rng.normal(size=(m, n))


def curves(rng, n, m):
    s = rng.random((m, 1)) * 2 * np.pi
    bundle = rng.integers(5, size=(m, 1))
    points = np.sin(s * (1 + np.arange(n)) + bundle) + 0.05 * bundle
    points[:3] += 20.0
    return points


def lattice(rng, n, m):
    points = np.floor(rng.random((m, n)) * (2 * m) ** (1 / n))
    points[: m // 2] = np.floor(points[: m // 2] / 8)
    points[-1] = 1e3
    return points


MAKERS = {make.__name__: make for make in (heavy_cluster, duplicates, sphere, curves, lattice)}


@pytest.fixture
def costs(request, monkeypatch):
    """The name of the costs that the planner has."""
    monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS[request.param])
    return request.param


def with_costs(*names):
    return pytest.mark.parametrize("costs", names, indirect=True)


@pytest.fixture(scope="module")
def expected():
    """Points, scales and the reference's answer for each cloud, computed once."""
    found = {}

    def get(name, n):
        if (name, n) not in found:
            points = MAKERS[name](np.random.default_rng([n, len(name)]), n, 700)
            scales = reference.scale_schedule(points, 5)
            local = reference.local_signatures(points, scales, "exact")
            found[name, n] = points, scales, (*local, *reference.global_signatures(points, scales)[:2])
        return found[name, n]

    return get


def assert_within(s, wanted, tol):
    """Each output that both have, in units of its bound."""
    for name, value in zip(ALL, wanted, strict=False):
        if (found := getattr(s, name)) is not None:
            unit = np.abs(value) if name in RELATIVE else 1.0
            error = (np.abs(found - value) / unit).max()
            assert error <= BOUNDS[name] * tol, (name, tol, error / tol, str(s.plan))


@with_costs(*COSTS)
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("name", MAKERS)
def test_tolerance_holds_at_every_point(name, n, costs, expected):
    points, scales, wanted = expected(name, n)
    used = set()
    for tol in (1e-3, 1e-6, 1e-9, 1e-12) if costs != "default" else (1e-7,):
        s = hf.signatures(points, scales, method="fast", transition="exact", tol=tol)
        used.update(s.plan.methods)
        assert_within(s, wanted, tol)
    if costs == "transforms":
        assert used & {"fourier", "boxes"}, used
    if costs == "neighbours":
        assert used == {"near"}


@with_costs("transforms", "neighbours")
@pytest.mark.parametrize("tol", [1e-4, 1e-9])
@pytest.mark.parametrize("name", ["heavy_cluster", "sphere", "curves", "lattice"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_tolerance_holds_with_per_point_times(n, name, tol, costs, monkeypatch):
    monkeypatch.setattr(separate, "MANY_NEIGHBOURS", 20 if costs == "transforms" else 1e9)
    points = np.unique(MAKERS[name](np.random.default_rng([n, len(name)]), n, 300), axis=0)
    scales = hf.adaptive_scales(points, 4)
    s = hf.signatures(points, scales, method="fast", tol=tol, transition="exact")
    assert_within(s, reference.local_signatures(points, scales, "exact"), tol)
    assert np.isnan(s.energy).all()
    interpolated = sum(scale.points_transformed for scale in s.plan.scales)
    assert (interpolated > 0.3 * s.density.size) == (costs == "transforms")
    if costs == "transforms":
        assert "interpolated between" in s.plan.scales[-1].reason
        assert s.plan.scales[-1].points_near + s.plan.scales[-1].points_transformed == len(points)


def test_per_point_times_need_not_be_smooth(monkeypatch):
    monkeypatch.setattr(separate, "MANY_NEIGHBOURS", 5)
    rng = np.random.default_rng(8)
    points = rng.normal(size=(400, 2))
    scales = 10 ** rng.uniform(-4, 2, (400, 1))
    s = hf.signatures(points, scales, method="fast", tol=1e-7, transition="exact")
    assert_within(s, reference.local_signatures(points, scales, "exact"), 1e-7)


@pytest.mark.usefixtures("costs")
@with_costs("transforms", "neighbours")
@pytest.mark.parametrize(
    ("options", "tol"),
    [({"dtype": "float32", "transition": "exact"}, 1e-4), ({"with_spectrum": False}, 1e-9)],
)
def test_tolerance_in_single_precision_and_without_spectrum(options, tol, expected):
    points, scales, (u, d, _, spectrum, *_) = expected("sphere", 3)
    s = hf.signatures(points, scales, method="fast", tol=tol, **options)
    assert (s.spectrum is None) == ("with_spectrum" in options)
    assert_within(s, (u, d, s.transition, spectrum), tol)


@pytest.mark.parametrize(("m", "n"), [(1, 3), (2, 3), (3, 3), (17, 3), (800, 4)])
def test_few_points_and_four_dimensions(m, n):
    points = heavy_cluster(np.random.default_rng(6), n, m)
    scales = np.array([0.01, 0.1, 1.0])
    s = hf.signatures(points, scales, method="fast", tol=1e-10, transition="exact")
    assert_within(s, reference.local_signatures(points, scales, "exact"), 1e-10)


def test_isolated_points_of_transforms_are_checked(expected, monkeypatch):
    monkeypatch.setattr("heatfield.core.planner.COSTS", Costs(pair=1e-8, ring=1e-8, call=1e-6))
    points, scales, _ = expected("heavy_cluster", 2)
    plan = hf.signatures(points, scales, method="fast", tol=1e-12).plan
    assert sum(scale.points_checked for scale in plan.scales) > 0


@pytest.mark.parametrize("costs", ["transforms", "neighbours"])
def test_weighted_sums_at_query_points(costs):
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


@pytest.mark.usefixtures("costs")
@with_costs("neighbours")
@pytest.mark.parametrize("separate_times", [False, True])
@pytest.mark.parametrize("n", [2, 3])
def test_near_sums_have_equal_bits_by_threads(n, separate_times):
    points = np.unique(heavy_cluster(np.random.default_rng(3), n, 4000), axis=0)
    scales = hf.adaptive_scales(points, 3) if separate_times else None
    one, three = (hf.signatures(points, scales, method="fast", n_jobs=k) for k in (1, 3))
    assert {*one.plan.methods} == {"near"}
    for name in ALL:
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name), err_msg=name)


@pytest.mark.usefixtures("costs")
@with_costs("transforms")
@pytest.mark.parametrize(
    ("tol", "dtype"),
    [(1e-6, "float64"), (1e-9, "float64"), (1e-12, "float64"), (1e-3, "float32"), (1e-5, "float32")],
)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_transforms_have_equal_bits_by_threads(n, tol, dtype):
    """Runs of points from several threads are added to one grid in their order."""
    points = heavy_cluster(np.random.default_rng(4), n, 20_000)
    scales = hf.scale_schedule(points, 3)[1:]
    one, *others = (
        hf.signatures(points, scales, method="fast", tol=tol, dtype=dtype, n_jobs=k) for k in (1, 2, 4)
    )
    assert sum(scale.transforms for scale in one.plan.scales) > 0
    for other in others:
        for name in ALL:
            np.testing.assert_array_equal(getattr(other, name), getattr(one, name), err_msg=name)


# --- transforms alone: errors in units of eps times the largest sum ----------------------

# What docs/theory/fast.md allows; the weight is counted on with 2, the square with 10 (4 tol / 0.4 tol).
MOST = {"weight": 1.0, "first": 2.0, "second": 4.0, "square": 8.0, "fourth": 16.0}
MOST |= {"energy": 1.0, "response": 3.0}


@pytest.mark.parametrize("eps", [1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", grid_error.KINDS)
def test_errors_of_transforms_stay_within_their_factors(kind, n, eps):
    assert eps >= GRID_EPS
    for t in (0.3, 0.01):
        for name, factor in grid_error.factors(grid_error.make(kind, n), t, eps).items():
            assert factor <= MOST[name], (name, t, factor)


def test_largest_sum_includes_places_beyond_the_targets():
    rng = np.random.default_rng(1)
    sources = np.concatenate([rng.random((3, 200)), np.full((3, 5000), 0.9)], axis=1)
    targets = np.ascontiguousarray(0.2 * rng.random((3, 50)))
    low, high = sources.min(axis=1), sources.max(axis=1)
    for eps in (1e-6, 1e-11):
        grid = ModeGrid.over(low, high, low, high, 0.002, log_accuracy_for(eps, False), 0.0)
        task = FourierTask(
            targets=targets, sources=sources, weights=None, grid=grid, t=0.002, eps=eps,
            directions=True, fourth_moment=False, energy=False, same=False, n_threads=1,
        )  # fmt: skip
        _, largest = fourier_sums(task)
        assert 0.8 * 5000 <= largest <= 1.5 * 5200
