"""Heat bodies of which the shape and volume are known."""

import math
import re
import sys

import numpy as np
import pytest
from scipy import ndimage
from scipy.integrate import quad
from scipy.special import erf

import heatfield as hf
from tests.helpers.clouds import cloud

dimensions = pytest.mark.parametrize("n", [1, 2, 3])


def ball_volume(n, radius):
    return math.pi ** (n / 2) / math.gamma(n / 2 + 1) * radius**n


def cell_volume(body):
    return math.prod(axis[1] - axis[0] for axis in body.axes)


def assert_whole(body):
    """The grid cuts nothing off."""
    for k in range(body.mask.ndim):
        assert not np.take(body.mask, [0, -1], axis=k).any()


def signed_area(curve):
    x, y = (curve - curve[0]).T
    return 0.5 * float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum())


@dimensions
@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("offset", [0.0, 5e6])
def test_one_point_is_a_ball(n, alpha, offset):
    t = 0.3
    body = hf.HeatField(np.full((1, n), offset)).heat_body(t, alpha)
    radius = math.sqrt(4 * t * math.log(1 / alpha))
    assert body.volume == pytest.approx(ball_volume(n, radius), rel=1e-7)
    assert body.level == pytest.approx(alpha * (4 * math.pi * t) ** (-n / 2), rel=1e-12)
    assert (body.t, body.alpha) == (t, alpha)
    assert_whole(body)
    assert body.mask.shape == tuple(axis.size for axis in body.axes)
    assert body.mask.sum() * cell_volume(body) == pytest.approx(ball_volume(n, radius), rel=0.01)
    surface = {1: body.intervals, 2: body.contours and body.contours[0], 3: body.vertices}[n]
    distance = np.linalg.norm(np.reshape(surface, (-1, n)) - offset, axis=1)
    np.testing.assert_allclose(distance, radius, rtol=0, atol=1e-11 + 1e-15 * offset)


@dimensions
def test_two_far_points_are_two_balls(n):
    points = np.zeros((2, n))
    points[1, 0] = 10.0
    body = hf.HeatField(points, n_jobs=2).heat_body(0.5, 0.5, resolution=160)
    assert ndimage.label(body.mask)[1] == 2
    assert body.volume == pytest.approx(2 * ball_volume(n, math.sqrt(2 * math.log(2))), rel=1e-5)
    if n == 1:
        assert body.intervals.shape == (2, 2)
    elif n == 2:
        assert len(body.contours) == 2
        assert all(signed_area(curve) > 0 for curve in body.contours)


def test_a_filament_is_a_tube():
    """u of an evenly heated line is a Gaussian across times error functions along: the radius is known."""
    length, t, alpha = 10.0, 0.05, 0.5
    s = np.linspace(0, length, 1001)
    body = hf.HeatField(np.c_[s, 0 * s, 0 * s]).heat_body(t, alpha, resolution=256)

    def along_line(x):
        """The midpoint rule for the integral over the line, half a step longer at both ends."""
        half = 0.5 * length / 1000
        return 0.5 * (erf((x + half) / math.sqrt(4 * t)) - erf((x - length - half) / math.sqrt(4 * t)))

    middle = along_line(length / 2)
    true, _ = quad(
        lambda x: math.pi * max(0.0, 4 * t * math.log(along_line(x) / (alpha * middle))),
        -1,
        length + 1,
        points=[0, length / 2, length],
        limit=200,
    )
    assert body.volume == pytest.approx(true, rel=1e-5)
    assert ndimage.label(body.mask)[1] == 1
    radius = np.hypot(body.vertices[:, 1], body.vertices[:, 2])[np.abs(body.vertices[:, 0] - 5) < 2]
    np.testing.assert_allclose(radius, math.sqrt(4 * t * math.log(1 / alpha)), rtol=1e-6)


def test_a_ring_has_a_hole():
    angle = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    body = hf.HeatField(np.c_[np.cos(angle), np.sin(angle)]).heat_body(0.005, 0.5)
    inner, outer = sorted(body.contours, key=len)
    assert signed_area(outer) > 0 > signed_area(inner)
    for curve in (inner, outer):
        np.testing.assert_array_equal(curve[0], curve[-1])
        radius = np.linalg.norm(curve, axis=1)
        assert np.ptp(radius) < 1e-9
    ring = math.pi * (np.linalg.norm(outer[0]) ** 2 - np.linalg.norm(inner[0]) ** 2)
    assert body.volume == pytest.approx(ring, rel=1e-6)


def test_spheres_are_shells_with_closed_meshes():
    k = np.arange(1000) + 0.5
    z, angle = 1 - k / 500, np.pi * (1 + 5**0.5) * k
    points = np.c_[np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z]
    field = hf.HeatField(points)
    body = field.heat_body(0.02, 0.5, resolution=48)
    np.testing.assert_allclose(field.value(body.vertices, 0.02), body.level, rtol=1e-10)
    # Closed and consistently turned: every directed edge occurs once, and once the other way round.
    faces = body.faces
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    there, back = ({tuple(e) for e in edges.tolist()}, {tuple(e) for e in edges[:, ::-1].tolist()})
    assert there == back
    assert len(there) == len(edges)
    # Two spheres, so the Euler characteristic is 4.
    assert len(body.vertices) - len(edges) // 2 + len(faces) == 4
    radius = np.linalg.norm(body.vertices, axis=1)
    shell = ball_volume(3, radius[radius > 1].mean()) - ball_volume(3, radius[radius < 1].mean())
    assert body.volume == pytest.approx(shell, rel=1e-4)


@dimensions
@pytest.mark.parametrize("name", ["clusters", "curve", "map_coordinates"])
def test_bodies_are_whole_and_nested(name, n):
    points = cloud(name, n)[:200]
    weights = np.linspace(0, 2, len(points))
    t = hf.scale_schedule(points)[6]
    field = hf.HeatField(points, weights)
    body = field.heat_body(t, 0.2, resolution=None if n < 3 else 48)
    assert_whole(body)
    assert body.volume == pytest.approx(body.mask.sum() * cell_volume(body), rel=0.1)
    nodes = np.stack(np.meshgrid(*body.axes, indexing="ij"), axis=-1).reshape(-1, n)
    assert body.level == pytest.approx(0.2 * field.value(field.points, t).max(), rel=1e-12)
    np.testing.assert_array_equal(body.mask.ravel(), field.value(nodes, t) >= body.level)
    assert field.heat_body(t, 0.5, resolution=body.axes[0].size).volume < body.volume


def test_same_bits_for_any_number_of_threads():
    points = cloud("curve", 3)
    one, two = (hf.HeatField(points, n_jobs=jobs).heat_body(0.02, resolution=32) for jobs in (1, 2))
    assert one.volume == two.volume
    np.testing.assert_array_equal(one.mask, two.mask)
    np.testing.assert_array_equal(one.vertices, two.vertices)


def test_a_coarse_grid_is_reported():
    points = np.array([[0.0, 0.0], [0.3, 100.0]])
    with pytest.warns(hf.HeatFieldWarning) as caught:
        hf.HeatField(points).heat_body(0.04, resolution=256)
    assert str(caught[0].message) == (
        "the grid's cells, 0.397 wide, are coarser than sqrt(t) = 0.2: parts of the body may be missed; "
        "a resolution of 509 resolves them"
    )


@pytest.mark.filterwarnings("ignore:the grid's cells")
def test_a_body_between_the_nodes_is_an_error():
    points = np.array([[0.0, 0.0], [0.3, 100.0]])
    with pytest.raises(ValueError) as caught:
        hf.HeatField(points, [1, 3]).heat_body(1e-4, resolution=16)
    assert str(caught.value) == (
        "no node of the grid lies in the heat body: with resolution=16 its cells are 7.15 wide, "
        "and sqrt(t) is 0.01; use a larger resolution"
    )


@pytest.mark.parametrize(
    ("n", "arguments", "message"),
    [
        (4, {"t": 1.0}, "heat_body draws bodies in 1, 2 or 3 dimensions, got points in 4"),
        (2, {"t": [1.0, 2.0]}, "t must be one number for heat_body, got [1.0, 2.0]"),
        (2, {"t": 0.0}, "t must be positive and finite, got t = 0.0"),
        (2, {"t": 1.0, "alpha": 1.0}, "alpha must lie between 0 and 1, got 1.0"),
        (2, {"t": 1.0, "alpha": 0.0}, "alpha must lie between 0 and 1, got 0.0"),
        (2, {"t": 1.0, "alpha": "half"}, "alpha must lie between 0 and 1, got 'half'"),
        (2, {"t": 1.0, "alpha": math.nan}, "alpha must lie between 0 and 1, got nan"),
        (2, {"t": 1.0, "resolution": 7}, "resolution must be an integer of at least 8, got 7"),
        (2, {"t": 1.0, "resolution": 64.0}, "resolution must be an integer of at least 8, got 64.0"),
        (3, {"t": 1.0, "resolution": 1000}, "resolution=1000 makes a grid of 1001 x 1001 x 1001 nodes, more"),
    ],
)
def test_wrong_arguments_are_named(n, arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        hf.HeatField(np.zeros((1, n))).heat_body(**arguments)


def test_without_scikit_image(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(ImportError) as caught:
        hf.HeatField(np.zeros((1, 3))).heat_body(1.0)
    assert str(caught.value) == "heat_body in 3 dimensions needs scikit-image: pip install 'heatfield[show]'"
    assert hf.HeatField([[0.0]]).heat_body(1.0).intervals.shape == (1, 2)


@pytest.mark.parametrize(("n", "words"), [(1, "length 3.33, 1025 nodes"), (2, "area 8.71"), (3, "volume ")])
def test_its_text_says_level_and_size(n, words):
    body = hf.HeatField(np.zeros((1, n))).heat_body(1.0, 0.5)
    assert repr(body).startswith(f"HeatBody in {n}D: u >= {body.level:.4g} at t = 1, {words}")
