"""The table of sums is the one table: the native columns and the Fourier path follow it."""

import re
from pathlib import Path

import numpy as np
import pytest

from heatfield.core.clouds import ArrangedCloud, Batch
from heatfield.core.moments import MOMENTS, SCALAR, TENSOR, columns
from heatfield.core.nufft import FourierTask, ModeGrid, fourier_sums, log_accuracy_for
from heatfield.core.planner import Request
from heatfield.core.sums import dense_sums, scale_sums

PAIRS = Path(__file__).parents[2] / "cpp" / "pairs.hpp"
POLYNOMIALS = {
    "1": lambda r: [1.0 + 0.0 * r[0]],
    "|r|^2": lambda r: [(r * r).sum(axis=0)],
    "|r|^4": lambda r: [(r * r).sum(axis=0) ** 2],
    "r": list,
    "r r'": lambda r: [r[a] * r[b] for a in range(len(r)) for b in range(a, len(r))],
}


def direct(points, t):
    """The table (columns, m) of points (n, m), moment by moment from its polynomial and kernel."""
    r = points[:, None, :] - points[:, :, None]
    w = np.exp(-(r * r).sum(axis=0) / (4.0 * t))
    kernels = {"w": w, "g": np.sqrt(w)}
    found = [p * kernels[moment.kernel] for moment in MOMENTS for p in POLYNOMIALS[moment.polynomial](r)]
    return np.array(found).sum(axis=2)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_path_sums_the_moments_in_order(n):
    cloud = ArrangedCloud.of(np.random.default_rng(n).random((300, n)))
    t = 0.01
    expected = direct(cloud.points, t)
    request = Request(tol=1e-9, directions=True, fourth_moment=True, energy=True)
    dense = dense_sums(Batch.one(cloud), np.array([[t]]), request)[:, 0]
    near, _ = scale_sums(cloud, cloud, np.array([t]), request)
    low, high = cloud.points.min(axis=1), cloud.points.max(axis=1)
    grid = ModeGrid.over(low, high, low, high, t, log_accuracy_for(1e-12, True), 4.0 * t * 40.0)
    fourier, _ = fourier_sums(
        FourierTask(
            targets=cloud.points, sources=cloud.points, weights=None, grid=grid, t=t, eps=1e-12,
            directions=True, fourth_moment=True, energy=True, same=True, n_threads=1,
        )
    )  # fmt: skip
    for moment in MOMENTS:
        place = columns(n)[moment.name]
        own, unit = expected[place], moment.unit(t) * expected[0].max()
        np.testing.assert_allclose(dense[place], own, rtol=0.0, atol=1e-13 * unit, err_msg=moment.name)
        for table in (near, fourier):
            found = table.T[place]
            if moment.kernel == "g":  # right in total only
                found, own = found.sum(axis=1), expected[place].sum(axis=1)
                unit = moment.unit(t) * expected.sum()
            np.testing.assert_allclose(found, own, rtol=0.0, atol=1e-7 * unit, err_msg=moment.name)


def test_native_columns_are_those_of_the_table():
    text = PAIRS.read_text()
    native = re.search(r"enum Column \{([^}]*)\}", text)[1].lower().replace(" ", "").split(",")
    alone = [moment for moment in MOMENTS if moment.wanted != "directions"]
    assert native == [moment.name for moment in alone] + ["first"]
    assert [moment.kind for moment in alone] == [SCALAR] * len(alone)
    assert [moment.name for moment in MOMENTS[len(alone) :]] == ["first", "second"]
    flags = re.search(r"enum Wanted \{([^}]*)\}", text)[1].lower()
    wanted = {moment.wanted.removesuffix("_moment") for moment in MOMENTS if moment.wanted}
    assert set(re.findall(r"with_(\w+)", flags)) == wanted


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_each_number_of_a_moment_has_its_derivatives(n):
    for moment in MOMENTS:
        assert len(moment.derivatives(n)) == moment.count(n)
    second = next(moment for moment in MOMENTS if moment.kind == TENSOR)
    square = next(moment for moment in MOMENTS if moment.name == "square")
    trace = {}
    for terms in second.derivatives(n):
        if () in terms:
            for axes, coefficient in terms.items():
                trace[axes] = trace.get(axes, 0.0) + coefficient
    assert trace == square.derivatives(n)[0]
