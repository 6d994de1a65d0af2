"""The Fourier path beside plain sums: errors in units of eps times the largest sum."""

import numpy as np
import pytest

from benchmarks import grid_error
from heatfield.core.clouds import ArrangedCloud
from heatfield.core.nufft import (
    GRID_EPS,
    FourierTask,
    ModeGrid,
    UpsampledGrid,
    fourier_sums,
    kernel_polynomials,
    kernel_transform,
    lanes_for,
    log_accuracy_for,
    width_for,
)

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


@pytest.mark.parametrize("eps", [1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", ["uniform", "place", "cluster", "lattice"])
def test_errors_stay_below_what_is_counted_on(kind, n, eps):
    assert eps >= GRID_EPS
    for t in (0.3, 0.01):
        found = grid_error.factors(grid_error.make(kind, n), t, eps)
        for name, factor in found.items():
            assert factor <= MOST[name], (name, t, factor)


def grid_of(sizes, width, center, steps, threads=1):
    """A grid of these sizes, whatever modes it serves."""
    made = UpsampledGrid(ModeGrid(sizes / np.asarray(steps), center, (1,) * len(sizes)), 1.0, threads)
    made.width, made.sizes, made.steps = width, list(sizes), np.asarray(steps)
    made.shape = (1,) * (3 - len(sizes)) + tuple(sizes)
    made.stencil = kernel_polynomials(width), width, center, made.steps
    return made


def continued(grid, width):
    """Three axes, the last one continued by a kernel."""
    longer = np.concatenate([grid, grid[..., : lanes_for(width)]], axis=-1)
    return longer.reshape((1,) * (3 - grid.ndim) + longer.shape)


def read(made, grid, places):
    """W, gradient and Hessian at places (n, q)."""
    n, q = places.shape
    found = np.empty((q, 1 + n + n * (n + 1) // 2))
    made._read(continued(grid, made.width), places, np.eye(found.shape[1]), 0, found)
    return found


@pytest.mark.parametrize("width", [4, 7, 9, 16])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_spreading_and_interpolation_are_adjoint(n, width):
    """Spreading is the transpose of reading the value: <spread(x), f> = sum of what is read of f at x."""
    rng = np.random.default_rng(n)
    sizes = np.array([20, 25, 32][:n])
    places = np.ascontiguousarray(rng.normal(size=(n, 300)))
    weights = rng.random(300)
    center, grid = rng.normal(size=n), rng.normal(size=sizes)
    for threads in (1, 3):
        made = grid_of(sizes, width, center, np.full(n, 3.0), threads)
        # A last axis that is continued beyond its period must stay as it was there.
        whole = np.zeros((1,) * (3 - n) + (*sizes[:-1], sizes[-1] + 5))
        made.spread(places, weights, whole)
        assert not whole[..., sizes[-1] :].any()
        laid = whole[..., : sizes[-1]].reshape(sizes)
        found = read(made, grid, places)
        np.testing.assert_allclose((laid * grid).sum(), weights @ found[:, 0], rtol=1e-11)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_spreading_gives_the_same_bits_for_any_number_of_threads(n):
    """Twenty runs that share grid points: their order of addition shows in the last bits."""
    rng = np.random.default_rng(n)
    places = ArrangedCloud.of(rng.normal(size=(80_000, n))).points
    weights = rng.random(80_000)

    def laid(threads):
        whole = np.zeros((1,) * (3 - n) + (24,) * n)
        made = grid_of(np.full(n, 24), 9, np.zeros(n), np.full(n, 3.0), threads)
        made.spread(places, weights, whole)
        return whole

    one = laid(1)
    for threads in (2, 3, 5):
        np.testing.assert_array_equal(laid(threads), one)


def test_derivatives_are_those_of_the_value():
    rng = np.random.default_rng(0)
    grid = rng.normal(size=(16, 18, 20))
    made = grid_of(np.array(grid.shape), 10, np.zeros(3), np.ones(3))
    at = rng.normal(size=(3, 40))
    step = 1e-4

    def near(shift):
        return read(made, grid, np.ascontiguousarray(at + shift[:, None]))

    axes = np.eye(3) * step
    for k in range(3):
        slope = (near(axes[k])[:, 0] - near(-axes[k])[:, 0]) / (2 * step)
        np.testing.assert_allclose(near(np.zeros(3))[:, 1 + k], slope, atol=1e-6)
    hessian = near(np.zeros(3))[:, 4:]
    for c, (a, b) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        slope = (near(axes[b])[:, 1 + a] - near(-axes[b])[:, 1 + a]) / (2 * step)
        np.testing.assert_allclose(hessian[:, c], slope, atol=1e-5)


def test_the_spreading_kernel():
    for eps in (1e-3, 1e-6, 1e-9, 1e-13):
        width = width_for(eps)
        table = kernel_polynomials(width)
        z = 0.3
        columns = np.array([np.polyval(table[:, j], 2 * z - 1) for j in range(width)])
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
            directions=True, fourth_moment=False, energy=False, same=False, n_threads=1,
        )  # fmt: skip
        _, largest = fourier_sums(task)
        assert 0.8 * 5000 <= largest <= 1.5 * 5200
