"""Vector neurons (Deng, Litany, Duan, Poulenard, Tagliasacchi and Guibas 2021).

A feature is a list of vectors, (..., 3, C). Linear maps mix the vectors, never their coordinates; norms and
inner products steer the rest. So each layer turns with its input.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ._vector_edges import EPS, cut_edges, edge_lengths, leaky


class VectorNorm(nn.Module):
    """Batch norm of the lengths of vectors (P, 3, C), which keep their directions."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.lengths = nn.BatchNorm1d(width)

    def forward(self, vectors: Tensor) -> Tensor:
        # Where a vector is 0, its length has no gradient.
        length = torch.sqrt(vectors.square().sum(dim=1).clamp(min=1e-30)) + EPS
        return vectors * (self.lengths(length) / length)[:, None]


class VectorLayer(nn.Module):
    """Linear, norm of lengths, and the leaky cut along learned directions, of vectors (P, 3, before)."""

    def __init__(self, before: int, after: int, *, one_direction: bool = False) -> None:
        super().__init__()
        self.feature = nn.Linear(before, after, bias=False)
        self.direction = nn.Linear(before, 1 if one_direction else after, bias=False)
        self.norm = VectorNorm(after)

    def forward(self, vectors: Tensor, common: Tensor | None = None) -> Tensor:
        """Of vectors (P, 3, C); beside them ``common`` (B, 3, D), vectors that a cloud has but once."""
        weight = torch.cat([self.feature.weight, self.direction.weight])
        width = vectors.shape[2]
        found = vectors @ weight[:, :width].T
        if common is not None:  # W [x, y] = W1 x + W2 y, and y is there once a cloud
            shared = (common @ weight[:, width:].T)[:, None]
            found = (found.view(len(common), -1, *found.shape[1:]) + shared).flatten(0, 1)
        feature, direction = found.split([len(self.feature.weight), len(self.direction.weight)], dim=2)
        return leaky(self.norm(feature), direction)


class VectorEdges(nn.Module):
    """Mean over neighbours j of a `VectorLayer` of [x_j - x_i, x_i].

    As in `heatfield.nn`'s EdgeConv the products run over points: W1 (x_j - x_i) + W2 x_i = W1 x_j + (W2 - W1)
    x_i.
    """

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.feature = nn.Parameter(torch.empty(after, 2 * before))
        self.direction = nn.Parameter(torch.empty(after, 2 * before))
        for weight in (self.feature, self.direction):
            nn.init.kaiming_uniform_(weight, a=math.sqrt(5))
        self.norm = VectorNorm(after)

    def forward(self, vectors: Tensor, near: Tensor) -> Tensor:
        """(P, 3, after) from vectors (P, 3, before) and the rows of the neighbours (P, k)."""
        to_neighbour, own = torch.cat([self.feature, self.direction]).chunk(2, dim=1)
        there, here = vectors @ to_neighbour.T, vectors @ (own - to_neighbour).T
        norm = self.norm.lengths
        if self.training:
            mean, variance = edge_lengths(there, here, near)
            with torch.no_grad():
                count = near.numel()
                norm.running_mean.lerp_(mean, norm.momentum)
                norm.running_var.lerp_(variance * (count / max(1, count - 1)), norm.momentum)
                norm.num_batches_tracked += 1
        else:
            mean, variance = norm.running_mean, norm.running_var
        factor = norm.weight / torch.sqrt(variance + norm.eps)
        return cut_edges(there, here, near, factor, norm.bias - mean * factor)
