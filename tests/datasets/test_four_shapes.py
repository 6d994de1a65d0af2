"""Four shapes: each lies where it should, and every cloud has a stream of its own."""

import numpy as np
import pytest

from heatfield.datasets import FOUR_SHAPES, make_four_shapes


def of(shape, **options):
    clouds, labels = make_four_shapes(**{"n_per_class": 6, "n_points": 400, "noise": 0.0, **options})
    return [c for c, k in zip(clouds, labels, strict=True) if FOUR_SHAPES[k] == shape]


def test_spheres_are_ellipsoids():
    for cloud in of("sphere", rotation=None):
        # x**2 / a**2 + y**2 / b**2 + z**2 / c**2 = 1, with axes of 0.8 to 1.2
        found, _, _, _ = np.linalg.lstsq(cloud**2, np.ones(400), rcond=None)
        np.testing.assert_allclose(cloud**2 @ found, 1.0, atol=1e-9)
        assert ((found > 1 / 1.2**2 - 1e-9) & (found < 1 / 0.8**2 + 1e-9)).all()


@pytest.mark.parametrize("rotation", ["z", None])
def test_tori_have_a_tube(rotation):
    for cloud in of("torus", rotation=rotation):
        radius = np.hypot(np.hypot(cloud[:, 0], cloud[:, 1]) - 1.0, cloud[:, 2])
        np.testing.assert_allclose(radius, radius[0], atol=1e-12)
        assert 0.25 <= radius[0] <= 0.5


def test_boxes_are_hollow():
    for cloud in of("box", rotation=None):
        half = np.abs(cloud).max(axis=0)
        assert ((half > 0.6) & (half <= 1.3)).all()
        on_a_face = np.isclose(np.abs(cloud), half).any(axis=1)
        assert on_a_face.all()


@pytest.mark.parametrize("rotation", ["z", None])
def test_helices_lie_on_a_cylinder(rotation):
    for cloud in of("helices", rotation=rotation):
        radius = np.hypot(cloud[:, 0], cloud[:, 1])
        np.testing.assert_allclose(radius, radius[0], atol=1e-12)
        assert 0.5 <= radius[0] <= 0.8


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


def test_numbers_do_not_matter():
    few, _ = make_four_shapes(2, 30, random_state=5)
    many, labels = make_four_shapes(7, 30, random_state=5)
    other, _ = make_four_shapes(2, 30, random_state=6)
    assert labels.tolist() == np.repeat(np.arange(4), 7).tolist()
    chosen = [many[i] for i in np.flatnonzero(np.arange(28) % 7 < 2)]
    assert all(np.array_equal(a, b) for a, b in zip(few, chosen, strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(few, other, strict=True))


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"n_per_class": 0}, "n_per_class must be an integer of at least 1, got 0"),
        ({"noise": -0.1}, "noise must be a number of at least 0, got -0.1"),
        ({"rotation": "y"}, "rotation must be one of 'z', 'so3' or None, got 'y'"),
    ],
)
def test_wrong_parameters_are_named(wrong, problem):
    with pytest.raises(ValueError, match=problem):
        make_four_shapes(**wrong)
