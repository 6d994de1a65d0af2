"""HeatFeatures: the reference's numbers, with gradients, for clouds of any size."""

import functools
import os
import re

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import reference
from tests.helpers.clouds import cloud

torch = pytest.importorskip("torch")
from safetensors.numpy import save_file  # noqa: E402
from safetensors.torch import save  # noqa: E402

from heatfield.nn import ClosedFormFeatures, HeatFeatures, heat, pad_clouds  # noqa: E402

SIZES = (12, 31, 23)


def some_clouds(n, seed=0):
    rng = np.random.default_rng(seed)
    clouds = [rng.normal(size=(m, n)) for m in SIZES]
    clouds[1][4] = clouds[1][7]  # a duplicate is no neighbour of its copy
    return clouds


def tensors(clouds, dtype=torch.float64):
    return [torch.tensor(c, dtype=dtype) for c in clouds]


def expected(points, transition):
    scales = reference.scale_schedule(points)
    u, d, tau, spectrum = reference.local_signatures(points, scales, transition)
    table = np.concatenate([np.stack([u, d, tau], axis=2), spectrum], axis=2)
    parts = [*reference.global_signatures(points, scales)]
    parts += [p.T.ravel() for p in reference.heat_dimension_spectrum(u, d, points.shape[1])]
    return table.reshape(len(points), -1), np.concatenate(parts)


@pytest.mark.parametrize(("dtype", "tol"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize("transition", ["difference", "exact"])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_equals_the_reference(n, transition, dtype, tol):
    clouds = some_clouds(n)
    module = HeatFeatures(transition=transition, memory=3e-4)  # several pieces
    rows = module(tensors(clouds, dtype))
    whole = module.global_features(tensors(clouds, dtype))
    for i, points in enumerate(clouds):
        table, blocks = expected(points, transition)
        assert rows[i].dtype == dtype
        np.testing.assert_allclose(rows[i].numpy(), table, rtol=tol, atol=tol)
        np.testing.assert_allclose(whole[i].numpy(), blocks, rtol=tol, atol=tol)


def test_padding_and_pieces_change_nothing():
    clouds = tensors(some_clouds(3))
    points, mask = pad_clouds(clouds)
    points = torch.where(mask[:, :, None], points, torch.nan)  # whatever stands in the padding
    table = HeatFeatures()(points, mask)
    for row, alone, m in zip(table, clouds, SIZES, strict=True):
        torch.testing.assert_close(row[:m], HeatFeatures(memory=1e-9)(alone), rtol=1e-12, atol=1e-13)
        assert (row[m:] == 0.0).all()


def test_gradient_is_the_derivative():
    points = torch.randn(2, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[True] * 5, [True] * 4 + [False]])
    points.requires_grad_()
    assert torch.autograd.gradcheck(lambda p: HeatFeatures(2, transition="exact")(p, mask), (points,))
    # Random projections of the derivative: the same question at a fraction of the work.
    check = functools.partial(torch.autograd.gradcheck, fast_mode=True)
    assert check(lambda p: HeatFeatures(3, memory=3e-6)(p, mask), (points,))
    assert check(lambda p: HeatFeatures(3).global_features(p, mask), (points,))
    times = torch.tensor([0.1, 1.0], dtype=torch.float64, requires_grad=True)
    assert check(lambda p, t: HeatFeatures()(p, scales=t), (points.detach()[:1], times))


def test_gradient_where_eigenvalues_coincide():
    """The corners of a cube: around its centre all three eigenvalues are the same. Only symmetric functions
    of them have a derivative there."""
    corners = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 3), axis=-1).reshape(-1, 3)
    points = torch.tensor(np.concatenate([[[0.0, 0.0, 0.0]], corners]), requires_grad=True)
    times = torch.tensor([0.4, 1.0], dtype=torch.float64)

    def spectrum(p):
        return HeatFeatures()(p, scales=times).reshape(9, 2, 6)[:1, :, 3:]

    values = spectrum(points)
    assert (values[..., 0] - values[..., 2]).detach().abs().max() < 1e-12
    for power in (1, 2, 3):
        assert torch.autograd.gradcheck(lambda p, k=power: (spectrum(p) ** k).sum(dim=2), (points,))
    (gradient,) = torch.autograd.grad(values.sum(), points)
    assert torch.isfinite(gradient).all()


def test_gradient_beside_far_padding_is_finite():
    near = torch.randn(5, 3, dtype=torch.float64) + 1e6  # the padding stands at the origin
    points, mask = pad_clouds([near, near.repeat(2, 1)[:8]])
    points.requires_grad_()
    HeatFeatures()(points, mask).sum().backward()
    assert torch.isfinite(points.grad).all()
    assert (points.grad[0, 5:] == 0.0).all()


def test_fixed_schedules_have_no_gradient():
    points = torch.randn(20, 3, dtype=torch.float64, requires_grad=True)
    times = torch.tensor(hf.scale_schedule(points.detach().numpy()))
    (fixed,) = torch.autograd.grad(HeatFeatures(fixed_schedule=True)(points).sum(), points)
    (given,) = torch.autograd.grad(HeatFeatures()(points, scales=times).sum(), points)
    torch.testing.assert_close(fixed, given, rtol=1e-9, atol=1e-6)
    (whole,) = torch.autograd.grad(HeatFeatures()(points).sum(), points)
    assert not torch.allclose(whole, fixed)


def test_one_place_is_nan_and_spoils_nothing():
    points = torch.stack([torch.ones(4, 3), torch.randn(4, 3)]).double().requires_grad_()
    table = HeatFeatures()(points)
    assert table[0].isnan().all()
    table[1].sum().backward()
    assert torch.isfinite(points.grad).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HeatFeatures()(torch.zeros(3)), "points must have shape (B, m, n), got (3,)"),
        (lambda: HeatFeatures()(torch.ones(2, 3, 3, dtype=torch.int64)), "points must be float32 or float64"),
        (lambda: HeatFeatures()(torch.ones(2, 3, 3), torch.ones(2, 4) > 0), "mask must be bool of shape"),
        (lambda: HeatFeatures(1), "n_scales must be an integer of at least 2, got 1"),
        (lambda: HeatFeatures(transition="slow"), "transition must be one of"),
        (lambda: pad_clouds([]), "clouds is empty"),
        (lambda: pad_clouds([torch.zeros(2, 3), torch.zeros(2, 2)]), "clouds[1] must have shape (m, 3)"),
        (lambda: ClosedFormFeatures(("colour",)), "blocks must be some of"),
        (lambda: ClosedFormFeatures(("hds",)), "with at least one of 'density'"),
    ],
)  # fmt: skip
def test_wrong_input(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_closed_form_transform(tmp_path):
    points = some_clouds(3)[1]
    table, blocks = expected(points, "difference")
    plain = ClosedFormFeatures(dtype=torch.float64)
    kept = ClosedFormFeatures(dtype=torch.float64, cache=tmp_path)
    for transform in (plain, kept, kept):
        rows, whole = transform(torch.tensor(points))
        np.testing.assert_allclose(rows.numpy(), table, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(whole.numpy(), blocks, rtol=1e-10, atol=1e-10)
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"broken")  # computed again
    np.testing.assert_allclose(kept(points)[0].numpy(), table, rtol=1e-10, atol=1e-10)
    assert file.stat().st_size > 1000


def test_closed_form_blocks():
    points = some_clouds(3)[1]
    s = hf.signatures(points, transition="exact")
    blocks = ("log_global", "log_density", "gradient", "transition")
    rows, whole = ClosedFormFeatures(blocks, transition="exact", dtype=torch.float64)(points)
    rows = rows.numpy().reshape(len(points), 8, 3)
    np.testing.assert_allclose(rows[:, :, 0], np.log(s.density))
    np.testing.assert_allclose(rows[:, :, 1], s.transition)
    field = hf.HeatField(points)
    slope = np.stack([field.gradient(points, t) / field.value(points, t)[:, None] for t in s.scales], axis=1)
    length = np.sqrt(2 * s.scales) * np.linalg.norm(slope, axis=2)
    np.testing.assert_allclose(rows[:, :, 2], length, atol=1e-6)
    np.testing.assert_allclose(whole[:8], np.log(s.energy))


@pytest.mark.parametrize("scales", [None, [0.1, 0.4]])
def test_empty_clouds_spoil_no_other(scales):
    full = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    times = None if scales is None else torch.tensor(scales, dtype=torch.float64)
    rows = HeatFeatures()([full, full[:0]], scales=times)
    torch.testing.assert_close(rows[0], HeatFeatures()(full, scales=times), rtol=1e-12, atol=1e-13)
    assert rows[1].shape == (0, rows[0].shape[1])
    whole = HeatFeatures().global_features([full, full[:0]], scales=times)
    torch.testing.assert_close(
        whole[0], HeatFeatures().global_features(full, scales=times), rtol=1e-12, atol=1e-13
    )
    assert whole[1].isnan().all()
    (rows[0].sum() + whole[0].sum()).backward()
    assert torch.isfinite(full.grad).all()


@pytest.mark.parametrize(
    ("points", "scales", "message"),
    [
        (torch.ones(2, 4, 3) / torch.tensor([1.0, 1.0, 0.0]), None, "points is not finite in cloud 0, row 0"),
        (np.ones((2, 4, 3)), None, "points must be a tensor or a list of tensors, got ndarray"),
        ([np.ones((4, 3))], None, "clouds[0] must be a tensor, got ndarray"),
        (torch.randn(4, 3), [0.1], "scales must hold at least 2 times, got 1; use transition='exact'"),
        (torch.randn(4, 3), [0.1, -1.0], "scales must be positive and finite, got [0.1"),
        (torch.randn(2, 4, 3), [[0.1, 0.2]] * 3, "scales must have shape (T,) or (2, T), got (3, 2)"),
    ],
)
def test_wrong_points_and_scales(points, scales, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        HeatFeatures()(points, scales=None if scales is None else torch.tensor(scales))


def test_mixed_precision_costs_no_digits():
    points = torch.randn(1, 30, 3, requires_grad=True)
    plain = HeatFeatures()(points)
    (expected,) = torch.autograd.grad(plain.sum(), points)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = HeatFeatures()(points)
        (gradient,) = torch.autograd.grad(mixed.sum(), points)
    assert torch.equal(mixed, plain)
    assert torch.equal(gradient, expected)


# --- compiled code beside the torch path ---------------------------------------------


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


def test_given_times_and_their_gradient(monkeypatch):
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
    points = np.concatenate([cloud(name, 3)[:200], [[9.0, 9.0, 9.0]]])
    given, mask = torch.tensor(points), torch.ones(len(points), dtype=torch.bool)
    table, _ = expected(points, "difference")
    np.testing.assert_allclose(HeatFeatures()(given).numpy(), table, rtol=1e-9, atol=1e-10)
    module = HeatFeatures(with_spectrum=name not in ("lattice", "collinear"))  # there eigenvalues coincide
    found = outputs_and_gradients(module, given, mask)
    assert_same(found, by_torch(monkeypatch, lambda: outputs_and_gradients(module, given, mask)), 1e-10)


@pytest.mark.parametrize("clouds", [1, 9])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_equal_bits_by_threads(clouds, dtype):
    points = torch.randn(clouds, 300, 3, generator=torch.Generator().manual_seed(1)).to(dtype)
    mask = torch.ones(clouds, 300, dtype=torch.bool)
    found, before = [], torch.get_num_threads()
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        found.append(outputs_and_gradients(HeatFeatures(transition="exact"), points, mask))
    torch.set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_a_gradient_does_not_change_the_numbers():
    points, mask = batch(3)
    with torch.no_grad():
        plain = HeatFeatures()(points, mask)
    assert torch.equal(HeatFeatures()(points.requires_grad_(), mask).detach(), plain)


@pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")  # by torch itself
def test_forward_derivatives_and_many_dimensions():
    """Forward derivatives, and gradients in more than three dimensions."""
    points, module = torch.randn(6, 3, dtype=torch.float64), HeatFeatures(2)
    given = points.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(module(given).sum(), given)
    _, slope = torch.func.jvp(lambda p: module(p).sum(), (points,), (torch.ones_like(points),))
    torch.testing.assert_close(slope, wanted.sum(), rtol=1e-9, atol=1e-9)
    deep = torch.randn(1, 8, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(module, (deep,), fast_mode=True)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_second_derivative_is_refused(compiled, monkeypatch):
    """By torch too, whose own checkpoints would give 0 without a word."""
    if not compiled:
        monkeypatch.setattr(heat, "can_compute", lambda *_: False)
    points = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(HeatFeatures(2)(points).sum(), points, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


# --- the declared range ------------------------------------------------------------

DOUBLE = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize(
    ("dtype", "n", "power"),
    [
        *((torch.float64, 3, power) for power in (-90, -50, 50, 90)),
        *((torch.float64, 1, power) for power in (-120, 120)),  # where t**2 is no number any more
        *((torch.float32, 3, power) for power in (-10, 10)),
        *((torch.float32, 1, power) for power in (-15, 15)),
    ],
)
@pytest.mark.parametrize("transition", ["difference", "exact"])
def test_units_within_the_range_scale_the_numbers(dtype, n, power, transition):
    unit = 2.0 ** round(power * np.log2(10.0))  # which rounds nothing
    plain, scaled = (torch.tensor(u * DOUBLE[:, :n], dtype=dtype, requires_grad=True) for u in (1.0, unit))
    module = HeatFeatures(3, transition=transition)
    table, other = (module(points).reshape(40, 3, 3 + n) for points in (plain, scaled))
    tol = {"rtol": 1e-9 if dtype == torch.float64 else 2e-4, "atol": 1e-9 if dtype == torch.float64 else 2e-4}
    torch.testing.assert_close(other[..., 1:], table[..., 1:], **tol)
    torch.testing.assert_close(other[..., 0].double() * unit**n, table[..., 0].double(), **tol)
    times = torch.tensor([0.1, 0.5, 2.0], dtype=torch.float64)
    given = module(scaled, scales=(times * unit**2).to(dtype)).reshape(40, 3, 3 + n)
    torch.testing.assert_close(
        given[..., 1:], module(plain, scales=times.to(dtype)).reshape(40, 3, 3 + n)[..., 1:], **tol
    )
    if dtype == torch.float64 and abs(power) <= 50 and n == 3:  # energies leave the range before densities
        whole, others = (module.global_features(p.detach()).double()[:12] for p in (plain, scaled))
        units = np.repeat([unit**n, 1.0, unit ** (n + 2), unit**2], 3)
        torch.testing.assert_close(others * torch.tensor(units), whole, rtol=1e-9, atol=1e-9)
    (slope,) = torch.autograd.grad(other[..., 1:].sum(), scaled)
    (expected,) = torch.autograd.grad(table[..., 1:].sum(), plain)
    torch.testing.assert_close(slope.double() * unit, expected.double(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("dtype", "power", "problem"),
    [
        (torch.float64, -100, "diffusion times from .* in 3 dimensions .* range of double precision"),
        (torch.float64, 100, "diffusion times from .* in 3 dimensions .* range of double precision"),
        (torch.float64, -145, "points spans .*; change the unit so that it lies between 1e-140 and 1e140"),
        (torch.float64, 145, "points spans .*; change the unit so that it lies between 1e-140 and 1e140"),
        (torch.float32, -20, "diffusion times from .* range of single precision"),
        (torch.float32, 20, "diffusion times from .* range of single precision"),
        (torch.float32, -36, "diffusion times from .* range of single precision"),
        (torch.float32, 37, "diffusion times from .* range of single precision"),
    ],
)
def test_units_beyond_the_range_are_an_error(dtype, power, problem):
    points = torch.tensor(10.0**power * DOUBLE, dtype=dtype)
    near = torch.tensor(DOUBLE, dtype=dtype)
    for call in (
        HeatFeatures(),
        HeatFeatures(transition="exact", log_density=True),
        HeatFeatures().global_features,
    ):
        with pytest.raises(ValueError, match=f"^{problem}"):
            call(points)
        with pytest.raises(ValueError, match=rf"^clouds\[1\]: {problem}"):
            call([near, points])
    times = torch.tensor([1.0, 2.0], dtype=dtype) * 10.0 ** min(
        2 * power, 37 if dtype == torch.float32 else 300
    )
    if (times > 0).all() and "diffusion" in problem and abs(power) < 30:
        with pytest.raises(ValueError, match=f"^{problem}"):
            HeatFeatures()(points, scales=times)


@pytest.mark.parametrize(
    "forge",
    [
        lambda _place, rows, whole: {"rows": rows.astype(np.float32), "whole": whole},
        lambda _place, rows, whole: {"rows": rows, "whole": whole.astype(np.int64)},
        lambda _place, rows, _whole: {"rows": rows},
        lambda _place, rows, whole: {"rows": rows[:2], "whole": whole},
        lambda place, _rows, _whole: os.mkfifo(place),
        lambda place, _rows, _whole: place.write_bytes(save({"rows": torch.zeros(3, dtype=torch.bfloat16)})),
    ],
    ids=["type of rows", "type of whole", "no whole", "shape", "a pipe", "a type that numpy has not"],
)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_forged_cache_is_computed_again(forge, tmp_path):
    points = some_clouds(3)[0]
    features = ClosedFormFeatures(cache=tmp_path, dtype=torch.float64)
    rows, whole = features(points)
    (place,) = tmp_path.iterdir()
    place.unlink()
    forged = forge(place, 2.0 * rows.numpy(), 2.0 * whole.numpy())
    if isinstance(forged, dict):
        save_file(forged, place)
    again = features(points)
    assert torch.equal(again[0], rows)
    assert torch.equal(again[1], whole)
    assert place.is_file()
