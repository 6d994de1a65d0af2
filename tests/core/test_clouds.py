"""Arranged clouds: spacing and diameter in plain NumPy, threads, and memory that is used again."""

import threading

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import heatfield as hf
from heatfield.core import clouds as arranging
from heatfield.core.clouds import ArrangedCloud, Buffers, arrange, grow, nearest_source
from tests.helpers import reference
from tests.helpers.agreement import assert_agree
from tests.helpers.clouds import CLOUDS, cloud, on_grid


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("name", CLOUDS)
def test_spacing_and_diameter(name, n):
    points = cloud(name, n)
    found = ArrangedCloud.of(points)
    _, squared = reference.pair_differences(np.unique(points, axis=0))
    np.fill_diagonal(squared, np.inf)
    assert_agree(found.spacing, np.sqrt(squared.min(axis=1)).mean(), 1e-14)
    assert_agree(found.diameter, pdist(points).max(), 1e-15)


def cube():
    """The walk along farthest points has nowhere to go."""
    return np.stack(np.meshgrid(*[[0.0, 1.0]] * 3), axis=-1).reshape(-1, 3)


def even_polygon():
    angle = np.arange(500) * 2 * np.pi / 500
    return np.c_[np.cos(angle), np.sin(angle)]


def pushed_reuleaux_triangle():
    """Of constant width, but one point pushed out of an arc makes a longer pair: the walk ends too early."""
    corner = np.exp(2j * np.pi * np.arange(3) / 3) / np.sqrt(3)
    turn = np.linspace(-np.pi / 6, np.pi / 6, 200)
    arcs = np.concatenate([c + np.exp(1j * (turn + np.angle(-c))) for c in corner])
    arcs[50] *= 1 + 1e-9
    return np.c_[arcs.real, arcs.imag]


DIFFICULT = {
    "cube": cube,
    "polygon": even_polygon,
    "Reuleaux": pushed_reuleaux_triangle,
    # Nearly every pair of opposite blocks is a candidate.
    "circle": lambda: cloud("sphere", 2, m=3000),
    "sphere": lambda: cloud("sphere", 3, m=3000),
}


@pytest.mark.parametrize("name", DIFFICULT)
def test_diameter_of_difficult_clouds(name):
    points = DIFFICULT[name]()
    assert_agree(ArrangedCloud.of(points).diameter, pdist(points).max(), 1e-15)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_map_coordinates_lose_no_digit(n):
    points = on_grid(cloud("ball", n))
    near, far = ArrangedCloud.of(points), ArrangedCloud.of(points + 5e6)
    assert (far.spacing, far.diameter) == (near.spacing, near.diameter)


def test_large_clouds_go_through_the_tree():
    points = cloud("sphere", 3, m=6000)
    scales = hf.scale_schedule(points, 2)
    squares = np.concatenate([((part[:, None] - points) ** 2).sum(axis=2) for part in np.split(points, 6)])
    assert scales[1] == pytest.approx(0.25 * squares.max(), rel=1e-14)
    np.fill_diagonal(squares, np.inf)
    assert scales[0] == pytest.approx(0.05 * np.sqrt(squares.min(axis=1)).mean() ** 2, rel=1e-13)
    copies = ArrangedCloud.of(np.ones((5000, 3)))
    assert (copies.diameter, np.isnan(copies.spacing)) == (0.0, True)


def test_nearest_source():
    rng = np.random.default_rng(4)
    sources, boxes, *_ = arrange(rng.random((500, 3)))
    at = rng.normal(size=(3, 40))
    squares, which = nearest_source(at, sources, grow(boxes))
    every = ((at[:, :, None] - sources[:, None, :]) ** 2).sum(axis=0)
    np.testing.assert_allclose(squares, every.min(axis=1), rtol=1e-13)
    np.testing.assert_array_equal(which, every.argmin(axis=1))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_arrange_as_one_call_does(threads, monkeypatch):
    """With copies of one place and ties on every axis; in map coordinates, so that an origin is taken off."""
    rng = np.random.default_rng(threads)
    points = np.concatenate([rng.normal(size=(3000, 3)), rng.integers(0, 4, (2000, 3)), np.ones((777, 3))])
    points += 5e6
    whole = arrange(points)
    monkeypatch.setattr(arranging, "MANY", 1000)
    for one, many in zip(whole, arrange(points, threads), strict=True):
        np.testing.assert_array_equal(many, one)


def test_buffers_are_used_again_where_they_fit():
    buffers = Buffers()
    with buffers.take((100, 10)) as first:
        pass
    with buffers.take((400,), np.complex128) as second:  # 6,400 of 8,000 bytes
        assert np.shares_memory(first, second)
    with buffers.take((100, 20)) as larger:
        assert not np.shares_memory(first, larger)
    with buffers.take((4,)) as small:  # a large array is not spent on a few numbers
        assert not np.shares_memory(larger, small)
    with buffers.take((0, 0, 0), np.complex128) as nothing:
        assert nothing.shape == (0, 0, 0)


def test_threads_never_share_a_buffer():
    buffers, mixed = Buffers(), []

    def work(number):
        for _ in range(300):
            with buffers.take((50,)) as mine:
                mine[:] = number
                if not (mine == number).all():
                    mixed.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not mixed
