"""The power of two against fifty digits, through a compiled loop as the pair sums use it."""

from decimal import Decimal, localcontext

import numba
import numpy as np
import pytest

from heatfield._base.exp2 import exp2

# Worst relative error, and the smallest argument whose result is a normal number.
PROMISED = {"float64": (5.5e-16, -1000.0), "float32": (2.5e-7, -126.0)}
precisions = pytest.mark.parametrize("dtype", PROMISED)


@numba.njit(fastmath={"contract"})
def powers(exponents, out):
    for j in range(exponents.shape[0]):
        out[j] = exp2(exponents[j])


def power_of_two(exponents, dtype):
    exponents = np.asarray(exponents, dtype)
    out = np.empty_like(exponents)
    powers(exponents, out)
    return exponents, out


def worst_relative_error(exponents, found):
    with localcontext() as context:
        context.prec = 50
        exact = [Decimal(2) ** Decimal(float(y)) for y in exponents]
        return float(max(abs(Decimal(float(v)) / e - 1) for v, e in zip(found, exact, strict=True)))


@precisions
def test_relative_error(dtype):
    promised, least = PROMISED[dtype]
    rng = np.random.default_rng(0)
    near_rounding = np.nextafter(np.arange(-30.5, 0.0), np.array([[-np.inf], [np.inf]])).ravel()
    cases = [
        -rng.random(4000),
        least * rng.random(4000),
        near_rounding,
        np.arange(-30.5, 0.0),
        -np.geomspace(1e-30, 1, 100),
    ]
    exponents, found = power_of_two(np.concatenate(cases), dtype)
    assert worst_relative_error(exponents, found) <= promised


def test_whole_numbers_are_exact():
    exponents, found = power_of_two(np.arange(-1000, 1), "float64")
    np.testing.assert_array_equal(found, np.exp2(exponents))


@precisions
@pytest.mark.parametrize("below", [1.0, 1.5, 1e5, 1e30, np.inf])
def test_far_below_its_square_is_zero(dtype, below):
    least = PROMISED[dtype][1]
    _, found = power_of_two(np.full(9, least * below), dtype)
    assert (found >= 0).all()
    assert (found <= 1.001 * 2.0**least).all()
    np.testing.assert_array_equal(found * found, np.zeros(9, dtype))


@precisions
def test_never_increases_away_from_zero(dtype):
    """Farther away is never hotter by more than rounding."""
    _, found = power_of_two(-np.sort(np.random.default_rng(1).random(20_000) * 40), dtype)
    assert (found[1:] <= found[:-1] * (1 + 2 * PROMISED[dtype][0])).all()


def test_only_for_compiled_code():
    with pytest.raises(TypeError, match=r"^exp2 is for compiled code; use numpy\.exp2$"):
        exp2(-1.0)
