"""Local types: the rule term by term, and forks of trees found where they are."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.local_type import LOCAL_TYPES, local_type_codes


def name_of(dimension, transition, *spectrum):
    code = local_type_codes(np.array([dimension]), np.array([transition]), np.array([spectrum]))
    return LOCAL_TYPES[code[0]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.2, 0.0, -0.9, -1, -1), "point"),
        ((1.0, 0.0, 0, -1, -1), "filament"),
        ((2.0, 0.0, 0, 0, -1), "surface"),
        ((3.0, 0.0, 0, 0, 0), "volume"),
        ((3.8, 0.0, 0.4, 0.2, 0.2), "volume"),
        ((1.0, 0.0, -0.5, -0.5, -1), "junction"),  # three arms in a plane
        ((1.0, 0.0, -2 / 3, -2 / 3, -2 / 3), "junction"),  # six arms in space
        ((1.2, -0.2, 0, -0.9, -0.9), "filament"),  # thick: the spread across shrinks as the scale grows
        ((1.0, 0.6, -0.5, -0.5, -1), "filament"),  # still rising: too few neighbours to tell
        ((1.4, 0.0, -0.1, -0.5, -1), "filament"),  # a poorly sampled surface is no junction
        ((0.363, 0.0, -0.637, -1, -1), "point"),
        ((1.0, 0.0, -0.5, -0.5), "junction"),
        ((1.0, 0.0, 0.0), "filament"),
        ((np.nan, np.nan, np.nan, np.nan, np.nan), "undefined"),
        ((1.0, np.nan, -0.5, -0.5, -1), "filament"),
    ],
)
def test_the_rule(values, expected):
    assert name_of(*values) == expected


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_forks_of_trees(noise):
    """As stated in docs/guide/local_type.md, on other trees."""
    right = called_points = met = wanted_points = 0
    for seed in (1000, 1001, 1002):
        points, forks = hf.datasets.make_branching_tree(3000, noise=noise, random_state=seed)
        length = 0.1
        s = hf.signatures(points, [length**2 / 4, length**2 / 2, length**2])
        called = s.local_type(1) == "junction"
        distance = np.sqrt(((points[:, None] - forks[None]) ** 2).sum(axis=2))
        assert all((called & (distance[:, k] < length)).any() for k in range(len(forks)))
        near = distance.min(axis=1)
        right += (called & (near < 2 * length)).sum()
        called_points += called.sum()
        met += (called & (near < length / 2)).sum()
        wanted_points += (near < length / 2).sum()
        assert (s.local_type(1)[near > 3 * length] == "filament").mean() > 0.98
    assert right / called_points > 0.97
    assert met / wanted_points > 0.85


def test_parts_of_the_mixed_shape():
    """The dataset calls junction what lies within 0.12 of its fork: scale 3 has sqrt(2t) = 0.13."""
    points, parts = hf.datasets.make_mixed_shape(4000)
    types = hf.signatures(points).local_type(3)
    for part, kind in (("filament", "filament"), ("sheet", "surface")):
        assert (types[parts == part] == kind).mean() > 0.9
    assert (types[parts == "junction"] == "junction").mean() > 0.8


def test_bad_arguments():
    s = hf.signatures(np.random.default_rng(0).normal(size=(30, 3)))
    assert (s.local_type(-1) == s.local_type(7)).all()
    for wrong in (8, -9, 1.0, True, None):
        with pytest.raises(ValueError, match="scale must be an index from -8 to 7, got"):
            s.local_type(wrong)
    bare = hf.signatures(np.random.default_rng(0).normal(size=(30, 3)), with_spectrum=False)
    with pytest.raises(ValueError, match="with_spectrum=True"):
        bare.local_type(0)


def test_nothing_to_tell():
    with pytest.warns(hf.HeatFieldWarning):
        s = hf.signatures(np.ones((3, 2)))
    assert s.local_type(0).tolist() == ["undefined"] * 3
