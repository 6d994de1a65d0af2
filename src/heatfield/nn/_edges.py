"""EdgeConv without its table of edges.

The values on the edges from i to its neighbours j are e_ij = a_j + b_i. Batch norm needs their mean and
variance, the maximum over j the largest (or, where the norm's factor is negative, the smallest) of
them. One compiled pass finds all of these, and one gives the gradient back; the table (P, k, C)
itself, gigabytes in a batch, is never made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._base.compile import SUMS, compiled


@compiled(SUMS)
def _pool_edges(
    a: Any, b: Any, near: Any, most: Any, least: Any, at_most: Any, at_least: Any, sums: Any
) -> None:
    rows, width = a.shape
    edge = np.empty(width, np.float32)
    first, second = np.empty(width, np.float32), np.empty(width, np.float32)
    total, squares = sums[0], sums[1]
    for i in range(rows):
        own, high, low, high_at, low_at = b[i], most[i], least[i], at_most[i], at_least[i]
        for c in range(width):
            high[c] = -np.inf
        for c in range(width):
            low[c] = np.inf
        for c in range(width):
            first[c] = 0.0
        for c in range(width):
            second[c] = 0.0
        for n in range(near.shape[1]):
            j = np.int32(near[i, n])
            row = a[j]
            for c in range(width):
                edge[c] = row[c] + own[c]
            for c in range(width):
                first[c] += edge[c]
            for c in range(width):
                second[c] += edge[c] * edge[c]
            for c in range(width):
                high_at[c] = j if edge[c] > high[c] else high_at[c]
            for c in range(width):
                high[c] = edge[c] if edge[c] > high[c] else high[c]
            for c in range(width):
                low_at[c] = j if edge[c] < low[c] else low_at[c]
            for c in range(width):
                low[c] = edge[c] if edge[c] < low[c] else low[c]
        for c in range(width):  # few numbers in single, all of them in double precision
            total[c] += first[c]
        for c in range(width):
            squares[c] += second[c]


@compiled(SUMS)
def _edges_back(
    a: Any, b: Any, near: Any, at_most: Any, at_least: Any,
    give_most: Any, give_least: Any, constant: Any, slope: Any, out_a: Any, out_b: Any,
) -> None:  # fmt: skip
    """Every edge gets constant + slope e, the largest and the smallest what came to them on top."""
    rows, width = a.shape
    for i in range(rows):
        own, mine = b[i], out_b[i]
        for n in range(near.shape[1]):
            row, theirs = a[near[i, n]], out_a[near[i, n]]
            for c in range(width):
                theirs[c] += constant[c] + slope[c] * (row[c] + own[c])
            for c in range(width):
                mine[c] += constant[c] + slope[c] * (row[c] + own[c])
        for c in range(width):
            mine[c] += give_most[i, c] + give_least[i, c]
        for c in range(width):
            out_a[at_most[i, c], c] += give_most[i, c]
            out_a[at_least[i, c], c] += give_least[i, c]


class _PooledEdges(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, near: Tensor) -> tuple[Tensor, ...]:
        a, b = a.contiguous(), b.contiguous()
        most, least = torch.empty_like(a), torch.empty_like(a)
        at = torch.zeros((2, *a.shape), dtype=torch.int32)
        sums = np.zeros((2, a.shape[1]))
        _pool_edges(*_arrays(a, b, near, most, least, at[0], at[1], torch.from_numpy(sums)))
        mean, mean_square = torch.from_numpy(sums / near.numel()).unbind(0)
        variance = (mean_square - mean.square()).clamp(min=0.0)
        ctx.save_for_backward(a, b, near, at, mean)
        return most, least, mean.to(a.dtype), variance.to(a.dtype)

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> tuple[Tensor, Tensor, None]:
        a, b, near, at, mean = ctx.saved_tensors
        slope = 2.0 * given[3].double() / near.numel()
        constant = given[2].double() / near.numel() - slope * mean
        out_a, out_b = torch.zeros_like(a), torch.zeros_like(b)
        factors = (constant.float(), slope.float())
        _edges_back(*_arrays(a, b, near, at[0], at[1], *given[:2], *factors, out_a, out_b))
        return out_a, out_b, None


def _arrays(*tensors: Tensor) -> Any:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


def pooled_edges(a: Tensor, b: Tensor, near: Tensor) -> tuple[Tensor, ...]:
    """Largest and smallest e_ij over j, (P, C) each; mean and variance of all e_ij, (C,) each."""
    if a.device.type == "cpu" and a.dtype == torch.float32:
        return _PooledEdges.apply(a, b, near)
    edges = a[near] + b[:, None, :]
    variance, mean = torch.var_mean(edges, dim=(0, 1), correction=0)
    return edges.amax(dim=1), edges.amin(dim=1), mean, variance
