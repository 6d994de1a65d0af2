"""How each network is trained: its authors' optimiser, schedule and epochs, as far as they are known.

Batches of 32 and the augmentation (a turn about the z axis, a scale of 0.8 to 1.25, a shift, jitter) are
those of the HFS paper for all networks. Schedules stretch with the number of epochs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from heatfield.nn.training import Training


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
