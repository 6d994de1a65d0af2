"""Training steps of HFS-full in compiled passes: torch's numbers, the same bits for any number of threads."""

import copy
import os
import subprocess
import sys

import pytest

from tests.helpers.process import environment

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from heatfield.nn import HFSFull, _full  # noqa: E402
from heatfield.nn._malloc import keep_memory  # noqa: E402
from heatfield.nn._point_layers import can_train, pays, pooled_layers  # noqa: E402

SIZES = (700, 1, 1300, 40, 600, 3)


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def problem(widths=(16, 24), pooling=("mean", "max"), sizes=SIZES):
    torch.manual_seed(0)
    net = HFSFull(10, 7, 3, widths=widths, head=12, dropout=0.0, pooling=pooling)
    for p in net.parameters():
        if p.ndim == 1:  # of batch norm, some of them negative
            nn.init.normal_(p, 0.3, 1.0)
    starts = torch.tensor([0, *torch.tensor(sizes).cumsum(0).tolist()])
    return net, torch.randn(sum(sizes), 10) * 2 + 1, torch.randn(len(sizes), 7), starts


def step(net, rows, whole, starts):
    """Loss, gradients and running statistics of one step."""
    net = copy.deepcopy(net)
    loss = nn.functional.cross_entropy(net(rows, whole, starts), torch.arange(len(whole)) % 3)
    loss.backward()
    found = {"loss": loss.detach(), **dict(net.named_buffers())}
    return found | {name: p.grad for name, p in net.named_parameters()}


@pytest.mark.parametrize("pooling", [("mean", "max"), ("max",), ("max", "mean")])
@pytest.mark.parametrize(
    ("widths", "sizes"), [((16,), SIZES), ((16, 24), SIZES), ((64, 128, 256), (100, 1, 60, 3))]
)
def test_a_step_is_torchs(widths, sizes, pooling, monkeypatch, threads):
    """With few numbers, so that none is so close to 0, or two to the maximum, that rounding decides."""
    threads(1)
    net, rows, whole, starts = problem(widths, pooling, sizes)
    assert can_train(net.points, rows)
    found = step(net, rows, whole, starts)
    monkeypatch.setattr(_full, "can_train", lambda *_: False)
    wanted = step(copy.deepcopy(net).double(), rows.double(), whole.double(), starts)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        worst = (found[name].double() - value).abs().max() / value.abs().max().clamp(min=1e-30)
        assert worst < 2e-5, name


def test_small_steps_in_several_threads_go_through_torch(threads):
    rows = problem()[1]
    threads(1)
    assert pays(rows)
    threads(2)
    assert not pays(rows)
    assert pays(rows.repeat(8, 1))


def test_threads_change_no_bit(threads):
    net, rows, _, starts = problem()
    rows = rows.repeat(3, 1)
    starts = torch.cat([starts[:-1], starts[:-1] + sum(SIZES), starts + 2 * sum(SIZES)])
    found = []
    for count in (1, 2, 3):
        threads(count)
        own = copy.deepcopy(net)
        mean, most = pooled_layers(own.points, rows, starts)
        (mean.square().sum() + most.sum()).backward()
        found.append([mean, most, *(p.grad for p in own.points.parameters()), *own.points.buffers()])
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_what_the_passes_do_not_know_goes_through_torch():
    net, rows, _, _ = problem()
    assert can_train(net.points, rows)
    assert not can_train(net.points, rows.clone().requires_grad_())
    assert not can_train(net.points, rows.double())
    assert not can_train(net.points, rows[:1])
    with torch.no_grad():
        assert not can_train(net.points, rows)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not can_train(net.points, rows)
    hook = net.points[1].register_forward_hook(lambda *_: None)
    assert not can_train(net.points, rows)
    hook.remove()
    assert not can_train(copy.deepcopy(net).eval().points, rows)
    assert not can_train(nn.Sequential(nn.Linear(10, 4, bias=False), nn.BatchNorm1d(4), nn.Tanh()), rows)


def test_wrong_starts_are_refused():
    net, rows, whole, starts = problem()
    with pytest.raises(ValueError, match="starts must rise from 0 to the 2644 points"):
        net(rows, whole, starts + 1)


def test_settings_of_the_user_are_left_alone(monkeypatch):
    monkeypatch.setenv("MALLOC_TOP_PAD_", "1")
    keep_memory.cache_clear()
    assert keep_memory() is False
    keep_memory.cache_clear()


@pytest.mark.skipif(not hasattr(os, "confstr") or sys.platform != "linux", reason="GNU C library only")
def test_memory_stays_with_the_process():
    """Large blocks that are freed and taken again cause no page faults."""
    if not (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc"):
        pytest.skip("another C library")
    code = """
import resource
import numpy as np
from heatfield.nn._malloc import keep_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        np.empty(1 << 26, np.uint8).fill(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

plain, kept = faults(), keep_memory()
faults()
print(kept, plain, faults())
"""
    plain = {k: v for k, v in environment().items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, text=True, check=True)
    kept, before, after = done.stdout.split()
    assert kept == "True"
    assert int(after) < 0.3 * int(before)
