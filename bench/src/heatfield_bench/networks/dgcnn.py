"""DGCNN (Wang and others 2019) and VN-DGCNN (Deng and others 2021), whose features are vectors.

Of vector neurons a feature is a list of vectors, (..., 3, C). Linear maps mix the vectors, never their
coordinates; norms and inner products steer the rest. So each layer turns with its input.

The feature and the direction on the edge from i to its neighbour j are p = a_j + b_i and d = a'_j + b'_i,
vectors of each channel. Batch norm needs mean and variance of the lengths |p|; then comes, for every channel,

    v = s p with s = factor + shift / |p|   (the length, normed),    v - 0.8 min(v.d, 0) / (d.d) d,

and the mean over j. The tables (P, k, 3, 2C) of the edges are gigabytes in a batch: they are made piece by
piece, and again for the gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Unpack

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from heatfield._base.check import check_count
from heatfield.nn.dgcnn import HFSDGCNN, DGCNNParts, nearest
from heatfield.nn.full import segment_mean_and_max

from .layers import checked_widths, read_out, starts_of


class DGCNN(HFSDGCNN):
    """The published DGCNN: `heatfield.nn.HFSDGCNN` without heat features, on coordinates in space."""

    def __init__(self, n_classes: int, **parts: Unpack[DGCNNParts]) -> None:
        super().__init__(0, 3, n_classes, **parts)

    def forward(self, points: Tensor) -> Tensor:  # type: ignore[override]
        """Logits (B, classes) of clouds (B, m, 3)."""
        rows = points.reshape(-1, 3)
        starts = starts_of(points)
        return super().forward(rows[:, :0], rows, starts)


EPS = 1e-6  # as published: a vector of length 0 has no direction
SLOPE = 0.2
_PIECE = 1 << 23  # numbers of a table of edges that are in memory at once


def over_edges(
    function: Callable[..., Tensor], a: Tensor, b: Tensor, near: Tensor, *more: Tensor
) -> list[Tensor]:
    """``function(edges, *more)`` of the edges (p, k, 3, 2C) of one piece of the points after the other."""

    def of_edges(a: Tensor, b: Tensor, near: Tensor, *more: Tensor) -> Tensor:
        there = a.index_select(0, near.flatten()).view(*near.shape, *a.shape[1:])
        return function(there + b[:, None], *more)

    step = max(1, _PIECE // (near.shape[1] * a[0].numel()))
    pieces = zip(b.split(step), near.split(step), strict=True)
    options = {"use_reentrant": False, "preserve_rng_state": False}
    return [checkpoint(of_edges, a, own, to, *more, **options) for own, to in pieces]


def edge_lengths(a: Tensor, b: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance (C,) of the lengths of the features on all edges; a, b (P, 3, 2C), near (P, k)."""

    def sums(edges: Tensor) -> Tensor:
        lengths = _length(edges.chunk(2, dim=3)[0]).flatten(0, 2).double()
        return torch.stack([lengths.sum(dim=0), lengths.square().sum(dim=0)])

    mean, square = torch.stack(over_edges(sums, a, b, near)).sum(dim=0) / near.numel()
    return mean.to(a.dtype), (square - mean.square()).clamp(min=0.0).to(a.dtype)


def cut_edges(a: Tensor, b: Tensor, near: Tensor, factor: Tensor, shift: Tensor) -> Tensor:
    """Mean over neighbours (P, 3, C) of the normed and cut features."""

    def cut(edges: Tensor, factor: Tensor, shift: Tensor) -> Tensor:
        feature, direction = edges.chunk(2, dim=3)
        return leaky(feature * (factor + shift / _length(feature)), direction).mean(dim=1)

    return torch.cat(over_edges(cut, a, b, near, factor, shift))


def _length(vectors: Tensor) -> Tensor:
    """Of vectors (..., 3, C), of which those of length 0 have no direction, and no gradient."""
    return torch.linalg.vector_norm(vectors, dim=-2, keepdim=True) + EPS


def leaky(vectors: Tensor, direction: Tensor) -> Tensor:
    """What points against ``direction`` loses four fifths of its part along it; vectors (..., 3, C)."""
    along = (vectors * direction).sum(dim=-2, keepdim=True)
    square = direction.square().sum(dim=-2, keepdim=True)
    return vectors - (1.0 - SLOPE) * along.clamp(max=0.0) / (square + EPS) * direction


class VectorNorm(nn.Module):
    """Batch norm of the lengths of vectors (P, 3, C), which keep their directions."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.lengths = nn.BatchNorm1d(width)

    def forward(self, vectors: Tensor) -> Tensor:
        length = _length(vectors)
        return vectors * (self.lengths(length[:, 0])[:, None] / length)


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


class VNDGCNN(nn.Module):
    """The published classifier with mean pooling over neighbours.

    A third of DGCNN's widths, as each feature has three coordinates: edges 21, 21, 42, 85 with k = 20 (the
    point itself is one); all joined to 341 vectors, which share one direction; their mean beside them; a
    frame of three vectors learned from all, in whose coordinates nothing turns; maximum and mean over points;
    512, 256 with dropout 0.5. A shift of the cloud changes the logits: clouds are to be centred, as the
    estimator does.
    """

    def __init__(
        self,
        n_classes: int,
        *,
        k: int = 20,
        widths: Sequence[int] = (21, 21, 42, 85),
        embedding: int = 341,
        head: Sequence[int] = (512, 256),
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.k = check_count(k, "k", 1)
        sizes = checked_widths(widths, "widths")
        self.edges = nn.ModuleList(
            VectorEdges(before, after) for before, after in zip([1, *sizes], sizes, strict=False)
        )
        self.joined = VectorLayer(sum(sizes), check_count(embedding, "embedding", 1), one_direction=True)
        few = max(1, embedding // 2)
        self.frame = nn.ModuleList([VectorLayer(2 * embedding, embedding), VectorLayer(embedding, few)])
        self.axes = nn.Linear(few, 3, bias=False)
        # Coordinates of twice as many vectors, their maximum and mean.
        self.head = read_out(12 * embedding, head, n_classes, dropout, nn.LeakyReLU(SLOPE))

    def forward(self, points: Tensor) -> Tensor:
        """Logits (B, classes) of clouds (B, m, 3)."""
        batch, m, _ = points.shape
        starts = starts_of(points)
        vectors = points.reshape(-1, 3, 1)
        outputs = []
        for place, edge in enumerate(self.edges):
            near = nearest(vectors.detach().flatten(1), starts, self.k, exact=place == 0)
            vectors = edge(vectors, near)
            outputs.append(vectors)
        vectors = self.joined(torch.cat(outputs, dim=2))
        common = vectors.view(batch, m, *vectors.shape[1:]).mean(dim=1)
        axes = self.axes(self.frame[1](self.frame[0](vectors, common)))
        # Inner products of all vectors, and of their mean, with three that turn with the cloud.
        own = torch.bmm(vectors.transpose(1, 2), axes)
        theirs = torch.einsum("bnc,bmnk->bmck", common, axes.view(batch, m, 3, 3)).flatten(0, 1)
        mean, most = segment_mean_and_max(torch.cat([own, theirs], dim=1).flatten(1), starts)
        return self.head(torch.cat([most, mean], dim=1))
