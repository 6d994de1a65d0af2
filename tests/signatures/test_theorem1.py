"""Theorem 1 on samples: the heat dimension is right inside the window it names, and wrong outside it.

The proof leaves its constants open. To first order in t and 1/mu they can be had in closed form, and
the tests hold the library to them:

- noise: d_heat - d has the variance ``v_d / mu`` with v_d = 2**(-d/2) (d/2 + d**2/4);
- the self-point takes d / mu, and the mean of a ratio gives back 2**(-d/2 - 1) of that;
- bias: a curve gives t k**2 / 2, a surface t (k1 - k2)**2 / 2, so at most t/2 or 2t where the reach is 1.
"""

import numpy as np
import pytest
from scipy.special import ive
from scipy.stats import kstest

import heatfield as hf
from heatfield.datasets import sample_manifold

NAMES = ("circle", "sphere", "torus", "swiss_roll")
DELTA = 0.05
WELL_BELOW = 0.1  # "t << reach**2" in numbers: at t = 0.1 the next sheet of the roll weighs exp(-10)
VARIANCE = {d: 2 ** (-d / 2) * (d / 2 + d**2 / 4) for d in (1, 2)}
LARGEST_BIAS = {1: 0.5, 2: 2.0}  # times t / reach**2


def deviations(name, m, times, samples=1):
    """d_heat - d at the interior points of a few samples, (points, T), and the first sample itself."""
    manifolds = [sample_manifold(name, m, random_state=[m, k]) for k in range(samples)]
    rows = [
        hf.signatures(s.points, times, with_spectrum=False, transition="exact", n_jobs=-1).dimension[
            s.interior
        ]
        - s.dimension
        for s in manifolds
    ]
    return np.concatenate(rows), manifolds[0]


def bound(manifold, t):
    """The right-hand side of the theorem with leading constants: its geometry and its sampling part.

    C1 is the largest bias that the reach allows, C3 = d, and C2 = sqrt(2 v_d), because a normal
    variable exceeds sqrt(2 log(2/delta)) standard deviations with a probability below delta.
    """
    d, mu = manifold.dimension, manifold.mu(t)
    noise = np.sqrt(2 * VARIANCE[d] * np.log(2 / DELTA) / mu)
    return LARGEST_BIAS[d] * t / manifold.reach**2, noise + d / mu


# --- the samples are what they say ----------------------------------------------------------------------


def normals_of(name, x):
    """Unit normals, from the coordinates alone."""
    if name in ("circle", "sphere"):
        return x
    if name == "torus":
        core = np.c_[x[:, :2] * (2 / np.linalg.norm(x[:, :2], axis=1))[:, None], np.zeros(len(x))]
        return x - core
    angle = np.sqrt((np.pi**2) * (x[:, :2] ** 2).sum(axis=1) - 1)
    return np.c_[np.sin(angle), -np.cos(angle), np.zeros(len(x))]


@pytest.mark.parametrize("name", NAMES)
def test_reach_is_the_smallest_touching_ball(name):
    """Federer: the reach is the infimum of |q - p|**2 / (2 dist(q - p, tangent plane at p))."""
    manifold = sample_manifold(name, 1500, random_state=3)
    x, normals = manifold.points, normals_of(name, manifold.points)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, rtol=1e-12)
    smallest = np.inf
    for p, normal in zip(x, normals, strict=True):
        step = x - p
        length2, off = (step**2).sum(axis=1), np.abs(step @ normal)
        far = off > 1e-3  # below, the ratio is rounding
        smallest = min(smallest, (length2[far] / (2 * off[far])).min())
    assert manifold.reach * (1 - 1e-9) <= smallest <= 1.05 * manifold.reach


@pytest.mark.parametrize("name", NAMES)
def test_points_are_even_in_area(name):
    """The share of the area up to each point is uniform on [0, 1], along both coordinates."""
    x = sample_manifold(name, 20000, random_state=5).points
    turn = np.arctan2(x[:, 1], x[:, 0]) / (2 * np.pi) + 0.5
    if name == "circle":
        shares = [turn]
    elif name == "sphere":
        shares = [turn, (x[:, 2] + 1) / 2]
    elif name == "torus":
        tube = np.arctan2(x[:, 2], np.linalg.norm(x[:, :2], axis=1) - 2)
        shares = [turn, (2 * tube + np.sin(tube)) / (4 * np.pi) + 0.5]
    else:  # arc length of an involute: (radius**2 - base**2) / (2 base)
        arc = (np.pi * (x[:, :2] ** 2).sum(axis=1) - 1 / np.pi) / 2
        shares = [(arc / np.pi - 9 / 8) / 9, x[:, 2] / 6]
    for share in shares:
        assert kstest(share, "uniform").pvalue > 0.01


def test_swiss_roll_has_its_area_and_interior():
    angle = np.linspace(1.5 * np.pi, 4.5 * np.pi, 200001)
    spiral = np.c_[np.cos(angle) + angle * np.sin(angle), np.sin(angle) - angle * np.cos(angle)] / np.pi
    length = np.linalg.norm(np.diff(spiral, axis=0), axis=1).sum()
    roll = sample_manifold("swiss_roll", 4000, random_state=1)
    assert roll.area == pytest.approx(6 * length, rel=1e-8)
    edge = np.minimum(roll.points[:, 2], 6 - roll.points[:, 2])
    assert edge[roll.interior].min() >= 2
    arc = (np.pi * (roll.points[:, :2] ** 2).sum(axis=1) - 1 / np.pi) / 2 - 9 * np.pi / 8
    assert arc[roll.interior].min() >= 2
    assert arc[roll.interior].max() <= 9 * np.pi - 2
    expected = (9 * np.pi - 4) * 2 / (9 * np.pi * 6)
    assert roll.interior.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected / 4000))
    assert all(sample_manifold(name, 50, random_state=0).interior.all() for name in NAMES[:3])


def test_samples_repeat_and_wrong_input_is_named():
    for name in NAMES:
        first, again, other = (sample_manifold(name, 40, random_state=seed).points for seed in (7, 7, 8))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()
    with pytest.raises(ValueError, match=r"name must be one of 'circle'.*got 'klein'"):
        sample_manifold("klein", 10, random_state=0)
    with pytest.raises(ValueError, match="m must be an integer of at least 1, got 0"):
        sample_manifold("torus", 0, random_state=0)
    with pytest.raises(ValueError, match=r"delta must be a number above 0 and below 1, got 1\.5"):
        sample_manifold("torus", 10, random_state=0).window(1.5)


# --- inside the window ----------------------------------------------------------------------------------

# A time inside the window, mu >= 4 log(2/delta), of the smaller cloud, where noise rules in the larger too.
FIXED = {"circle": (1e-3, (1000, 4000)), "sphere": (0.05, (1000, 4000)), "swiss_roll": (0.1, (2500, 10000))}


@pytest.mark.parametrize("name", FIXED)
def test_four_times_the_points_halve_the_error(name):
    """Noise goes as m**-1/2; six samples leave a few per cent of chance in each mean."""
    t, sizes = FIXED[name]
    mean = []
    for m in sizes:
        deviation, manifold = deviations(name, m, [t], samples=6)
        assert manifold.mu(t) >= 4 * np.log(2 / DELTA)
        mean.append(np.abs(deviation).mean())
        predicted = np.sqrt(2 / np.pi * VARIANCE[manifold.dimension] / manifold.mu(t))
        assert mean[-1] == pytest.approx(predicted, rel=0.12)
    slope = np.log(mean[1] / mean[0]) / np.log(sizes[1] / sizes[0])
    assert -0.6 < slope < -0.4


@pytest.mark.parametrize("name", NAMES)
def test_bound_holds_in_the_window_and_is_tight(name):
    """At most a share delta of the points may break the bound, at every time of the window.

    A bound that held by far would say little: at the fine end, where sampling rules, its sampling
    part alone is at most twice what is found.
    """
    m = {"circle": 4000, "sphere": 4000, "torus": 8000, "swiss_roll": 8000}[name]
    low, high = sample_manifold(name, m, random_state=0).window(DELTA)
    assert low < WELL_BELOW * high
    times = np.geomspace(low, WELL_BELOW * high, 6)
    deviation, manifold = deviations(name, m, times)
    error95 = np.percentile(np.abs(deviation), 100 * (1 - DELTA), axis=0)
    geometry, sampling = bound(manifold, times)
    assert (error95 <= geometry + sampling).all()
    assert error95[0] >= sampling[0] / 2


MEAN_BIAS = {"circle": 1 / 2, "sphere": 0.0, "torus": 1 / np.sqrt(3)}  # times t


@pytest.mark.parametrize("name", MEAN_BIAS)
def test_bias_is_linear_in_time(name):
    """Signed means cancel the noise; without the term in 1/mu, b t is left, up to t**2 and 1/mu**2."""
    times = np.array([0.02, 0.04, 0.08])
    deviation, manifold = deviations(name, 8000, times, samples=2)
    d = manifold.dimension
    seen = deviation.mean(axis=0) + d * (1 - 2 ** (-d / 2 - 1)) / manifold.mu(times)
    assert (np.abs(seen - MEAN_BIAS[name] * times) < 2 * times**2 + 0.003).all()


# --- outside it -----------------------------------------------------------------------------------------


def test_above_the_window_closed_forms_hold():
    """2 t d(log u)/dt of the whole shape: Bessel functions on the circle, exponentials on the sphere."""
    times = np.array([0.5, 1.0, 4.0])
    z = 1 / (2 * times)
    expected = {"circle": (1 - ive(1, z) / ive(0, z)) / times, "sphere": 2 - 2 / times / np.expm1(1 / times)}
    for name, dimension in expected.items():
        deviation, manifold = deviations(name, 4000, times, samples=2)
        np.testing.assert_allclose(manifold.dimension + deviation.mean(axis=0), dimension, atol=0.01)


def test_with_few_points_there_is_no_window():
    """On the torus 250 points are too few for any t: everywhere below the reach the error stays large."""
    manifold = sample_manifold("torus", 250, random_state=0)
    low, high = manifold.window(DELTA)
    assert low > high
    deviation, _ = deviations("torus", 250, np.geomspace(1e-3, WELL_BELOW, 8), samples=8)
    assert np.abs(deviation).mean(axis=0).min() > 0.25
