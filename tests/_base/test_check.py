"""Bad input gets a clear error that names the argument and repeats what was given."""

import re

import numpy as np
import pytest

import heatfield as hf
from heatfield._base.check import as_clouds

SQUARE = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
CALLS = [hf.signatures, hf.scale_schedule, lambda points: hf.adaptive_scales(points, k=1)]
every_call = pytest.mark.parametrize("call", CALLS, ids=["signatures", "scale_schedule", "adaptive_scales"])


def error(message):
    """Expect a ValueError with exactly this message."""
    return pytest.raises(ValueError, match=f"^{re.escape(message)}$")


def warning(message):
    return pytest.warns(hf.HeatFieldWarning, match=f"^{re.escape(message)}$")


def cloud_with(row, column, value, m=5):
    points = np.arange(3.0 * m).reshape(m, 3) ** 2
    points[row, column] = value
    return points


# --- points ------------------------------------------------------------------------

WRONG_POINTS = {
    "strings": (
        [["a", "b"], ["c", "d"]],
        "points must be an (m, n) array of numbers, got list [['a', 'b'], ['c', 'd']]",
    ),
    "numbers in strings": ([["1", "2"]], "points must be an (m, n) array of numbers, got list [['1', '2']]"),
    "one string": (
        "cloud.xyz",
        "points is str 'cloud.xyz': a file is read by heatfield.read_points(path)",
    ),
    "none": (None, "points must be an (m, n) array of numbers, got NoneType None"),
    "ragged": (
        [[1.0, 2.0], [3.0]],
        "points must be an (m, n) array of numbers, got list [[1.0, 2.0], [3.0]]",
    ),
    "long, cut short": (
        [["x"] * 100],
        "points must be an (m, n) array of numbers, got list "
        "[['x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', ...",
    ),
    "complex": ([[1j, 0]], "points must be an (m, n) array of numbers, got list [[1j, 0]]"),
    "empty list": ([], "points must have shape (m, n), m points in n dimensions, got shape (0,)"),
    "one axis": ([1.0, 2.0, 3.0], "points must have shape (m, n), m points in n dimensions, got shape (3,)"),
    "three axes": (
        np.zeros((4, 2, 3)),
        "points must have shape (m, n), m points in n dimensions, got shape (4, 2, 3)",
    ),
    "a number": (7.0, "points must have shape (m, n), m points in n dimensions, got shape ()"),
    "no coordinates": (
        np.zeros((4, 0)),
        "points must have at least one coordinate per point, got shape (4, 0)",
    ),
    "nan": (cloud_with(2, 1, np.nan), "points has nan in row 2, column 1 (1 of 5 rows are not finite)"),
    "infinite": (
        cloud_with(4, 0, -np.inf),
        "points has -inf in row 4, column 0 (1 of 5 rows are not finite)",
    ),
    "all nan": (np.full((3, 2), np.nan), "points has nan in row 0, column 0 (3 of 3 rows are not finite)"),
    "too large a unit": (
        np.array([[0.0], [1e150], [2e150]]),
        "points spans 2e+150; change the unit so that it lies between 1e-140 and 1e140",
    ),
    "too small a unit": (
        np.array([[0.0], [1e-150], [2e-150]]),
        "points spans 2e-150; change the unit so that it lies between 1e-140 and 1e140",
    ),
    "span beyond float64": (
        np.array([[-1.7e308], [1.7e308]]),
        "points spans inf; change the unit so that it lies between 1e-140 and 1e140",
    ),
}


@every_call
@pytest.mark.parametrize(("points", "message"), WRONG_POINTS.values(), ids=WRONG_POINTS)
def test_points(call, points, message):
    with error(message):
        call(points)


@every_call
@pytest.mark.parametrize("m", [2, 3])
def test_transposed_points_warn(call, m):
    points = np.random.default_rng(0).normal(size=(m, 12))
    message = (
        f"points has shape ({m}, 12), read as {m} points in 12 dimensions; "
        f"if it is 12 points in {m} dimensions, pass its transpose"
    )
    with warning(message) as caught:
        call(points)
    if call in (hf.signatures, hf.scale_schedule):
        assert caught[0].filename == __file__  # it points at the caller's line


@pytest.mark.parametrize("call", [hf.signatures, hf.scale_schedule])
@pytest.mark.parametrize(
    ("points", "found"),
    [
        (np.empty((0, 3)), "0 distinct points of 0"),
        (np.ones((1, 3)), "1 distinct point of 1"),
        (np.ones((2, 3)), "1 distinct point of 2"),
        (np.full((50, 3), 5e6 + 0.1), "1 distinct point of 50"),
    ],
    ids=["no points", "one point", "two equal", "all equal"],
)
def test_fewer_than_two_places(call, points, found):
    message = (
        f"points has {found}: a scale schedule needs two, "
        "so its scales and all that follows from them are NaN"
    )
    with warning(message) as caught:
        call(points)
    assert caught[0].filename == __file__


def test_two_points_and_collinear_points_are_fine():
    assert np.isfinite(hf.signatures([[0.0, 0.0], [1.0, 2.0]]).per_point()).all()
    line = np.outer(np.arange(30.0), [1.0, -2.0, 0.5])
    found = hf.signatures(line)
    assert np.isfinite(found.per_point()).all()
    np.testing.assert_allclose(found.spectrum[:, :, 1:], -1.0, rtol=1e-14)  # nothing across the line


# --- scales ------------------------------------------------------------------------

WRONG_SCALES = {
    "zero": ([0.0, 1.0], "scales must be positive and finite, got scales[0] = 0.0"),
    "negative": ([0.1, -1.0], "scales must be positive and finite, got scales[1] = -1.0"),
    "nan": ([0.1, 0.2, np.nan], "scales must be positive and finite, got scales[2] = nan"),
    "infinite": ([0.1, np.inf], "scales must be positive and finite, got scales[1] = inf"),
    "negative of one point": (
        [[1, 2], [1, 2], [1, -2], [1, 2]],
        "scales must be positive and finite, got scales[2, 1] = -2.0",
    ),
    "unsorted": ([0.5, 0.1], "scales must increase, got [0.5 0.1]"),
    "repeated": ([0.5, 0.5], "scales must increase, got [0.5 0.5]"),
    "empty": ([], "scales is empty: at least one diffusion time is needed"),
    "a number": (0.1, "scales must have shape (T,) or (m, T) with m = 4 points, got shape ()"),
    "rows for other points": (
        np.ones((3, 8)),
        "scales must have shape (T,) or (m, T) with m = 4 points, got shape (3, 8)",
    ),
    "strings": (["a", "b"], "scales must be numbers, got list ['a', 'b']"),
    "ragged": ([[1, 2], [1]], "scales must be numbers, got list [[1, 2], [1]]"),
    "one time": (
        [0.1],
        "scales must hold at least 2 times for transition='difference', got 1; "
        "use transition='exact' for a single time",
    ),
}


@pytest.mark.parametrize(("scales", "message"), WRONG_SCALES.values(), ids=WRONG_SCALES)
def test_scales(scales, message):
    with error(message):
        hf.signatures(SQUARE, scales)


def test_unsorted_scales_of_one_point_show_that_point():
    with pytest.raises(ValueError, match=r"^scales must increase, got .*\[4\. 3\.\]$"):
        hf.signatures(SQUARE, [[1, 2], [1, 2], [4, 3], [1, 2]])


# --- options -----------------------------------------------------------------------

WRONG_OPTIONS = [
    ({"n_scales": 1}, "n_scales must be an integer of at least 2, got 1"),
    ({"n_scales": 0}, "n_scales must be an integer of at least 2, got 0"),
    ({"n_scales": 8.0}, "n_scales must be an integer of at least 2, got 8.0"),
    ({"n_scales": True}, "n_scales must be an integer of at least 2, got True"),
    ({"n_scales": "8"}, "n_scales must be an integer of at least 2, got '8'"),
    ({"c_min": 0}, "c_min and c_max must satisfy 0 < c_min < c_max, got 0 and 0.25"),
    ({"c_min": -0.1}, "c_min and c_max must satisfy 0 < c_min < c_max, got -0.1 and 0.25"),
    ({"c_min": 0.3}, "c_min and c_max must satisfy 0 < c_min < c_max, got 0.3 and 0.25"),
    ({"c_min": "a"}, "c_min and c_max must satisfy 0 < c_min < c_max, got 'a' and 0.25"),
    ({"c_max": np.inf}, "c_min and c_max must satisfy 0 < c_min < c_max, got 0.05 and inf"),
    ({"c_max": float("nan")}, "c_min and c_max must satisfy 0 < c_min < c_max, got 0.05 and nan"),
    ({"transition": "fast"}, "transition must be one of 'difference', 'exact', got 'fast'"),
    ({"method": "slow"}, "method must be one of 'auto', 'dense', 'fast', got 'slow'"),
    ({"dtype": "float16"}, "dtype must be 'float64' or 'float32', got 'float16'"),
    ({"dtype": "int64"}, "dtype must be 'float64' or 'float32', got 'int64'"),
    ({"dtype": "double precision"}, "dtype must be 'float64' or 'float32', got 'double precision'"),
    ({"n_jobs": 0}, "n_jobs must be a positive integer, -1 for all cores, or None for one, got 0"),
    ({"n_jobs": 1.5}, "n_jobs must be a positive integer, -1 for all cores, or None for one, got 1.5"),
    ({"n_jobs": True}, "n_jobs must be a positive integer, -1 for all cores, or None for one, got True"),
    ({"n_jobs": "all"}, "n_jobs must be a positive integer, -1 for all cores, or None for one, got 'all'"),
    ({"hds_sigma": 0}, "hds_sigma must be a number above 0, got 0"),
    ({"hds_sigma": -1.0}, "hds_sigma must be a number above 0, got -1.0"),
    ({"hds_sigma": float("nan")}, "hds_sigma must be a number above 0, got nan"),
    ({"hds_sigma": "wide"}, "hds_sigma must be a number above 0, got 'wide'"),
    ({"hds_sigma": None}, "hds_sigma must be a number above 0, got None"),
    ({"hds_centers": []}, "hds_centers must be a list of finite numbers, got []"),
    ({"hds_centers": [[0, 1]]}, "hds_centers must be a list of finite numbers, got [[0, 1]]"),
    ({"hds_centers": [0, float("inf")]}, "hds_centers must be a list of finite numbers, got [0, inf]"),
    ({"hds_centers": "flat"}, "hds_centers must be a list of finite numbers, got 'flat'"),
    ({"hds_centers": [[0], [1, 2]]}, "hds_centers must be a list of finite numbers, got [[0], [1, 2]]"),
]


@pytest.mark.parametrize(("option", "message"), WRONG_OPTIONS, ids=[str(o) for o, _ in WRONG_OPTIONS])
def test_options(option, message):
    with error(message):
        hf.signatures(SQUARE, **option)


def test_options_of_the_schedules():
    for call in (hf.scale_schedule, lambda p, **o: hf.adaptive_scales(p, k=1, **o)):
        with error("n_scales must be an integer of at least 2, got 1"):
            call(SQUARE, n_scales=1)
    with error("c_min and c_max must satisfy 0 < c_min < c_max, got 20 and 0.25"):
        hf.scale_schedule(SQUARE, c_min=20)
    with error("multipliers must increase, got (20, 12.5)"):
        hf.adaptive_scales(SQUARE, k=1, multipliers=(20, 12.5))
    with error("multipliers must be a number above 0, got 0"):
        hf.adaptive_scales(SQUARE, k=1, multipliers=(0, 12.5))


@pytest.mark.parametrize("k", [0, -1, 1.0, "8", None])
def test_adaptive_scales_count_of_neighbours(k):
    with error(f"k must be an integer of at least 1, got {k!r}"):
        hf.adaptive_scales(SQUARE, k=k)


@pytest.mark.parametrize("m", [0, 1, 4])
def test_adaptive_scales_of_too_few_points(m):
    with error(f"k must be smaller than the number of points, got k=4 for {m} points"):
        hf.adaptive_scales(SQUARE[:m] if m else np.empty((0, 2)), k=4)


def test_adaptive_scales_where_copies_fill_the_neighbourhood():
    message = (
        "points has 2 or more copies of row 4, so neighbour 2 is at distance 0; "
        "use a larger k or distinct points"
    )
    with error(message):
        hf.adaptive_scales([*SQUARE, [7.0, 7.0], [7.0, 7.0], [7.0, 7.0]], k=2)


# --- lists of clouds ---------------------------------------------------------------

WRONG_CLOUDS = {
    "one cloud": (
        np.zeros((5, 3)),
        "clouds must be a list of (m, n) arrays, got one array of shape (5, 3); "
        "for a single cloud pass [points]",
    ),
    "string": ("folder", "clouds is str 'folder': files are read by heatfield.read_points(path)"),
    "number": (3, "clouds must be a list of (m, n) arrays, got int 3"),
    "none": (None, "clouds must be a list of (m, n) arrays, got NoneType None"),
    "empty": ([], "clouds is empty: at least one cloud is needed"),
    "nan in the middle": (
        [SQUARE, cloud_with(3, 2, np.nan), SQUARE],
        "clouds[1] has nan in row 3, column 2 (1 of 5 rows are not finite)",
    ),
    "ragged in the middle": (
        [SQUARE, [[1, 2], [3]], SQUARE],
        "clouds[1] must be an (m, n) array of numbers, got list [[1, 2], [3]]",
    ),
    "strings at the end": (
        [SQUARE, SQUARE, [["a"]]],
        "clouds[2] must be an (m, n) array of numbers, got list [['a']]",
    ),
    "a point among clouds": (
        [SQUARE, [1.0, 2.0]],
        "clouds[1] must have shape (m, n), m points in n dimensions, got shape (2,)",
    ),
    "other dimension": (
        [SQUARE, SQUARE, np.zeros((4, 3))],
        "clouds[2] has 3 coordinates per point, clouds[0] has 2; all must agree",
    ),
}


@pytest.mark.parametrize(("clouds", "message"), WRONG_CLOUDS.values(), ids=WRONG_CLOUDS)
def test_clouds(clouds, message):
    with error(message):
        as_clouds(clouds)


def test_a_transposed_cloud_is_named():
    message = (
        "clouds[1] has shape (3, 14), read as 3 points in 14 dimensions; "
        "if it is 14 points in 3 dimensions, pass its transpose"
    )
    with warning(message):
        as_clouds([np.zeros((4, 14)), np.arange(42.0).reshape(3, 14)])
