"""Orientation coherence against its plain form, its invariance, and clouds without a direction."""

import numpy as np
import pytest

from heatfield.channels import request_for
from heatfield.core import formulas
from heatfield.core.clouds import Batch
from heatfield.core.evaluate import Outputs, signatures_from_sums
from heatfield.core.moments import Sums
from heatfield.core.sums import dense_sums, difference_sums
from heatfield.features import orientation
from tests.helpers import reference, reference_oriented


def columns(clouds):
    """The columns of a ragged batch, by the dense path."""
    n, batch = clouds[0].shape[1], Batch.of(clouds)
    times = np.array([reference.scale_schedule(points, 8) for points in clouds]).T
    unit = np.ascontiguousarray(np.ldexp(times, -2 * batch.exponents))
    request = request_for(["density", "dimension", "transition", "spectrum"], exact=True, tol=1e-12)
    table = dense_sums(batch, unit, request)
    sums, t = Sums(table, n), batch.at_points(unit)
    covariance = np.stack(list(formulas.scaled_covariance(sums.weight, sums.first, sums.second, t, n)))
    slopes = sums.first / sums.weight / np.sqrt(2.0 * t)
    # Reading the signatures off uses up the sums of the directions.
    out = Outputs.empty(n, *table.shape[1:], request)
    signatures_from_sums(table, t, batch.at_points(formulas.heat_factor(times, n)), n, out)

    def means(fields, pairs):
        steps = np.empty((2, len(fields), len(pairs), batch.total))
        difference_sums(batch, unit, fields, pairs, np.dtype(float), steps)
        return fields[:, pairs[:, 0]] + steps[0] / sums.weight[pairs[:, 1]]

    return orientation.values(
        orientation.deviator(covariance, n),
        slopes,
        np.stack([np.log(out.density), out.dimension, out.transition, *out.spectrum]),
        batch.ends,
        means,
        least=1e-6,
    )


@pytest.fixture(params=[2, 3])
def clouds(request, rng):
    n = request.param
    line = np.zeros((50, n))
    line[:, 0] = np.linspace(0.0, 1.0, 50)
    blobs = [size * rng.normal(size=(m, n)) for m, size in ((200, 1.0), (57, 30.0), (300, 0.01))]
    return [*blobs, line, np.concatenate([blobs[1], blobs[1][:9]])]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_columns_equal_the_reference(clouds):
    found = columns(clouds)
    n = clouds[0].shape[1]
    assert found.shape[1] == len(orientation.entries(n, 8)) == {2: 316, 3: 324}[n]
    for row, points in zip(found, clouds, strict=True):
        expected = reference_oriented.block(points, reference.scale_schedule(points, 8))
        np.testing.assert_allclose(row, expected, rtol=0, atol=1e-11)


def test_names_are_unique():
    names = orientation.entries(3, 8)
    assert len(set(names)) == len(names)


def test_moving_the_cloud_changes_nothing(clouds, rng):
    n = clouds[0].shape[1]
    turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
    turn[0] *= -1.0  # a reflection in every second dimension
    moved = [rng.permutation(points @ turn) + 5.0 for points in clouds]
    np.testing.assert_allclose(columns(moved), columns(clouds), rtol=0, atol=1e-10)


def test_a_row_does_not_depend_on_its_batch(clouds):
    together = columns(clouds)
    for row, points in zip(together, clouds, strict=True):
        np.testing.assert_array_equal(columns([points])[0], row)


def test_no_direction_means_nan():
    """At the corners of a square both axes are alike."""
    square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    row = columns([square])[0]
    expected = reference_oriented.block(square, reference.scale_schedule(square, 8))
    np.testing.assert_array_equal(np.isnan(row), np.isnan(expected))
    assert np.isnan(row).any()
