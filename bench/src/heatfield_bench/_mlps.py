"""Many small networks of the paper's head at once: the same training as scikit-learn's, split by split.

The read-out of every descriptor row is a network with hidden layers of 128 and 64. A comparison trains
dozens of them on tables of the same shape. Here their weights are stacked and every product is one batched
product in single precision, so that the cost of a step that is not arithmetic is paid once for all. What
is computed is what `heatfield.models.read_out.AnnealedMLP` computes: Glorot's uniform start, Adam, batches
of 200, the squared weights divided by the size of the batch, an end when the loss of an epoch has not
fallen by a tolerance for more than ten epochs, and a second pass at a tenth of the rate. The random numbers
are others, so that the two agree as two seeds do. With two classes scikit-learn has one output,
here there are two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heatfield._base.check import Array

WIDTHS, ALPHA = (128, 64), 1.0
BATCH, RATE, TOLERANCE = 200, 1e-3, 1e-4
PATIENCE = 10
BETAS = (0.9, 0.999)
EPSILON = 1e-8
MOST_BYTES = 1_500_000_000  # of tables that are trained at once


@dataclass(frozen=True)
class TrainedMLP:
    """Weights and biases of the layers, and how long the training was."""

    layers: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]
    epochs: int
    loss: float

    def scores(self, table: Array) -> NDArray[np.float32]:
        """The outputs (N, classes) before the softmax."""
        values = np.asarray(table, dtype=np.float32)
        for number, (weights, bias) in enumerate(self.layers):
            values = values @ weights + bias
            if number < len(self.layers) - 1:
                values = np.maximum(values, 0.0)
        return values


def train_mlps(
    tables: Sequence[Array],
    labels: Sequence[NDArray[np.int64]],
    n_classes: int,
    seeds: Sequence[int],
    *,
    max_epochs: int = 3000,
) -> list[TrainedMLP]:
    """Train one network for every table (N_k, F) of standardised features and labels from 0 on.

    Tables of as many rows are trained together. ``max_epochs`` is that of each of the two passes.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> table = rng.normal(size=(60, 4))
    >>> label = (table[:, 0] > 0).astype(np.int64)
    >>> net, = train_mlps([table], [label], 2, [0], max_epochs=200)
    >>> bool((net.scores(table).argmax(axis=1) == label).mean() > 0.9)
    True
    """
    found: dict[int, TrainedMLP] = {}
    sizes = [len(table) for table in tables]
    for size in sorted(set(sizes)):
        alike = [i for i, own in enumerate(sizes) if own == size]
        together = max(1, MOST_BYTES // max(1, 4 * size * tables[alike[0]].shape[1]))
        for first in range(0, len(alike), together):
            chosen = alike[first : first + together]
            stack = _Stack([tables[i] for i in chosen], [labels[i] for i in chosen], n_classes)
            trained = stack.train([seeds[i] for i in chosen], max_epochs)
            found |= dict(zip(chosen, trained, strict=True))
    return [found[i] for i in range(len(tables))]


class _Stack:
    """Tables of as many rows, and the networks on them that are still in training."""

    def __init__(self, tables: Sequence[Array], labels: Sequence[NDArray[np.int64]], n_classes: int) -> None:
        self.x = torch.stack([torch.from_numpy(np.asarray(t, dtype=np.float32)) for t in tables])
        self.y = torch.stack([torch.from_numpy(np.asarray(y, dtype=np.int64)) for y in labels])
        sizes = (self.x.shape[2], *WIDTHS, n_classes)
        self.shapes = list(pairwise(sizes))

    def train(self, seeds: Sequence[int], max_epochs: int) -> list[TrainedMLP]:
        """To the end of the second pass of the last network."""
        draws = [torch.Generator().manual_seed(int(seed)) for seed in seeds]
        weights = torch.stack([self._start(draw) for draw in draws])
        # First and second moment, all weights of a network in one row.
        moments = torch.zeros_like(weights), torch.zeros_like(weights)
        rows, count = self.x.shape[1], len(seeds)
        state = {
            "step": torch.zeros(count), "rate": torch.full((count,), RATE), "epoch": torch.zeros(count),
            "best": torch.full((count,), float("inf")), "bad": torch.zeros(count),
            "second": torch.zeros(count),
        }  # fmt: skip
        epochs, done = [0] * count, {}
        alive = list(range(count))
        while alive:
            order = torch.stack([torch.randperm(rows, generator=draws[i]) for i in alive])
            loss = self._epoch(weights, moments, state, order) / rows
            state["bad"] = torch.where(loss > state["best"] - TOLERANCE, state["bad"] + 1, 0.0)
            state["best"] = torch.minimum(state["best"], loss)
            state["epoch"] += 1
            ended = (state["bad"] > PATIENCE) | (state["epoch"] >= max_epochs)
            over = ended & (state["second"] > 0)
            for j in torch.nonzero(ended).flatten().tolist():
                epochs[alive[j]] += int(state["epoch"][j])
                if over[j]:
                    done[alive[j]] = TrainedMLP(self._layers(weights[j]), epochs[alive[j]], float(loss[j]))
                else:  # once more, with a new optimiser, at a tenth of the rate
                    for name, value in (("step", 0.0), ("rate", RATE / 10), ("epoch", 0.0), ("second", 1.0)):
                        state[name][j] = value
                    for moment in moments:
                        moment[j] = 0.0
            if over.any():
                kept = ~over
                alive = [i for i, keep in zip(alive, kept.tolist(), strict=True) if keep]
                self.x, self.y, weights = self.x[kept], self.y[kept], weights[kept]
                moments = moments[0][kept], moments[1][kept]
                state = {name: value[kept] for name, value in state.items()}
        return [done[i] for i in range(count)]

    def _start(self, draw: torch.Generator) -> Tensor:
        parts = []
        for inputs, outputs in self.shapes:
            bound = (6.0 / (inputs + outputs)) ** 0.5
            parts.append((2.0 * torch.rand((inputs + 1) * outputs, generator=draw) - 1.0) * bound)
        return torch.cat(parts)

    def _views(self, flat: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Weights (K, in, out) and biases (K, 1, out) of each layer, as views of (K, all)."""
        found, at = [], 0
        for inputs, outputs in self.shapes:
            middle, end = at + inputs * outputs, at + (inputs + 1) * outputs
            found.append(
                (flat[:, at:middle].view(-1, inputs, outputs), flat[:, middle:end].view(-1, 1, outputs))
            )
            at = end
        return found

    def _layers(self, row: Tensor) -> tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]:
        return tuple((w[0].numpy().copy(), b[0, 0].numpy().copy()) for w, b in self._views(row[None].clone()))

    def _epoch(
        self, weights: Tensor, moments: tuple[Tensor, Tensor], state: dict[str, Tensor], order: Tensor
    ) -> Tensor:
        """One pass over the rows in the given order; the sum of the losses of each network."""
        count, rows = order.shape
        layers, slopes = self._views(weights), torch.empty_like(weights)
        gradients = self._views(slopes)
        total, network = torch.zeros(count), torch.arange(count)[:, None]
        for first in range(0, rows, BATCH):
            chosen = order[:, first : first + BATCH]
            size = chosen.shape[1]
            label = self.y[network, chosen][:, :, None]
            values = [self.x[network, chosen]]
            for number, (w, b) in enumerate(layers):
                out = torch.baddbmm(b, values[-1], w)
                values.append(out.relu_() if number < len(layers) - 1 else torch.log_softmax(out, 2))
            total -= values[-1].gather(2, label).sum((1, 2))
            total += 0.5 * ALPHA * sum(w.square().sum((1, 2)) for w, _ in layers)
            delta = values[-1].exp()
            delta.scatter_add_(2, label, torch.full((count, size, 1), -1.0))
            delta /= size
            for number in range(len(layers) - 1, -1, -1):
                (w, _), (slope, bias) = layers[number], gradients[number]
                bias.copy_(delta.sum(1, keepdim=True))
                slope.copy_(torch.baddbmm(w, values[number].transpose(1, 2), delta, beta=ALPHA / size))
                if number:
                    delta = torch.bmm(delta, w.transpose(1, 2)).mul_(values[number] > 0)
            state["step"] += 1
            one, two = (1.0 - beta ** state["step"] for beta in BETAS)
            speed = (state["rate"] * torch.sqrt(two) / one)[:, None]
            moments[0].lerp_(slopes, 1.0 - BETAS[0])
            moments[1].mul_(BETAS[1]).addcmul_(slopes, slopes, value=1.0 - BETAS[1])
            weights -= moments[0].div(moments[1].sqrt().add_(EPSILON)).mul_(speed)
        return total
