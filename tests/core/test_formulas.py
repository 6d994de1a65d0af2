"""Formulas on NumPy arrays and torch tensors; the table of sums, which every path follows."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from heatfield.core import formulas
from heatfield.core.clouds import ArrangedCloud, Batch
from heatfield.core.fourier import FourierTask, ModeGrid, fourier_sums, log_accuracy_for
from heatfield.core.moments import MOMENTS, SCALAR, TENSOR, columns
from heatfield.core.planner import Request
from heatfield.core.sums import dense_sums, scale_sums

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
NAMES = """t weight square root_weight root_square factor energies responses roughnesses count memberships
weighted densities compositions dimensions step eigenvalues variance"""
ARGUMENTS = {
    **{name: RNG.uniform(0.5, 2.0, (3, 40)) for name in NAMES.split()},
    "fourth": RNG.uniform(9.0, 12.0, (3, 40)),  # of a positive variance
    "step_squared": RNG.uniform(9.0, 12.0, (3, 40)),
    "first": RNG.normal(size=(3, 3, 40)),
    "second": RNG.normal(size=(6, 3, 40)),
    "extents": RNG.uniform(0.5, 2.0, (3, 3, 40)),
    "log_t": np.cumsum(RNG.uniform(0.5, 1.0, (3, 40)), axis=0),
    "n": 3,
    "center": 1.0,
    "sigma": 0.5,
}
ALL = [f for _, f in inspect.getmembers(formulas, inspect.isfunction) if f.__module__ == formulas.__name__]


def results(formula, convert):
    """All that a formula gives, as one list of arrays; and the arrays it was given."""
    given = {name: ARGUMENTS[name] for name in inspect.signature(formula).parameters}
    given = {name: convert(v) if isinstance(v, np.ndarray) else v for name, v in given.items()}
    found = formula(**given)
    return list(found) if not hasattr(found, "shape") else [found], given


@pytest.mark.parametrize("formula", ALL, ids=lambda f: f.__name__)
def test_torch_gives_the_same_numbers_and_correct_gradients(formula):
    expected, _ = results(formula, lambda v: v)
    found, _ = results(formula, torch.from_numpy)
    for a, b in zip(expected, found, strict=True):
        assert (np.abs(a - b.numpy()) <= 4 * np.spacing(np.abs(a))).all()
    _, given = results(formula, lambda v: torch.from_numpy(v[..., :2].copy()).requires_grad_())
    tensors = {name: v for name, v in given.items() if isinstance(v, torch.Tensor)}

    def of(*values):
        out = formula(**{**given, **dict(zip(tensors, values, strict=True))})
        return out if isinstance(out, torch.Tensor) else tuple(out)

    assert torch.autograd.gradcheck(of, tuple(tensors.values()))


def test_no_product_of_matrices():
    """Bits would depend on the shape of a batch."""
    source = inspect.getsource(formulas)
    words = ("einsum", "matmul", " @ ", ".dot(", "import numpy", "import torch")
    assert not any(word in source for word in words)


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
    text = (Path(__file__).parents[2] / "cpp" / "pairs.hpp").read_text()
    native = re.search(r"enum Column \{([^}]*)\}", text)[1].lower().replace(" ", "").split(",")
    alone = [moment for moment in MOMENTS if moment.wanted != "directions"]
    assert native == [moment.name for moment in alone] + ["first"]
    assert [moment.kind for moment in alone] == [SCALAR] * len(alone)
    assert [moment.name for moment in MOMENTS[len(alone) :]] == ["first", "second"]
    flags = re.search(r"enum Wanted \{([^}]*)\}", text)[1].lower()
    wanted = {moment.wanted.removesuffix("_moment") for moment in MOMENTS if moment.wanted}
    assert set(re.findall(r"with_(\w+)", flags)) == wanted


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_second_moments_have_the_trace_of_the_square(n):
    assert all(len(moment.derivatives(n)) == moment.count(n) for moment in MOMENTS)
    second = next(moment for moment in MOMENTS if moment.kind == TENSOR)
    square = next(moment for moment in MOMENTS if moment.name == "square")
    trace = {}
    for terms in second.derivatives(n):
        if () in terms:
            for axes, coefficient in terms.items():
                trace[axes] = trace.get(axes, 0.0) + coefficient
    assert trace == square.derivatives(n)[0]
