"""Signatures do not change under rotation, reflection, permutation and translation."""

from dataclasses import replace

import numpy as np
import pytest

import heatfield as hf
from tests.helpers.agreement import GLOBAL, LOCAL, assert_agree, assert_same_signatures
from tests.helpers.clouds import cloud, on_grid, rotation

NAMES = ["sphere", "curve", "ball", "clusters", "duplicates", "lattice", "collinear"]
everywhere = pytest.mark.parametrize("n", [1, 2, 3, 5])
every_cloud = pytest.mark.parametrize("name", NAMES)

TOL = 1e-10


@every_cloud
@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("transition", ["difference", "exact"])
def test_rotation(name, n, transition):
    points = cloud(name, n)
    before = hf.signatures(points, transition=transition)
    after = hf.signatures(points @ rotation(n).T, transition=transition)
    assert_agree(after.scales, before.scales, 1e-12)
    assert_same_signatures(after, before, TOL)


@every_cloud
@everywhere
def test_reflection_of_an_axis_changes_no_distance(name, n):
    points = cloud(name, n)
    mirror = np.ones(n)
    mirror[0] = -1
    before, after = hf.signatures(points), hf.signatures(points * mirror)
    assert_same_signatures(after, before, TOL)


@every_cloud
@pytest.mark.parametrize("n", [2, 3, 5])
def test_reflection_at_a_random_plane(name, n):
    normal = rotation(n, seed=1)[0]
    points = cloud(name, n)
    after = hf.signatures(points - 2 * np.outer(points @ normal, normal))
    assert_same_signatures(after, hf.signatures(points), TOL)


@every_cloud
@everywhere
def test_permutation(name, n):
    points = cloud(name, n)
    order = np.random.default_rng(2).permutation(len(points))
    before, after = hf.signatures(points), hf.signatures(points[order])
    moved = {key: getattr(before, key)[order] for key in LOCAL}
    assert_same_signatures(after, replace(before, **moved), TOL)


@pytest.mark.parametrize("shift", [5e6, -5e6, 0.5])
@every_cloud
@everywhere
def test_translation_that_is_exact_changes_no_bit(name, n, shift):
    points = on_grid(cloud(name, n))
    moved = points + shift
    np.testing.assert_array_equal(moved - shift, points)
    before, after = hf.signatures(points), hf.signatures(moved)
    for key in ("scales", *LOCAL, *GLOBAL):
        np.testing.assert_array_equal(getattr(after, key), getattr(before, key), err_msg=key)


@every_cloud
@everywhere
def test_translation_that_rounds(name, n):
    points = cloud(name, n)
    assert_same_signatures(hf.signatures(points + np.pi), hf.signatures(points), TOL)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_rotation_with_times_of_each_point(n):
    points = cloud("clusters", n)
    before = hf.signatures(points, hf.adaptive_scales(points))
    turned = points @ rotation(n).T
    after = hf.signatures(turned, hf.adaptive_scales(turned))
    assert_same_signatures(after, before, TOL, names=LOCAL)
