"""DGCNN, and HFS+DGCNN: the same network with heat features beside the coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

import torch
from torch import Tensor, nn

from .._base.check import check_count
from ._edges import pooled_edges
from ._graph import nearest
from ._segments import segment_mean_and_max

_SLOPE = 0.2


class EdgeConv(nn.Module):
    """max over neighbours j of LeakyReLU(BN(W [x_j - x_i, x_i])).

    W1 (x_j - x_i) + W2 x_i = W1 x_j + (W2 - W1) x_i, so the products run over points, not edges, and
    as BN and LeakyReLU are monotone, the maximum is taken before them.
    """

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(after, 2 * before))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        self.norm = nn.BatchNorm1d(after)

    def forward(self, values: Tensor, near: Tensor) -> Tensor:
        """(P, after) from values (P, before) and the rows of the neighbours (P, k)."""
        to_neighbour, own = self.weight.chunk(2, dim=1)
        most, least, mean, variance = pooled_edges(
            values @ to_neighbour.T, values @ (own - to_neighbour).T, near
        )
        norm = self.norm
        if self.training:
            with torch.no_grad():
                count = near.numel()
                unbiased = variance * (count / max(1, count - 1))
                norm.running_mean.lerp_(mean.to(norm.running_mean.dtype), norm.momentum)
                norm.running_var.lerp_(unbiased.to(norm.running_var.dtype), norm.momentum)
                norm.num_batches_tracked += 1
        else:
            mean, variance = norm.running_mean, norm.running_var
        top = torch.where(norm.weight >= 0.0, most, least)
        scaled = (top - mean) * (norm.weight / torch.sqrt(variance + norm.eps)) + norm.bias
        return nn.functional.leaky_relu(scaled, _SLOPE)


class DGCNNParts(TypedDict, total=False):
    """Parts of the network that may differ; `HFSDGCNN` says what they are, and their defaults."""

    k: int
    widths: Sequence[int]
    embedding: int
    head: Sequence[int]
    dropout: float


class HFSDGCNN(nn.Module):
    """The published DGCNN on coordinates joined by heat features; its first graph is on coordinates alone.

    k = 20 neighbours in the space of each layer's features, EdgeConv 64, 64, 128, 256, all joined to 1024,
    maximum and mean, then 512 and 256 with dropout 0.5; batch norm and LeakyReLU 0.2 throughout.

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    point_width : int
        Heat features per point; 0 is the plain DGCNN.
    n_dims, n_classes : int
        Coordinates per point; classes.
    k : int
        Neighbours, the point itself included.
    widths : sequence of int
        The EdgeConv layers.
    embedding : int
        Width after they are joined.
    head : sequence of int
    dropout : float

    Examples
    --------
    >>> import torch
    >>> from heatfield.nn import HFSDGCNN
    >>> net = HFSDGCNN(0, n_dims=3, n_classes=40)
    >>> sum(p.numel() for p in net.parameters())
    1809576
    >>> rows, starts = torch.randn(70, 3), torch.tensor([0, 30, 70])
    >>> net(torch.empty(70, 0), rows, starts).shape
    torch.Size([2, 40])
    """

    def __init__(
        self,
        point_width: int,
        n_dims: int,
        n_classes: int,
        *,
        k: int = 20,
        widths: Sequence[int] = (64, 64, 128, 256),
        embedding: int = 1024,
        head: Sequence[int] = (512, 256),
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.k = check_count(k, "k", 1)
        sizes = [check_count(w, "widths", 1) for w in widths]
        first = n_dims + point_width
        self.edges = nn.ModuleList(
            EdgeConv(before, after) for before, after in zip([first, *sizes], sizes, strict=False)
        )
        self.joined = nn.Sequential(
            nn.Linear(sum(sizes), embedding, bias=False), nn.BatchNorm1d(embedding), nn.LeakyReLU(_SLOPE)
        )
        layers: list[nn.Module] = []
        before = 2 * embedding
        for place, after in enumerate(head):
            # As published: no bias in the first of the two layers, though both are normed.
            layers += [nn.Linear(before, after, bias=place > 0), nn.BatchNorm1d(after)]
            layers += [nn.LeakyReLU(_SLOPE), nn.Dropout(dropout)]
            before = after
        self.head = nn.Sequential(*layers, nn.Linear(before, n_classes))

    def forward(self, rows: Tensor, coordinates: Tensor, starts: Tensor) -> Tensor:
        """Logits (B, classes).

        Parameters
        ----------
        rows : (P, point_width)
            Heat features of all points, one cloud after the other.
        coordinates : (P, n_dims)
        starts : (B + 1,) int64
            Where each cloud begins; the last entry is P.

        Returns
        -------
        logits : (B, classes)
        """
        near = nearest(coordinates, starts, self.k, exact=True)
        values = torch.cat([coordinates, rows], dim=1)
        outputs = []
        for place, edge in enumerate(self.edges):
            if place > 0:
                near = nearest(values.detach(), starts, self.k, exact=False)
            values = edge(values, near)
            outputs.append(values)
        mean, most = segment_mean_and_max(self.joined(torch.cat(outputs, dim=1)), starts)
        return self.head(torch.cat([most, mean], dim=1))
