"""The heat field anywhere: compared with plain NumPy, with fifty digits, with its own derivatives."""

import pickle
import re
import tracemalloc
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from types import SimpleNamespace

import numpy as np
import pytest

import heatfield as hf
from heatfield.core import bounds, query_points
from heatfield.core.planner import Costs
from tests.helpers.agreement import assert_agree
from tests.helpers.clouds import cloud, on_grid, rotation

everywhere = pytest.mark.parametrize("n", [1, 2, 3, 5])
CLOUDS = ["sphere", "curve", "clusters", "duplicates", "map_coordinates", "lattice", "tiny", "huge"]
TOL = 1e-12


def field_in_numpy(points, weights, at, t):
    """The field at (q, n) places and one time, with the exponent shifted by its largest value."""
    n = points.shape[1]
    r = points[None, :, :] - at[:, None, :]
    star = np.argmax(np.log(weights) - (r**2).sum(axis=2) / (4 * t), axis=1)
    r_star = r[np.arange(len(at)), star]
    # D_j**2 - D_star**2 = (r_j - r_star) . (r_j + r_star), which two huge squares would not leave intact.
    more = ((points[None, :, :] - points[star][:, None, :]) * (r + r_star[:, None, :])).sum(axis=2)
    p = np.exp(np.log(weights) - np.log(weights[star])[:, None] - more / (4 * t))
    total = p.sum(axis=1)
    log_u = np.log(total * weights[star]) - (r_star**2).sum(axis=1) / (4 * t) - n / 2 * np.log(4 * np.pi * t)
    p /= total[:, None]
    mean = np.einsum("qj,qjk->qk", p, r)
    centred = r - mean[:, None, :]
    covariance = np.einsum("qj,qjk,qjl->qkl", p, centred, centred)
    squares = np.einsum("qj,qjk,qjk->q", p, r, r)
    u = np.exp(log_u)
    slope = mean / (2 * t)
    Q = (covariance / (2 * t) - np.eye(n)) / (2 * t)
    return SimpleNamespace(
        log_value=log_u,
        value=u,
        gradient=u[:, None] * slope,
        hessian=u[:, None, None] * (Q + slope[:, :, None] * slope[:, None, :]),
        log_hessian=Q,
        dimension=squares / (2 * t),
        mean_distance=np.einsum("qj,qj->q", p, np.sqrt((r**2).sum(axis=2))),
    )


def field_with_fifty_digits(points, weights, place, t):
    """log u, dimension and log-Hessian at one place, in decimal arithmetic."""
    with localcontext() as context:
        context.prec = 50
        context.Emin, context.Emax = MIN_EMIN, MAX_EMAX
        n = points.shape[1]
        four_t = 4 * Decimal(float(t))
        r = [
            [Decimal(float(x)) - Decimal(float(y)) for x, y in zip(row, place, strict=True)] for row in points
        ]
        squares = [sum(c * c for c in row) for row in r]
        heat = [Decimal(float(w)) * (-s / four_t).exp() for w, s in zip(weights, squares, strict=True)]
        total = sum(heat)
        mean = [sum(w * row[k] for w, row in zip(heat, r, strict=True)) / total for k in range(n)]
        pi = Decimal("3.14159265358979323846264338327950288419716939937511")
        log_u = total.ln() - Decimal(n) / 2 * (pi * four_t).ln()
        dimension = sum(w * s for w, s in zip(heat, squares, strict=True)) / total / (four_t / 2)
        Q = np.empty((n, n))
        for k in range(n):
            for l in range(n):
                moment = sum(w * row[k] * row[l] for w, row in zip(heat, r, strict=True)) / total
                scaled = (moment - mean[k] * mean[l]) / (four_t / 2) - (k == l)
                Q[k, l] = float(scaled / (four_t / 2))
        return float(log_u), float(dimension), Q


def places_around(points, seed=0):
    """On the data, right beside it, inside its box and outside of it."""
    rng = np.random.default_rng(seed)
    low, side = points.min(axis=0), np.ptp(points, axis=0)
    beside = points[:8] + 1e-6 * side * rng.normal(size=points[:8].shape)
    return np.concatenate([points[8:20], beside, low + side * (2 * rng.random((20, points.shape[1])) - 0.5)])


def uneven_weights(m):
    return np.random.default_rng(7).permutation(np.geomspace(1e-3, 10.0, m))


@everywhere
@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_the_reference(name, n, weighted):
    points = cloud(name, n)
    weights = uneven_weights(len(points)) if weighted else np.ones(len(points))
    field = hf.HeatField(points, weights if weighted else None)
    at = places_around(points)
    scales = hf.scale_schedule(points)[[1, 4, 7]]
    found = {
        what: getattr(field, what)(at, scales)
        for what in ("value", "log_value", "gradient", "hessian", "log_hessian", "dimension")
    }
    for a, t in enumerate(scales):
        expected = field_in_numpy(points, weights, at, t)
        assert_agree(found["log_value"][:, a], expected.log_value, TOL, floor=1.0, what="log_value")
        assert_agree(found["dimension"][:, a], expected.dimension, TOL, floor=1e-280, what="dimension")
        # A derivative is a sum of terms of both signs: the error is relative to their size.
        scaled = found["log_hessian"][:, a] * 2 * t
        assert_agree(scaled, expected.log_hessian * 2 * t, TOL, floor=1.0, what="log_hessian")
        seen = expected.log_value > -600  # beyond, u leaves the range where doubles have all their digits
        u = expected.value[seen]
        assert_agree(found["value"][seen, a], u, TOL, what="value")
        slope = (u * expected.mean_distance[seen] / (2 * t))[:, None]
        assert np.all(np.abs(found["gradient"][seen, a] - expected.gradient[seen]) <= TOL * slope)
        bend = (u * (expected.dimension[seen] + 1) / (2 * t))[:, None, None]
        assert np.all(np.abs(found["hessian"][seen, a] - expected.hessian[seen]) <= TOL * bend)
        assert np.all(found["value"][expected.log_value < -750, a] == 0.0)


@everywhere
@pytest.mark.parametrize("offset", [0.0, 5e6])
def test_right_at_a_thousand_lengths_from_the_data(n, offset):
    """All weights underflow there; their ratios, and what follows from them, do not."""
    points = on_grid(cloud("ball", n, 60)) + offset
    weights = uneven_weights(60)
    t = 0.25
    towards = rotation(n, 3)[0] if n > 1 else np.ones(1)
    place = np.round((points.mean(axis=0) + 1000 * np.sqrt(t) * towards) * 2**20) / 2**20
    field = hf.HeatField(points, weights)
    log_u, dimension, Q = field_with_fifty_digits(points, weights, place, t)
    assert field.value([place], t)[0] == 0.0
    assert log_u < -1e5
    np.testing.assert_allclose(field.log_value([place], t)[0], log_u, rtol=TOL)
    np.testing.assert_allclose(field.dimension([place], t)[0], dimension, rtol=TOL)
    np.testing.assert_allclose(field.log_hessian([place], t)[0], Q, rtol=0, atol=TOL * np.abs(Q).max())
    np.testing.assert_array_equal(field.gradient([place], t), np.zeros((1, n)))


def test_a_line_seen_broadside_from_afar():
    """Squared distances agree in all their digits there, and yet the shape of the line is seen."""
    s = cloud("ball", 1, 60)
    line = hf.HeatField(np.c_[0 * s, s])
    Q = line.log_hessian([[1e12, 0.3]], 0.05)[0]
    np.testing.assert_allclose(Q[1, 1], hf.HeatField(s).log_hessian([[0.3]], 0.05)[0, 0, 0], rtol=TOL)
    np.testing.assert_allclose(Q[0], [-1 / (2 * 0.05), 0.0], rtol=TOL)


@pytest.mark.parametrize("copies", [10, 200_000])
def test_covariance_far_from_the_strongest_source(copies):
    """One point against very many, each of them weaker: the covariance must not cancel."""
    points = np.concatenate([[[-45 / 64, 0.0]], np.tile([[45 / 64, 0.0]], (copies, 1))])
    weights = np.concatenate([[1.0], np.full(copies, 0.9)])
    t = 1e-7
    share = 1 / (1 + 0.9 * copies)
    Q = hf.HeatField(points, weights).log_hessian([[0.0, 50.0]], t)[0]
    expected = (np.diag([(45 / 32) ** 2 * share * (1 - share), 0.0]) / (2 * t) - np.eye(2)) / (2 * t)
    np.testing.assert_allclose(Q, expected, rtol=TOL, atol=TOL * np.abs(expected).max())


@everywhere
def test_solves_the_heat_equation(n):
    """du/dt by differences equals the trace of the Hessian."""
    points = cloud("curve", n)
    field = hf.HeatField(points, uneven_weights(len(points)))
    at, t = places_around(points), 0.05
    step = 1e-3 * t
    before2, before, after, after2 = field.value(at, t + step * np.array([-2, -1, 1, 2])).T
    rate = (before2 - 8 * before + 8 * after - after2) / (12 * step)
    laplacian = np.trace(field.hessian(at, t), axis1=1, axis2=2)
    size = field.value(at, t) * (n + field.dimension(at, t)) / (2 * t)
    assert np.abs(laplacian).max() > 0.1 * size.max()
    np.testing.assert_array_less(np.abs(rate - laplacian), 1e-9 * size)
    # And the dimension is n + 2t d/dt log u.
    np.testing.assert_allclose(
        field.dimension(at, t), n + 2 * t * laplacian / field.value(at, t), atol=1e-11 * n, rtol=1e-11
    )


@everywhere
def test_integer_weights_are_repeated_points(n):
    points = cloud("ball", n, 50)
    counts = np.arange(50) % 4
    assert (counts == 0).any()
    weighted = hf.HeatField(points, counts)
    repeated = hf.HeatField(np.repeat(points, counts, axis=0))
    assert weighted.points.shape == (np.count_nonzero(counts), n)
    at, t = places_around(points), [0.01, 0.1]
    for what, floor in (("value", 0.0), ("dimension", 0.0), ("log_hessian", 100.0), ("log_value", 1.0)):
        assert_agree(
            getattr(weighted, what)(at, t), getattr(repeated, what)(at, t), TOL, floor=floor, what=what
        )


def test_weights_of_any_size():
    points = cloud("ball", 2, 50)
    heat = uneven_weights(50)
    at = places_around(points)
    plain = hf.HeatField(points, heat)
    for unit in (2.0**-1000, 2.0**1000):
        scaled = hf.HeatField(points, heat * unit)
        np.testing.assert_array_equal(scaled.dimension(at, 0.01), plain.dimension(at, 0.01))
        np.testing.assert_allclose(
            scaled.log_value(at, 0.01), plain.log_value(at, 0.01) + np.log(unit), rtol=0, atol=1e-11
        )


def test_a_strong_source_far_behind_a_weak_one():
    """Which source is strongest changes with the time; no nearest-neighbour rule finds it."""
    points, weights = np.array([[0.0], [10.0]]), np.array([1e-30, 1.0])
    field = hf.HeatField(points, weights)
    times = np.array([0.01, 0.1, 1.0, 10.0])
    for a, t in enumerate(times):
        log_u, dimension, Q = field_with_fifty_digits(points, weights, [0.5], t)
        np.testing.assert_allclose(field.log_value([[0.5]], times)[0, a], log_u, rtol=TOL, atol=TOL)
        np.testing.assert_allclose(field.dimension([[0.5]], times)[0, a], dimension, rtol=TOL)
        np.testing.assert_allclose(field.log_hessian([[0.5]], times)[0, a], Q, rtol=TOL)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_equal_bits_by_threads(n):
    points = cloud("ball", n, 1500)
    at = places_around(cloud("clusters", n, 300))
    for what in ("value", "dimension", "hessian"):
        one, two, seven = (
            getattr(hf.HeatField(points, n_jobs=jobs), what)(at, [0.001, 0.3]) for jobs in (1, 2, 7)
        )
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, seven)


@everywhere
def test_shapes_and_order_of_times(n):
    points = cloud("ball", n, 30)
    field, times = hf.HeatField(points), [0.1, 0.001, 0.1]
    tails = {"value": (), "log_value": (), "dimension": (), "gradient": (n,), "hessian": (n, n)}
    for name, tail in {**tails, "log_hessian": (n, n)}.items():
        ask = getattr(field, name)
        for q in (0, 1, 4):
            at = points[:q]
            assert ask(at, 0.1).shape == (q, *tail)
            assert ask(at, times).shape == (q, 3, *tail)
            np.testing.assert_array_equal(ask(at, times)[:, 2], ask(at, 0.1))


def test_repr_and_pickle():
    field = hf.HeatField(cloud("ball", 3, 30), np.arange(30))
    assert repr(field) == "HeatField of 29 points in 3 dimensions: method auto, tol 1e-06"
    assert repr(hf.HeatField([[1.0]])).startswith("HeatField of 1 point in 1 dimension:")
    points = np.ones((3, 2))
    own = hf.HeatField(points)
    points[0] = 7.0  # the caller's array
    np.testing.assert_array_equal(own.points, np.ones((3, 2)))
    again = pickle.loads(pickle.dumps(field))
    np.testing.assert_array_equal(again.value(field.points, 0.1), field.value(field.points, 0.1))


def test_no_table_of_places_and_points():
    """6000 x 6000 numbers would take 288 MB."""
    points = cloud("curve", 3, 6000)
    field = hf.HeatField(points)
    field.hessian(points[:2], 1e-6)
    tracemalloc.start()
    field.hessian(points, 1e-6)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10e6


SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
PLACE = [[1.0, 2.0]]
POSITIVE, SHAPE = (
    "t must be positive and finite, got ",
    "weights must have shape (m,) with m = 3 points, got ",
)


@pytest.mark.parametrize(
    ("points", "weights", "message"),
    [
        (np.empty((0, 3)), None, "points is empty: a heat field needs at least one point, got shape (0, 3)"),
        ([[0.0, np.nan]], None, "points has nan in row 0, column 1 (1 of 1 rows are not finite)"),
        (SQUARE, [1, 2], SHAPE + "shape (2,)"),
        (SQUARE, [[1, 2, 3]], SHAPE + "shape (1, 3)"),
        (SQUARE, "abc", SHAPE + "str 'abc'"),
        (SQUARE, [1, -2, 3], "weights must be non-negative and finite, got weights[1] = -2.0"),
        (SQUARE, [1, 2, np.inf], "weights must be non-negative and finite, got weights[2] = inf"),
        (SQUARE, [0, 0, 0], "weights are all zero: at least one of the 3 points must give heat"),
    ],
)
def test_wrong_fields_are_named(points, weights, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        hf.HeatField(points, weights)


@pytest.mark.parametrize(
    ("at", "t", "message"),
    [
        ([[1.0, 2.0, 3.0]], 1.0, "at must have shape (q, n) with n = 2 as the points have, got shape (1, 3)"),
        ([1.0, 2.0], 1.0, "at must have shape (q, n) with n = 2 as the points have, got shape (2,)"),
        (
            [[1.0, 2.0], [3.0]], 1.0,
            "at must be a (q, n) array of numbers with n = 2, got list [[1.0, 2.0], [3.0]]",
        ),
        ([[1.0, 2.0], [np.inf, 1.0]], 1.0, "at has inf in row 1, column 0"),
        (
            [[1.0, 2.0], [1e200, 1.0]], 1.0,
            "at has row 1, [1e+200, 1.0], more than 1e140 times the extent of points away",
        ),
        (PLACE, 0.0, POSITIVE + "t = 0.0"),
        (PLACE, [1.0, -1.0], POSITIVE + "t[1] = -1.0"),
        (PLACE, np.nan, POSITIVE + "t = nan"),
        (PLACE, [], "t is empty: at least one diffusion time is needed"),
        (PLACE, [[1.0]], "t must be a number or have shape (T,), got shape (1, 1)"),
        (PLACE, "soon", "t must be a number or a list of numbers, got str 'soon'"),
        (PLACE, 1e-305, "t = 1e-305 is out of all proportion to the extent of points, about 1"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("what", ["value", "gradient", "hessian", "dimension"])
def test_wrong_questions_are_named(what, at, t, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        getattr(hf.HeatField(SQUARE), what)(at, t)


def test_no_guess_about_transposed_places():
    """n is known from the points, so two places in many dimensions are just that."""
    with pytest.warns(hf.HeatFieldWarning):
        field = hf.HeatField(np.eye(12)[:2])
    assert field.value(np.zeros((2, 12)), 1.0).shape == (2,)


# --- to a tolerance: at every place, however far, and the choice of path ----------------

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
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_tolerance_holds_at_every_query_point(n, name, weights, costs, monkeypatch):
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
def test_wrong_methods_and_tolerances_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        hf.HeatField([[0.0, 1.0]], **options)
