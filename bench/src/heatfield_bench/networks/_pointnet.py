"""PointNet (Qi, Su, Mo and Guibas 2017): a shared network over single points, and the maximum."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ._layers import over_rows, read_out, shared_layers


class _Alignment(nn.Module):
    """The T-Net: a matrix (B, size, size) by which a cloud is turned, at first the identity."""

    def __init__(self, size: int, points: Sequence[int], cloud: Sequence[int]) -> None:
        super().__init__()
        self.size = size
        self.points = shared_layers(size, points, "align")
        self.cloud = shared_layers(points[-1], cloud, "align_head")
        self.matrix = nn.Linear(cloud[-1], size * size)
        nn.init.zeros_(self.matrix.weight)
        with torch.no_grad():
            self.matrix.bias.copy_(torch.eye(size).flatten())

    def forward(self, values: Tensor) -> Tensor:
        pooled = over_rows(self.points, values).amax(dim=1)
        return self.matrix(self.cloud(pooled)).view(-1, self.size, self.size)


class PointNet(nn.Module):
    """The classifier with both T-nets, after the authors' code.

    T-net of the coordinates; 64, 64; T-net of the 64 features; 64, 128, 1024; maximum; 512, 256 with
    dropout 0.3 after each; batch norm and ReLU throughout.

    Guide: ``heatfield docs guide/baselines``.

    Parameters
    ----------
    n_classes : int
    before, after : sequence of int
        Shared layers before and behind the second T-net. A widespread reimplementation has (64,) and
        (128, 1024): two layers of 64 less.
    align, align_head : sequence of int
        Layers of both T-nets, before and behind their maximum.
    head : sequence of int
    dropout : float
    penalty : float
        Of the second T-net's matrix A: penalty times the sum of (A A' - I)**2 over the batch, halved.

    Examples
    --------
    >>> import torch
    >>> from heatfield_bench.networks import PointNet
    >>> net = PointNet(40)
    >>> sum(p.numel() for p in net.parameters())
    3480049
    >>> net(torch.randn(2, 50, 3)).shape
    torch.Size([2, 40])
    """

    def __init__(
        self,
        n_classes: int,
        *,
        before: Sequence[int] = (64, 64),
        after: Sequence[int] = (64, 128, 1024),
        align: Sequence[int] = (64, 128, 1024),
        align_head: Sequence[int] = (512, 256),
        head: Sequence[int] = (512, 256),
        dropout: float = 0.3,
        penalty: float = 0.001,
    ) -> None:
        super().__init__()
        self.penalty = penalty
        self.align_points = _Alignment(3, align, align_head)
        self.before = shared_layers(3, before, "before")
        self.align_features = _Alignment(before[-1], align, align_head)
        self.after = shared_layers(before[-1], after, "after")
        self.head = read_out(after[-1], head, n_classes, dropout)

    def forward(self, points: Tensor) -> Tensor:
        """Logits (B, classes) of clouds (B, m, 3).

        Parameters
        ----------
        points : (B, m, 3)
            In the unit ball, as the estimator brings them.

        Returns
        -------
        logits : (B, classes)
        """
        return self.with_penalty(points)[0]

    def with_penalty(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, and what the loss has in addition.

        Parameters
        ----------
        points : (B, m, 3), as of `forward`

        Returns
        -------
        logits : (B, classes)
        penalty : scalar

        Examples
        --------
        >>> import torch
        >>> from heatfield_bench.networks import PointNet
        >>> logits, penalty = PointNet(40).with_penalty(torch.randn(2, 50, 3))
        >>> penalty.shape
        torch.Size([])
        """
        values = over_rows(self.before, points @ self.align_points(points))
        turn = self.align_features(values)
        pooled = over_rows(self.after, values @ turn).amax(dim=1)
        off = turn @ turn.transpose(1, 2) - torch.eye(turn.shape[1], device=turn.device, dtype=turn.dtype)
        return self.head(pooled), 0.5 * self.penalty * off.square().sum()
