"""DGCNN (Wang, Sun, Liu, Sarma, Bronstein and Solomon 2019) on clouds of one size."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from heatfield.nn.dgcnn import HFSDGCNN, DGCNNParts


class DGCNN(HFSDGCNN):
    """The published DGCNN: `heatfield.nn.HFSDGCNN` without heat features, on coordinates in space.

    Guide: ``heatfield docs guide/baselines``.

    Parameters
    ----------
    n_classes : int
    **parts :
        k, widths, embedding, head, dropout: see `heatfield.nn.HFSDGCNN`.

    Examples
    --------
    >>> import torch
    >>> from heatfield_bench.networks import DGCNN
    >>> net = DGCNN(40)
    >>> sum(p.numel() for p in net.parameters())
    1809576
    >>> net(torch.randn(2, 50, 3)).shape
    torch.Size([2, 40])
    """

    def __init__(self, n_classes: int, **parts: Unpack[DGCNNParts]) -> None:
        super().__init__(0, 3, n_classes, **parts)

    def forward(self, points: Tensor) -> Tensor:  # type: ignore[override]
        """Logits (B, classes) of clouds (B, m, 3).

        Parameters
        ----------
        points : (B, m, 3)
            Clouds of one size.

        Returns
        -------
        logits : (B, classes)
        """
        rows = points.reshape(-1, 3)
        starts = starts_of(points)
        return super().forward(rows[:, :0], rows, starts)


def starts_of(points: Tensor) -> Tensor:
    """Where the clouds of (B, m, n) begin if their points are put in one table, (B + 1,)."""
    return torch.arange(points.shape[0] + 1, device=points.device) * points.shape[1]
