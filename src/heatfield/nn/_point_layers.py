"""The layers of HFS-full over points and their pooling, trained on the processor: one step, forward and back.

The same function as ``Linear``, ``BatchNorm1d`` and ``ReLU`` in a row and `segment_mean_and_max` after them,
with gradients for the weights, in compiled passes (`_layer_kernels`). Results agree with torch's up to
rounding, and are the same to the bit for any number of threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .._base.threads import pieces
from . import _layer_kernels as kernels
from ._compiled_heat import runs_now

_ROWS = 1024  # of a chunk, at least
_CHUNKS = 64  # at most: each has its own sums of gradients
_POINTS = 2048  # of the clouds that are pooled in one piece
# Rows from which several threads pay: with 4,096 they took twice as long as torch's, with 32,000 a tenth less
# (benchmarks/results/epochs.json, 2026-11-16 20:35).
_LEAST_FOR_THREADS = 16_384


Kernel = Callable[..., None]
Chunks = list[tuple[int, int]]


def can_train(layers: nn.Sequential, rows: Tensor) -> bool:
    """Whether this is a step of training on the processor that the compiled passes know."""
    if not (layers.training and torch.is_grad_enabled() and runs_now()) or _mixed_precision():
        return False
    if rows.device.type != "cpu" or rows.dtype != torch.float32 or rows.requires_grad or len(rows) < 2:
        return False
    modules = list(layers)
    kinds = [type(module) for module in modules]
    if kinds != [nn.Linear, nn.BatchNorm1d, nn.ReLU] * (len(modules) // 3):
        return False
    if any(m._forward_hooks or m._forward_pre_hooks or m._backward_hooks for m in (layers, *modules)):
        return False
    tensors = [rows, *layers.parameters()]
    if not all(type(t) in (Tensor, nn.Parameter) and t.dtype == torch.float32 for t in tensors):
        return False
    norms: Any = modules[1::3]
    return all(m.track_running_stats and m.momentum is not None and m.affine for m in norms) and all(
        m.bias is None for m in modules[0::3]
    )


def pays(rows: Tensor) -> bool:
    """Whether the passes are faster than torch's operations."""
    return torch.get_num_threads() == 1 or len(rows) >= _LEAST_FOR_THREADS


def _mixed_precision() -> bool:
    try:
        return torch.is_autocast_enabled("cpu")
    except TypeError:  # before torch 2.4
        return torch.is_autocast_cpu_enabled()


@cache
def _blas() -> Any:
    """The libraries of matrix products, which are to use the calling thread only."""
    np.dot(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32))
    return ThreadpoolController().select(user_api="blas")


def _chunks(count: int) -> list[tuple[int, int]]:
    """Runs of rows whose sums are added in order: they depend on the number of rows alone."""
    tiles = -(-count // (_ROWS * _CHUNKS))
    return pieces(count, _ROWS * tiles)


class _Threads:
    """Threads for the passes of one step: as many as torch would take, none where that is one."""

    def __init__(self) -> None:
        count = torch.get_num_threads()
        self.pool = ThreadPoolExecutor(count, thread_name_prefix="heatfield") if count > 1 else None

    def __enter__(self) -> _Threads:
        # The libraries of matrix products use the thread that calls them only. A training that diverges
        # goes on with NaN, as torch does, until the loop sees it.
        self.limit, self.quiet = _blas().limit(limits=1), np.errstate(all="ignore")
        self.quiet.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown()
        self.quiet.__exit__(None, None, None)
        self.limit.restore_original_limits()

    def each(self, work: Callable[[int, int, int], object], ranges: Sequence[tuple[int, int]]) -> None:
        """Call ``work(number, first, last)`` for every range and wait."""
        if self.pool is None or len(ranges) == 1:
            for number, (first, last) in enumerate(ranges):
                work(number, first, last)
        else:
            deque(self.pool.map(work, range(len(ranges)), *zip(*ranges, strict=True)), maxlen=0)


class _Norm:
    """Batch norm of one layer as scale z + shift, and what its gradient takes away as offset + slope z."""

    def __init__(self, moments: NDArray, chunks: Chunks, weight: NDArray, bias: NDArray, eps: float) -> None:
        means, spreads = moments
        sizes = np.array([last - first for first, last in chunks], float)[:, None]
        self.count = sizes.sum()
        self.mean = (sizes * means).sum(axis=0) / self.count
        spread = spreads.sum(axis=0) + (sizes * (means - self.mean) ** 2).sum(axis=0)
        self.variance = spread / self.count
        self.deviation = np.sqrt(self.variance + eps)
        exact = weight / self.deviation
        self.exact = exact
        self.scale = exact.astype(np.float32)
        self.shift = (bias - self.mean * exact).astype(np.float32)

    def update(self, norm: nn.BatchNorm1d) -> None:
        """Running statistics, as torch keeps them."""
        rate = norm.momentum
        assert rate is not None
        assert norm.running_mean is not None
        assert norm.running_var is not None
        assert norm.num_batches_tracked is not None
        unbiased = self.variance * (self.count / (self.count - 1))
        for kept, new in ((norm.running_mean, self.mean), (norm.running_var, unbiased)):
            kept.mul_(1.0 - rate).add_(torch.from_numpy(new).to(kept.dtype), alpha=rate)
        norm.num_batches_tracked.add_(1)

    def back(self, total: NDArray, inner: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Slope, offset and the gradients of weight and bias, from sums of the gradient and of it times z."""
        by_weight = (inner - self.mean * total) / self.deviation
        slope = self.exact * by_weight / (self.count * self.deviation)
        offset = self.exact * total / self.count - slope * self.mean
        return slope.astype(np.float32), offset.astype(np.float32), by_weight, total


class _Layer(NamedTuple):
    """What the way back needs of a layer."""

    z: NDArray
    norm: _Norm
    weight: NDArray


def _layer(
    threads: _Threads, chunks: Chunks, kernel: Kernel, inputs: tuple[NDArray, ...], weight: NDArray
) -> tuple[NDArray, NDArray]:
    """z of one layer, and mean and sum of squared deviations of every chunk."""
    z = np.empty((chunks[-1][1], len(weight)), np.float32)
    moments = np.zeros((2, len(chunks), len(weight)))
    threads.each(
        lambda c, first, last: kernel(*inputs, weight, first, last, z, moments[0, c], moments[1, c]), chunks
    )
    return z, moments


def _layer_back(
    threads: _Threads, chunks: Chunks, kernel: Kernel, inputs: tuple[NDArray, ...],
    before: _Layer, weight: NDArray,
) -> tuple[NDArray, NDArray, NDArray]:  # fmt: skip
    """Gradients of the weights and of the outputs before; of these, the sums of them and of them times z."""
    z = before.z
    given = np.empty_like(z)
    by_weight = np.zeros((len(chunks), *weight.shape), np.float32)
    sums = np.zeros((2, len(chunks), z.shape[1]))
    threads.each(
        lambda c, first, last: kernel(
            *inputs, z, before.norm.scale, before.norm.shift, weight, first, last,
            by_weight[c], given, sums[0, c], sums[1, c],
        ),
        chunks,
    )  # fmt: skip
    return by_weight.sum(axis=0), given, sums.sum(axis=1)


def _weights_back(
    threads: _Threads, chunks: Chunks, kernel: Kernel, inputs: tuple[NDArray, ...],
    data: NDArray, weight: NDArray,
) -> NDArray:  # fmt: skip
    """Gradient of the weights of the first layer."""
    by_weight = np.zeros((len(chunks), *weight.shape), np.float32)
    threads.each(lambda c, first, last: kernel(*inputs, data, first, last, by_weight[c]), chunks)
    return by_weight.sum(axis=0)


class _PooledLayers(torch.autograd.Function):
    """Mean and maximum (B, C) over each cloud's rows of the last layer's output."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, starts: Tensor, norms: Sequence[nn.BatchNorm1d], *parameters: Tensor
    ) -> tuple[Tensor, Tensor]:
        own = [p.detach().contiguous().numpy() for p in parameters]
        data, edges = rows.detach().contiguous().numpy(), starts.contiguous().numpy()
        chunks = _chunks(len(data))
        layers: list[_Layer] = []
        kernel: Kernel = kernels.first_layer
        inputs: tuple[NDArray, ...] = (data,)
        with _Threads() as threads:
            for k, norm in enumerate(norms):
                weight, gamma, beta = own[3 * k : 3 * k + 3]
                z, moments = _layer(threads, chunks, kernel, inputs, weight)
                found = _Norm(moments, chunks, gamma, beta, norm.eps)
                found.update(norm)
                layers.append(_Layer(z, found, weight))
                kernel, inputs = kernels.next_layer, (z, found.scale, found.shift)
            shape = (len(edges) - 1, z.shape[1])
            mean, most, above, sums = (np.empty(shape, np.float32) for _ in range(4))
            at = np.zeros(shape, np.int32)
            pool: Kernel = kernels.pool
            threads.each(
                lambda _, first, last: pool(*inputs, edges, first, last, mean, most, at, above, sums),
                _whole_clouds(edges),
            )
        ctx.kept = data, edges, chunks, layers, (most, at, above, sums)
        return torch.from_numpy(mean), torch.from_numpy(most.copy())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_mean: Tensor, by_most: Tensor) -> tuple[Any, ...]:
        data, edges, chunks, layers, (most, at, above, sums) = ctx.kept
        gradients: list[NDArray] = []
        given = data
        kernels_of: tuple[Kernel, Kernel] = (kernels.last_back, kernels.only_back)
        with _Threads() as threads:
            # All rows of a cloud have the same gradient, but for those cut off and the maximum.
            share = by_mean.numpy() / np.diff(edges)[:, None]
            peak = np.where(most > 0.0, by_most.numpy(), 0.0)
            highest = layers[-1].z[at, np.arange(at.shape[1])]
            total = (share * above + peak).sum(axis=0, dtype=np.float64)
            inner = (share * sums + peak * highest).sum(axis=0, dtype=np.float64)
            scale = layers[-1].norm.scale
            pooled = [(scale * x).astype(np.float32) for x in (share, peak)]
            for k in range(len(layers) - 1, -1, -1):
                norm, z = layers[k].norm, layers[k].z
                slope, offset, by_gamma, by_beta = norm.back(total, inner)
                if k == len(layers) - 1:
                    start: tuple[NDArray, ...] = (z, norm.scale, norm.shift, slope, offset)
                    start += (*pooled, at, edges)
                else:
                    start = (given, z, norm.scale, slope, offset)
                    kernels_of = (kernels.inner_back, kernels.first_back)
                through, to_data = kernels_of
                if k:
                    weight = layers[k].weight
                    by_weight, given, (total, inner) = _layer_back(
                        threads, chunks, through, start, layers[k - 1], weight
                    )
                else:
                    by_weight = _weights_back(threads, chunks, to_data, start, data, layers[0].weight)
                gradients[:0] = [by_weight, by_gamma.astype(np.float32), by_beta.astype(np.float32)]
        return None, None, None, *(torch.from_numpy(g) for g in gradients)


def _whole_clouds(edges: NDArray) -> list[tuple[int, int]]:
    """Runs of clouds of about equally many points."""
    cuts = np.flatnonzero(np.diff(edges[:-1] // _POINTS, prepend=-1))
    return list(zip(cuts.tolist(), [*cuts[1:].tolist(), len(edges) - 1], strict=True))


def pooled_layers(layers: nn.Sequential, rows: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and maximum over each cloud of what the layers make of its rows; see `can_train`."""
    norms = [m for m in layers if isinstance(m, nn.BatchNorm1d)]
    return _PooledLayers.apply(rows, starts, norms, *layers.parameters())
