"""What FPFH, HKS, WKS and LocalCovariance have in common: manners, names, pooling, odd clouds."""

import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import heatfield as hf
import reference_descriptors as reference
from heatfield.models.read_out import RoundOffScaler
from heatfield_bench.baselines import FPFH, HKS, WKS, LocalCovariance
from shared import needs_open3d
from tests.helpers.agreement import assert_agree
from tests.helpers.clouds import cloud, on_grid, rotation
from tests.helpers.estimator_checks import CHECKS, some_clouds

ALL = [
    pytest.param(FPFH(), id="FPFH", marks=needs_open3d),
    pytest.param(HKS(), id="HKS"),
    pytest.param(WKS(), id="WKS"),
    pytest.param(LocalCovariance(), id="LocalCovariance"),
]
WIDTHS = {"FPFH": 5 * 33, "HKS": 5 * 16, "WKS": 5 * 16, "LocalCovariance": 5 * 12 * 5}
# Asks for a parameter of HFSDescriptor; `test_constructor_does_not_validate` is its place here.
OWN_CHECKS = [c for c in CHECKS if c.__name__ != "constructor_does_not_validate"]


def deviation(here, there):
    assert (np.isnan(here) == np.isnan(there)).all()
    known = np.isfinite(here)
    return np.linalg.norm(here[known] - there[known]) / np.linalg.norm(here[known])


@pytest.mark.parametrize("check", OWN_CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("descriptor", ALL)
@pytest.mark.filterwarnings("ignore:.*features are NaN:heatfield.HeatFieldWarning")
def test_estimator_check(check, descriptor):
    check(type(descriptor)())


@pytest.mark.parametrize("descriptor", ALL)
def test_constructor_does_not_validate(descriptor):
    with pytest.raises(ValueError, match="n_jobs must be a positive integer"):
        type(descriptor)(n_jobs=0).fit(some_clouds()[0])
    assert all(p.kind is p.KEYWORD_ONLY for p in inspect.signature(type(descriptor)).parameters.values())


@pytest.mark.parametrize("descriptor", ALL)
def test_names_and_widths(descriptor):
    points = cloud("ball")
    names = descriptor.get_feature_names_out()
    row = descriptor.fit_transform([points])
    width = WIDTHS[type(descriptor).__name__]
    assert row.shape == (1, width) == (1, len({*names})) == (1, descriptor.layout().width)
    table = descriptor.per_point(points)
    assert table.shape == (240, width // 5) == (240, len({*descriptor.point_names()}))
    # Every pooled column is the statistic of the column of per_point that its name says.
    place = {name: i for i, name in enumerate(descriptor.point_names())}
    for name, value in zip(names, row[0], strict=True):
        channel, statistic, step = re.fullmatch(r"(\w+)_(mean|std|p10|p50|p90)_(\w\d+)", name).groups()
        column = table[:, place[f"{channel}_{step}"]]
        column = column[~np.isnan(column)]
        if not column.size:
            assert np.isnan(value)
            continue
        percent = statistic.startswith("p")
        expected = np.percentile(column, int(statistic[1:])) if percent else getattr(np, statistic)(column)
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("descriptor", ALL)
def test_points_in_the_plane_have_z_zero(descriptor):
    flat = cloud("ball", 2)
    found = descriptor.per_point(flat)
    padded = descriptor.per_point(np.pad(flat, ((0, 0), (0, 1))))
    np.testing.assert_allclose(found, padded, rtol=1e-12, atol=1e-15)
    assert np.isfinite(found).any(axis=0).all()


@pytest.mark.parametrize("descriptor", ALL)
def test_clouds_without_two_places(descriptor):
    clouds = [cloud("ball"), np.zeros((5, 3)), np.empty((0, 3)), np.ones((1, 3)), cloud("ball")]
    name = type(descriptor).__name__
    message = (
        f"3 of 5 clouds have fewer than two distinct points, so their {name} features are NaN: clouds 1, 2, 3"
    )
    with pytest.warns(hf.HeatFieldWarning, match=re.escape(message)) as caught:
        rows = descriptor.fit_transform(clouds)
    assert Path(caught[0].filename) == Path(__file__)  # the warning stands at the caller's line
    assert (np.isnan(rows).all(axis=1) == [False, True, True, True, False]).all()
    np.testing.assert_array_equal(rows[0], rows[4])
    assert descriptor.per_point(np.empty((0, 3))).shape == (0, descriptor.layout().width // 5)
    assert np.isnan(descriptor.per_point(np.zeros((5, 3)))).all()


@pytest.mark.parametrize("descriptor", ALL)
@pytest.mark.parametrize(
    "name", ["two", "five", "collinear", "duplicates", "huge", "tiny", "map_coordinates"]
)
def test_odd_clouds_are_defined_and_repeatable(descriptor, name):
    points = {"two": np.eye(2, 3), "five": cloud("ball")[:5]}.get(name)
    points = cloud(name) if points is None else points
    first, again = descriptor.fit_transform([points]), descriptor.fit_transform([points])
    np.testing.assert_array_equal(first, again)
    assert np.isfinite(first).any()
    assert not np.isinf(first).any()


@pytest.mark.parametrize("descriptor", ALL)
@pytest.mark.parametrize("motion", ["translation", "permutation", "scaling"])
@pytest.mark.parametrize("name", ["sphere", "curve", "ball"])
def test_invariance(descriptor, motion, name):
    """Rotation differs from one method to the next; these hold for all, for FPFH nearly.

    FPFH bins angles: one on the border of two bins goes to either by rounding, and rounding decides the
    sign of some normals.
    """
    points = on_grid(cloud(name))
    moved = {
        "translation": points + 5e6,
        "permutation": np.random.default_rng(5).permutation(points),
        "scaling": points * 3e7,
    }[motion]
    here, there = (type(descriptor)().fit_transform([p])[0] for p in (points, moved))
    assert deviation(here, there) <= (0.02 if isinstance(descriptor, FPFH) else 1e-9)


@pytest.mark.parametrize("descriptor", ALL)
def test_order_of_points_is_kept_in_per_point(descriptor):
    points = cloud("ball")
    order = np.random.default_rng(2).permutation(len(points))
    here, there = descriptor.per_point(points)[order], descriptor.per_point(points[order])

    def same(rows):
        return np.isclose(here, rows, rtol=1e-9, atol=1e-12, equal_nan=True).all(axis=1).mean()

    if not isinstance(descriptor, FPFH):
        assert same(there) == 1.0
        return
    # The sign of Open3D's normals depends on the order of the points and on the processor, and with another
    # sign a histogram is another one. Rows of other points are never the same.
    assert same(there) > 0.25
    assert same(np.roll(there, 1, axis=0)) == 0.0


@pytest.mark.parametrize("descriptor", ALL)
def test_threads_of_one_cloud(descriptor):
    points = cloud("ball", m=5000)[:, :3] if isinstance(descriptor, LocalCovariance) else cloud("ball")
    one, three = (type(descriptor)(n_jobs=jobs).per_point(points) for jobs in (1, 3))
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("descriptor", ALL)
def test_pandas_output(descriptor):
    table = type(descriptor)().set_output(transform="pandas").fit_transform([cloud("ball"), cloud("curve")])
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == list(descriptor.get_feature_names_out())


@pytest.mark.parametrize("method", [FPFH, LocalCovariance])
def test_beyond_space_is_refused(method):
    message = f"{method.__name__} is defined for points of at most 3 coordinates, but clouds[0] has 5"
    with pytest.raises(ValueError, match=re.escape(message)):
        method().fit([cloud("ball", 5)])
    with pytest.raises(ValueError, match="but cloud has 5"):
        method().per_point(cloud("ball", 5))


@pytest.mark.parametrize("method", [HKS, WKS])
def test_graphs_live_in_any_dimension(method):
    points = cloud("ball", 3)
    turned = np.pad(points, ((0, 0), (0, 2))) @ rotation(5).T
    assert deviation(method().per_point(points), method().per_point(turned)) <= 1e-9


def test_per_point_names_the_row():
    points = cloud("ball")
    points[7, 1] = np.inf
    with pytest.raises(ValueError, match="cloud has inf in row 7, column 1"):
        HKS().per_point(points)


def test_pooling_takes_the_defined_points():
    from heatfield_bench.baselines.point_descriptor import pool_defined

    channels = np.random.default_rng(0).normal(size=(2, 3, 40))
    channels[0, 1, ::3] = np.nan
    channels[1, 2] = np.nan
    out = np.empty(30)
    pool_defined(channels, out)
    assert_agree(out, reference.pooled(channels), 1e-13)


def test_in_pipelines_and_searches():
    clouds, labels = some_clouds(16)
    model = make_pipeline(HKS(), RoundOffScaler(), LogisticRegression(max_iter=5000))
    search = GridSearchCV(model, {"hks__n_times": [4, 8]}, cv=2).fit(clouds, labels)
    assert pickle.loads(pickle.dumps(search)).predict(clouds).tolist() == search.predict(clouds).tolist()
