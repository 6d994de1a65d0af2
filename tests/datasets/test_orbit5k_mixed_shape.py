"""Generated data: the right maps, the right parts, the same for the same seed."""

import numpy as np
import pytest

from heatfield.datasets import MIXED_SHAPE_PARTS, make_mixed_shape, make_orbit5k


def test_orbit_follows_the_map():
    clouds, labels = make_orbit5k(n_per_class=3, n_points=50)
    for points, r in zip(clouds, np.array([2.5, 3.5, 4.0, 4.1, 4.3])[labels], strict=True):
        x, y = points[:-1].T
        new_x = (x + r * y * (1 - y)) % 1
        new_y = (y + r * new_x * (1 - new_x)) % 1
        np.testing.assert_array_equal(points[1:], np.c_[new_x, new_y])
        assert ((points >= 0) & (points < 1)).all()


def test_orbits_do_not_depend_on_how_many_there_are():
    few, _ = make_orbit5k(n_per_class=2, n_points=10, random_state=4)
    many, _ = make_orbit5k(n_per_class=5, n_points=10, random_state=4)
    np.testing.assert_array_equal(few[2], many[5])
    assert not np.array_equal(few[0], make_orbit5k(n_per_class=1, n_points=10, random_state=5)[0][0])


def test_mixed_shape_has_all_parts():
    points, parts = make_mixed_shape(2000, noise=0.0)
    assert points.shape == (2000, 3)
    assert set(parts) == set(MIXED_SHAPE_PARTS)
    ball = points[parts == "ball"]
    assert np.linalg.norm(ball - [2.3, 0.0, -0.6], axis=1).max() <= 0.6
    np.testing.assert_array_equal(points, make_mixed_shape(2000, noise=0.0)[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_orbit5k(0), "n_per_class must be an integer of at least 1, got 0"),
        (lambda: make_orbit5k(1, 5, parameters=()), "parameters must be finite numbers, one per class"),
        (lambda: make_mixed_shape(3), "n_points must be an integer of at least 20, got 3"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
