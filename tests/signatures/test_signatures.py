"""Every signature against the plain NumPy reference, and what must hold without one."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import reference
from tests.helpers.agreement import GLOBAL, LOCAL, assert_agree, assert_same_signatures
from tests.helpers.clouds import CLOUDS, ball, cloud, on_grid, rotation


def expected_signatures(points, scales, transition="difference", **hds):
    """The reference's answer under the names of `Signatures`."""
    n = points.shape[1]
    local = reference.local_signatures(points, scales, transition)
    shares = reference.heat_dimension_spectrum(*local[:2], n, **hds)
    whole = reference.global_signatures(points, scales) if np.ndim(scales) == 1 else [None] * 4
    return SimpleNamespace(
        **dict(zip(LOCAL, local, strict=True)),
        **dict(zip(GLOBAL, whole, strict=True)),
        hds=SimpleNamespace(composition=shares[0], contrast=shares[1]),
    )


@cache
def expected_cloud(name, n, transition):
    """The cloud and what to expect of it at the library's own times, which test_scales.py compares.

    The heat dimension of an isolated point, down to 1e-280, answers to a change of t in the
    last digit with hundreds of times as much: the times have to be the same numbers.
    """
    points = cloud(name, n) if n < 64 else cloud(name, n, m=70)
    return points, expected_signatures(points, hf.scale_schedule(points), transition)


@pytest.mark.parametrize(("dtype", "tol", "floor"), [("float64", 1e-12, 1e-280), ("float32", 1e-4, 1e-25)])
@pytest.mark.parametrize("transition", ["difference", "exact"])
@pytest.mark.parametrize(("name", "n"), [*((name, n) for name in CLOUDS for n in (1, 2, 3, 5)), ("ball", 64)])
def test_equals_the_reference(name, n, transition, dtype, tol, floor):
    points, expected = expected_cloud(name, n, transition)
    found = hf.signatures(points, transition=transition, dtype=dtype)
    assert found.density.dtype == np.float64
    assert_same_signatures(found, expected, tol, dimension_floor=floor)


@pytest.mark.parametrize("m", [4, 15, 16, 17, 511, 512, 513, 1100])
def test_sizes_around_blocks_and_tiles(m):
    points = cloud("curve", 3, m)
    expected = expected_signatures(points, hf.scale_schedule(points))
    assert_same_signatures(hf.signatures(points), expected, 1e-12)


@pytest.mark.parametrize("transition", ["difference", "exact"])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_per_point_times_equal_the_reference(n, transition):
    points = cloud("clusters", n)
    scales = hf.adaptive_scales(points)
    found = hf.signatures(points, scales, transition=transition)
    assert_same_signatures(found, expected_signatures(points, scales, transition), 1e-12, names=LOCAL)
    np.testing.assert_array_equal(found.scales, scales)
    for name in GLOBAL:
        np.testing.assert_array_equal(getattr(found, name), np.full(8, np.nan))


@pytest.mark.parametrize(
    ("scales", "transition"), [([1e-4, 0.003, 0.004, 0.1, 30.0], "difference"), ([0.02], "exact")]
)
def test_given_times_are_taken_as_they_are(scales, transition):
    points = cloud("ball")
    found = hf.signatures(points, scales, transition=transition)
    assert_same_signatures(found, expected_signatures(points, np.array(scales), transition), 1e-12)
    np.testing.assert_array_equal(found.scales, scales)
    schedule = hf.signatures(points, n_scales=5, c_min=0.1, c_max=0.3).scales
    np.testing.assert_array_equal(schedule, hf.scale_schedule(points, 5, c_min=0.1, c_max=0.3))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("transition", ["difference", "exact"])
def test_without_spectrum_the_rest_is_the_same(n, transition):
    points = cloud("ball", n)
    whole = hf.signatures(points, transition=transition)
    found = hf.signatures(points, transition=transition, with_spectrum=False)
    assert found.spectrum is None
    for name in ("density", "dimension", "transition", *GLOBAL):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    assert found.per_point().shape == (len(points), 3 * 8)


def test_centres_and_width_of_the_heat_dimension_spectrum():
    points, centers = cloud("sphere"), [0.5, 1.0, 2.5, 7.0]
    found = hf.signatures(points, hds_centers=centers, hds_sigma=0.2)
    expected = expected_signatures(points, hf.scale_schedule(points), sigma=0.2, centers=centers)
    assert_same_signatures(found, expected, 1e-12)
    np.testing.assert_array_equal(found.hds.centers, centers)
    assert found.hds.sigma == 0.2
    far = hf.signatures(points, hds_centers=[100.0, 200.0], hds_sigma=0.01).hds  # still shares
    np.testing.assert_array_equal(far.composition, [[1.0, 0.0]] * 8)
    np.testing.assert_allclose(far.contrast, 0.0, atol=1e-15)


# --- few points, known by hand -----------------------------------------------------


@pytest.mark.parametrize("transition", ["difference", "exact"])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_one_point(n, transition):
    t = np.array([0.1, 1.0, 20.0])
    found = hf.signatures(np.full((1, n), 7.0), t, transition=transition)
    u = (4 * np.pi * t) ** (-n / 2)
    assert_agree(found.density, u[None], 1e-15)
    np.testing.assert_array_equal(found.dimension, np.zeros((1, 3)))
    np.testing.assert_array_equal(found.transition, np.zeros((1, 3)))
    np.testing.assert_array_equal(found.spectrum, np.full((1, 3, n), -1.0))
    assert_agree(found.energy, (8 * np.pi * t) ** (-n / 2), 1e-15)
    np.testing.assert_array_equal(found.response, np.full(3, n / 2))
    assert_agree(found.hds.contrast, np.zeros((3, n + 1)), 1e-15, floor=1.0)


def test_two_points():
    """At distance D: w = exp(-D**2 / 4t), d = D**2 w / 2t (1 + w)."""
    t, distance = np.array([0.05, 1.0, 9.0]), 2.0
    w = np.exp(-(distance**2) / (4 * t))
    found = hf.signatures([[0.0, 0.0, 0.0], [0.0, distance, 0.0]], t)
    assert_agree(found.density, [(4 * np.pi * t) ** -1.5 * (1 + w)] * 2, 1e-14)
    assert_agree(found.dimension, [distance**2 * w / (2 * t * (1 + w))] * 2, 1e-14)
    assert_agree(found.spectrum[0, :, 0], distance**2 * w / (2 * t * (1 + w) ** 2) - 1, 1e-14, floor=1.0)
    np.testing.assert_array_equal(found.spectrum[:, :, 1:], -np.ones((2, 3, 2)))


@pytest.mark.parametrize("count", [2, 40])
def test_equal_points_are_one_point_many_times(count):
    t = np.array([0.1, 1.0])
    found = hf.signatures(np.full((count, 3), 0.1), t)
    one = hf.signatures(np.full((1, 3), 0.1), t)
    assert_agree(found.density, np.repeat(count * one.density, count, axis=0), 1e-15)
    np.testing.assert_array_equal(found.dimension, np.zeros((count, 2)))
    np.testing.assert_array_equal(found.spectrum, np.full((count, 2, 3), -1.0))


def assert_undefined(found, m, n, T=8):
    """NaN everywhere, in the right shapes: what cannot be computed is never 0."""
    shapes = {"density": (m, T), "dimension": (m, T), "transition": (m, T), "spectrum": (m, T, n)}
    for name, shape in {**shapes, **dict.fromkeys(GLOBAL, (T,))}.items():
        np.testing.assert_array_equal(getattr(found, name), np.full(shape, np.nan), err_msg=name)
    for name in ("composition", "contrast"):
        np.testing.assert_array_equal(getattr(found.hds, name), np.full((T, n + 1), np.nan), err_msg=name)
    assert found.per_point().shape == (m, (3 + n) * T)


@pytest.mark.parametrize("m", [0, 1, 5])
def test_without_two_distinct_points_all_is_nan(m):
    with pytest.warns(hf.HeatFieldWarning):
        found = hf.signatures(np.full((m, 3), 2.0))
    np.testing.assert_array_equal(found.scales, np.full(8, np.nan))
    assert_undefined(found, m, 3)


@pytest.mark.parametrize("scales", [np.array([0.1, 1.0]), np.empty((0, 2))], ids=["common", "separate"])
def test_no_points_have_empty_signatures(scales):
    found = hf.signatures(np.empty((0, 2)), scales)
    np.testing.assert_array_equal(found.scales, scales)
    assert_undefined(found, 0, 2, T=2)


# --- what must hold whatever the numbers -------------------------------------------


@pytest.mark.parametrize("name", ["ball", "clusters", "lattice"])
def test_repeated_clouds_double_the_density(name):
    points = cloud(name)
    once, twice = hf.signatures(points), hf.signatures(np.concatenate([points, points]))
    assert_agree(twice.scales, once.scales, 1e-14)
    assert_agree(twice.density, np.tile(2 * once.density, (2, 1)), 1e-12)
    assert_agree(twice.dimension, np.tile(once.dimension, (2, 1)), 1e-12, floor=1e-280)
    assert_agree(twice.spectrum, np.tile(once.spectrum, (2, 1, 1)), 1e-12, floor=1.0)


@pytest.mark.parametrize("factor", [2.0**-30, 0.37, 1000.0])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_scaling(n, factor):
    """Lengths times s: scales times s**2, density times s**-n, and what has no unit stays."""
    points = cloud("curve", n)
    before, after = hf.signatures(points), hf.signatures(factor * points)
    assert_agree(after.scales, factor**2 * before.scales, 1e-12)
    assert_agree(after.density, factor**-n * before.density, 1e-10)
    assert_agree(after.energy, factor**-n * before.energy, 1e-10)
    assert_agree(after.roughness, factor ** (-n - 2) * before.roughness, 1e-10)
    for name in ("dimension", "transition", "spectrum", "response"):
        assert_agree(getattr(after, name), getattr(before, name), 1e-10, floor=1e-10, what=name)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_equal_bits_by_threads(n, dtype):
    points = cloud("clusters", n, m=700)
    for scales in (None, hf.adaptive_scales(points)):
        one, *others = (hf.signatures(points, scales, dtype=dtype, n_jobs=jobs) for jobs in (1, 2, 3))
        for found in others:
            for name in (*LOCAL, *GLOBAL):
                np.testing.assert_array_equal(getattr(found, name), getattr(one, name), err_msg=name)


def test_other_kinds_of_points_are_read():
    points = np.round(10 * ball(np.random.default_rng(0), 3, 50))
    points.flags.writeable = False
    copy, expected = points.copy(), hf.signatures(points).per_point()
    for kind in (points.astype(int), points.astype(np.float32), points.tolist(), np.asfortranarray(points)):
        np.testing.assert_array_equal(hf.signatures(kind).per_point(), expected)
    np.testing.assert_array_equal(points, copy)


# --- invariance ----------------------------------------------------------------------

every_cloud = pytest.mark.parametrize(
    "name", ["sphere", "curve", "ball", "clusters", "duplicates", "lattice", "collinear"]
)


def mirror(n):
    """A reflection at a random plane, and one of an axis."""
    normal, axis = rotation(n, seed=1)[0], np.eye(n)[0]
    return [np.eye(n) - 2 * np.outer(v, v) for v in (normal, axis)]


@every_cloud
@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("transition", ["difference", "exact"])
def test_motions_change_nothing(name, n, transition):
    points = cloud(name, n)
    before = hf.signatures(points, transition=transition)
    moves = [*mirror(n), *([rotation(n)] if n > 1 else [])]
    for moved in (*(points @ move.T for move in moves), points + np.pi):
        after = hf.signatures(moved, transition=transition)
        assert_agree(after.scales, before.scales, 1e-12)
        assert_same_signatures(after, before, 1e-10)


@every_cloud
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_order_of_the_points_does_not_matter(name, n):
    points = cloud(name, n)
    order = np.random.default_rng(2).permutation(len(points))
    before = hf.signatures(points)
    moved = {key: getattr(before, key)[order] for key in LOCAL}
    assert_same_signatures(hf.signatures(points[order]), replace(before, local=moved), 1e-10)


@pytest.mark.parametrize("shift", [5e6, -5e6, 0.5])
@every_cloud
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_exact_translations_change_no_bit(name, n, shift):
    points = on_grid(cloud(name, n))
    moved = points + shift
    np.testing.assert_array_equal(moved - shift, points)
    before, after = hf.signatures(points), hf.signatures(moved)
    for key in ("scales", *LOCAL, *GLOBAL):
        np.testing.assert_array_equal(getattr(after, key), getattr(before, key), err_msg=key)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_rotations_change_no_per_point_times(n):
    points = cloud("clusters", n)
    turned = points @ rotation(n).T
    before, after = (hf.signatures(x, hf.adaptive_scales(x)) for x in (points, turned))
    assert_same_signatures(after, before, 1e-10, names=LOCAL)
