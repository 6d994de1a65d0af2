"""Directions, the columns that follow from them, and local types, beside plain NumPy and known shapes."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.channels import CHANNELS, file_columns, reordered, table_channels
from heatfield.local_type import LOCAL_TYPES, local_type_codes
from tests.helpers.clouds import rotation

DERIVED = ("linearity", "planarity", "sphericity", "verticality", "normal")


def plain_covariance(points, i, t):
    """2t Q + I at one point: the weighted covariance of the neighbours over 2t."""
    r = points - points[i]
    w = np.exp(-(r**2).sum(axis=1) / (4 * t))
    mean = w @ r / w.sum()
    return ((w[:, None] * r).T @ r / w.sum() - np.outer(mean, mean)) / (2 * t)


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(1).normal(size=(60, 3)) * [3.0, 1.0, 0.2]


@pytest.mark.parametrize("method", ["dense", "fast"])
def test_directions_are_eigenvectors(points, method):
    s = hf.signatures(points, n_scales=4, with_directions=True, method=method)
    for i in (0, 17, 59):
        for a in range(4):
            c = plain_covariance(points, i, s.scales[a])
            v = s.directions[i, a]
            np.testing.assert_allclose(v @ v.T, np.eye(3), atol=1e-12)
            np.testing.assert_allclose(v @ c @ v.T, np.diag(s.spectrum[i, a] + 1.0), atol=1e-6)


@pytest.mark.parametrize(("axis", "verticality"), [(2, 0.0), (0, 1.0)])
def test_normals_of_a_plane_and_of_a_wall(axis, verticality):
    plane = np.random.default_rng(0).random((300, 3))
    plane[:, axis] = 0.0
    s = hf.signatures(plane, lengths=[0.1, 0.2], with_directions=True)
    np.testing.assert_allclose(np.abs(s.normals[:, :, axis]), 1.0, atol=1e-12)
    np.testing.assert_allclose(s.verticality, verticality, atol=1e-12)
    np.testing.assert_allclose(s.sphericity, 0.0, atol=1e-12)
    np.testing.assert_allclose(s.linearity + s.planarity, 1.0, atol=1e-12)
    assert (s.planarity[:, 1] > 0.2).mean() > 0.9


def test_derived_columns_follow_their_definitions(points):
    s = hf.signatures(points, lengths=[1.0, 2.0, 4.0], with_directions=True)
    e = 1.0 + s.spectrum
    np.testing.assert_allclose(s.linearity, (e[..., 0] - e[..., 1]) / e[..., 0], rtol=1e-12)
    np.testing.assert_allclose(s.planarity, (e[..., 1] - e[..., 2]) / e[..., 0], rtol=1e-12)
    np.testing.assert_allclose(s.sphericity, e[..., 2] / e[..., 0], rtol=1e-12)
    np.testing.assert_array_equal(s.normals, s.directions[:, :, 2])
    np.testing.assert_array_equal(s.verticality, 1.0 - np.abs(s.normals[..., 2]))


def test_directions_turn_with_the_cloud(points):
    turn = rotation(3, 5)
    one = hf.signatures(points, n_scales=3, with_directions=True)
    two = hf.signatures(points @ turn.T, n_scales=3, with_directions=True)
    # A nearly isolated point has no direction to speak of.
    clear = (np.diff(one.spectrum, axis=2) < -1e-3).all(axis=2)
    assert clear.mean() > 0.5
    overlap = np.abs(np.einsum("iakx,iakx->iak", one.directions @ turn.T, two.directions))
    np.testing.assert_allclose(overlap[clear], 1.0, atol=1e-9)


def test_derived_columns_come_on_request(points):
    s = hf.signatures(points, n_scales=2, with_directions=True)
    assert s.per_point().shape == (60, 12), "what was there stays as it was"
    assert not any(c.name in DERIVED for c in table_channels())
    names = s.get_feature_names_out(["normal", "linearity"]).tolist()
    assert names[:4] == ["linearity_s0", "normalx_s0", "normaly_s0", "normalz_s0"]
    np.testing.assert_array_equal(s.per_point(["normal", "linearity"])[:, 3], s.normals[:, 0, 2])
    assert list(file_columns(s, ["verticality"])) == ["verticality_s0", "verticality_s1"]
    assert {c.name for c in CHANNELS if c.on_request and c.in_table} >= {*DERIVED}


def test_what_is_missing_is_named(points):
    s = hf.signatures(points, n_scales=2)
    assert s.directions is None
    with pytest.raises(ValueError, match=r"normal needs the directions; .*with_directions=True"):
        _ = s.normals
    with pytest.raises(ValueError, match="verticality needs the directions"):
        s.per_point(["verticality"])
    with pytest.raises(ValueError, match="linearity needs the spectrum"):
        _ = hf.signatures(points, n_scales=2, with_spectrum=False).linearity
    with pytest.raises(ValueError, match=r"channels must be some of .*got .'hight'"):
        s.per_point(["hight"])
    with pytest.raises(ValueError, match="needs with_spectrum=True"):
        hf.signatures(points, with_spectrum=False, with_directions=True)
    flat = hf.signatures(points[:, :2], n_scales=2, with_directions=True)
    assert flat.normals.shape == (60, 2, 2)
    with pytest.raises(ValueError, match="planarity is not defined for points of 2 coordinates"):
        _ = flat.planarity


def test_directions_of_reordered_points_and_of_targets(points):
    s = hf.signatures(points, n_scales=2, with_directions=True)
    rows = np.array([4, 2, 50])
    np.testing.assert_array_equal(reordered(s, rows).directions, s.directions[rows])
    np.testing.assert_array_equal(reordered(s, rows).per_point(), s.per_point()[rows])
    assert reordered(hf.signatures(points, with_spectrum=False), rows).spectrum is None
    some = hf.signatures(points, s.scales, with_directions=True, targets=rows)
    overlap = np.abs((some.directions * s.directions[rows]).sum(axis=3))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-5)


@pytest.mark.filterwarnings("ignore::heatfield.HeatFieldWarning")
def test_one_point_has_no_directions_or_shape():
    s = hf.signatures(np.zeros((1, 3)), with_directions=True)
    assert s.directions.shape == (1, 8, 3, 3)
    assert np.isnan(s.directions).all()
    assert s.local_type(0).tolist() == ["undefined"]
    alone = hf.signatures(np.zeros((1, 3)), lengths=[1.0, 2.0], with_directions=True)
    assert np.isnan(alone.linearity).all()


# --- local types ---------------------------------------------------------------------


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
def test_rule_of_local_types(values, expected):
    dimension, transition, *spectrum = values
    code = local_type_codes(np.array([dimension]), np.array([transition]), np.array([spectrum]))
    assert LOCAL_TYPES[code[0]] == expected


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_forks_of_trees_are_junctions(noise):
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


def test_wrong_scales_of_local_types(points):
    s = hf.signatures(points)
    assert (s.local_type(-1) == s.local_type(7)).all()
    for wrong in (8, -9, 1.0, True, None):
        with pytest.raises(ValueError, match="scale must be an index from -8 to 7, got"):
            s.local_type(wrong)
    with pytest.raises(ValueError, match="with_spectrum=True"):
        hf.signatures(points, with_spectrum=False).local_type(0)
