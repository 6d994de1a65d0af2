"""Point patterns: curves and envelopes beside plain NumPy, windows, the size of the test, what it finds."""

import numpy as np
import pytest
from scipy.stats import binom

import heatfield as hf
from heatfield.patterns import Box, Polygon, envelope_test, rank_envelope, response_curve
from heatfield.patterns._envelope import curves
from heatfield.patterns._windows import Simulator
from tests.helpers import reference as plain

SQUARE = Box([0, 0], [1, 1])
STAR = [[0, 0], [4, 1], [8, 0], [7, 4], [8, 8], [4, 7], [0, 8], [1, 4]]


def clustered(seed=0, m=15):
    rng = np.random.default_rng(seed)
    parents = rng.uniform(0.1, 0.9, size=(m, 2))
    return (parents[:, None] + 0.03 * rng.normal(size=(m, 8, 2))).reshape(-1, 2)


def regular(seed=0):
    """A lattice with some noise."""
    rng = np.random.default_rng(seed)
    grid = (np.stack(np.meshgrid(*[np.arange(10)] * 2), axis=-1).reshape(-1, 2) + 0.5) / 10
    return grid + rng.uniform(-0.03, 0.03, size=grid.shape)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_curves_equal_the_plain_ones(n):
    points = np.random.default_rng(n).uniform(size=(40, n)) + 5e6
    r = np.geomspace(0.02, 0.6, 7)
    response, pairs = curves(points, r)
    np.testing.assert_allclose(response, [plain.response(points, x) for x in r], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pairs, [plain.log_pairs(points, x) for x in r], rtol=1e-9)
    np.testing.assert_array_equal(response_curve(points, r), response)


@pytest.mark.parametrize("step", [0.0, 0.5])
def test_the_rank_envelope_equals_the_plain_one(step):
    """Also with many equal values, as in curves that are steps."""
    rng = np.random.default_rng(0)
    for trial in range(10):
        table = np.cumsum(rng.normal(size=(40, 12)), axis=1)
        table[0] += trial / 2
        if step:
            table = np.round(table / step) * step
        found = rank_envelope(table[0], table[1:], 0.1)
        lengths = plain.extreme_rank_lengths(table)
        assert found.p == pytest.approx(sum(other <= lengths[0] for other in lengths) / 40)
        # The curve is outside of the envelope somewhere exactly if it is rejected.
        if not step:
            assert bool(found.outside.any()) == (found.p <= 0.1)
        keep = [c for c, own in zip(table, lengths, strict=True) if sum(o <= own for o in lengths) > 4]
        np.testing.assert_array_equal(found.low, np.min(keep, axis=0))
        np.testing.assert_array_equal(found.high, np.max(keep, axis=0))


def test_the_size_is_within_its_binomial_band():
    """300 random patterns at level 0.1: the number of rejections is binomial."""
    rng = np.random.default_rng(4)
    rejected = {"response": 0, "pairs": 0, "both": 0}
    r = np.geomspace(0.03, 0.25, 10)
    for _ in range(300):
        table = np.array([curves(rng.uniform(size=(30, 2)), r) for _ in range(40)])
        chosen = {"response": table[:, 0], "pairs": table[:, 1], "both": table.reshape(40, -1)}
        for name, some in chosen.items():
            rejected[name] += rank_envelope(some[0], some[1:], 0.1).p <= 0.1
    low, high = binom.interval(0.999, 300, 0.1)
    for name, count in rejected.items():
        assert low <= count <= high, (name, count)


@pytest.mark.parametrize("statistic", ["both", "response", "pairs"])
def test_clusters_are_found_at_their_distance(statistic):
    result = envelope_test(clustered(), SQUARE, simulations=199, statistic=statistic)
    assert result.p == 0.005
    assert result.verdict == "clustered"
    assert any(first < 0.06 < last for first, last, _ in result.ranges)
    assert list(result.curves) == (["response", "pairs"] if statistic == "both" else [statistic])


def test_a_lattice_is_regular_at_its_spacing():
    result = envelope_test(regular(), SQUARE, simulations=199)
    assert result.verdict == "regular"
    assert result.p == 0.005
    assert any(first < 0.09 < last for first, last, _ in result.ranges)
    assert result.excess[0] < -0.5


def test_a_polygon_is_its_own_edge():
    """Random points of a star are random in the star, and clustered in its bounding box."""
    star = Polygon(STAR)
    points = star.sample(np.random.default_rng(3), 150)
    assert star.contains(points).all()
    assert envelope_test(points, star, simulations=199).p > 0.05
    assert envelope_test(points, Box([0, 0], [8, 8]), simulations=199).p <= 0.05


def test_an_intensity_explains_a_gradient():
    """Points of density 2 (1 - x): clustered; given the density, the size of the test is kept."""
    rng = np.random.default_rng(5)
    r, rejected = np.geomspace(0.03, 0.25, 8), 0
    for trial in range(150):
        points = np.c_[1 - np.sqrt(rng.uniform(size=40)), rng.uniform(size=40)]
        given = envelope_test(
            points, SQUARE, simulations=39, distances=r, level=0.1, random_state=trial,
            intensity=lambda at: 1 - at[:, 0],
        )  # fmt: skip
        rejected += given.p <= 0.1
    low, high = binom.interval(0.999, 150, 0.1)
    assert low <= rejected <= high
    many = np.c_[1 - np.sqrt(rng.uniform(size=250)), rng.uniform(size=250)]
    assert envelope_test(many, SQUARE, simulations=199).verdict == "clustered"


def test_simulations_follow_the_intensity():
    simulator = Simulator(SQUARE, 200, lambda at: at[:, 0] ** 2, 0)
    drawn = np.concatenate([simulator.pattern(i) for i in range(100)])
    # The mean of x by the density 3 x^2 is 3/4, its deviation sqrt(3/80); six of those of 20,000 points.
    assert abs(drawn[:, 0].mean() - 0.75) < 6 * np.sqrt(3 / 80 / 20_000)
    assert np.array_equal(
        simulator.pattern(7), Simulator(SQUARE, 200, lambda at: at[:, 0] ** 2, 0).pattern(7)
    )
    # A peak that is higher than at any probe raises the limit.
    peak = Simulator(SQUARE, 50, lambda at: 1 + 1e3 * (np.abs(at - 0.123456).max(axis=1) < 1e-3), 0)
    assert peak.pattern(0).shape == (50, 2)


def test_the_same_for_any_number_of_threads():
    one, two = (envelope_test(clustered(), SQUARE, simulations=59, n_jobs=k) for k in (1, 3))
    assert one.as_dict() == two.as_dict()
    other = envelope_test(clustered(), SQUARE, simulations=59, random_state=1)
    assert not np.array_equal(other.curves["pairs"].mean, one.curves["pairs"].mean)


def test_polygons_with_holes():
    ring = Polygon([[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]], holes=[[[1, 1], [3, 1], [3, 3], [1, 3]]])
    assert ring.volume == 12.0
    assert ring.contains([[0.5, 0.5], [2, 2], [5, 1], [3.5, 2]]).tolist() == [True, False, False, True]
    drawn = ring.sample(np.random.default_rng(0), 4000)
    assert len(drawn) == 4000
    assert ring.contains(drawn).all()
    # A third of the area lies left of x = 1: five standard deviations.
    assert abs((drawn[:, 0] < 1).mean() - 1 / 3) < 5 * np.sqrt(2 / 9 / 4000)
    assert "1 hole" in repr(ring)


UNIT = [[0, 0], [1, 0], [1, 1], [0, 1]]


def square(x, y, side):
    return [[x, y], [x + side, y], [x + side, y + side], [x, y + side]]


@pytest.mark.parametrize(("vertices", "holes", "words"), [
    (UNIT, [square(2, 2, 0.5)], "holes must lie inside the polygon"),
    (UNIT, [[[0.5, 0.2], [1.5, 0.5], [0.5, 0.8]]], r"crosses holes\[0\] near \(1, 0.35\)"),
    (UNIT, [square(0.1, 0.1, 0.5), square(0.3, 0.3, 0.5)], "apart from each other"),
    (UNIT, [square(0.1, 0.1, 0.5), square(0.2, 0.2, 0.1)], "apart from each other"),
    ([[0, 0], [1, 1], [1, 0], [0, 0.5]], [], r"ring of vertices crosses itself near \(0.333333, 0.333333\)"),
    (UNIT, [[[0.1, 0.1], [0.9, 0.9], [0.9, 0.1], [0.1, 0.6]]], r"ring of holes\[0\] crosses itself"),
])  # fmt: skip
def test_unsound_rings_are_refused(vertices, holes, words):
    with pytest.raises(ValueError, match=words):
        Polygon(vertices, holes)


def test_a_polygon_is_sampled_uniformly():
    """Beside points of the bounding box that lie inside; the second hole shares a side with the polygon."""
    window = Polygon(square(0, 0, 4), [[[1, 1], [3, 1], [2, 3]], [[0, 0], [0.5, 2], [0, 2]]])
    plain = Box([0, 0], [4, 4]).sample(np.random.default_rng(1), 40_000)
    inside = plain[window.contains(plain)]
    assert window.volume == pytest.approx(13.5)
    assert len(inside) / 40_000 == pytest.approx(13.5 / 16, abs=0.01)
    found = window.sample(np.random.default_rng(0), 30_000)
    assert window.contains(found).all()
    (a, *_), (b, *_) = (np.histogram2d(*some.T, bins=8, range=[[0, 4]] * 2) for some in (found, inside))
    assert np.abs(a / a.sum() - b / b.sum()).max() < 0.004  # five deviations of a cell with 1/54 of the area


@pytest.mark.parametrize("width", [1e-6, 1e-9])
def test_a_thin_slanting_window_is_sampled(width):
    window = Polygon([[0, 0], [1, 1], [1, 1 + width], [0, width]])
    found = window.sample(np.random.default_rng(0), 100)
    assert window.volume == pytest.approx(width)
    assert np.ptp(found[:, 0]) > 0.8
    assert (np.abs(found[:, 1] - found[:, 0] - width / 2) <= 0.5001 * width).all()


POINTS = np.random.default_rng(0).uniform(size=(20, 2))
WRONG = [
    (lambda: envelope_test(POINTS[:2]), "at least 3 points, got 2"),
    (lambda: envelope_test(POINTS, [0, 1]), "window must be a patterns.Box or patterns.Polygon"),
    (lambda: envelope_test(POINTS, Box([0, 0, 0], [1, 1, 1])), "points have 2 coordinates, but the window 3"),
    (
        lambda: envelope_test(POINTS + np.array([0, 5]), SQUARE),
        "20 of 20 points lie outside of the window, .* row 0",
    ),
    (lambda: envelope_test(POINTS * [1, 0]), "no extent along axis 1"),
    (lambda: envelope_test(POINTS, simulations=10), "10 simulations cannot reject .* at least 19"),
    (lambda: envelope_test(POINTS, distances=[0.2, 0.1]), "distances must increase"),
    (lambda: envelope_test(POINTS, distances=[-1, 0.1]), "distances must be positive"),
    (lambda: envelope_test(POINTS, intensity=3), "intensity must be a function"),
    (lambda: envelope_test(POINTS, intensity=lambda at: at), "one number per point"),
    (lambda: envelope_test(POINTS, intensity=lambda at: -at[:, 0]), "intensity must be 0 or more"),
    (lambda: envelope_test(POINTS, intensity=lambda at: 0 * at[:, 0]), "intensity is 0 at all"),
    (lambda: envelope_test(POINTS, intensity=lambda _: "x"), "intensity cannot be evaluated"),
    (lambda: envelope_test("points.csv"), "no such file"),
    (lambda: rank_envelope([1, 2], [[1, 2, 3]] * 19), "must have shape"),
    (lambda: rank_envelope([1, np.nan], [[1, 2]] * 19), "observed holds a non-finite value"),
    (lambda: rank_envelope([1, 2], [[1, np.inf]] * 19), r"simulated\[0\] holds a non-finite"),
    (lambda: Box([0, 0], [1, 0]), "low corner must be below"),
    (lambda: Box([0, 0], [1]), "as many numbers"),
    (lambda: Box("ab", [1]), "two corners of numbers"),
    (lambda: Polygon([[0, 0], [1, 1]]), "at least three points in the plane"),
    (lambda: Polygon([[0, 0], [1, 1], [2, 2]]), "enclose no area"),
    (lambda: hf.plot.pattern_envelope(POINTS), "result must be a PatternTest"),
]


@pytest.mark.parametrize(("act", "words"), WRONG)
def test_what_is_wrong_is_said(act, words):
    with pytest.raises(ValueError, match=words):
        act()


def test_curves_agree_with_pointpats_in_what_they_reject():
    """The same clusters and the same random pattern, by Ripley's K of another library."""
    pointpats = pytest.importorskip("pointpats")
    rng = np.random.default_rng(0)
    r = np.geomspace(0.02, 0.25, 16)

    def k(points):
        return pointpats.k(points, support=np.r_[0.0, r])[1][1:] / np.prod(np.ptp(points, axis=0))

    for points, rejected in ((clustered(), True), (rng.uniform(size=(120, 2)), False)):
        simulated = [rng.uniform(size=(120, 2)) for _ in range(99)]
        by_k = rank_envelope(k(points), [k(s) for s in simulated]).p <= 0.05
        by_heat = rank_envelope(curves(points, r)[1], [curves(s, r)[1] for s in simulated]).p <= 0.05
        assert by_k == by_heat == rejected


def test_a_box_in_a_summary_has_six_digits():
    box = Box([1 / 3, 0.0], [100.0, 2e6 / 3])
    assert str(box) == "Box([0.333333, 0.0], [100.0, 666667.0])"
    assert repr(box) == f"Box([{1 / 3}, 0.0], [100.0, {2e6 / 3}])"
