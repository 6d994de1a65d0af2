"""FPFH: beside the definition, the fallback of small clouds, and what each option does under rotation."""

import importlib.util
import re
import sys

import numpy as np
import pytest

import reference_descriptors as reference
from heatfield_bench.baselines import FPFH
from heatfield_bench.baselines import fpfh as module
from shared import needs_open3d
from tests.helpers.clouds import cloud, rotation


def test_a_missing_extra_is_one_sentence(monkeypatch):
    plain = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "open3d" else plain(name, *a)
    )
    monkeypatch.setitem(sys.modules, "open3d", None)
    message = "FPFH needs open3d: pip install 'heatfield-bench[open3d]'"
    with pytest.raises(ImportError, match="^" + re.escape(message) + "$"):
        FPFH().fit([cloud("ball")])


def test_a_missing_library_of_the_system_is_said(monkeypatch, tmp_path):
    (tmp_path / "open3d.py").write_text("raise OSError('libusb-1.0.so.0: cannot open shared object file')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "open3d", raising=False)
    with pytest.raises(ImportError, match=r"does not load \(libusb-1.*apt-get install libusb-1.0-0 libgl1"):
        FPFH().fit([cloud("ball")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normal_radius": 0}, "normal_radius must be a number above 0, got 0"),
        ({"feature_radius": "far"}, "feature_radius must be a number above 0, got 'far'"),
        ({"orient": 1}, "orient must be True or False, got 1"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        FPFH(**options).fit([cloud("ball")])


def plain_normals(space, neighbours):
    """Unit normals by the definition, up to sign, of neighbourhoods that include the point itself."""
    return np.array([np.linalg.eigh(np.cov(space[near].T))[1][:, 0] for near in neighbours])


@needs_open3d
@pytest.mark.parametrize("name", ["sphere", "ball"])
def test_agrees_with_the_definition(name, monkeypatch):
    points = 30 * cloud(name, m=150) - 5
    space = reference.unit_ball(points)
    distance = np.linalg.norm(space[:, None] - space[None], axis=2)
    around = [np.flatnonzero(row <= 0.6) for row in distance]
    reach = [near[near != i] for i, near in enumerate(around)]
    # The last digits of a normal decide between two bins: histograms take Open3D's, which are compared first.
    seen = []
    plain = module.oriented
    monkeypatch.setattr(module, "oriented", lambda *a: seen.append(plain(*a)) or seen[-1])
    found = FPFH(normal_radius=0.6, feature_radius=0.6, orient=True).per_point(points)
    expected = plain_normals(space, around)
    expected *= np.where((expected * space).sum(axis=1) > 0, -1.0, 1.0)[:, None]  # towards the centroid
    np.testing.assert_allclose(seen[0], expected, atol=1e-7)
    np.testing.assert_allclose(found, reference.fpfh(space, seen[0], reach).T, rtol=1e-9, atol=1e-9)


@needs_open3d
def test_pooled_as_the_others():
    points = cloud("sphere")
    descriptor = FPFH(normal_radius=0.3, feature_radius=0.5, orient=True)
    table = descriptor.per_point(points)
    row = descriptor.fit_transform([points])[0]
    np.testing.assert_allclose(row, reference.pooled(table.T[None]), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(table.sum(axis=1), 600.0, rtol=1e-9)


@needs_open3d
def test_fallback_of_a_cloud_whose_radii_enclose_nothing():
    """Both radii hold for the cloud as a whole: one point with enough neighbours is enough."""
    sparse = cloud("sphere", m=60)
    assert np.isfinite(FPFH().per_point(sparse)).all()
    # Three points close together are enough for one normal and for histograms.
    filled = np.concatenate([sparse, sparse[:1] + 0.01 * np.eye(3)])
    assert np.isnan(FPFH().per_point(filled)).any()


@needs_open3d
def test_copies_do_not_keep_a_cloud_from_falling_back():
    sparse = np.repeat(cloud("sphere", m=60), 3, axis=0)
    assert np.isfinite(FPFH().per_point(sparse)).all()


@needs_open3d
def test_isolated_points():
    points = np.concatenate([0.02 * cloud("ball"), [[1.0, 0, 0], [-1, 0, 0]]])
    found = FPFH().per_point(points)
    assert np.isnan(found[-2:]).all()
    assert np.isfinite(found[:-2]).all()


def change(descriptor, points, turn):
    here, there = (descriptor.fit_transform([p])[0] for p in (points, points @ turn.T))
    return np.linalg.norm(here - there) / np.linalg.norm(here)


@needs_open3d
@pytest.mark.parametrize("name", ["sphere", "curve", "ball"])
def test_rotation(name):
    """As in the paper it changes, oriented hardly: only where rounding decides on a bin or a sign."""
    points, turn = cloud(name, m=1000), rotation(3)
    assert change(FPFH(), points, turn) > 0.01
    assert change(FPFH(orient=True), points, turn) < 0.01


@needs_open3d
def test_orientation_of_a_flat_and_of_a_straight_cloud():
    """Across all lines to the centroid, or none at all: every normal still has a place of its own."""
    flat = cloud("ball", 2, m=1000)
    turned = np.pad(flat, ((0, 0), (0, 1))) @ rotation(3).T
    wide = FPFH(normal_radius=0.3, feature_radius=0.5, orient=True)
    here, there = (wide.fit_transform([p])[0] for p in (flat, turned))
    assert np.linalg.norm(here - there) < 0.01 * np.linalg.norm(here)
    space = reference.unit_ball(cloud("collinear"))
    normals = module.oriented(
        space, np.tile([0.0, 0, 1], (240, 1)), np.tile(np.diag([1.0, 0, 0]), (240, 1, 1))
    )
    np.testing.assert_allclose((normals * -space).sum(axis=1), np.linalg.norm(space, axis=1), atol=1e-12)
