"""DGCNN, and HFS+DGCNN: the same network with heat features beside the coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypedDict

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, leaky_relu

from .. import _core
from .._base.check import check_count
from .full import checked_edges, segment_mean_and_max

_SLOPE = 0.2
# Distances that are held at once: a batch of 32 clouds of 1024 points, 128 MiB in single precision.
_PAIRS = 1 << 25


class EdgeConv(nn.Module):
    """max over neighbours j of LeakyReLU(BN(W [x_j - x_i, x_i])).

    W1 (x_j - x_i) + W2 x_i = W1 x_j + (W2 - W1) x_i = a_j + b_i, so the products run over points, not edges,
    and as BN and LeakyReLU are monotone, the maximum is taken before them. The table of edges, gigabytes in
    a batch, is never made: embedding_bag takes maxima and sums over the neighbours.
    """

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(after, 2 * before))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        self.norm = nn.BatchNorm1d(after)

    def forward(self, values: Tensor, near: Tensor) -> Tensor:
        """(P, after) from values (P, before) and the rows of the neighbours (P, k)."""
        to_neighbour, own = self.weight.chunk(2, dim=1)
        norm = self.norm
        # In mixed precision products are in half, statistics never.
        a, b = ((values @ w.T).to(norm.weight.dtype) for w in (to_neighbour, own - to_neighbour))
        mean, variance = norm.running_mean, norm.running_var
        if self.training:
            with torch.autocast(a.device.type, enabled=False):
                mean, variance = self._statistics(a, b, near)
        # Where the norm's factor is negative, the smallest edge becomes the largest.
        sign = torch.where(norm.weight >= 0.0, 1.0, -1.0).to(a.dtype)
        top = sign * embedding_bag(near, sign * a, mode="max") + b
        scaled = (top - mean) * (norm.weight / torch.sqrt(variance + norm.eps)) + norm.bias
        return leaky_relu(scaled, _SLOPE)

    def _statistics(self, a: Tensor, b: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of all a_j + b_i, from sums over points; batch norm's running ones follow."""
        count = near.numel()
        often = torch.bincount(near.flatten(), minlength=len(a)).to(a.dtype)  # how many have j as neighbour
        mean_a, mean_b = often @ a / count, b.mean(dim=0)
        a, b = a - mean_a, b - mean_b
        products = (b * embedding_bag(near, a, mode="sum")).sum(dim=0)
        variance = (often @ a.square() + 2.0 * products) / count + b.square().mean(dim=0)
        mean, variance = mean_a + mean_b, variance.clamp(min=0.0)
        norm = self.norm
        with torch.no_grad():
            norm.running_mean.lerp_(mean, norm.momentum)
            norm.running_var.lerp_(variance * (count / max(1, count - 1)), norm.momentum)
            norm.num_batches_tracked += 1
        return mean, variance


_MOST_NEIGHBOURS = 4096  # more take memory for every point, whatever a file asks for


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
        Neighbours, the point itself included; at most 4,096.
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
        if self.k > _MOST_NEIGHBOURS:
            raise ValueError(f"k must be at most {_MOST_NEIGHBOURS}, got {k!r}")
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


# --- the graph: nearest neighbours within each cloud ---------------------------------


@torch.no_grad()
def nearest(values: Tensor, starts: Tensor, k: int, *, exact: bool) -> Tensor:
    """Rows of the k nearest points of the same cloud, (P, k), each point itself included.

    ``exact`` takes differences, as coordinates need; otherwise |a|**2 + |b|**2 - 2ab, which is one
    matrix product and good enough for features of order one. Clouds of fewer than k points
    repeat the point itself.
    """
    edges = np.array(checked_edges(starts, values.shape[0]))
    values = values if values.dtype == torch.float64 else values.float()
    out = torch.empty((values.shape[0], k), dtype=torch.int64, device=values.device)
    for first, last, begin, end in _pieces(np.diff(edges).tolist()):
        padded = torch.nn.utils.rnn.pad_sequence(
            [values[edges[b] : edges[b + 1]] for b in range(first, last)], batch_first=True
        )
        with torch.autocast(values.device.type, enabled=False):  # half precision is too coarse for distances
            distances = _distances(padded[:, begin:end], padded, exact)
        if values.device.type == "cpu":
            _core.smallest(distances.contiguous().numpy(), edges[first : last + 1], begin, out.numpy())
        else:
            _smallest_by_torch(distances, starts[first : last + 1], begin, k, out)
    return out


def _pieces(sizes: list[int]) -> Iterator[tuple[int, int, int, int]]:
    """Clouds first..last that fit together, and which of their rows: all, but where one is too large."""
    first = 0
    while first < len(sizes):
        last, most = first + 1, sizes[first]
        while last < len(sizes) and (last + 1 - first) * max(most, sizes[last]) ** 2 <= _PAIRS:
            most = max(most, sizes[last])
            last += 1
        step = most if most**2 <= _PAIRS else max(1, _PAIRS // most)
        for begin in range(0, most, step):
            yield first, last, begin, min(most, begin + step)
        first = last


def _distances(rows: Tensor, padded: Tensor, exact: bool) -> Tensor:
    """(B, rows, m); squared unless ``exact``."""
    if exact:
        return torch.cdist(rows, padded, compute_mode="donot_use_mm_for_euclid_dist")
    norms = padded.square().sum(dim=2)[:, None, :] + rows.square().sum(dim=2)[:, :, None]
    return torch.baddbmm(norms, rows, padded.transpose(1, 2), alpha=-2.0)


def _smallest_by_torch(distances: Tensor, starts: Tensor, begin: int, k: int, out: Tensor) -> None:
    """What the core does, on any device; of several at the same distance any may come first."""
    sizes = torch.diff(starts)[:, None]
    most = distances.shape[2]
    place = torch.arange(most, device=distances.device)
    gaps, at = distances.masked_fill((place >= sizes)[:, None, :], torch.inf).topk(
        min(k, most), dim=2, largest=False
    )
    mine = place[None, begin : begin + distances.shape[1], None]
    at = torch.where(torch.isfinite(gaps), at, mine)
    at = torch.cat([at, mine.expand(*at.shape[:2], k - at.shape[2])], dim=2)
    real = mine[:, :, 0] < sizes
    out[(mine[:, :, 0] + starts[:-1, None])[real]] = (at + starts[:-1, None, None])[real]
