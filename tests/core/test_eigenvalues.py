"""Eigenvalues and eigenvectors of small symmetric matrices against LAPACK, above all where they coincide."""

import numpy as np
import pytest

from heatfield.core.evaluate import eigenvalues, eigenvectors
from tests.helpers.clouds import rotation

EPS = np.finfo(float).eps
sizes = pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])


def packed(matrices):
    upper = np.triu_indices(matrices.shape[-1])
    return np.ascontiguousarray(matrices[:, upper[0], upper[1]].T)


def solve(matrices):
    return eigenvalues(packed(matrices), matrices.shape[-1]).T


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
def test_random_matrices(n):
    matrices = np.random.default_rng(n).normal(size=(1000, n, n))  # not a multiple of the vector width
    assert_like_lapack(matrices + matrices.transpose(0, 2, 1), units=8 + n)


@pytest.mark.parametrize("decades", [0.5, 3, 8])
def test_entries_of_all_sizes(decades):
    """Fifty thousand tries to find a matrix that needs more sweeps; three sweeps fail on thousands."""
    rng = np.random.default_rng(int(10 * decades))
    matrices = rng.choice([-1.0, 1.0], (50_000, 3, 3)) * 10 ** rng.uniform(-decades, 0, (50_000, 3, 3))
    assert_like_lapack(np.triu(matrices) + np.triu(matrices, 1).transpose(0, 2, 1), units=16)


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-15, 1e-12, 1e-8, 1e-4, 1e-1])
def test_near_degeneracy(gap):
    """The ideal filament, sheet and ball, and how they are left."""
    for shape in ((1, 1, 0), (1, 0, 0), (1, 1, 1), (0, 1, -1), (1, 2, 1)):
        assert_like_lapack(with_spectrum(np.array(shape) + gap * np.array([0.0, 1.0, -0.7])))
    assert_like_lapack(with_spectrum([1.0, 1.0 + gap]))
    assert_like_lapack(with_spectrum([gap, 0.0]))


def test_graded_spectra_and_any_unit():
    for decades in (3, 8, 15, 30):
        assert_like_lapack(with_spectrum([1.0, 10.0 ** (-decades / 2), 10.0**-decades]))
    for unit in (1e-100, 1e-8, 1e8, 1e100):
        for n in (2, 3, 5):
            assert_like_lapack(unit * with_spectrum(np.linspace(-1, 2, n)))


@sizes
def test_diagonals_are_exact_and_nan_stays_put(n):
    diagonal = np.random.default_rng(n).permutation(np.arange(n) - 1.5)
    np.testing.assert_array_equal(solve(np.diag(diagonal)[None]), [np.sort(diagonal)[::-1]])
    np.testing.assert_array_equal(solve(np.zeros((3, n, n))), np.zeros((3, n)))
    matrices = with_spectrum(np.linspace(1, 2, n), range(3))
    matrices[1, 0, n - 1] = np.nan
    np.testing.assert_array_equal(np.isnan(solve(matrices)).any(axis=1), [False, True, False])


def test_pivots_of_equal_size():
    """All entries equal, and the same with signs: every rotation starts at 45 degrees."""
    np.testing.assert_allclose(solve(np.ones((1, 3, 3))), [[3, 0, 0]], rtol=4 * EPS, atol=8 * EPS)
    assert_like_lapack(np.array([[[0.0, 1, -1], [1, 0, 1], [-1, 1, 0]]]))


@sizes
def test_eigenvectors(n):
    matrices = np.random.default_rng(n).normal(size=(200, n, n))
    matrices = matrices + matrices.transpose(0, 2, 1)
    found = eigenvectors(packed(matrices), n).transpose(2, 0, 1)
    values, vectors = np.linalg.eigh(matrices)
    overlap = np.abs((found * vectors.transpose(0, 2, 1)[:, ::-1]).sum(axis=2))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-10)
    residual = matrices @ found.transpose(0, 2, 1) - found.transpose(0, 2, 1) * values[:, None, ::-1]
    assert np.abs(residual).max() < 1e-13 * n * np.abs(values).max()
    last = np.array([row[np.flatnonzero(row)[-1]] for row in found.reshape(-1, n)])
    assert (last > 0).all()


def test_equal_eigenvalues_still_give_a_frame():
    matrices = np.array([[1.0, 0, 0, 1, 0, 1], [1, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0]])
    for frame in eigenvectors(np.ascontiguousarray(matrices.T), 3).transpose(2, 0, 1):
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-15)
    assert np.isnan(eigenvectors(np.array([[np.nan], [1.0], [2.0]]), 2)).all()
