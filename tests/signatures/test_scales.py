"""Scale schedules of a cloud and of each point."""

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import reference
from tests.helpers.agreement import assert_agree
from tests.helpers.clouds import CLOUDS, cloud

everywhere = pytest.mark.parametrize("n", [1, 2, 3, 5])


@everywhere
@pytest.mark.parametrize("name", CLOUDS)
def test_schedule(name, n):
    points = cloud(name, n)
    assert_agree(hf.scale_schedule(points), reference.scale_schedule(points), 1e-13)
    expected = reference.scale_schedule(points, 3, 0.2, 0.6)
    assert_agree(hf.scale_schedule(points, 3, c_min=0.2, c_max=0.6), expected, 1e-13)


@pytest.mark.parametrize("n_scales", [2, 8, 50])
def test_schedule_ends_where_it_says(n_scales):
    scales = hf.scale_schedule([[0, 0], [3, 0], [0, 4]], n_scales)
    assert scales.shape == (n_scales,)
    assert_agree(scales[[0, -1]], [0.05 * (10 / 3) ** 2, 0.25 * 25], 1e-15)  # r_nn = (3 + 3 + 4) / 3
    assert (np.diff(scales) > 0).all()
    ratios = scales[1:] / scales[:-1]
    assert_agree(ratios, np.full(n_scales - 1, ratios[0]), 1e-13)


@everywhere
def test_schedule_counts_each_place_once(n):
    points = cloud("ball", n)
    copies = np.random.default_rng(3).integers(1, 30, len(points))
    assert_agree(hf.scale_schedule(np.repeat(points, copies, axis=0)), hf.scale_schedule(points), 1e-12)


def test_negative_zero_is_zero():
    one = hf.scale_schedule([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    two = hf.scale_schedule([[0.0, -0.0], [-0.0, 0.0], [1.0, 0.0], [3.0, -0.0]])
    assert_agree(two, one, 1e-15)


@pytest.mark.parametrize("m", [0, 1, 7])
def test_fewer_than_two_places_have_no_schedule(m):
    with pytest.warns(hf.HeatFieldWarning):
        scales = hf.scale_schedule(np.full((m, 2), 3.0), 4)
    np.testing.assert_array_equal(scales, np.full(4, np.nan))


# --- times of each point's own -----------------------------------------------------


@everywhere
@pytest.mark.parametrize("name", ["curve", "ball", "clusters", "map_coordinates", "lattice", "tiny", "huge"])
def test_adaptive_scales(name, n):
    points = cloud(name, n)
    assert_agree(hf.adaptive_scales(points), reference.adaptive_scales(points), 1e-14)
    expected = reference.adaptive_scales(points, 3, 5, 0.1, 2.0)
    assert_agree(hf.adaptive_scales(points, 3, k=5, multipliers=(0.1, 2.0)), expected, 1e-14)


def test_adaptive_scales_count_copies_as_neighbours():
    points = [[0.0], [0.0], [1.0], [3.0]]
    found = hf.adaptive_scales(points, 2, k=2, multipliers=(1, 2))
    np.testing.assert_allclose(found, [[1, 2], [1, 2], [1, 2], [9, 18]], rtol=1e-15)


def test_adaptive_scales_reach_the_farthest_neighbour():
    points = cloud("ball", 2, m=20)
    expected = reference.adaptive_scales(points, k=19)
    assert_agree(hf.adaptive_scales(points, k=19), expected, 1e-14)
