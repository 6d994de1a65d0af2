"""The formulas on NumPy arrays and on torch tensors: the same numbers, and a correct gradient."""

import inspect

import numpy as np
import pytest

from heatfield.core import formulas

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
NAMES = """t weight square root_weight root_square factor energies responses roughnesses count memberships
weighted densities compositions dimensions step eigenvalues"""
POSITIVE = {name: RNG.uniform(0.5, 2.0, (3, 40)) for name in NAMES.split()}
ARGUMENTS = {
    **POSITIVE,
    "fourth": RNG.uniform(9.0, 12.0, (3, 40)),  # of a positive variance
    "step_squared": RNG.uniform(9.0, 12.0, (3, 40)),
    "first": RNG.normal(size=(3, 3, 40)),
    "second": RNG.normal(size=(6, 3, 40)),
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
def test_torch_gives_the_same_numbers(formula):
    expected, _ = results(formula, lambda v: v)
    found, _ = results(formula, torch.from_numpy)
    for a, b in zip(expected, found, strict=True):
        assert (np.abs(a - b.numpy()) <= 4 * np.spacing(np.abs(a))).all()


@pytest.mark.parametrize("formula", ALL, ids=lambda f: f.__name__)
def test_the_gradient_is_correct(formula):
    found, given = results(formula, lambda v: torch.from_numpy(v[..., :2].copy()).requires_grad_())
    tensors = {name: v for name, v in given.items() if isinstance(v, torch.Tensor)}
    assert found

    def of(*values):
        out = formula(**{**given, **dict(zip(tensors, values, strict=True))})
        return out if isinstance(out, torch.Tensor) else tuple(out)

    assert torch.autograd.gradcheck(of, tuple(tensors.values()))


def test_no_product_of_matrices():
    """Bits would depend on the shape of a batch."""
    source = inspect.getsource(formulas)
    assert not any(
        word in source for word in ("einsum", "matmul", " @ ", ".dot(", "import numpy", "import torch")
    )
