"""From clouds and labels to a trained network of a baseline, and from it to probabilities.

Batches of 32 and the augmentation (a turn about the z axis, a scale of 0.8 to 1.25, a shift, jitter) are
those of the HFS paper for all networks. Schedules stretch with the number of epochs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from heatfield._base.check import Array
from heatfield.features.points import unit_ball
from heatfield.jobs import key_of
from heatfield.nn.learner import TrainedNetwork, augmented, softmax
from heatfield.nn.training import Output, Training

from .. import networks
from .layers import starts_of


@dataclass(frozen=True)
class NetworkTraining(Training):
    """`Training`, with rates that fall in steps and a batch norm that slows down."""

    augment: bool = True
    rotation: str | None = "z"
    centred: bool = False  # after the augmentation
    drops: tuple[float, ...] = ()  # shares of the training after which the rate falls; none: half a cosine
    drop: float = 0.1  # by which factor
    first_momentum: float | None = None  # of the batch norms, halved at every drop, at least 0.01

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch; with steps never below ``final_rate``."""
        if not self.drops:
            return super().rate(epoch)
        return max(self.final_rate, self.learning_rate * self.drop ** self._fallen(epoch))

    def _fallen(self, epoch: int) -> int:
        return sum(epoch >= share * self.epochs - 1e-9 for share in self.drops)

    def before_epoch(self, network: nn.Module, optimizer: torch.optim.Optimizer, epoch: int) -> None:
        super().before_epoch(network, optimizer, epoch)
        if self.first_momentum is not None:
            momentum = max(0.01, self.first_momentum * 0.5 ** self._fallen(epoch))
            for module in network.modules():
                if isinstance(module, nn.BatchNorm1d):
                    module.momentum = momentum


# Points that are classified together; the tables of a batch of PointNet2 (MSG) take about a gigabyte then.
_POINTS = 1 << 14


def drawn_rows(size: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """``count`` rows of a cloud of ``size`` points, in order.

    Of a larger cloud without replacement; of a smaller one all points equally often, up to one.
    """
    whole, rest = divmod(count, size)
    extra = rng.choice(size, rest, replace=False)
    return np.sort(np.concatenate([np.tile(np.arange(size), whole), extra]))


class FixedClouds:
    """Clouds in space with ``n_points`` points each, centred and scaled to the unit ball after the draw.

    The draw depends on the seed and on the size of a cloud alone: it is the same in training and
    prediction, whichever clouds are beside it, and however the cloud is turned.
    """

    def __init__(self, clouds: Sequence[Array], n_points: int, seed: int, device: torch.device) -> None:
        self.n_points, self.device = n_points, device
        rows: dict[int, NDArray[np.int64]] = {}
        points = np.zeros((len(clouds), n_points, 3), np.float32)
        for i, cloud in enumerate(clouds):
            size, n_dims = cloud.shape
            if size == 0:  # a single point in the middle
                continue
            if size not in rows:
                rows[size] = drawn_rows(size, n_points, np.random.default_rng([seed, size, n_points]))
            points[i, :, :n_dims] = unit_ball(cloud[rows[size]])
        self.points = torch.from_numpy(points)

    def batch(self, clouds: NDArray, _points: int | None = None, _rng: Any = None) -> tuple[Tensor, ...]:
        """Coordinates (B, n_points, 3)."""
        return (self.points[torch.from_numpy(np.asarray(clouds))].to(self.device),)

    def pieces(self) -> Iterator[NDArray]:
        """All clouds in order, in runs that fit into memory together."""
        count, step = len(self.points), max(1, _POINTS // self.n_points)
        for first in range(0, count, step):
            yield np.arange(first, min(count, first + step))


def parameter_count(kind: str, n_classes: int, options: Mapping[str, Any]) -> int:
    """Parameters of a network; nothing is allocated."""
    with torch.device("meta"):
        return sum(p.numel() for p in getattr(networks, kind)(n_classes, **options).parameters())


class NetworkLearner(TrainedNetwork):
    """A network, the number of points it sees, and the seed by which they are drawn."""

    def __init__(
        self, kind: str, n_classes: int, network: Mapping[str, Any], device: torch.device, n_points: int,
        seed: int,
    ) -> None:  # fmt: skip
        self.kind, self.n_points, self.seed = kind, n_points, seed
        self.training = NetworkTraining()  # how clouds are augmented while it is trained
        super().__init__(n_classes, network, device)

    def _build(self) -> nn.Module:
        return getattr(networks, self.kind)(self.n_classes, **self.options)

    def fit(self, clouds: Sequence[Array], labels: NDArray[np.int64], options: NetworkTraining) -> None:
        """Train anew, or go on from the checkpoint in the options."""
        self.training, fingerprint = options, ""
        if options.checkpoint is not None:  # all that the weights depend on
            settings = asdict(replace(options, checkpoint=None, progress=None))
            own = [self.kind, self.n_classes, self.n_points, self.seed, repr(self.options), settings]
            fingerprint = key_of(own, labels, *clouds)
        data = FixedClouds(clouds, self.n_points, self.seed, self.device)
        self._train(lambda: data, labels, None, options, fingerprint)

    def logits(self, clouds: Sequence[Array]) -> NDArray[np.float32]:
        """(N, classes)."""
        return self._logits(FixedClouds(clouds, self.n_points, self.seed, self.device))

    def probabilities(self, clouds: Sequence[Array]) -> Array:
        """The softmax of the logits, in double precision."""
        return softmax(self.logits(clouds))

    def _forward(
        self, network: nn.Module, inputs: tuple[Tensor, ...], rng: np.random.Generator | None
    ) -> Output:
        (points,) = inputs
        if rng is not None:
            rows = augmented(points.flatten(0, 1), starts_of(points), rng, self.training.rotation)
            points = rows.view(points.shape)
            if self.training.centred:
                points = points - points.mean(dim=1, keepdim=True)
        if network.training and hasattr(network, "with_penalty"):
            return network.with_penalty(points)
        return network(points)
