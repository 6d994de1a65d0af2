"""Generated data: counts, laws that can be checked, and the same clouds whatever their number."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

import heatfield as hf
from heatfield.datasets import (
    FOUR_SHAPES,
    MIXED_SHAPE_PARTS,
    make_disks_annuli,
    make_forest,
    make_four_shapes,
    make_mixed_shape,
    make_orbit5k,
    make_processes,
)


def same(a, b):
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


OF_CLASSES = [
    (make_processes, {"strauss_steps": 500}, {"n_jobs": 4}),
    (make_disks_annuli, {}, {"n_jobs": 4}),
    (make_orbit5k, {"n_points": 10}, {}),
    (make_four_shapes, {"n_points": 30}, {}),
]


@pytest.mark.parametrize(("make", "options", "threads"), OF_CLASSES)
def test_threads_and_numbers_do_not_matter(make, options, threads):
    few, _ = make(n_per_class=3, random_state=5, **options)
    many, labels = make(n_per_class=60, random_state=5, **options, **threads)
    other, _ = make(n_per_class=3, random_state=6, **options)
    assert labels.tolist() == np.repeat(np.arange(labels.max() + 1), 60).tolist()
    assert same(few, [many[i] for i in np.flatnonzero(np.arange(len(labels)) % 60 < 3)])
    assert not same(few, other)


@pytest.mark.parametrize(
    ("make", "wrong", "problem"),
    [
        (make_processes, {"n_per_class": 0}, "n_per_class must be an integer of at least 1, got 0"),
        (make_processes, {"strauss_interaction": 1.5}, "strauss_interaction must lie in"),
        (make_processes, {"intensity": -1}, "intensity must be a number above 0 and below 1e.06, got -1"),
        (make_disks_annuli, {"form": "squares"}, "form must be one of"),
        (make_disks_annuli, {"radius": (0.3, 0.2)}, "radius must be"),
        (make_disks_annuli, {"density": (0.5, 2.0)}, "density must be .* 1 <= low"),
        (make_disks_annuli, {"n_per_class": 1, "radius": (0.4, 0.45)}, "do not fit"),
        (make_four_shapes, {"noise": -0.1}, "noise must be a number of at least 0, got -0.1"),
        (make_four_shapes, {"rotation": "y"}, "rotation must be one of 'z', 'so3' or None, got 'y'"),
        (make_orbit5k, {"parameters": ()}, "parameters must be finite numbers, one per class"),
        (make_mixed_shape, {"n_points": 3}, "n_points must be an integer of at least 20, got 3"),
        (make_forest, {"n_points": 10}, "n_points must be"),
        (make_forest, {"size": 0.1}, "size must be"),
    ],
)
def test_wrong_parameters_are_named(make, wrong, problem):
    with pytest.raises(ValueError, match=problem):
        make(**wrong)


@pytest.fixture(scope="module")
def processes():
    return make_processes(n_per_class=60, strauss_steps=12_000)


def test_processes_have_the_published_counts(processes):
    clouds, labels = processes
    counts = np.array([len(c) for c in clouds])
    assert labels.tolist() == np.repeat(np.arange(4), 60).tolist()
    assert abs(counts.mean() - 194) < 6
    assert counts.min() > 80
    assert counts.max() < 350
    assert all(((c >= 0) & (c < 1)).all() for c in clouds)


def test_processes_attract_and_repel_as_they_should(processes):
    """Pairs closer than 0.02 beside those of a Poisson process, n(n-1) pi r² / 2 (edges take a little)."""
    clouds, labels = processes
    ratio = np.zeros(4)
    for label in range(4):
        found = expected = 0.0
        for cloud in (c for c, k in zip(clouds, labels, strict=True) if k == label):
            d = np.sqrt(((cloud[:, None] - cloud[None]) ** 2).sum(-1))
            found += ((d < 0.02).sum() - len(cloud)) / 2
            expected += len(cloud) * (len(cloud) - 1) / 2 * np.pi * 0.02**2 * 0.98
        ratio[label] = found / expected
    assert ratio[0] == pytest.approx(1.0, abs=0.12)
    assert ratio[1] > 1.5
    assert ratio[2] == pytest.approx(0.5, abs=0.1)  # gamma
    assert ratio[3] == pytest.approx(1.0, abs=0.25)


def test_baddeley_silverman_cells():
    clouds, labels = make_processes(n_per_class=40, cells=10, strauss_steps=10)
    counts = np.concatenate(
        [
            np.histogram2d(*c.T, bins=10, range=[[0, 1], [0, 1]])[0].ravel()
            for c, k in zip(clouds, labels, strict=True)
            if k == 3
        ]
    )
    assert set(counts) <= {0.0, 1.0, 10.0}
    assert (counts == 0).mean() == pytest.approx(0.1, abs=0.02)
    assert (counts == 10).mean() == pytest.approx(1 / 90, abs=0.006)


@pytest.mark.parametrize("times", [2.4, 4.8])
def test_the_density_inside_includes_the_noise(times):
    """One disk of known size: points per area inside and outside it, over all clouds."""
    options = {"radius": (0.25, 0.25), "background": (1000.0, 1000.0), "density": (times, times)}
    clouds, labels = make_disks_annuli(30, "pairs", **options)
    inside = total = 0
    for cloud in (c for c, k in zip(clouds, labels, strict=True) if k == 0):
        cells = np.mgrid[0.25:0.75:81j, 0.25:0.75:81j].reshape(2, -1).T  # where the centre can be
        counts = cKDTree(cloud).query_ball_point(cells, 0.24, return_length=True)
        inside, total = inside + counts.max(), total + len(cloud)
    area = 30 * np.pi * 0.24**2
    assert inside / area == pytest.approx(1000 * times, rel=0.05)
    assert total / 30 == pytest.approx(1000 * (1 + (times - 1) * np.pi * 0.25**2), rel=0.03)


def test_an_annulus_has_a_hole_and_a_disk_has_none():
    """One object in faint noise: the share of points within half the radius of the middle."""
    clouds, labels = make_disks_annuli(
        20, "pairs", radius=(0.2, 0.2), inner=(0.6, 0.6), background=(1.0, 1.0), density=(2e4, 2e4)
    )
    for label, expected in ((0, 0.25), (1, 0.0)):
        for cloud in (c for c, k in zip(clouds, labels, strict=True) if k == label):
            middle = np.median(cloud, axis=0)
            share = (np.linalg.norm(cloud - middle, axis=1) < 0.1).mean()
            assert share == pytest.approx(expected, abs=0.05)


def test_orbit_follows_the_map():
    clouds, labels = make_orbit5k(n_per_class=3, n_points=50)
    for points, r in zip(clouds, np.array([2.5, 3.5, 4.0, 4.1, 4.3])[labels], strict=True):
        x, y = points[:-1].T
        new_x = (x + r * y * (1 - y)) % 1
        new_y = (y + r * new_x * (1 - new_x)) % 1
        np.testing.assert_array_equal(points[1:], np.c_[new_x, new_y])
        assert ((points >= 0) & (points < 1)).all()


def test_mixed_shape_has_all_parts():
    points, parts = make_mixed_shape(2000, noise=0.0)
    assert points.shape == (2000, 3)
    assert set(parts) == set(MIXED_SHAPE_PARTS)
    ball = points[parts == "ball"]
    assert np.linalg.norm(ball - [2.3, 0.0, -0.6], axis=1).max() <= 0.6
    np.testing.assert_array_equal(points, make_mixed_shape(2000, noise=0.0)[0])


def test_rotations_keep_distances_and_turn():
    upright, about_z, free = (make_four_shapes(2, 50, noise=0.0, rotation=r)[0] for r in (None, "z", "so3"))
    for one, two, three in zip(upright, about_z, free, strict=True):
        size = np.linalg.norm(one, axis=1)
        np.testing.assert_allclose(np.linalg.norm(two, axis=1), size)
        np.testing.assert_allclose(np.linalg.norm(three, axis=1), size)
        np.testing.assert_allclose(two[:, 2], one[:, 2])
        assert np.abs(two[:, 0] - one[:, 0]).max() > 1e-3
        assert np.abs(three[:, 2] - one[:, 2]).max() > 1e-3
        fit, *_ = np.linalg.lstsq(one, three, rcond=None)
        assert np.linalg.det(fit) == pytest.approx(1.0)


@pytest.fixture(scope="module")
def plots():
    return make_forest(2, n_points=4000, random_state=1)


def test_a_plot_does_not_depend_on_the_others(plots):
    clouds, labels = make_forest(1, n_points=4000, random_state=1)
    np.testing.assert_array_equal(clouds[0], plots[0][0])
    np.testing.assert_array_equal(labels[0], plots[1][0])
    assert not np.array_equal(plots[0][0], plots[0][1])


def test_labels_mean_what_they_say(plots):
    for cloud, own in zip(*plots, strict=True):
        heights = [np.median(cloud[own == k, 2]) for k in range(4)]
        assert heights[0] < heights[1] < heights[3]
        s = hf.signatures(cloud[own == 0], lengths=[0.3, 1.0], with_directions=True)
        assert np.nanmedian(s.verticality[:, 1]) < 0.1, "ground lies flat"
        s = hf.signatures(cloud[own == 1], lengths=[0.1, 0.8])
        assert np.nanmedian(s.dimension[:, 1]) < 1.6, "from afar a trunk is a line"


def test_density_falls_with_distance():
    clouds, labels = make_forest(3, n_points=6000, n_scans=1, random_state=5)
    for cloud, own in zip(clouds, labels, strict=True):
        ground = cloud[own == 0][:, :2]
        counts, _, _ = np.histogram2d(*ground.T, bins=6, range=[[0, 12], [0, 12]])
        assert counts.max() > 10 * max(1.0, np.percentile(counts, 10))


def test_four_shapes_lie_on_their_surfaces():
    clouds, labels = make_four_shapes(6, 400, noise=0.0, rotation=None)
    for cloud, label in zip(clouds, labels, strict=True):
        x, y, z = cloud.T
        if FOUR_SHAPES[label] == "sphere":  # x**2 / a**2 + y**2 / b**2 + z**2 / c**2 = 1, axes of 0.8 to 1.2
            found, _, _, _ = np.linalg.lstsq(cloud**2, np.ones(400), rcond=None)
            np.testing.assert_allclose(cloud**2 @ found, 1.0, atol=1e-9)
            assert ((found > 1 / 1.2**2 - 1e-9) & (found < 1 / 0.8**2 + 1e-9)).all()
        elif FOUR_SHAPES[label] == "box":
            half = np.abs(cloud).max(axis=0)
            assert ((half > 0.6) & (half <= 1.3)).all()
            assert np.isclose(np.abs(cloud), half).any(axis=1).all()
        else:
            torus = FOUR_SHAPES[label] == "torus"
            radius = np.hypot(np.hypot(x, y) - 1.0, z) if torus else np.hypot(x, y)
            np.testing.assert_allclose(radius, radius[0], atol=1e-12)
            low, high = (0.25, 0.5) if torus else (0.5, 0.8)
            assert low <= radius[0] <= high
