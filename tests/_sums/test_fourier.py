"""The Fourier path beside plain sums: errors in units of eps times the largest sum."""

import numpy as np
import pytest

from benchmarks import grid_error
from heatfield._cloud.cloud import ArrangedCloud
from heatfield._sums.buffers import Buffers
from heatfield._sums.fourier import fourier_sums, reads_grid
from heatfield._sums.fourier.interpolate import interpolate
from heatfield._sums.fourier.kernel import (
    GRID_EPS,
    kernel_polynomials,
    kernel_transform,
    lanes_for,
    width_for,
)
from heatfield._sums.fourier.modes import FourierTask, ModeGrid, log_accuracy_for
from heatfield._sums.fourier.spread import spread

# What docs/theory/fast.md allows; the weight is counted on with 2, the square with 10 (4 tol / 0.4 tol).
MOST = {
    "weight": 1.0,
    "first": 2.0,
    "second": 4.0,
    "square": 8.0,
    "fourth": 16.0,
    "energy": 1.0,
    "response": 3.0,
}


@pytest.mark.parametrize("eps", [1e-3, 1e-5, 1e-7, 1e-9, 1e-11])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", ["uniform", "place", "cluster", "lattice"])
def test_errors_stay_below_what_is_counted_on(kind, n, eps):
    assert reads_grid(eps, np.dtype(np.float64)) == (eps >= GRID_EPS)
    for t in (0.3, 0.01):
        found = grid_error.factors(grid_error.make(kind, n), t, eps)
        for name, factor in found.items():
            assert factor <= MOST[name], (name, t, factor)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_spreading_and_interpolation_are_adjoint(n):
    """Spreading is the transpose of reading the value: <spread(x), f> = sum of what is read of f at x."""
    rng = np.random.default_rng(n)
    width, sizes = 9, [20, 25, 32][:n]
    places = np.ascontiguousarray(rng.normal(size=(n, 300)))
    weights = rng.random(300)
    steps, center = np.full(n, 3.0), rng.normal(size=n)
    grid = rng.normal(size=sizes)
    continued = np.concatenate([grid, grid[..., : lanes_for(width)]], axis=-1)
    found = np.empty((300, 10))
    interpolate(continued.reshape((1,) * (3 - n) + continued.shape), width, places, center, steps, found)
    for threads in (1, 3):
        # A last axis that is continued beyond its period must stay as it was there.
        whole = np.zeros((1,) * (3 - n) + (*sizes[:-1], sizes[-1] + 5))
        spread(
            places, weights, center, steps, whole,
            columns=sizes[-1], width=width, n_threads=threads, buffers=Buffers(),
        )  # fmt: skip
        assert not whole[..., sizes[-1] :].any()
        laid = whole[..., : sizes[-1]].reshape(sizes)
        np.testing.assert_allclose((laid * grid).sum(), weights @ found[:, 0], rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_spreading_gives_the_same_bits_for_any_number_of_threads(n):
    """Twenty runs that share grid points: their order of addition shows in the last bits."""
    rng = np.random.default_rng(n)
    places = ArrangedCloud.of(rng.normal(size=(80_000, n))).points
    weights = rng.random(80_000)
    steps, center = np.full(n, 3.0), np.zeros(n)

    def laid(threads):
        whole = np.zeros((1,) * (3 - n) + (24,) * n)
        options = {"columns": 24, "width": 9, "n_threads": threads, "buffers": Buffers()}
        return spread(places, weights, center, steps, whole, **options)

    one = laid(1)
    for threads in (2, 3, 5):
        again = laid(threads)
        np.testing.assert_array_equal(again, one)


def test_derivatives_are_those_of_the_value():
    rng = np.random.default_rng(0)
    width = 10
    grid = rng.normal(size=(16, 18, 20))
    continued = np.concatenate([grid, grid[..., : lanes_for(width)]], axis=-1)
    at = rng.normal(size=(3, 40))
    step = 1e-4

    def read(shift):
        found = np.empty((40, 10))
        interpolate(
            continued, width, np.ascontiguousarray(at + shift[:, None]), np.zeros(3), np.ones(3), found
        )
        return found

    axes = np.eye(3) * step
    for k in range(3):
        slope = (read(axes[k])[:, 0] - read(-axes[k])[:, 0]) / (2 * step)
        np.testing.assert_allclose(read(np.zeros(3))[:, 1 + k], slope, atol=1e-6)
    hessian = read(np.zeros(3))[:, 4:]
    for c, (a, b) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        slope = (read(axes[b])[:, 1 + a] - read(-axes[b])[:, 1 + a]) / (2 * step)
        np.testing.assert_allclose(hessian[:, c], slope, atol=1e-5)


def test_the_spreading_kernel():
    for eps in (1e-3, 1e-6, 1e-9):
        width = width_for(eps)
        table = kernel_polynomials(width)
        z = 0.3
        columns = np.array([np.polyval(table[0, :, j], 2 * z - 1) for j in range(width)])
        s = 0.5 * width - np.arange(width) - z
        bump = np.exp(2.6 * width * (np.sqrt(1 - (2 * s / width) ** 2) - 1))
        np.testing.assert_allclose(columns, bump, atol=eps)
        fine = np.linspace(-width / 2, width / 2, 20001)
        inside = np.sqrt(np.maximum(1 - (2 * fine / width) ** 2, 0))
        whole = np.trapezoid(np.exp(2.6 * width * (inside - 1)), fine)
        np.testing.assert_allclose(kernel_transform(width, np.zeros(1))[0], whole, rtol=1e-6)


def test_a_heavy_place_outside_the_targets_counts_as_the_largest():
    rng = np.random.default_rng(1)
    sources = np.concatenate([rng.random((3, 200)), np.full((3, 5000), 0.9)], axis=1)
    targets = np.ascontiguousarray(0.2 * rng.random((3, 50)))
    low, high = sources.min(axis=1), sources.max(axis=1)
    for eps in (1e-6, 1e-11):
        grid = ModeGrid.over(low, high, low, high, 0.002, log_accuracy_for(eps, False), 0.0)
        task = FourierTask(
            targets=targets, sources=sources, weights=None, grid=grid, t=0.002, eps=eps,
            directions=True, fourth_moment=False, energy=False, same=False,
            dtype=np.dtype(np.float64), n_threads=1,
        )  # fmt: skip
        _, largest = fourier_sums(task)
        assert 0.8 * 5000 <= largest <= 1.5 * 5200
