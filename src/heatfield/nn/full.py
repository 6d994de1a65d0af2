"""HFS-full: a shared network over the points, pooled, beside the signatures of the whole cloud."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .._base.check import check_count
from .segments import owners, segment_mean_and_max, segment_softmax, segment_sum

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
