"""HFS-full: a shared network over the points, pooled, beside the signatures of the whole cloud."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from .._base.check import check_count

POOLINGS = ("mean", "max", "std", "attention")


class HFSFull(nn.Module):
    """The paper's HFS-full: per-point features through a shared MLP, pooled by mean and maximum.

    Phi = [global, HDS, z] -> 256 -> classes, where z pools the network's 256 outputs per point.
    Inputs are expected standardised; `heatfield.HFSNetworkClassifier` does that with the statistics of
    its training set.

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    point_width, whole_width : int
        Features per point (48 in space with 8 scales) and per cloud (96: global and HDS).
    n_classes : int
    widths : sequence of int
        Layers of the shared network, each followed by batch norm and ReLU.
    pooling : sequence of "mean", "max", "std", "attention"
        The paper has mean and max. "attention" is a mean weighted by a learned softmax over points.
    head : int
        Width of the hidden layer of the read-out.
    dropout : float
    head_norm : bool
        Batch norm in the hidden layer of the read-out.

    Examples
    --------
    >>> import torch
    >>> from heatfield.nn import HFSFull
    >>> net = HFSFull(48, 96, n_classes=10)
    >>> net(torch.randn(300, 48), torch.randn(2, 96), starts=torch.tensor([0, 100, 300])).shape
    torch.Size([2, 10])
    >>> sum(p.numel() for p in net.parameters())
    203658
    """

    def __init__(
        self,
        point_width: int,
        whole_width: int,
        n_classes: int,
        *,
        widths: Sequence[int] = (64, 128, 256),
        pooling: Sequence[str] = ("mean", "max"),
        head: int = 256,
        dropout: float = 0.5,
        head_norm: bool = True,
    ) -> None:
        super().__init__()
        chosen = (pooling,) if isinstance(pooling, str) else tuple(pooling)
        unknown = [p for p in chosen if p not in POOLINGS]
        if unknown or not chosen:
            raise ValueError(f"pooling must be some of {', '.join(map(repr, POOLINGS))}, got {pooling!r}")
        sizes = [check_count(w, "widths", 1) for w in widths]
        if not sizes:
            raise ValueError("widths is empty: at least one layer is needed")
        check_count(head, "head", 1)
        self.pooling = chosen
        layers: list[nn.Module] = []
        for before, after in zip([point_width, *sizes], sizes, strict=False):
            # Batch norm takes away any constant: a bias before it would do nothing.
            layers += [nn.Linear(before, after, bias=False), nn.BatchNorm1d(after), nn.ReLU(inplace=True)]
        self.points = nn.Sequential(*layers)
        self.attention = nn.Linear(sizes[-1], 1, bias=False) if "attention" in chosen else None
        joined = whole_width + len(chosen) * sizes[-1]
        norm: list[nn.Module] = [nn.BatchNorm1d(head)] if head_norm else []
        self.head = nn.Sequential(
            nn.Linear(joined, head, bias=not head_norm), *norm, nn.ReLU(inplace=True), nn.Dropout(dropout),
            nn.Linear(head, n_classes),
        )  # fmt: skip

    def forward(self, rows: Tensor, whole: Tensor, starts: Tensor) -> Tensor:
        """Logits (B, classes).

        Parameters
        ----------
        rows : (P, point_width)
            The points of all clouds, one cloud after the other.
        whole : (B, whole_width)
        starts : (B + 1,) int64
            Where each cloud begins; the last entry is P.

        Returns
        -------
        logits : (B, classes)
        """
        pooled = self.pool(self.points(rows), starts)
        return self.head(torch.cat([whole, pooled], dim=1))

    def pool(self, outputs: Tensor, starts: Tensor) -> Tensor:
        """z (B, poolings x width).

        Parameters
        ----------
        outputs : (P, width)
            Of the shared network.
        starts : (B + 1,) int64

        Returns
        -------
        z : (B, poolings x width)

        Examples
        --------
        >>> import torch
        >>> from heatfield.nn import HFSFull
        >>> z = HFSFull(48, 96, n_classes=10).pool(torch.ones(5, 256), torch.tensor([0, 2, 5]))
        >>> z.shape
        torch.Size([2, 512])
        """
        mean, most = segment_mean_and_max(outputs, starts)
        found = {"mean": mean, "max": most}
        if "std" in self.pooling:
            owner, _ = owners(starts, outputs.shape[0])
            variance, _ = segment_mean_and_max((outputs - mean[owner]).square(), starts)
            found["std"] = torch.sqrt(variance + 1e-6)
        if self.attention is not None:
            owner, sizes = owners(starts, outputs.shape[0])
            weights = segment_softmax(self.attention(outputs), owner, len(sizes))
            found["attention"] = segment_sum(weights * outputs, owner, len(sizes))
        return torch.cat([found[p] for p in self.pooling], dim=1)


# --- pooling: the points of all clouds lie one after the other, ``starts`` (B + 1,) says where each begins


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
