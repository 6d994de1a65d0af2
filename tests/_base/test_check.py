"""Bad input gets a clear error that names the argument and repeats what was given."""

import numpy as np
import pytest

import heatfield as hf
from heatfield._base.check import as_clouds

SQUARE = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
CALLS = [hf.signatures, hf.scale_schedule, lambda points: hf.adaptive_scales(points, k=1)]


def error(message):
    """Expect a ValueError that begins with this pattern."""
    return pytest.raises(ValueError, match=f"^{message}")


def cloud_with(row, column, value):
    points = np.arange(15.0).reshape(5, 3) ** 2
    points[row, column] = value
    return points


# --- points ------------------------------------------------------------------------

WRONG_POINTS = [
    ([["a", "b"]], r"points must be an \(m, n\) array of numbers, got list \[\['a', 'b'\]\]$"),
    ("cloud.xyz", r"points is str 'cloud.xyz': a file is read by heatfield.read_points"),
    ([[1.0, 2.0], [3.0]], r"points must be an .*, got list \[\[1.0, 2.0\], \[3.0\]\]$"),
    ([["x"] * 100], r"points must be an .*, got list \[\['x', .{,60}\.\.\.$"),
    ([[1j, 0]], r"points must be an .*, got list \[\[1j, 0\]\]$"),
    ([1.0, 2.0, 3.0], r"points must have shape \(m, n\), .* got shape \(3,\)$"),
    (np.zeros((4, 0)), r"points must have at least one coordinate per point, got shape \(4, 0\)$"),
    (cloud_with(2, 1, np.nan), r"points has nan in row 2, column 1 \(1 of 5 rows are not finite\)$"),
    (cloud_with(4, 0, -np.inf), r"points has -inf in row 4, column 0"),
    (np.array([[0.0], [1e150]]), r"points spans 1e\+150; change the unit .* between 1e-140 and 1e140$"),
    (np.array([[0.0], [1e-150]]), r"points spans 1e-150; change the unit"),
    (np.array([[-1.7e308], [1.7e308]]), r"points spans inf; change the unit"),
]


@pytest.mark.parametrize(("points", "message"), WRONG_POINTS, ids=[m[:40] for _, m in WRONG_POINTS])
def test_wrong_points_are_named(points, message):
    for call in CALLS:
        with error(message):
            call(points)


@pytest.mark.parametrize("call", CALLS[:2])
def test_transposed_points_warn_at_the_caller(call):
    points = np.random.default_rng(0).normal(size=(3, 12))
    with pytest.warns(hf.HeatFieldWarning, match="read as 3 points in 12 dimensions; .*transpose") as caught:
        call(points)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("call", CALLS[:2])
@pytest.mark.parametrize(
    ("points", "found"),
    [
        (np.empty((0, 3)), "0 distinct points of 0"),
        (np.ones((1, 3)), "1 distinct point of 1"),
        (np.full((50, 3), 5e6 + 0.1), "1 distinct point of 50"),
    ],
)
def test_fewer_than_two_places_warn(call, points, found):
    with pytest.warns(hf.HeatFieldWarning, match=f"^points has {found}: .* are NaN$") as caught:
        call(points)
    assert caught[0].filename == __file__


def test_two_points_and_collinear_points_are_fine():
    assert np.isfinite(hf.signatures([[0.0, 0.0], [1.0, 2.0]]).per_point()).all()
    line = np.outer(np.arange(30.0), [1.0, -2.0, 0.5])
    found = hf.signatures(line)
    assert np.isfinite(found.per_point()).all()
    np.testing.assert_allclose(found.spectrum[:, :, 1:], -1.0, rtol=1e-14)  # nothing across the line


# --- scales and options --------------------------------------------------------------

WRONG_SCALES = [
    ([0.0, 1.0], r"scales must be positive and finite, got scales\[0\] = 0.0$"),
    ([0.1, 0.2, np.nan], r"scales must be positive and finite, got scales\[2\] = nan$"),
    ([[1, 2], [1, 2], [1, -2], [1, 2]], r"scales must be positive and finite, got scales\[2, 1\] = -2.0$"),
    ([0.5, 0.5], r"scales must increase, got \[0.5 0.5\]$"),
    ([[1, 2], [1, 2], [4, 3], [1, 2]], r"scales must increase, got .*\[4\. 3\.\]$"),
    ([], "scales is empty: at least one diffusion time is needed$"),
    (0.1, r"scales must have shape \(T,\) or \(m, T\) with m = 4 points, got shape \(\)$"),
    (np.ones((3, 8)), r"scales must have shape .* got shape \(3, 8\)$"),
    (["a", "b"], r"scales must be numbers, got list \['a', 'b'\]$"),
    ([0.1], "scales must hold at least 2 times for transition='difference', got 1; use transition='exact'"),
]
WRONG_OPTIONS = [
    ({"n_scales": 1}, "n_scales must be an integer of at least 2, got 1$"),
    ({"n_scales": 8.0}, "n_scales must be .* got 8.0$"),
    ({"n_scales": True}, "n_scales must be .* got True$"),
    ({"c_min": 0.3}, "c_min and c_max must satisfy 0 < c_min < c_max, got 0.3 and 0.25$"),
    ({"c_min": "a"}, "c_min and c_max must satisfy .* got 'a' and 0.25$"),
    ({"c_max": np.inf}, "c_min and c_max must satisfy .* got 0.05 and inf$"),
    ({"transition": "fast"}, "transition must be one of 'difference', 'exact', got 'fast'$"),
    ({"dtype": "int64"}, "dtype must be 'float64' or 'float32', got 'int64'$"),
    ({"dtype": "double precision"}, "dtype must be .* got 'double precision'$"),
    ({"n_jobs": 0}, "n_jobs must be a positive integer, -1 for all cores, or None for one, got 0$"),
    ({"n_jobs": "all"}, "n_jobs must be .* got 'all'$"),
    ({"hds_sigma": float("nan")}, "hds_sigma must be a number above 0, got nan$"),
    ({"hds_sigma": None}, "hds_sigma must be a number above 0, got None$"),
    ({"hds_centers": []}, r"hds_centers must be a list of finite numbers, got \[\]$"),
    ({"hds_centers": [[0], [1, 2]]}, r"hds_centers must be .* got \[\[0\], \[1, 2\]\]$"),
]
WRONG_ADAPTIVE = [
    ({"k": 0}, "k must be an integer of at least 1, got 0$"),
    ({"k": 4}, "k must be smaller than the number of points, got k=4 for 4 points$"),
    ({"k": 1, "n_scales": 1}, "n_scales must be an integer of at least 2, got 1$"),
    ({"k": 1, "multipliers": (20, 12.5)}, r"multipliers must increase, got \(20, 12.5\)$"),
    ({"k": 1, "multipliers": (0, 12.5)}, "multipliers must be a number above 0, got 0$"),
]


@pytest.mark.parametrize(
    ("call", "options", "message"),
    [(hf.signatures, {"scales": scales}, message) for scales, message in WRONG_SCALES]
    + [(hf.signatures, *row) for row in WRONG_OPTIONS]
    + [(hf.adaptive_scales, *row) for row in WRONG_ADAPTIVE],
    ids=lambda value: getattr(value, "__name__", str(value)[:40]),
)
def test_wrong_scales_and_options_are_repeated(call, options, message):
    with error(message):
        call(SQUARE, **options)


def test_copies_that_fill_a_neighbourhood_are_named():
    with error("points has 2 or more copies of row 4, so neighbour 2 is at distance 0; use a larger k"):
        hf.adaptive_scales([*SQUARE, [7.0, 7.0], [7.0, 7.0], [7.0, 7.0]], k=2)


# --- lists of clouds ---------------------------------------------------------------

WRONG_CLOUDS = [
    (np.zeros((5, 3)), r"clouds must be a list of .*, got one array of shape \(5, 3\); for a single cloud"),
    ("folder", "clouds is str 'folder': files are read by heatfield.read_points"),
    (3, r"clouds must be a list of \(m, n\) arrays, got int 3$"),
    ([], "clouds is empty: at least one cloud is needed$"),
    ([SQUARE, cloud_with(3, 2, np.nan)], r"clouds\[1\] has nan in row 3, column 2"),
    (
        [SQUARE, [1.0, 2.0]],
        r"clouds\[1\] must have shape \(m, n\), m points in n dimensions, got shape \(2,\)$",
    ),
    (
        [SQUARE, np.zeros((4, 3))],
        r"clouds\[1\] has 3 coordinates per point, clouds\[0\] has 2; all must",
    ),
]


@pytest.mark.parametrize(("clouds", "message"), WRONG_CLOUDS, ids=[m[:30] for _, m in WRONG_CLOUDS])
def test_wrong_clouds_are_named(clouds, message):
    with error(message):
        as_clouds(clouds)
