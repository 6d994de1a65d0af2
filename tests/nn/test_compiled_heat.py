"""HeatFeatures by compiled code: numbers and gradients of the torch path, for any number of threads."""

import numpy as np
import pytest

import heatfield as hf
from tests.helpers.clouds import cloud

torch = pytest.importorskip("torch")
from heatfield.nn import HeatFeatures, heat  # noqa: E402


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def by_torch(monkeypatch, call):
    """The same call without compiled code."""
    with monkeypatch.context() as patch:
        patch.setattr(heat, "can_compute", lambda *_: False)
        return call()


def batch(n, dtype=torch.float64):
    points = torch.from_numpy(np.random.default_rng(n).normal(size=(3, 70, n))).to(dtype)
    points[1, 4] = points[1, 7]  # a duplicate
    mask = torch.ones(3, 70, dtype=torch.bool)
    mask[2, 25:] = mask[2, 3] = False
    return points, mask


def outputs_and_gradients(module, points, mask, scales=None):
    given = points.clone().requires_grad_()
    rows, whole = module(given, mask, scales), module.global_features(given, mask, scales)
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(x.shape, generator=generator, dtype=torch.float64).to(x) for x in (rows, whole)]
    gradients = [
        torch.autograd.grad((x * w).sum(), given)[0] for x, w in zip((rows, whole), weights, strict=True)
    ]
    return rows.detach(), whole.detach(), *gradients


def assert_same(found, wanted, tol):
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        assert (a - b).abs().max() <= tol * b.abs().max()


@pytest.mark.parametrize(("dtype", "tol"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("transition", ["difference", "exact"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_equals_the_torch_path(n, transition, dtype, tol, monkeypatch):
    points, mask = batch(n, dtype)
    for options in ({}, {"with_spectrum": False}, {"fixed_schedule": True}, {"log_density": True}):
        module = HeatFeatures(5, transition=transition, **options)
        found = outputs_and_gradients(module, points, mask)
        wanted = by_torch(monkeypatch, lambda m=module: outputs_and_gradients(m, points, mask))
        assert_same(found, wanted, tol)


def test_given_times_in_any_order_and_their_gradient(monkeypatch):
    points, mask = batch(3)
    times = torch.tensor([[0.4, 0.1, 2.0], [1.0, 0.2, 0.05], [0.1, 0.3, 0.2]], dtype=torch.float64)

    def run():
        own = times.clone().requires_grad_()
        rows = HeatFeatures(transition="exact")(points, mask, own)
        return rows.detach(), torch.autograd.grad(rows.square().sum(), own)[0]

    assert_same(run(), by_torch(monkeypatch, run), 1e-12)


@pytest.mark.parametrize("name", ["lattice", "collinear", "clusters", "duplicates"])
def test_difficult_clouds(name, monkeypatch):
    """Among them clusters so far apart that most pairs are left out, and an isolated point."""
    points = torch.tensor(np.concatenate([cloud(name, 3)[:200], [[9.0, 9.0, 9.0]]]))
    module = HeatFeatures(with_spectrum=name not in ("lattice", "collinear"))  # there eigenvalues coincide
    mask = torch.ones(len(points), dtype=torch.bool)
    found = outputs_and_gradients(module, points, mask)
    assert_same(found, by_torch(monkeypatch, lambda: outputs_and_gradients(module, points, mask)), 1e-10)


@pytest.mark.parametrize("scales", [None, [0.1, 0.5]])
def test_equals_the_core_to_the_last_digits(scales):
    points = np.random.default_rng(0).normal(size=(300, 3))
    table = HeatFeatures()(torch.tensor(points), scales=scales).numpy()
    np.testing.assert_allclose(table, hf.signatures(points, scales).per_point(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("clouds", [1, 9])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_threads_change_no_bit(clouds, dtype, threads):
    points = torch.randn(clouds, 300, 3, generator=torch.Generator().manual_seed(1)).to(dtype)
    mask = torch.ones(clouds, 300, dtype=torch.bool)
    found = []
    for count in (1, 2, 3):
        threads(count)
        found.append(outputs_and_gradients(HeatFeatures(transition="exact"), points, mask))
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_a_gradient_does_not_change_the_numbers():
    points, mask = batch(3)
    with torch.no_grad():
        plain = HeatFeatures()(points, mask)
    assert torch.equal(HeatFeatures()(points.requires_grad_(), mask).detach(), plain)


@pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")  # by torch itself
def test_what_is_derived_by_torch_still_is():
    """Forward derivatives, and gradients in more than three dimensions."""
    points, module = torch.randn(6, 3, dtype=torch.float64), HeatFeatures(2)
    given = points.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(module(given).sum(), given)
    _, slope = torch.func.jvp(lambda p: module(p).sum(), (points,), (torch.ones_like(points),))
    torch.testing.assert_close(slope, wanted.sum(), rtol=1e-9, atol=1e-9)
    deep = torch.randn(1, 8, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(module, (deep,), fast_mode=True)


def test_a_second_derivative_is_refused():
    points = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(HeatFeatures(2)(points).sum(), points, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()
