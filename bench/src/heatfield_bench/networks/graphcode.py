"""The network over graphcodes: graph attention, the maximum of each slice, a dense head; and its training."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from heatfield._base.check import Array
from heatfield.jobs import key_of
from heatfield.nn.full import owners, segment_softmax, segment_sum
from heatfield.nn.learner import TrainedNetwork, softmax
from heatfield.nn.training import Training

SLOPE = 0.2


def attend(values: Tensor, said: Tensor, heard: Tensor, source: Tensor, starts: Tensor) -> Tensor:
    """(P, heads, C): the sum over the edges j -> i of softmax_j LeakyReLU(said_j + heard_i) values_j.

    Edges lie in the order of the nodes they lead to, those of node i from ``starts[i]`` on.
    """
    count = values.shape[0]
    target, _ = owners(starts, len(source))
    scores = nn.functional.leaky_relu(said[source] + heard[target], SLOPE)
    spoken = values[source] * segment_softmax(scores, target, count)[:, :, None]
    return segment_sum(spoken.flatten(1), target, count).view_as(values)


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

    ``inputs`` are the features of a node, ``cells`` slices times degrees of homology, which are pooled apart;
    attention layers of ``widths`` with ``heads`` each, then hidden layers ``head`` with ReLU and dropout.
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


class GraphBatches:
    """Where batches of graphs come from: nodes standardised, edges both ways, each node joined to itself."""

    def __init__(self, table: Any, mean: Array, scale: Array, device: torch.device) -> None:
        self.table, self.device = table, device
        self.values = ((table.values - mean) / scale).astype(np.float32)

    def batch(self, clouds: NDArray, _points: int | None = None, _rng: Any = None) -> tuple[Tensor, ...]:
        """Features (P, F), cells (P,), sources (E,), starts (P + 1,), and how many clouds there are."""
        table = self.table
        nodes, sizes = _ranges(table.node_starts, clouds)
        edges, counts = _ranges(table.edge_starts, clouds)
        moved = np.repeat(np.cumsum(sizes) - sizes, counts)
        source, target = table.source[edges] + moved, table.target[edges] + moved
        own = np.arange(len(nodes))
        ends = np.concatenate([source, target, own])
        order = np.argsort(ends, kind="stable")
        parts = (
            self.values[nodes],
            table.cell[nodes] + table.cells * np.repeat(np.arange(len(clouds)), sizes),
            np.concatenate([target, source, own])[order],
            np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=len(nodes)))]).astype(np.int64),
            np.array(len(clouds)),
        )
        return tuple(torch.from_numpy(part).to(self.device) for part in parts)

    def pieces(self) -> Iterator[NDArray]:
        """One cloud at a time: so no cloud changes a bit of another's result."""
        for i in range(len(self.table)):
            yield np.array([i])


def _ranges(starts: NDArray[np.int64], chosen: NDArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All places from starts[c] to starts[c + 1] for each chosen c, and how many each has."""
    sizes = np.diff(starts)[chosen]
    first = np.repeat(starts[chosen] - np.cumsum(sizes) + sizes, sizes)
    return first + np.arange(int(sizes.sum())), sizes


class GraphLearner(TrainedNetwork):
    """A network with the scaling of its inputs; tables are `baselines.graphcode.GraphTable`."""

    def __init__(
        self, inputs: int, cells: int, n_classes: int, network: Mapping[str, Any] | None, device: torch.device
    ) -> None:
        self.inputs, self.cells = inputs, cells
        self.mean, self.scale = np.zeros(inputs), np.ones(inputs)
        super().__init__(n_classes, network, device)

    def _build(self) -> nn.Module:
        return GraphCodeNet(self.inputs, self.cells, self.n_classes, **self.options)

    def fit(self, table: Any, labels: NDArray[np.int64], options: Training) -> None:
        """Train anew, or go on from the checkpoint in the options."""
        if len(table.values) == 0:
            raise ValueError("no training cloud has a bar of positive length: there is nothing to learn from")
        self.mean = table.values.mean(axis=0, dtype=np.float64)
        spread = table.values.std(axis=0, dtype=np.float64)
        self.scale = np.where(spread > 1e-12, spread, 1.0)
        fingerprint = ""
        if options.checkpoint is not None:  # all that the weights depend on
            settings = asdict(replace(options, checkpoint=None, progress=None))
            own = [self.inputs, self.cells, self.n_classes, repr(self.options), settings]
            fingerprint = key_of(own, *(np.asarray(part) for part in vars(table).values()), labels)
        self._train(lambda: self._batches(table), labels, None, options, fingerprint)

    def probabilities(self, table: Any) -> Array:
        """The softmax of the logits, in double precision."""
        return softmax(self._logits(self._batches(table)))

    def _batches(self, table: Any) -> GraphBatches:
        return GraphBatches(table, self.mean, self.scale, self.device)

    def _forward(
        self, network: nn.Module, inputs: tuple[Tensor, ...], _: np.random.Generator | None
    ) -> Tensor:
        rows, cell, source, starts, clouds = inputs
        return network(rows, cell, source, starts, int(clouds))
