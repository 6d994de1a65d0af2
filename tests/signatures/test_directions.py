"""Eigenvectors of the spectrum, and the columns that are derived from them, beside plain NumPy."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.channels import CHANNELS, file_columns, reordered, table_channels
from heatfield.core.evaluate import eigenvectors
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


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
def test_like_lapack(n):
    rng = np.random.default_rng(n)
    matrices = rng.normal(size=(200, n, n))
    matrices = matrices + matrices.transpose(0, 2, 1)
    upper = np.triu_indices(n)
    found = eigenvectors(np.ascontiguousarray(matrices[:, upper[0], upper[1]].T), n).transpose(2, 0, 1)
    values, vectors = np.linalg.eigh(matrices)
    expected = vectors.transpose(0, 2, 1)[:, ::-1]
    overlap = np.abs((found * expected).sum(axis=2))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-10)
    residual = matrices @ found.transpose(0, 2, 1) - found.transpose(0, 2, 1) * values[:, None, ::-1]
    assert np.abs(residual).max() < 1e-13 * n * np.abs(values).max()
    last = np.array([row[np.flatnonzero(row)[-1]] for row in found.reshape(-1, n)])
    assert (last > 0).all()


def test_equal_eigenvalues_still_give_a_frame():
    packed = np.array([[1.0, 0, 0, 1, 0, 1], [1, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0]])
    for frame in eigenvectors(np.ascontiguousarray(packed.T), 3).transpose(2, 0, 1):
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-15)
    assert np.isnan(eigenvectors(np.array([[np.nan], [1.0], [2.0]]), 2)).all()


def test_normals_of_a_plane_and_of_a_wall():
    rng = np.random.default_rng(0)
    for axis, verticality in ((2, 0.0), (0, 1.0)):
        plane = rng.random((300, 3))
        plane[:, axis] = 0.0
        s = hf.signatures(plane, lengths=[0.1, 0.2], with_directions=True)
        np.testing.assert_allclose(np.abs(s.normals[:, :, axis]), 1.0, atol=1e-12)
        np.testing.assert_allclose(s.verticality, verticality, atol=1e-12)
        np.testing.assert_allclose(s.sphericity, 0.0, atol=1e-12)
        np.testing.assert_allclose(s.linearity + s.planarity, 1.0, atol=1e-12)
        assert (s.planarity[:, 1] > 0.2).mean() > 0.9


def test_derived_columns_by_their_definition(points):
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


def test_columns_on_request(points):
    s = hf.signatures(points, n_scales=2, with_directions=True)
    assert s.per_point().shape == (60, 12), "what was there stays as it was"
    assert not any(c.name in DERIVED for c in table_channels())
    names = s.get_feature_names_out(["normal", "linearity"]).tolist()
    assert names[:4] == ["linearity_s0", "normalx_s0", "normaly_s0", "normalz_s0"]
    np.testing.assert_array_equal(s.per_point(["normal", "linearity"])[:, 3], s.normals[:, 0, 2])
    assert list(s.get_feature_names_out())[:6] == [f"{n}_s0" for n in (
        "density", "dimension", "transition", "spectrum1", "spectrum2", "spectrum3")]  # fmt: skip
    assert list(file_columns(s, ["verticality"])) == ["verticality_s0", "verticality_s1"]
    assert {c.name for c in CHANNELS if c.on_request and c.in_table} == {*DERIVED}


def test_what_is_missing_is_said(points):
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


def test_another_order_and_targets(points):
    s = hf.signatures(points, n_scales=2, with_directions=True)
    rows = np.array([4, 2, 50])
    np.testing.assert_array_equal(reordered(s, rows).directions, s.directions[rows])
    some = hf.signatures(points, s.scales, with_directions=True, targets=rows)
    overlap = np.abs((some.directions * s.directions[rows]).sum(axis=3))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-5)


@pytest.mark.filterwarnings("ignore::heatfield.HeatFieldWarning")
def test_a_cloud_without_scales():
    s = hf.signatures(np.zeros((1, 3)), with_directions=True)
    assert s.directions.shape == (1, 8, 3, 3)
    assert np.isnan(s.directions).all()
    alone = hf.signatures(np.zeros((1, 3)), lengths=[1.0, 2.0], with_directions=True)
    assert np.isnan(alone.linearity).all(), "a point alone has no shape"
