"""The network over graphcodes: graph attention, the maximum of each slice, a dense head."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ._attention import attend


class GraphAttention(nn.Module):
    """One layer of graph attention (Velickovic et al. 2018), the heads one beside the other.

    Node i hears the nodes j that have an edge to it with the weight softmax_j LeakyReLU(a . W h_j + b . W
    h_i).
    """

    def __init__(self, inputs: int, outputs: int, heads: int) -> None:
        super().__init__()
        if outputs % heads:
            raise ValueError(f"the width of a layer must be a multiple of heads={heads}, got {outputs}")
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.said = nn.Parameter(torch.empty(heads, outputs // heads))
        self.heard = nn.Parameter(torch.empty(heads, outputs // heads))
        for part in (self.linear.weight, self.said, self.heard):
            nn.init.xavier_uniform_(part)

    def forward(self, rows: Tensor, source: Tensor, starts: Tensor) -> Tensor:
        values = self.linear(rows).view(rows.shape[0], *self.said.shape)
        said, heard = (values * self.said).sum(dim=2), (values * self.heard).sum(dim=2)
        return attend(values, said, heard, source, starts).flatten(1) + self.bias


class GraphCodeNet(nn.Module):
    """Bars of all slices as nodes, to logits.

    Parameters
    ----------
    inputs : int
        Features of a node.
    cells : int
        Slices times degrees of homology: what is pooled apart.
    n_classes : int
    widths : sequence of int
        Of the attention layers; each is followed by ReLU.
    heads : int
        Heads of attention in each layer.
    head : sequence of int
        Hidden layers of the dense part, each with ReLU and dropout.
    dropout : float
    """

    def __init__(
        self,
        inputs: int,
        cells: int,
        n_classes: int,
        *,
        widths: Sequence[int] = (32, 32, 32),
        heads: int = 4,
        head: Sequence[int] = (128, 64),
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        sizes = [inputs, *widths]
        self.layers = nn.ModuleList(GraphAttention(a, b, heads) for a, b in itertools.pairwise(sizes))
        self.cells = cells
        dense: list[nn.Module] = []
        before = cells * sizes[-1]
        for width in head:
            dense += [nn.Linear(before, width), nn.ReLU(), nn.Dropout(dropout)]
            before = width
        self.head = nn.Sequential(*dense, nn.Linear(before, n_classes))

    def forward(self, rows: Tensor, cell: Tensor, source: Tensor, starts: Tensor, clouds: int) -> Tensor:
        """Logits (clouds, classes); ``cell`` is cloud * cells + (degree, slice) of each node.

        Edges lead from ``source``, in the order of the nodes they lead to, those of node i from
        ``starts[i]`` on.
        """
        for layer in self.layers:
            rows = torch.relu(layer(rows, source, starts))
        # After ReLU the least possible value is 0: so much has a slice without bars.
        pooled = rows.new_zeros(clouds * self.cells, rows.shape[1])
        pooled = pooled.scatter_reduce(0, cell[:, None].expand_as(rows), rows, "amax")
        return self.head(pooled.view(clouds, -1))
