"""Vector neurons (Deng, Litany, Duan, Poulenard, Tagliasacchi and Guibas 2021).

A feature is a list of vectors, (..., 3, C). Linear maps mix the vectors, never their coordinates; norms and
inner products steer the rest. So each layer turns with its input.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

_EPS = 1e-6  # as published: a vector of length 0 has no direction
_SLOPE = 0.2


class VectorNorm(nn.Module):
    """Batch norm of the lengths of vectors (P, 3, C), which keep their directions."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.lengths = nn.BatchNorm1d(width)

    def forward(self, vectors: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(vectors, dim=1) + _EPS
        return vectors * (self.lengths(length) / length)[:, None]


def leaky(vectors: Tensor, direction: Tensor) -> Tensor:
    """What points against ``direction`` loses four fifths of its part along it."""
    along = (vectors * direction).sum(dim=1)
    square = direction.square().sum(dim=1)
    cut = (1.0 - _SLOPE) * along.clamp(max=0.0) / (square + _EPS)
    return vectors - cut[:, None] * direction


class VectorLayer(nn.Module):
    """Linear, norm of lengths, and the leaky cut along learned directions, of vectors (P, 3, before)."""

    def __init__(self, before: int, after: int, *, one_direction: bool = False) -> None:
        super().__init__()
        self.feature = nn.Linear(before, after, bias=False)
        self.direction = nn.Linear(before, 1 if one_direction else after, bias=False)
        self.norm = VectorNorm(after)

    def forward(self, vectors: Tensor) -> Tensor:
        return leaky(self.norm(self.feature(vectors)), self.direction(vectors))


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
        weight = torch.cat([self.feature, self.direction])
        to_neighbour, own = weight.chunk(2, dim=1)
        there, here = vectors @ to_neighbour.T, vectors @ (own - to_neighbour).T
        rows, k = near.shape
        edges = there.index_select(0, near.flatten()).view(rows, k, 3, -1) + here[:, None]
        feature, direction = edges.flatten(0, 1).chunk(2, dim=2)
        return leaky(self.norm(feature), direction).view(rows, k, 3, -1).mean(dim=1)
