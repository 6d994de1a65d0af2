"""Pooling over the points of each cloud, the points of all clouds lying one after the other.

Clouds of different sizes need no padding: ``starts`` (B + 1,) says where each begins. On a
processor one compiled pass reads the table once; elsewhere torch's own operations do it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._base.compile import SUMS, compiled


@compiled(SUMS)
def _mean_and_max(rows: Any, starts: Any, mean: Any, most: Any, at: Any) -> None:
    width = rows.shape[1]
    for b in range(starts.shape[0] - 1):
        first, last = starts[b], starts[b + 1]
        total, best, place = mean[b], most[b], at[b]
        for c in range(width):
            total[c] = best[c] = rows[first, c]
            place[c] = first
        for i in range(first + 1, last):
            row = rows[i]
            for c in range(width):
                total[c] += row[c]
            here = np.int32(i)
            # Two loops that each write one array, and no branch: they vectorise.
            for c in range(width):
                place[c] = here if row[c] > best[c] else place[c]
            for c in range(width):
                best[c] = row[c] if row[c] > best[c] else best[c]
        share = np.float32(1.0) / np.float32(last - first)
        for c in range(width):
            total[c] *= share


@compiled(SUMS)
def _pass_back(mean: Any, most: Any, at: Any, starts: Any, out: Any) -> None:
    width = out.shape[1]
    for b in range(starts.shape[0] - 1):
        first, last = starts[b], starts[b + 1]
        share = np.float32(1.0) / np.float32(last - first)
        for i in range(first, last):
            row, given = out[i], mean[b]
            for c in range(width):
                row[c] = given[c] * share
        for c in range(width):
            out[at[b, c], c] += most[b, c]


class _MeanAndMax(torch.autograd.Function):
    """Mean and maximum (B, C) of rows (P, C); the maximum's gradient goes to the first row that has it."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        shape = (len(starts) - 1, rows.shape[1])
        mean, most = rows.new_empty(shape), rows.new_empty(shape)
        at = torch.empty(shape, dtype=torch.int32)
        _mean_and_max(
            rows.detach().contiguous().numpy(), starts.numpy(), mean.numpy(), most.numpy(), at.numpy()
        )
        ctx.save_for_backward(at, starts)
        ctx.rows = rows.shape
        return mean, most

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> tuple[Tensor, None]:
        at, starts = ctx.saved_tensors
        mean, most = (g.contiguous().numpy() for g in given)
        out = given[0].new_empty(ctx.rows)
        _pass_back(mean, most, at.numpy(), starts.numpy(), out.numpy())
        return out, None


def checked_edges(starts: Tensor, count: int) -> list[int]:
    """Where each cloud begins, and the number of points; a ValueError where ``starts`` does not fit them."""
    edges: list[int] = starts.tolist()
    if edges[:1] != [0] or edges[-1] != count or (np.diff(edges) < 1).any():
        raise ValueError(f"starts must rise from 0 to the {count} points, got {edges[:9]}")
    return edges


def segment_mean_and_max(rows: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and maximum over each cloud's rows."""
    checked_edges(starts, rows.shape[0])  # compiled code would read beyond
    if rows.device.type == "cpu" and rows.dtype == torch.float32:
        return _MeanAndMax.apply(rows, starts)
    owner, sizes = owners(starts, rows.shape[0])
    mean = segment_sum(rows, owner, len(sizes)) / sizes[:, None]
    at = owner[:, None].expand_as(rows)
    most = rows.new_full(mean.shape, -torch.inf).scatter_reduce(0, at, rows, "amax", include_self=False)
    return mean, most


def segment_sum(rows: Tensor, owner: Tensor, count: int) -> Tensor:
    """Sum over each cloud's rows."""
    return rows.new_zeros((count, rows.shape[1])).index_add(0, owner, rows)


def owners(starts: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The cloud of each row, (P,), and the size of each cloud."""
    sizes = torch.diff(starts)
    return torch.repeat_interleave(sizes, output_size=count), sizes


def segment_softmax(scores: Tensor, owner: Tensor, count: int) -> Tensor:
    """exp(score) over its sum within the cloud, (P, H)."""
    at = owner[:, None].expand_as(scores)
    top = scores.detach().new_full((count, scores.shape[1]), -torch.inf)
    top = top.scatter_reduce(0, at, scores.detach(), "amax", include_self=False)
    weights = torch.exp(scores - top[owner])
    return weights / segment_sum(weights, owner, count)[owner]
