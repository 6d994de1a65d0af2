"""2**y and order statistics of the native core, by the functions that use them."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heatfield import _core
from tests.helpers.process import run_python

LOG_2 = np.log(2.0)


def powers(y):
    """exp(y) for y <= 0, as the share of a second number beside 1."""
    logs = np.stack([np.zeros_like(y), y])
    _core.shares(logs)
    return logs[1] / logs[0]


def test_exponentials_have_a_small_relative_error():
    y = -np.random.default_rng(0).uniform(0.0, 690.0, 100_001)
    np.testing.assert_allclose(powers(y), np.exp(y), rtol=4e-15 + 700 * 2.3e-16)
    y = -LOG_2 * np.arange(0.0, 900.0, 0.25)
    np.testing.assert_allclose(powers(y), 2.0 ** (y / LOG_2), rtol=2e-13)


def test_exponentials_are_zero_before_subnormals():
    assert (powers(-LOG_2 * np.array([1000.5, 1040.0, 1e5, 1e300])) == 0.0).all()
    assert (powers(-LOG_2 * np.array([999.0])) > 0.0).all()
    assert np.isnan(powers(np.array([np.nan, -1.0]))).tolist() == [True, False]


@settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1.0])))
def test_percentiles_are_those_of_numpy(values):
    out = np.empty((1, 1, 5))
    _core.pool(values[None], np.array([values.size]), out)
    expected = [values.mean(), values.std(), *np.percentile(values, [10, 50, 90])]
    np.testing.assert_allclose(out[0, 0], expected, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_deviations_keep_their_range(size):
    values = np.random.default_rng(0).normal(size=50) * size
    out = np.empty((1, 1, 5))
    _core.pool(values[None], np.array([50]), out)
    np.testing.assert_allclose(out[0, 0, 1] / size, (values / size).std(), rtol=1e-12)


def test_works_where_home_cannot_be_written():
    code = "import heatfield as hf; print(hf.signatures([[0], [1], [3]], lengths=[1, 2]).density.shape)"
    home = "/proc/nowhere"
    assert run_python(code, HOME=home, XDG_CACHE_HOME=home).strip() == "(3, 2)"
