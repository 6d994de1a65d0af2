"""LocalCovariance: beside the plain reference and jakteristics, and what rotation does to it."""

import re

import numpy as np
import pytest

import reference_descriptors as reference
from heatfield_bench.baselines import LocalCovariance
from heatfield_bench.baselines.local_covariance import EXTRA, FEATURES
from tests.helpers.agreement import assert_agree
from tests.helpers.clouds import cloud, rotation

RADII = (0.0625, 0.125, 0.25, 0.5)


def found_in(points, **options):
    """Features (12, radii, m) of points as they are."""
    descriptor = LocalCovariance(normalize=False, **options)
    return descriptor.per_point(points).T.reshape(-1, len(descriptor.radii), len(points))


@pytest.mark.parametrize("name", ["sphere", "curve", "ball", "clusters", "duplicates", "collinear"])
def test_agrees_with_the_reference(name):
    points = cloud(name)
    found, expected = found_in(points, radii=RADII), reference.covariance_features(points, RADII)
    # A difference of eigenvalues has the rounding of the largest, and a product of three that of its factors:
    # a smallest one of 1e-12 of the sum has four digits.
    floor = np.maximum(np.nan_to_num(np.abs(expected)).max(axis=2, keepdims=True), 1e-3)
    assert_agree(found, expected, 1e-7, floor=floor, what=name)
    exact = [FEATURES.index(f) for f in ("eigenvalue_sum", "eigenentropy", "PCA1", "surface_variation")]
    assert_agree(found[exact], expected[exact], 1e-12, floor=floor[exact], what=name)


def test_pooled_row_of_the_unit_ball():
    points = cloud("curve") * 40 + 7
    row = LocalCovariance().fit_transform([points])[0]
    expected = reference.pooled(
        reference.covariance_features(reference.unit_ball(points), (0.05, 0.1, 0.2, 0.4, 0.8))
    )
    assert_agree(row, expected, 1e-8, floor=1e-3)


def test_agrees_with_jakteristics():
    """In its single precision, where both are defined: it has a value also for normals that do not exist."""
    jakteristics = pytest.importorskip("jakteristics", reason="jakteristics is not installed")
    points = cloud("ball", m=2000)
    found = found_in(points, radii=RADII)
    for a, radius in enumerate(RADII):
        theirs = jakteristics.compute_features(
            points, radius, num_threads=1, feature_names=[*FEATURES]
        ).T.astype(float)
        ours = found[:, a]
        enough = ours[-1] >= 5  # with fewer, the smallest eigenvalue is 0 up to rounding
        assert enough.sum() > (0, 20, 1000, 1900)[a] - 1
        np.testing.assert_array_equal(ours[-1], theirs[-1])
        for name, mine, other in zip(FEATURES, ours, theirs, strict=True):
            np.testing.assert_allclose(
                mine[enough], other[enough], rtol=1e-4, atol=2e-6, err_msg=f"{name} {radius}"
            )


@pytest.mark.parametrize("name", ["sphere", "curve", "ball", "clusters", "flat"])
def test_rotation(name):
    points = cloud("ball") * [1, 1, 0] if name == "flat" else cloud(name)
    still = [f for f in FEATURES if f != "verticality"]
    descriptor = LocalCovariance(features=still)
    here, there = (descriptor.fit_transform([p])[0] for p in (points, points @ rotation(3).T))
    assert (np.isnan(here) == np.isnan(there)).all()
    known = np.isfinite(here)
    np.testing.assert_allclose(here[known], there[known], rtol=1e-9, atol=1e-9)
    # Seen from elsewhere what is vertical is something else.
    upright = LocalCovariance(features=("verticality",))
    one, other = (upright.fit_transform([p])[0] for p in (points, points @ rotation(3).T))
    assert np.nanmax(np.abs(one - other)) > 0.01


def test_shapes_say_what_they_are():
    rng = np.random.default_rng(0)
    get = LocalCovariance(radii=(0.3,), features=("linearity", "planarity", "sphericity", "verticality"))
    line = np.median(get.per_point(rng.random((400, 1)) * [1.0, 2.0, 3.0]), axis=0)
    wall = np.median(get.per_point(rng.random((900, 3)) * [1, 0, 1]), axis=0)
    box = np.median(get.per_point(rng.random((900, 3))), axis=0)
    np.testing.assert_allclose(line[:3], [1, 0, 0], atol=1e-12)
    assert np.isnan(line[3])  # a line has no normal
    assert wall[1] > 0.7
    np.testing.assert_allclose(wall[[2, 3]], [0, 1], atol=1e-12)
    assert box[2] > 0.4


def test_isolated_points_are_nan():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0.1, 0], [5, 5, 5]])
    found = LocalCovariance(radii=(0.05, 0.2), normalize=False).per_point(points)
    by_name = dict(zip(LocalCovariance(radii=(0.05, 0.2)).point_names(), found.T, strict=True))
    np.testing.assert_array_equal(by_name["number_of_neighbors_s0"], [1, 2, 2, 1, 1])
    np.testing.assert_array_equal(by_name["number_of_neighbors_s1"], [1, 3, 3, 3, 1])
    # Two points at one place have a size, 0, and no shape.
    np.testing.assert_array_equal(by_name["eigenvalue_sum_s0"], [np.nan, 0, 0, np.nan, np.nan])
    assert np.isnan(by_name["linearity_s0"]).all()
    np.testing.assert_allclose(by_name["linearity_s1"], [np.nan, 1, 1, 1, np.nan])
    assert np.isnan(by_name["verticality_s1"]).all()


def test_many_copies_have_no_shape():
    """The mean of a block of copies is not their place to the last digit, which must not look like a line."""
    places = cloud("ball")[:6]
    found = found_in(np.repeat(places, 101, axis=0), radii=(1e-3, 10.0))
    assert (found[FEATURES.index("eigenvalue_sum"), 0] == 0.0).all()
    assert np.isnan(found[FEATURES.index("linearity"), 0]).all()
    assert np.isfinite(found[:, 1]).all()


def test_one_walk_serves_all_radii():
    """Radii asked for one by one or together; the last one holds everything."""
    points = cloud("clusters", m=700)
    radii = (0.01, 0.3, 2.0, 1e5)
    together = found_in(points, radii=radii)
    for a, radius in enumerate(radii):
        alone = found_in(points, radii=(radius,))[:, 0]
        np.testing.assert_allclose(together[:, a], alone, rtol=1e-6, atol=1e-9)
    assert (together[-1, -1] == len(points)).all()


def test_chosen_features():
    points = cloud("ball")
    whole = LocalCovariance(features=(*FEATURES, *EXTRA)).per_point(points)
    some = LocalCovariance(features=("eigenvalue3", "linearity"))
    at = [i for i, n in enumerate(LocalCovariance(features=(*FEATURES, *EXTRA)).point_names())
          if n.startswith(("eigenvalue3_", "linearity_"))]  # fmt: skip
    np.testing.assert_array_equal(some.per_point(points)[:, 5:], whole[:, at[:5]])
    np.testing.assert_array_equal(some.per_point(points)[:, :5], whole[:, at[5:]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radii": ()}, "radii must be a sequence of positive numbers, got ()"),
        ({"radii": 0.1}, "radii must be a sequence of positive numbers, got 0.1"),
        ({"radii": (0.1, -1)}, "radii must be a sequence of positive numbers, got (0.1, -1)"),
        ({"radii": (0.2, 0.1)}, "radii must increase, got (0.2, 0.1)"),
        ({"normalize": "yes"}, "normalize must be True or False, got 'yes'"),
        (
            {"features": ("linearity", "linearity")},
            "features must be distinct, got ('linearity', 'linearity')",
        ),
        ({"features": "linearity"}, "got 'linearity'"),
        ({"features": ("roundness",)}, "got ('roundness',)"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=re.escape(message) + "$"):
        LocalCovariance(**options).fit([cloud("ball")])
