"""Training of the network over graphcodes on the library's loop, and its use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from heatfield._base.check import Array
from heatfield.nn.training import Training, all_logits, train

from ._graphcode import GraphCodeNet


class Graphs(Protocol):
    """Graphs of N clouds, packed: `baselines._graph_table.GraphTable`, which this folder must not import."""

    @property
    def node_starts(self) -> NDArray[np.int64]: ...
    @property
    def edge_starts(self) -> NDArray[np.int64]: ...
    @property
    def values(self) -> NDArray[np.float32]: ...
    @property
    def cell(self) -> NDArray[np.int64]: ...
    @property
    def source(self) -> NDArray[np.int64]: ...
    @property
    def target(self) -> NDArray[np.int64]: ...
    @property
    def cells(self) -> int: ...
    def __len__(self) -> int: ...


class GraphBatches:
    """Where batches of graphs come from: nodes standardised, edges both ways, each node joined to itself."""

    def __init__(self, table: Graphs, mean: Array, scale: Array, device: torch.device) -> None:
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


class GraphLearner:
    """A network with the scaling of its inputs."""

    def __init__(
        self, inputs: int, cells: int, n_classes: int, options: Mapping[str, Any] | None, device: torch.device
    ) -> None:
        if options is not None and not isinstance(options, Mapping):
            raise ValueError(f"network must be a dict of parts of the network, got {options!r}")
        self.inputs, self.cells, self.n_classes = inputs, cells, n_classes
        self.options, self.device = dict(options or {}), device
        self.mean, self.scale = np.zeros(inputs), np.ones(inputs)
        self.history: list[dict[str, float]] = []
        try:
            with torch.device("meta"):  # shapes only: memory is taken when it is known what for
                self.network = self._build()
        except (TypeError, RuntimeError, ValueError) as error:
            raise ValueError(f"network={options!r}: {str(error).splitlines()[0]}") from None

    def _build(self) -> nn.Module:
        return GraphCodeNet(self.inputs, self.cells, self.n_classes, **self.options)

    def fit(self, table: Graphs, labels: NDArray[np.int64], options: Training) -> None:
        """Train anew, or go on from the checkpoint in the options."""
        if len(table.values) == 0:
            raise ValueError("no training cloud has a bar of positive length: there is nothing to learn from")
        self.mean = table.values.mean(axis=0, dtype=np.float64)
        spread = table.values.std(axis=0, dtype=np.float64)
        self.scale = np.where(spread > 1e-12, spread, 1.0)
        data: Any = self._batches(table)
        cuda = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(cuda):  # the caller's random numbers are not touched
            seed = torch.default_generator.seed() if options.seed is None else options.seed
            torch.default_generator.manual_seed(seed)
            if cuda:
                with torch.cuda.device(self.device):
                    torch.cuda.manual_seed(seed)
            self.network = self._build().to(self.device)
            print_ = "" if options.checkpoint is None else self._fingerprint(table, labels, options)
            self.history = train(self.network, _forward, data, labels, None, self.n_classes, options, print_)
        self.network.eval()

    def probabilities(self, table: Graphs) -> Array:
        """The softmax of the logits, in double precision."""
        data: Any = self._batches(table)
        values = all_logits(self.network, _forward, data).cpu().numpy().astype(np.float64)
        values = np.exp(values - values.max(axis=1, keepdims=True))
        return values / values.sum(axis=1, keepdims=True)

    def _batches(self, table: Graphs) -> GraphBatches:
        return GraphBatches(table, self.mean, self.scale, self.device)

    def _fingerprint(self, table: Graphs, labels: NDArray, options: Training) -> str:
        """A hash of the data and of every setting that the weights depend on."""
        settings = asdict(replace(options, checkpoint=None, progress=None))
        text = json.dumps(
            [self.inputs, self.cells, self.n_classes, self.options, settings], sort_keys=True, default=repr
        )
        digest = hashlib.sha256(text.encode())
        for part in (*vars(table).values(), labels):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def tensors(self) -> dict[str, NDArray]:
        """Everything learnt, as arrays."""
        found = {f"network.{k}": v.detach().cpu().numpy() for k, v in self.network.state_dict().items()}
        return found | {"mean": self.mean, "scale": self.scale}

    def load(self, tensors: Mapping[str, NDArray]) -> None:
        """Take over what `tensors` gave; a ValueError where a name, shape or type is not this network's."""
        wanted = {f"network.{k}": (tuple(v.shape), v.dtype) for k, v in self.network.state_dict().items()}
        wanted |= dict.fromkeys(("mean", "scale"), ((self.inputs,), torch.float64))
        found = {k: torch.from_numpy(np.array(v)) for k, v in tensors.items()}
        odd = sorted(set(wanted) ^ set(found))
        if odd:
            raise ValueError(f"it does not hold the tensors of this network: {odd[0]!r} differs")
        for name, (shape, kind) in wanted.items():
            here = found[name]
            if tuple(here.shape) != shape or here.dtype != kind:
                raise ValueError(
                    f"tensor {name!r} must be {kind} of shape {shape}, "
                    f"got {here.dtype} of shape {tuple(here.shape)}"
                )
            if not torch.isfinite(here).all() or (name == "scale" and (here <= 0).any()):
                raise ValueError(f"tensor {name!r} holds numbers that cannot be")
        with torch.random.fork_rng([]):  # first weights are drawn, but not from the caller's numbers
            self.network = self._build().to(self.device)
        start = "network."
        self.network.load_state_dict({k[len(start) :]: v for k, v in found.items() if k.startswith(start)})
        self.mean, self.scale = np.array(tensors["mean"]), np.array(tensors["scale"])
        self.network.eval()


def _forward(network: nn.Module, inputs: tuple[Tensor, ...], _rng: np.random.Generator | None) -> Tensor:
    rows, cell, source, starts, clouds = inputs
    return network(rows, cell, source, starts, int(clouds))
