"""Sampling: how many, where, and the same whatever the order."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.io import Cloud
from heatfield.sampling import (
    farthest_rows,
    random_rows,
    sample,
    sample_skeleton,
    sample_surface,
    seed_from_name,
    voxel_rows,
)

TREE = np.array([[0.0, 0, 0], [0, 0, 2], [0, 0, 2], [3, 0, 2], [0, 1, 2], [9, 9, 9]])
PARENTS = np.array([-1, 0, 1, 2, 2, -1])  # a trunk, a segment without length, two branches, a lone root


def test_arc_length_against_a_walk_in_small_steps():
    """Each piece of length L/200 of the tree gets its share, counted independently of the sampler."""
    rng = np.random.default_rng(0)
    points, segment, _ = sample_skeleton(TREE, PARENTS, 6000, rng)
    assert points.shape == (6000, 3)
    counted = {1: 0, 3: 0, 4: 0}
    for x, y, z in points:  # which branch does the point lie on, by its coordinates alone
        branch = 1 if (x == 0 and y == 0 and z < 2) else (3 if y == 0 else 4)
        counted[branch] += 1
        assert z == 2 or branch == 1
    assert counted == {1: 2000, 3: 3000, 4: 1000}  # lengths 2, 3, 1
    on_branch = np.sort(points[segment == 3, 0])
    assert np.abs(on_branch - (np.arange(3000) + 0.5) * 3 / 3000).max() <= 3 / 3000  # one point a stretch


def test_a_skeleton_without_length_stays_short():
    points, _, _ = sample_skeleton(np.zeros((3, 3)), np.array([-1, 0, 1]), 10, np.random.default_rng(0))
    assert points.shape == (1, 3)


def test_surface_by_area():
    vertices = np.array([[0.0, 0, 0], [4, 0, 0], [4, 1, 0], [0, 1, 0], [10, 0, 0], [11, 0, 0], [11, 1, 0]])
    faces = np.array([[0, 1, 2], [0, 2, 3], [4, 5, 6]])
    points, face = sample_surface(vertices, faces, 9000, np.random.default_rng(0))
    assert np.bincount(face).tolist() == [4000, 4000, 1000]  # areas 2, 2, 0.5
    big = points[face < 2]
    assert np.abs(np.histogram(big[:, 0], bins=4, range=(0, 4))[0] - 2000).max() < 150
    assert (points[:, 2] == 0).all()


def test_random_rows_never_repeat_and_short_clouds_stay_short():
    rows = random_rows(100, 60, np.random.default_rng(0))
    assert len(np.unique(rows)) == 60
    assert random_rows(10, 60, np.random.default_rng(0)).tolist() == list(range(10))


def test_farthest_rows_against_the_definition():
    points = np.random.default_rng(3).normal(size=(80, 3)) + 5e6
    rows = farthest_rows(points, 12, np.random.default_rng(0))
    for k in range(1, 12):
        gaps = np.sqrt(((points[:, None] - points[rows[:k]][None]) ** 2).sum(-1)).min(axis=1)
        assert gaps[rows[k]] == pytest.approx(gaps.max(), rel=1e-9)
    copies = np.repeat(points[:5], 10, axis=0)
    assert len(farthest_rows(copies, 12, np.random.default_rng(0))) == 5


def test_voxel_rows():
    points = np.random.default_rng(1).random((500, 3))
    rows = voxel_rows(points, 64)
    assert 32 < len(rows) <= 64
    assert len(np.unique(rows)) == len(rows)
    exact = voxel_rows(points, 500, size=0.5)
    cells = {tuple(c) for c in np.floor((points - points.min(axis=0)) / 0.5).astype(int)}
    assert len(exact) == len(cells)
    assert len(voxel_rows(np.zeros((9, 2)), 4)) == 1


def test_the_seed_comes_from_the_name(tmp_path):
    points = np.random.default_rng(0).normal(size=(300, 3))
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        hf.write_points(tmp_path / folder / "a.npy", points)
    hf.write_points(tmp_path / "b.npy", points)
    a = hf.read_points(tmp_path / "one" / "a.npy", budget=50)
    np.testing.assert_array_equal(a, hf.read_points(tmp_path / "two" / "a.npy", budget=50))
    assert not np.array_equal(a, hf.read_points(tmp_path / "b.npy", budget=50))
    assert not np.array_equal(a, hf.read_points(tmp_path / "one" / "a.npy", budget=50, seed=1))
    assert (
        seed_from_name("a.npy") == 14587079510857682366
    )  # frozen: samples stay the same from version to version


def test_columns_go_with_the_points():
    points = np.arange(30.0).reshape(10, 3)
    cloud = Cloud(points, {"row": np.arange(10)})
    for how in ("auto", "random", "farthest", "voxel"):
        part = sample(cloud, 4, how, 0)
        assert 1 <= len(part.points) <= 4
        np.testing.assert_array_equal(points[part.columns["row"]], part.points)


def test_skeleton_columns_are_read_between_the_ends():
    cloud = Cloud(
        TREE[:2], {"radius": np.array([1.0, 3.0]), "type": np.array([1, 2])}, parents=np.array([-1, 0])
    )
    part = sample(cloud, 5)
    np.testing.assert_allclose(part.columns["radius"], 1.0 + part.points[:, 2])
    assert part.columns["type"].tolist() == [2] * 5


@pytest.mark.parametrize("far", [1e6, 1e9, 1e12])
def test_voxels_beside_a_far_outlier(far):
    """The finest grid follows the points, not the one that lies a million extents away."""
    points = np.random.default_rng(1).random((2000, 3))
    points[7] = far
    rows = voxel_rows(points, 500)
    assert 250 < len(rows) <= 500
    assert 7 in rows


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_surfaces_in_any_dimension(n):
    """Areas 8 and 1, turned into n dimensions: eight of nine points on the first triangle."""
    flat = np.array([[0.0, 0], [4, 0], [0, 4], [10, 0], [11, 0], [10, 2]])
    basis = np.linalg.qr(np.random.default_rng(n).normal(size=(n, n)))[0][:2]
    points, face = sample_surface(
        flat @ basis, np.array([[0, 1, 2], [3, 4, 5]]), 900, np.random.default_rng(0)
    )
    assert points.shape == (900, n)
    assert np.bincount(face).tolist() == [800, 100]


def test_points_too_far_apart_to_measure(tmp_path):
    (tmp_path / "a.swc").write_bytes(b"1 1 -1e308 0 0 1 -1\n2 1 1e308 0 0 1 1\n")
    assert len(hf.read_points(tmp_path / "a.swc", nodes=True)) == 2
    with pytest.raises(hf.ReadError, match=r"a\.swc: points spans inf; change the unit") as caught:
        hf.read_points(tmp_path / "a.swc", budget=7)
    assert caught.value.__cause__ is None
