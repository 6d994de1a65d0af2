"""From clouds and labels to a trained network of a baseline, and from it to probabilities.

Each network is trained by its authors' optimiser, schedule and epochs, as far as they are known.
Batches of 32 and the augmentation (a turn about the z axis, a scale of 0.8 to 1.25, a shift, jitter) are
those of the HFS paper for all networks. Schedules stretch with the number of epochs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from heatfield._base.check import Array
from heatfield._features.unit_ball import unit_ball
from heatfield.nn.learner import TrainedNetwork, augmented, softmax
from heatfield.nn.training import Output, Training

from .dgcnn import DGCNN, VNDGCNN, starts_of
from .point_transformer import PointTransformer
from .pointnet import PointNet, PointNet2

NETWORKS: dict[str, type[nn.Module]] = {
    "pointnet": PointNet,
    "pointnet2": PointNet2,
    "dgcnn": DGCNN,
    "point_transformer": PointTransformer,
    "vn_dgcnn": VNDGCNN,
}
# Networks for which a shift means a change that clouds at prediction, centred as they are, never show.
_CENTRED = ("vn_dgcnn",)


@dataclass(frozen=True)
class NetworkTraining(Training):
    """`Training`, with rates that fall in steps and a batch norm that slows down."""

    augment: bool = True
    rotation: str | None = "z"
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


# Every 200,000 clouds the rate falls to 0.7 of itself: of ModelNet40's 9,843 training clouds about every 20
# epochs of 250. The epochs count here, so that a smaller set has the same schedule.
_EVERY_20_OF_250 = tuple(round(0.08 * step, 2) for step in range(1, 13))
# PointNet and PointNet++ (Qi et al.).
_POINTNET = NetworkTraining(
    epochs=250, learning_rate=1e-3, final_rate=1e-5, drops=_EVERY_20_OF_250, drop=0.7, first_momentum=0.5
)
# DGCNN (Wang et al.); VN-DGCNN is trained likewise.
_DGCNN = NetworkTraining(
    epochs=250, optimizer="sgd", learning_rate=0.1, final_rate=1e-3, weight_decay=1e-4, label_smoothing=0.2
)
# Point Transformer (Zhao et al.).
_POINT_TRANSFORMER = NetworkTraining(
    epochs=200, optimizer="sgd", learning_rate=0.05, weight_decay=1e-4, drops=(0.6, 0.8), drop=0.1
)
RECIPES: dict[str, NetworkTraining] = {
    "pointnet": _POINTNET,
    "pointnet2": _POINTNET,
    "dgcnn": _DGCNN,
    "point_transformer": _POINT_TRANSFORMER,
    "vn_dgcnn": _DGCNN,
}

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

    def __init__(
        self, clouds: Sequence[Array], n_points: int, seed: int, device: torch.device, *, keep: bool = False
    ) -> None:
        self.n_points, self.device = n_points, device
        rows: dict[int, NDArray[np.int64]] = {}
        points = np.zeros((len(clouds), n_points, 3), np.float32)
        self.whole: list[NDArray[np.float32]] = []
        for i, cloud in enumerate(clouds):
            size, n_dims = cloud.shape
            if keep:
                self.whole.append(np.zeros((max(1, size), 3), np.float32))
            if size == 0:  # a single point in the middle
                continue
            if size not in rows:
                rows[size] = drawn_rows(size, n_points, np.random.default_rng([seed, size, n_points]))
            points[i, :, :n_dims] = unit_ball(cloud[rows[size]])
            if keep:
                self.whole[-1][:, :n_dims] = unit_ball(cloud)
        self.points = torch.from_numpy(points)

    def __len__(self) -> int:
        return len(self.points)

    def batch(
        self, clouds: NDArray, points: int | None = None, rng: np.random.Generator | None = None
    ) -> tuple[Tensor, ...]:
        """Coordinates (B, n_points, 3); with ``points``, so many, drawn anew."""
        if points is None or rng is None:
            return (self.points[torch.from_numpy(np.asarray(clouds))].to(self.device),)
        drawn = [self.whole[i][drawn_rows(len(self.whole[i]), points, rng)] for i in clouds]
        found = torch.from_numpy(np.stack([unit_ball(cloud) for cloud in drawn]))
        return (found.to(self.device),)

    def pieces(self) -> Iterator[NDArray]:
        """All clouds in order, in runs that fit into memory together."""
        step = max(1, _POINTS // self.n_points)
        for first in range(0, len(self), step):
            yield np.arange(first, min(len(self), first + step))


def parameter_count(kind: str, n_classes: int, options: Mapping[str, Any]) -> int:
    """Parameters of a network; nothing is allocated."""
    with torch.device("meta"):
        return sum(p.numel() for p in NETWORKS[kind](n_classes, **options).parameters())


class NetworkLearner(TrainedNetwork):
    """A network, the number of points it sees, and the seed by which they are drawn."""

    def __init__(
        self,
        kind: str,
        n_classes: int,
        network: Mapping[str, Any] | None,
        device: torch.device,
        *,
        n_points: int,
        n_dims: int,
        seed: int,
    ) -> None:
        self.kind, self.n_points, self.n_dims, self.seed = kind, n_points, n_dims, seed
        self.rotation: str | None = None  # of the augmentation, while it is trained
        super().__init__(n_classes, network, device)

    def _build(self) -> nn.Module:
        return NETWORKS[self.kind](self.n_classes, **self.options)

    def fit(
        self,
        clouds: Sequence[Array],
        labels: NDArray[np.int64],
        held_out: NDArray[np.bool_] | None,
        options: NetworkTraining,
    ) -> None:
        """Train anew, or go on from the checkpoint in the options."""
        watching = np.zeros(len(clouds), bool) if held_out is None else held_out
        own = [cloud for cloud, out in zip(clouds, watching, strict=True) if not out]
        others = None
        if held_out is not None:
            rest = [cloud for cloud, out in zip(clouds, watching, strict=True) if out]
            others = (self._fixed(rest), labels[held_out])
        self.rotation = options.rotation
        fingerprint = ""
        if options.checkpoint is not None:
            fingerprint = self._fingerprint(clouds, labels, watching, options)
        data = self._fixed(own, keep=options.train_points is not None)
        self._train(lambda: data, labels[~watching], others, options, fingerprint)

    def logits(self, clouds: Sequence[Array]) -> NDArray[np.float32]:
        """(N, classes)."""
        return self._logits(self._fixed(clouds))

    def probabilities(self, clouds: Sequence[Array]) -> Array:
        """The softmax of the logits, in double precision."""
        return softmax(self.logits(clouds))

    def load(self, tensors: Mapping[str, NDArray]) -> None:
        """Take over what `tensors` gave; a ValueError where a name, shape or type is not this network's."""
        self._load(tensors, {})

    def _fixed(self, clouds: Sequence[Array], *, keep: bool = False) -> FixedClouds:
        return FixedClouds(clouds, self.n_points, self.seed, self.device, keep=keep)

    def _forward(
        self, network: nn.Module, inputs: tuple[Tensor, ...], rng: np.random.Generator | None
    ) -> Output:
        (points,) = inputs
        if rng is not None:
            rows = augmented(points.flatten(0, 1), starts_of(points), rng, self.rotation)
            points = rows.view(points.shape)
            if self.kind in _CENTRED:
                points = points - points.mean(dim=1, keepdim=True)
        if network.training and hasattr(network, "with_penalty"):
            return network.with_penalty(points)
        return network(points)

    def _fingerprint(
        self, clouds: Sequence[Array], labels: NDArray, held_out: NDArray, options: NetworkTraining
    ) -> str:
        """A hash of the data and of every setting that the weights depend on."""
        settings = asdict(replace(options, checkpoint=None, progress=None))
        own = [self.kind, self.n_classes, self.n_points, self.n_dims, self.seed, self.options, settings]
        digest = hashlib.sha256(json.dumps(own, sort_keys=True, default=repr).encode())
        for part in (labels, held_out, *clouds):
            digest.update(repr(part.shape).encode())
            digest.update(np.ravel(part).view(np.uint8).data)
        return digest.hexdigest()
