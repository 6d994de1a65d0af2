"""Distance to the nearest distinct point, and the exact diameter."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from heatfield.core.clouds import ArrangedCloud
from tests.helpers import reference
from tests.helpers.agreement import assert_agree
from tests.helpers.clouds import CLOUDS, cloud, on_grid

everywhere = pytest.mark.parametrize("n", [1, 2, 3, 5])


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
