"""Eigenvalues of small symmetric matrices against LAPACK, above all where they coincide."""

import numpy as np
import pytest

from heatfield.core.evaluate import eigenvalues
from tests.helpers.clouds import rotation

EPS = np.finfo(float).eps
sizes = pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])


def solve(matrices):
    n = matrices.shape[-1]
    upper = np.triu_indices(n)
    return eigenvalues(np.ascontiguousarray(matrices[:, upper[0], upper[1]].T), n).T


def with_spectrum(values, seeds=range(25)):
    """Symmetric matrices with (nearly) these eigenvalues, in random positions."""
    turns = np.stack([rotation(len(values), seed) for seed in seeds])
    matrices = turns @ (np.asarray(values)[:, None] * turns.transpose(0, 2, 1))
    return (matrices + matrices.transpose(0, 2, 1)) / 2


def assert_like_lapack(matrices, units=8):
    """Within a few units in the last place of the norm, largest first."""
    found, expected = solve(matrices), np.linalg.eigvalsh(matrices)[:, ::-1]
    norm = np.abs(expected).max(axis=1, keepdims=True)
    assert (np.abs(found - expected) <= units * EPS * norm).all()
    assert (np.diff(found, axis=1) <= 0).all()


@sizes
def test_random(n):
    matrices = np.random.default_rng(n).normal(size=(1000, n, n))  # not a multiple of the vector width
    assert_like_lapack(matrices + matrices.transpose(0, 2, 1), units=8 + n)


@pytest.mark.parametrize("decades", [0.5, 3, 8])
def test_entries_of_all_sizes(decades):
    """Fifty thousand tries to find a matrix that needs more sweeps; three sweeps fail on thousands."""
    rng = np.random.default_rng(int(10 * decades))
    matrices = rng.choice([-1.0, 1.0], (50_000, 3, 3)) * 10 ** rng.uniform(-decades, 0, (50_000, 3, 3))
    assert_like_lapack(np.triu(matrices) + np.triu(matrices, 1).transpose(0, 2, 1), units=16)


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-15, 1e-12, 1e-8, 1e-4, 1e-1])
@pytest.mark.parametrize("shape", [(1, 1, 0), (1, 0, 0), (1, 1, 1), (0, 1, -1), (1, 2, 1)])
def test_near_degeneracy(shape, gap):
    """The ideal filament, sheet and ball, and how they are left."""
    assert_like_lapack(with_spectrum(np.array(shape) + gap * np.array([0.0, 1.0, -0.7])))


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-12, 1e-8])
def test_near_degeneracy_in_the_plane(gap):
    assert_like_lapack(with_spectrum([1.0, 1.0 + gap]))
    assert_like_lapack(with_spectrum([gap, 0.0]))


@pytest.mark.parametrize("decades", [3, 8, 15, 30])
def test_graded(decades):
    assert_like_lapack(with_spectrum([1.0, 10.0 ** (-decades / 2), 10.0**-decades]))


@pytest.mark.parametrize("unit", [1e-100, 1e-8, 1e8, 1e100])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_any_unit(n, unit):
    assert_like_lapack(unit * with_spectrum(np.linspace(-1, 2, n)))


@sizes
def test_diagonal_is_exact(n):
    diagonal = np.random.default_rng(n).permutation(np.arange(n) - 1.5)
    np.testing.assert_array_equal(solve(np.diag(diagonal)[None]), [np.sort(diagonal)[::-1]])
    np.testing.assert_array_equal(solve(np.zeros((3, n, n))), np.zeros((3, n)))


def test_pivots_of_equal_size():
    """All entries equal, and the same with signs: every rotation starts at 45 degrees."""
    ones = np.ones((1, 3, 3))
    np.testing.assert_allclose(solve(ones), [[3, 0, 0]], rtol=4 * EPS, atol=8 * EPS)
    signs = np.array([[[0.0, 1, -1], [1, 0, 1], [-1, 1, 0]]])
    assert_like_lapack(signs)


@sizes
def test_nan_stays_nan_and_in_its_row(n):
    matrices = with_spectrum(np.linspace(1, 2, n), range(3))
    matrices[1, 0, n - 1] = np.nan
    found = solve(matrices)
    assert np.isnan(found[1]).all()
    assert np.isfinite(found[[0, 2]]).all()
