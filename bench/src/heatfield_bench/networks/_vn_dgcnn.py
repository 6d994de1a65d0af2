"""VN-DGCNN: DGCNN whose features are vectors, and whose logits do not change under rotation."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from heatfield._base.check import check_count
from heatfield.nn.dgcnn import nearest
from heatfield.nn.segments import segment_mean_and_max

from ._dgcnn import starts_of
from ._layers import checked_widths
from ._vector_neurons import VectorEdges, VectorLayer

_SLOPE = 0.2


class VNDGCNN(nn.Module):
    """The published classifier with mean pooling over neighbours.

    A third of DGCNN's widths, as each feature has three coordinates: edges 21, 21, 42, 85 with k = 20; all
    joined to 341 vectors, which share one direction; their mean beside them; a frame of three vectors learned
    from all, in whose coordinates nothing turns; maximum and mean over points; 512, 256 with dropout 0.5.

    A shift of the cloud changes the logits: clouds are to be centred, as the estimator does.

    Guide: ``heatfield docs guide/baselines``.

    Parameters
    ----------
    n_classes : int
    k : int
        Neighbours, the point itself included.
    widths : sequence of int
        Vectors of the edge layers.
    embedding : int
        Vectors after they are joined.
    head : sequence of int
    dropout : float

    Examples
    --------
    >>> import torch
    >>> from heatfield_bench.networks import VNDGCNN
    >>> net = VNDGCNN(40).eval()
    >>> sum(p.numel() for p in net.parameters())
    2899830
    >>> cloud = torch.randn(1, 50, 3)
    >>> turn, _ = torch.linalg.qr(torch.randn(3, 3))
    >>> bool(torch.allclose(net(cloud), net(cloud @ turn), atol=1e-4))
    True
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
        layers: list[nn.Module] = []
        before = 12 * embedding  # coordinates of twice as many vectors, their maximum and mean
        for after in checked_widths(head, "head"):
            layers += [nn.Linear(before, after), nn.BatchNorm1d(after)]
            layers += [nn.LeakyReLU(_SLOPE), nn.Dropout(dropout)]
            before = after
        self.head = nn.Sequential(*layers, nn.Linear(before, n_classes))

    def forward(self, points: Tensor) -> Tensor:
        """Logits (B, classes) of clouds (B, m, 3).

        Parameters
        ----------
        points : (B, m, 3)
            Centred clouds: a shift changes the logits.

        Returns
        -------
        logits : (B, classes)
        """
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
