"""Scale schedules and what they stand on: spacing over distinct points and the exact diameter."""

import numpy as np
import pytest
import reference
from agreement import assert_agree
from clouds import CLOUDS, cloud, on_grid
from scipy.spatial.distance import pdist

import heatfield as hf
from heatfield._cloud.cloud import ArrangedCloud

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


# --- nearest neighbours and the diameter -------------------------------------------


@everywhere
@pytest.mark.parametrize("name", CLOUDS)
def test_diameter(name, n):
    points = cloud(name, n)
    assert_agree(ArrangedCloud.of(points).diameter, pdist(points).max(), 1e-15)


@pytest.mark.parametrize("m", [2, 3, 15, 16, 17, 33, 100])
def test_diameter_of_small_clouds(m):
    for seed in range(20):
        points = np.random.default_rng(seed).normal(size=(m, 3))
        assert_agree(ArrangedCloud.of(points).diameter, pdist(points).max(), 1e-15)


@pytest.mark.parametrize("n", [2, 3])
def test_diameter_of_a_round_cloud(n):
    """On a sphere nearly every pair of opposite blocks is a candidate: the worst case."""
    points = cloud("sphere", n, m=3000)
    assert_agree(ArrangedCloud.of(points).diameter, pdist(points).max(), 1e-15)


def test_diameter_with_many_longest_pairs():
    """The corners of a cube and an even polygon: the walk along farthest points has nowhere to go."""
    corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * 3), axis=-1).reshape(-1, 3)
    assert ArrangedCloud.of(corners).diameter == np.sqrt(3)
    angle = np.arange(500) * 2 * np.pi / 500
    assert_agree(ArrangedCloud.of(np.c_[np.cos(angle), np.sin(angle)]).diameter, 2.0, 1e-15)


def test_diameter_where_the_walk_ends_too_early():
    """A Reuleaux triangle has constant width, but one point pushed out of an arc makes a longer pair."""
    corner = np.exp(2j * np.pi * np.arange(3) / 3) / np.sqrt(3)
    turn = np.linspace(-np.pi / 6, np.pi / 6, 200)
    arcs = np.concatenate([c + np.exp(1j * (turn + np.angle(-c))) for c in corner])
    arcs[50] *= 1 + 1e-9
    points = np.c_[arcs.real, arcs.imag]
    assert_agree(ArrangedCloud.of(points).diameter, pdist(points).max(), 1e-15)


@everywhere
@pytest.mark.parametrize("name", CLOUDS)
def test_spacing(name, n):
    points = cloud(name, n)
    _, squared = reference.pair_differences(np.unique(points, axis=0))
    np.fill_diagonal(squared, np.inf)
    assert_agree(ArrangedCloud.of(points).spacing, np.sqrt(squared.min(axis=1)).mean(), 1e-14)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_map_coordinates_lose_no_digit(n):
    points = on_grid(cloud("ball", n))
    near, far = ArrangedCloud.of(points), ArrangedCloud.of(points + 5e6)
    assert (far.spacing, far.diameter) == (near.spacing, near.diameter)


# --- times of each point's own -----------------------------------------------------


@everywhere
@pytest.mark.parametrize("name", ["curve", "ball", "clusters", "map_coordinates", "lattice", "tiny", "huge"])
def test_adaptive_scales(name, n):
    points = cloud(name, n)
    assert_agree(hf.adaptive_scales(points), reference.adaptive_scales(points), 1e-14)
    expected = reference.adaptive_scales(points, 3, 5, 0.1, 2.0)
    assert_agree(hf.adaptive_scales(points, 3, k=5, c_min=0.1, c_max=2.0), expected, 1e-14)


def test_adaptive_scales_count_copies_as_neighbours():
    points = [[0.0], [0.0], [1.0], [3.0]]
    found = hf.adaptive_scales(points, 2, k=2, c_min=1, c_max=2)
    np.testing.assert_allclose(found, [[1, 2], [1, 2], [1, 2], [9, 18]], rtol=1e-15)


def test_adaptive_scales_reach_the_farthest_neighbour():
    points = cloud("ball", 2, m=20)
    expected = reference.adaptive_scales(points, k=19)
    assert_agree(hf.adaptive_scales(points, k=19), expected, 1e-14)
