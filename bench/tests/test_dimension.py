"""The estimators of intrinsic dimension, and the manifolds with noise and uneven density."""

import numpy as np
import pytest

import heatfield as hf
from heatfield_bench.tables.dimension import (
    CONDITIONS,
    ENOUGH,
    ESTIMATORS,
    SCALES,
    estimate,
    heat_dimension,
    manifold,
)


def test_the_heat_dimension_is_that_of_the_signatures_without_the_point_s_own_term():
    points = hf.datasets.sample_manifold("torus", 400, random_state=0).points
    s = hf.signatures(points, n_scales=SCALES)
    weight = s.density * (4 * np.pi * s.scales) ** 1.5
    others = weight - 1.0
    enough = np.median(others, axis=0) >= ENOUGH
    assert 0 < enough.sum() < SCALES
    corrected = s.dimension[:, enough] * weight[:, enough] / others[:, enough]
    expected = np.median(corrected, axis=0).max()
    assert heat_dimension(points) == pytest.approx(expected, rel=1e-9)


def test_a_point_far_from_all_others_changes_nothing_but_the_scales():
    plane = np.random.default_rng(0).uniform(size=(500, 2))
    assert heat_dimension(np.r_[plane, [[40.0, 0.0]]]) == pytest.approx(2.0, abs=0.3)


def test_points_without_any_neighbourhood_have_no_dimension():
    assert np.isnan(heat_dimension(np.array([[0.0, 0.0], [1.0, 0.0]])))


def test_every_estimator_knows_a_plane():
    pytest.importorskip("skdim")
    plane = np.zeros((400, 4))
    plane[:, :2] = np.random.default_rng(0).uniform(size=(400, 2))
    found = {name: estimate(name, plane) for name in ESTIMATORS}
    assert all(abs(value - 2.0) < 0.4 for value in found.values()), found


def test_conditions_keep_the_number_of_points_and_change_them():
    pytest.importorskip("skdim")
    clouds = {c: manifold("M7_Roll", 120, c, 3) for c in CONDITIONS}
    assert all(points.shape == (120, 3) and truth == 2 for points, truth in clouds.values())
    assert len({points.tobytes() for points, _ in clouds.values()}) == 3
    np.testing.assert_array_equal(manifold("M7_Roll", 120, "density", 3)[0], clouds["density"][0])
    # Uneven: one half along the longest axis holds most of the points.
    drawn = manifold("M2_Affine_3to5", 300, "density", 0)[0]
    even = manifold("M2_Affine_3to5", 300, "clean", 0)[0]

    def lopsided(points):
        centre = (points.max(axis=0) + points.min(axis=0)) / 2
        axis = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][0]
        return abs(np.mean((points - centre) @ axis > 0) - 0.5)

    assert lopsided(drawn) > lopsided(even)
