"""Pooling over the points of each cloud, the points of all clouds lying one after the other.

Clouds of different sizes need no padding: ``starts`` (B + 1,) says where each begins.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag


def checked_edges(starts: Tensor, count: int) -> list[int]:
    """Where each cloud begins, and the number of points; a ValueError where ``starts`` does not fit them."""
    edges: list[int] = starts.tolist()
    if edges[:1] != [0] or edges[-1] != count or (np.diff(edges) < 1).any():
        raise ValueError(f"starts must rise from 0 to the {count} points, got {edges[:9]}")
    return edges


def segment_mean_and_max(rows: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and maximum over each cloud's rows; the maximum's gradient goes to the first row that has it."""
    checked_edges(starts, rows.shape[0])
    owner, sizes = owners(starts, rows.shape[0])
    mean = segment_sum(rows, owner, len(sizes)) / sizes[:, None]
    # A bag of consecutive rows: the gradient of segment_reduce or scatter_reduce takes five times as long.
    at = torch.arange(rows.shape[0], device=rows.device)
    return mean, embedding_bag(at, rows, starts[:-1], mode="max")


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
