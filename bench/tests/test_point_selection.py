"""Farthest points, balls and nearest points, beside plain NumPy; and clouds brought to one size."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from heatfield.features.points import unit_ball  # noqa: E402
from heatfield_bench.networks.layers import farthest_points, in_ball, nearest_points, taken  # noqa: E402
from heatfield_bench.networks.learner import FixedClouds, drawn_rows  # noqa: E402


def clouds(batch=3, m=60, seed=0):
    return np.random.default_rng(seed).normal(size=(batch, m, 3)).astype(np.float32)


def squares(points, place):
    return ((points - place) ** 2).sum(axis=1)


def plain_farthest(points, count):
    chosen = [int(squares(points, points.mean(axis=0)).argmax())]
    while len(chosen) < count:
        chosen.append(int(np.min([squares(points, points[i]) for i in chosen], axis=0).argmax()))
    return chosen


def plain_ball(points, centre, radius, count):
    gaps = squares(points, centre)
    inside = [i for i in np.argsort(gaps, kind="stable") if gaps[i] < radius**2] or [int(gaps.argmin())]
    if len(inside) > count:
        return [inside[place * len(inside) // count] for place in range(count)]
    return inside + [inside[0]] * (count - len(inside))


@pytest.mark.parametrize("count", [1, 2, 17, 60])
def test_farthest_points(count):
    given = clouds()
    found = farthest_points(torch.from_numpy(given), count)
    assert found.tolist() == [plain_farthest(cloud.astype(float), count) for cloud in given]


def test_farthest_points_do_not_depend_on_the_order():
    given = torch.from_numpy(clouds())
    order = torch.from_numpy(np.random.default_rng(1).permutation(60))
    one, other = (taken(c, farthest_points(c, 20)) for c in (given, given[:, order]))
    torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("radius", "count"), [(0.8, 4), (0.8, 16), (2.0, 16), (9.0, 60), (9.0, 100), (1e-3, 5)]
)
def test_balls(radius, count):
    given = clouds()
    points = torch.from_numpy(given)
    centres = points[:, :7]
    found, sizes = in_ball(centres, points, radius, count)
    assert found.shape == (3, 7, count)
    for b, q in np.ndindex(3, 7):
        row, expected = found[b, q].tolist(), plain_ball(given[b].astype(float), given[b, q], radius, count)
        # Where all fit, the order of all but the nearest means nothing.
        assert sorted(row) == sorted(expected)
        assert row[0] == expected[0] == q
        assert sizes[b, q] == len(set(expected)) == len(set(row[: sizes[b, q]]))


def test_a_ball_without_points_has_the_nearest():
    points = torch.from_numpy(clouds())
    far = torch.full((3, 1, 3), 50.0)
    expected = [squares(cloud, 50.0).argmin() for cloud in clouds().astype(float)]
    found, sizes = in_ball(far, points, 0.1, 3)
    assert found.tolist() == [[[i] * 3] for i in expected]
    assert (sizes == 1).all()


@pytest.mark.parametrize("k", [1, 9, 60, 90])
def test_nearest_points(k):
    given = clouds()
    points = torch.from_numpy(given)
    found = nearest_points(points, k)[:, :11]
    for cloud, rows in zip(given.astype(float), found, strict=True):
        expected = [np.argsort(squares(cloud, cloud[i]))[:k].tolist() for i in range(11)]
        assert rows.tolist() == expected


def test_more_centres_than_points_are_refused():
    with pytest.raises(ValueError, match="count must lie between 1 and the 60 points, got 61"):
        farthest_points(torch.from_numpy(clouds()), 61)


def test_rows_that_are_taken_know_their_cloud():
    values, at = torch.randn(3, 8, 2), torch.randint(8, (3, 5, 4))
    expected = torch.stack([values[b][at[b]] for b in range(3)])
    assert torch.equal(taken(values, at), expected)


@pytest.mark.parametrize(("size", "count"), [(100, 30), (30, 30), (30, 100), (1, 5), (31, 60)])
def test_draw(size, count):
    rows = drawn_rows(size, count, np.random.default_rng(0))
    often = np.bincount(rows, minlength=size)
    assert len(rows) == count
    assert often.max() - often.min() <= 1  # equally often, up to one
    assert (np.diff(rows) >= 0).all()


def test_clouds_of_one_size():
    rng = np.random.default_rng(0)
    given = [rng.normal(size=(m, 3)) * 7 + 5e6 for m in (10, 40, 25, 40)] + [np.empty((0, 3))]
    data = FixedClouds(given, 25, 3, torch.device("cpu"))
    (points,) = data.batch(np.arange(5))
    assert points.shape == (5, 25, 3)
    np.testing.assert_allclose(points.mean(dim=1), 0.0, atol=1e-6)
    np.testing.assert_allclose(points.norm(dim=2).amax(dim=1), [1, 1, 1, 1, 0], rtol=1e-6)
    # Beside others or alone, and whatever comes first: the same points.
    (alone,) = FixedClouds([given[1]], 25, 3, torch.device("cpu")).batch(np.array([0]))
    assert torch.equal(alone[0], points[1])
    (other,) = FixedClouds([given[1]], 25, 4, torch.device("cpu")).batch(np.array([0]))
    assert not torch.equal(other, alone)
    np.testing.assert_allclose(points[2], unit_ball(given[2]), atol=1e-6)  # as many as wanted: all, in order
    assert np.concatenate(list(data.pieces())).tolist() == [0, 1, 2, 3, 4]


def test_plane_clouds_get_a_zero():
    flat = np.random.default_rng(0).normal(size=(30, 2))
    (points,) = FixedClouds([flat], 30, 0, torch.device("cpu")).batch(np.array([0]))
    assert (points[..., 2] == 0.0).all()
    np.testing.assert_allclose(points[0, :, :2], unit_ball(flat), atol=1e-6)
