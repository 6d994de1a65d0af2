"""The layers of HFS-full over points and their pooling, trained on the processor: one step, forward and back.

The same function as ``Linear``, ``BatchNorm1d`` and ``ReLU`` in a row and `segment_mean_and_max` after them, with
gradients for the weights, in compiled passes (`_layer_kernels`). Results agree with torch's up to
rounding, and are the same to the bit for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .._base.threads import pieces, run_pieces
from . import _layer_kernels as kernels

_ROWS = 1024  # of a chunk, at least
_CHUNKS = 64  # at most: each has its own sums of gradients
_POINTS = 2048  # of the clouds that are pooled in one piece


def can_train(layers: nn.Sequential, rows: Tensor) -> bool:
    """Whether this is a step of training on the processor that the compiled passes know."""
    if not (layers.training and torch.is_grad_enabled()) or torch.is_autocast_enabled("cpu"):
        return False
    if torch.jit.is_tracing() or torch.compiler.is_compiling():
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


@cache
def _blas() -> Any:
    """The libraries of matrix products, which are to use the calling thread only."""
    np.dot(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32))
    return ThreadpoolController().select(user_api="blas")


def _chunks(count: int) -> list[tuple[int, int]]:
    """Runs of rows whose sums are added in order: they depend on the number of rows alone."""
    tiles = -(-count // (_ROWS * _CHUNKS))
    return pieces(count, _ROWS * tiles)


def _each(work: Callable[[int, int, int], object], chunks: Sequence[tuple[int, int]]) -> None:
    """Call ``work(number, first, last)`` for every chunk, in as many threads as torch would take."""
    size = chunks[0][1] - chunks[0][0]
    run_pieces(lambda first, last: work(first // size, first, last), chunks, torch.get_num_threads())


class _Norm:
    """Batch norm of one layer as scale z + shift, and what its gradient takes away as offset + slope z."""

    def __init__(self, moments: list[NDArray], chunks: list[tuple[int, int]], norm: tuple[Any, ...]) -> None:
        weight, bias, eps = norm
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
        assert norm.running_mean is not None and norm.running_var is not None and rate is not None
        assert norm.num_batches_tracked is not None
        unbiased = self.variance * (self.count / (self.count - 1))
        for kept, new in ((norm.running_mean, self.mean), (norm.running_var, unbiased)):
            kept.mul_(1.0 - rate).add_(torch.from_numpy(new).to(kept.dtype), alpha=rate)
        norm.num_batches_tracked.add_(1)

    def back(self, total: NDArray, inner: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Slope and offset, and the gradients of weight and bias, from sums of the gradient and of it times z."""
        by_weight = (inner - self.mean * total) / self.deviation
        slope = self.exact * by_weight / (self.count * self.deviation)
        offset = self.exact * total / self.count - slope * self.mean
        return slope.astype(np.float32), offset.astype(np.float32), by_weight, total


class _PooledLayers(torch.autograd.Function):
    """Mean and maximum (B, C) over each cloud's rows of the last layer's output."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, starts: Tensor, norms: Sequence[nn.BatchNorm1d], *parameters: Tensor
    ) -> tuple[Tensor, Tensor]:
        own = [p.detach().contiguous().numpy() for p in parameters]
        data, edges = rows.detach().contiguous().numpy(), starts.contiguous().numpy()
        chunks = _chunks(len(data))
        tables: list[NDArray] = []
        found: list[_Norm] = []
        with _blas().limit(limits=1):
            for k, norm in enumerate(norms):
                weight, gamma, beta = own[3 * k : 3 * k + 3]
                z = np.empty((len(data), len(weight)), np.float32)
                moments = [np.zeros((len(chunks), len(weight))) for _ in range(2)]

                def layer(c: int, first: int, last: int) -> None:
                    own_moments = (moments[0][c], moments[1][c])  # noqa: B023
                    if not found:
                        kernels.first_layer(data, weight, first, last, z, *own_moments)  # noqa: B023
                    else:
                        before = found[-1]
                        kernels.next_layer(
                            tables[-1], before.scale, before.shift, weight, first, last, z, *own_moments  # noqa: B023
                        )

                _each(layer, chunks)
                tables.append(z)
                found.append(_Norm(moments, chunks, (gamma, beta, norm.eps)))
                found[-1].update(norm)
        shape = (len(edges) - 1, tables[-1].shape[1])
        mean, most, above, sums = (np.empty(shape, np.float32) for _ in range(4))
        at = np.zeros(shape, np.int32)
        last_norm = found[-1]
        run_pieces(
            lambda first, last: kernels.pool(
                tables[-1], last_norm.scale, last_norm.shift, edges, first, last, mean, most, at, above, sums
            ),
            _whole_clouds(edges),
            torch.get_num_threads(),
        )
        ctx.kept = data, edges, chunks, own, tables, found, (most, at, above, sums)
        return torch.from_numpy(mean), torch.from_numpy(most.copy())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_mean: Tensor, by_most: Tensor) -> tuple[Any, ...]:
        data, edges, chunks, own, tables, norms, pooled = ctx.kept
        most, at, above, sums = pooled
        # The gradient at a row is the same for all rows of a cloud, but for those cut off and the maximum.
        share = by_mean.numpy() / np.diff(edges)[:, None]
        peak = np.where(most > 0.0, by_most.numpy(), 0.0)
        columns = np.arange(at.shape[1])
        total = (share * above + peak).sum(axis=0, dtype=np.float64)
        inner = (share * sums + peak * tables[-1][at, columns]).sum(axis=0, dtype=np.float64)
        gradients: list[NDArray] = []
        given = np.empty((0, 0), np.float32)
        with _blas().limit(limits=1):
            for k in range(len(norms) - 1, -1, -1):
                norm, z, weight = norms[k], tables[k], own[3 * k]
                slope, offset, by_gamma, by_beta = norm.back(total, inner)
                by_weight = np.zeros((len(chunks), *weight.shape), np.float32)
                if k == len(norms) - 1:
                    to_rows = [(norm.scale * x).astype(np.float32) for x in (share, peak)]
                    start = (z, norm.scale, norm.shift, slope, offset, *to_rows, at, edges)
                    through, to_data = kernels.last_back, kernels.only_back
                else:
                    start = (given, z, norm.scale, slope, offset)
                    through, to_data = kernels.inner_back, kernels.first_back
                if k == 0:

                    def back(c: int, first: int, last: int) -> None:
                        to_data(*start, data, first, last, by_weight[c])  # noqa: B023
                else:
                    before, table = norms[k - 1], tables[k - 1]
                    given = np.empty_like(table)
                    parts = np.zeros((2, len(chunks), table.shape[1]))

                    def back(c: int, first: int, last: int) -> None:
                        through(  # noqa: B023
                            *start, table, before.scale, before.shift, weight, first, last,  # noqa: B023
                            by_weight[c], given, parts[0, c], parts[1, c],  # noqa: B023
                        )  # fmt: skip

                _each(back, chunks)
                if k:
                    total, inner = parts.sum(axis=1)
                small = [by_gamma.astype(np.float32), by_beta.astype(np.float32)]
                gradients[:0] = [by_weight.sum(axis=0), *small]
        return None, None, None, *(torch.from_numpy(g) for g in gradients)


def _whole_clouds(edges: NDArray) -> list[tuple[int, int]]:
    """Runs of clouds of about equally many points."""
    cuts = np.flatnonzero(np.diff(edges[:-1] // _POINTS, prepend=-1))
    return list(zip(cuts.tolist(), [*cuts[1:].tolist(), len(edges) - 1], strict=True))


def pooled_layers(layers: nn.Sequential, rows: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and maximum over each cloud of what the layers make of its rows; see `can_train`."""
    norms = [m for m in layers if isinstance(m, nn.BatchNorm1d)]
    return _PooledLayers.apply(rows, starts, norms, *layers.parameters())
