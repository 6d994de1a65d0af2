"""The tree of boxes, and the schedule of large clouds through it: exactly the results of the plain passes."""

import numpy as np
import pytest

import heatfield as hf
from heatfield import _core
from heatfield.core import clouds as arranging
from heatfield.core.clouds import (
    BLOCK,
    arrange,
    diameter_of_many,
    grow,
    nearest_distinct,
    nearest_of_many,
    nearest_source,
)
from tests.helpers import clouds


@pytest.mark.parametrize("m", [1, 16, 17, 100, 1000])
def test_tree_holds_every_block_once(m):
    sources, boxes, *_ = arrange(np.random.default_rng(m).random((m, 3)))
    nodes, begin, size = grow(boxes)
    leaves = size == 1
    assert sorted(begin[leaves]) == list(range(boxes.shape[2]))
    for node, first, count in zip(nodes, begin, size, strict=True):
        inside = sources[:, first * BLOCK : (first + count) * BLOCK]
        np.testing.assert_array_equal(node, [inside.min(axis=1), inside.max(axis=1)])


@pytest.mark.parametrize("cut", [0.0, 0.01, 0.3, 100.0])
def test_blocks_within_a_distance(cut):
    rng = np.random.default_rng(1)
    _, boxes, *_ = arrange(rng.random((700, 2)))
    tree = grow(boxes)
    low = rng.random(2)
    high = low + 0.05
    apart = np.maximum(0, np.maximum(boxes[0] - high[:, None], low[:, None] - boxes[1]))
    expected = np.flatnonzero((apart**2).sum(axis=0) <= cut)
    found = np.empty(boxes.shape[2], np.int64)
    count = _core.blocks_within(*tree, low, high, cut, found)
    np.testing.assert_array_equal(found[:count], expected)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("name", ["sphere", "ball", "clusters", "duplicates", "lattice", "collinear", "huge"])
def test_spacing_and_diameter(name, n):
    sources, boxes, *_ = arrange(clouds.cloud(name, n, 1500))
    nearest, same = nearest_distinct(sources, boxes)
    found = nearest_of_many(sources, grow(boxes), 2)
    np.testing.assert_array_equal(found[0], nearest)
    np.testing.assert_array_equal(found[1], same)
    assert diameter_of_many(sources, grow(boxes)) == _core.diameter(sources, boxes)


def test_all_points_in_one_place():
    sources, boxes, *_ = arrange(np.ones((5000, 3)))
    nearest, same = nearest_of_many(sources, grow(boxes))
    assert np.isinf(nearest).all()
    assert (same == 5000).all()
    assert diameter_of_many(sources, grow(boxes)) == 0.0


def test_nearest_source():
    rng = np.random.default_rng(4)
    sources, boxes, *_ = arrange(rng.random((500, 3)))
    at = rng.normal(size=(3, 40))
    expected = ((at[:, :, None] - sources[:, None, :]) ** 2).sum(axis=0).min(axis=1)
    squares, which = nearest_source(at, sources, grow(boxes))
    np.testing.assert_allclose(squares, expected, rtol=1e-13)
    np.testing.assert_allclose(((sources[:, which] - at) ** 2).sum(axis=0), squares, rtol=1e-13)


def test_schedule_of_a_large_cloud():
    rng = np.random.default_rng(7)
    points = rng.normal(size=(6000, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    scales = hf.scale_schedule(points, 2)
    D2 = ((points[:3000, None] - points[None, :]) ** 2).sum(axis=2)
    D2 = np.concatenate([D2, ((points[3000:, None] - points[None, :]) ** 2).sum(axis=2)])
    assert scales[1] == pytest.approx(0.25 * D2.max(), rel=1e-14)
    np.fill_diagonal(D2, np.inf)
    assert scales[0] == pytest.approx(0.05 * np.sqrt(D2.min(axis=1)).mean() ** 2, rel=1e-13)


def test_estimated_neighbours():
    points = np.random.default_rng(9).random((20_000, 3))
    sources, boxes, *_ = arrange(points)
    tree = grow(boxes)
    at = np.full(3, 0.5) * sources.max()
    for radius in (0.8, 1.0, 1.2):
        inside = (((sources - at[:, None]) ** 2).sum(axis=0) <= radius**2).sum()
        found = np.empty(boxes.shape[2], np.int64)
        touched = BLOCK * _core.blocks_within(*tree, at, at, radius**2, found)  # what a sum really visits
        assert 0.9 * inside <= _core.estimate_within(*tree, at, at, radius**2, 20_000) <= 1.1 * touched
    assert _core.estimate_within(*tree, at, at, 100.0, 20_000) == 20_000


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_pieces_and_threads_arrange_as_one_call_does(threads, monkeypatch):
    """With copies of one place and ties on every axis; in map coordinates, so that an origin is taken off."""
    rng = np.random.default_rng(threads)
    points = np.concatenate([rng.normal(size=(3000, 3)), rng.integers(0, 4, (2000, 3)), np.ones((777, 3))])
    points += 5e6
    whole = arrange(points)
    monkeypatch.setattr(arranging, "MANY", 1000)
    for one, many in zip(whole, arrange(points, threads), strict=True):
        np.testing.assert_array_equal(many, one)
