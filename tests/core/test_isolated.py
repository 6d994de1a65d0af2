"""Isolated points: which they are, and that features and scales do not know of them."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.core.clouds import BY_TREE, ArrangedCloud, Batch
from heatfield.features.describe import describe_clouds
from heatfield.features.layout import DescriptorSettings
from tests.helpers import reference_joint
from tests.helpers.clouds import rotation


def with_outliers(seed=0, m=300, n=3, count=9):
    """Points of a cube, and around it some far from them and from each other."""
    rng = np.random.default_rng(seed)
    far = 4.0 * rotation(n, rng) if n > 1 else np.array([[4.0]])
    far = np.concatenate([k * far for k in (1, -1, 2, -2)])[:count]
    return rng.permutation(np.concatenate([rng.random((m, n)), far]))


CLOUDS = {
    "outliers": with_outliers(),
    "a line": with_outliers(n=1, count=4),
    "normal": np.random.default_rng(1).normal(size=(150, 2)),
    "long tails": np.random.default_rng(2).standard_cauchy(size=(400, 3)),
    "a lattice": np.stack(np.meshgrid(*3 * [np.arange(6.0)]), -1).reshape(-1, 3),
    "few": np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [99.0]]),
    "enough": np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0], [99.0]]),
    "copies": np.repeat(with_outliers(3, 40), np.random.default_rng(3).integers(1, 5, 49), axis=0),
    "one place": np.zeros((30, 2)),
    "one point": np.ones((1, 3)),
    "none": np.empty((0, 3)),
}


@pytest.mark.parametrize("name", CLOUDS)
def test_agrees_with_the_reference(name):
    points = CLOUDS[name]
    expected = reference_joint.isolated(points) if len(points) else np.zeros(0, bool)
    np.testing.assert_array_equal(hf.isolated_points(points), expected)


def test_what_is_found():
    for name, count in {"outliers": 9, "a lattice": 0, "few": 0, "enough": 1}.items():
        assert hf.isolated_points(CLOUDS[name]).sum() == count, name


@pytest.mark.parametrize("name", ["outliers", "normal", "long tails", "a lattice", "copies"])
def test_the_answer_depends_on_the_shape_alone(name):
    points, rng = CLOUDS[name], np.random.default_rng(0)
    found = hf.isolated_points(points)
    order = rng.permutation(len(points))
    np.testing.assert_array_equal(hf.isolated_points(points[order]), found[order])
    for other in (points @ rotation(points.shape[1], rng).T, points * 1e-60, points / 3.0, -points):
        np.testing.assert_array_equal(hf.isolated_points(other), found)
    if name != "long tails":  # whose extent leaves no digits at 5e6
        np.testing.assert_array_equal(hf.isolated_points(points + 5e6), found)
    np.testing.assert_array_equal(hf.isolated_points(np.repeat(points, 3, axis=0)), np.repeat(found, 3))
    some = rng.integers(0, len(points), 50)
    more = np.concatenate([points, points[some]])
    np.testing.assert_array_equal(hf.isolated_points(more), np.concatenate([found, found[some]]))


def test_neighbours_of_what_is_left_stay():
    points = CLOUDS["long tails"]
    cloud, rest = ArrangedCloud.of(points), ArrangedCloud.of(points, drop=True)
    alone = hf.isolated_points(points)
    assert 0 < alone.sum() == len(points) - rest.order.size
    before, after = np.empty(len(points)), np.empty(rest.order.size)
    before[cloud.order], after[rest.order] = (
        np.sqrt(cloud.nearest) * 2.0**cloud.exponent,
        (np.sqrt(rest.nearest) * 2.0**rest.exponent),
    )
    np.testing.assert_array_equal(after, before[~alone])


@pytest.mark.parametrize("method", ["dense", "fast"])
def test_features_are_those_of_the_rest(method):
    points = with_outliers()
    rest = points[~hf.isolated_points(points)]
    found, expected = hf.describe([points, rest], "joint", method=method)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 if method == "dense" else 1e-5)
    kept = hf.describe([points], "joint", method=method, isolated="keep")[0]
    assert np.nanmax(np.abs(kept - expected)) > 0.1


def test_large_clouds_are_searched_in_the_same_way():
    points = with_outliers(5, 2 * BY_TREE, 2, 5)
    batch = Batch.of([points], drop=True)
    assert batch.total == (~hf.isolated_points(points)).sum() < len(points) - 4
    one = ArrangedCloud.of(points, 2, drop=True)
    np.testing.assert_allclose(batch.extents[0], [one.spacing, one.diameter], rtol=1e-14)


def test_extents_are_those_of_the_rest():
    clouds = [cloud for name, cloud in CLOUDS.items() if cloud.shape[1] == 3]
    settings, extents = DescriptorSettings(3, variant="joint", n_scales=2), np.empty((len(clouds), 3))
    describe_clouds(clouds, settings, extents)
    for points, (spacing, diameter, count) in zip(clouds, extents, strict=True):
        alone = hf.isolated_points(points)
        assert count == alone.sum()
        if len(points) > 1:
            times = hf.scale_schedule(points[~alone], 2)
            assert np.sqrt(times / [0.05, 0.25]) == pytest.approx([spacing, diameter], rel=1e-12)


def test_the_variants_of_the_paper_keep_all_points():
    points = with_outliers()
    for variant, own in (("simple", "keep"), ("desc", "keep"), ("joint", "drop")):
        default, other = (hf.describe([points], variant, **more)[0] for more in ({}, {"isolated": own}))
        np.testing.assert_array_equal(default, other)
    with pytest.raises(ValueError, match="isolated must be one of 'drop', 'keep', got 'leave'"):
        hf.describe([points], isolated="leave")


def test_shared_lengths_do_not_follow_outliers():
    points = with_outliers()
    rest = points[~hf.isolated_points(points)]
    learnt = [hf.HFSDescriptor("joint", lengths="shared").fit([cloud]).lengths_ for cloud in (points, rest)]
    assert learnt[0] == pytest.approx(learnt[1], rel=1e-12)


def test_a_model_is_not_surprised_by_outliers():
    clouds = [np.random.default_rng(k).random((60, 3)) * (1 + k % 2) for k in range(8)]
    far = np.concatenate([clouds[0], [[40.0, 40.0, 40.0]]])
    drop, keep = (
        hf.HFSClassifier("joint", head="lda", n_scales=3, isolated=how).fit(clouds, [0, 1] * 4)
        for how in ("drop", "keep")
    )
    assert not drop.unlike([far])
    assert "diameter" in keep.unlike([far])[0]
    np.testing.assert_array_equal(drop.predict_proba([far]), drop.predict_proba(clouds[:1]))
