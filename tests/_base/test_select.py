"""Order statistics in place against NumPy's, with ties and on sorted, reversed and constant arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heatfield._base.select import percentile, select

ARRAYS = {
    "random": np.random.default_rng(0).normal(size=257),
    "ties": np.random.default_rng(1).integers(0, 5, 300).astype(float),
    "constant": np.full(1000, 3.0),
    "two values": np.tile([1.0, 0.0], 500),
    "sorted": np.arange(1000.0),
    "reversed": np.arange(1000.0)[::-1].copy(),
    "organ pipe": np.r_[np.arange(500.0), np.arange(500.0)[::-1]],
    "signed zeros": np.tile([0.0, -0.0], 20),
    "infinite": np.array([np.inf, 1.0, -np.inf, np.inf, 0.0]),
    "single": np.array([7.0]),
}
FINITE = {name: values for name, values in ARRAYS.items() if np.isfinite(values).all()}
reproducible = settings(derandomize=True, deadline=None, max_examples=200)
# Few different values, so that ties are common, and any others.
lists = st.lists(st.integers(-3, 3).map(float) | st.floats(-1e6, 1e6), min_size=1, max_size=60)


def assert_selected(values, k):
    work, order = values.copy(), np.arange(len(values))
    select(work, order, 0, len(values), k)
    assert work[k] == np.partition(values, k)[k]
    assert (work[:k] <= work[k]).all()
    assert (work[k + 1 :] >= work[k]).all()
    np.testing.assert_array_equal(values[order], work)  # the order came along
    np.testing.assert_array_equal(np.sort(order), np.arange(len(values)))


@pytest.mark.parametrize("values", ARRAYS.values(), ids=ARRAYS)
def test_select(values):
    for k in {0, len(values) // 3, len(values) // 2, len(values) - 1}:
        assert_selected(values, k)


@given(lists, st.integers(0, 59))
@reproducible
def test_select_anything(values, k):
    assert_selected(np.array(values), k % len(values))


@given(lists, st.data())
@reproducible
def test_select_in_a_range_leaves_the_rest(values, data):
    values = np.array(values)
    lo = data.draw(st.integers(0, len(values) - 1))
    hi = data.draw(st.integers(lo + 1, len(values)))
    k = data.draw(st.integers(lo, hi - 1))
    work = values.copy()
    select(work, None, lo, hi, k)
    assert work[k] == np.sort(values[lo:hi])[k - lo]
    np.testing.assert_array_equal(work[:lo], values[:lo])
    np.testing.assert_array_equal(work[hi:], values[hi:])


@pytest.mark.parametrize("values", FINITE.values(), ids=FINITE)
def test_percentiles_one_after_the_other(values):
    """As pooling takes them: each continues where the one before stopped."""
    work, rank = values.copy(), 0
    for q in (10, 50, 90):
        found, rank = percentile(work, rank, len(work), q / 100)
        assert found == np.percentile(values, q)
        assert (work[:rank] <= work[rank]).all()
        assert (work[rank + 1 :] >= found).all()


@given(lists, st.floats(0, 1))
@reproducible
def test_percentile_anywhere(values, fraction):
    values = np.array(values)
    found, _ = percentile(values.copy(), 0, len(values), fraction)
    assert found == pytest.approx(np.quantile(values, fraction), rel=1e-15, abs=1e-300)
    assert values.min() <= found <= values.max()


def test_single_precision_is_selected_too():
    values = np.random.default_rng(4).random(500).astype(np.float32)
    found, _ = percentile(values.copy(), 0, 500, 0.5)
    assert found == pytest.approx(np.percentile(values.astype(float), 50), rel=1e-7)
