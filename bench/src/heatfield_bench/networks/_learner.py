"""From clouds and labels to a trained network of a baseline, and from it to probabilities."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from heatfield._base.check import Array
from heatfield.nn.learner import TrainedNetwork, augmented, softmax
from heatfield.nn.training import Output

from ._dgcnn import DGCNN, starts_of
from ._fixed_clouds import FixedClouds
from ._point_transformer import PointTransformer
from ._pointnet import PointNet
from ._pointnet2 import PointNet2
from ._recipes import NetworkTraining
from ._vn_dgcnn import VNDGCNN

NETWORKS: dict[str, type[nn.Module]] = {
    "pointnet": PointNet,
    "pointnet2": PointNet2,
    "dgcnn": DGCNN,
    "point_transformer": PointTransformer,
    "vn_dgcnn": VNDGCNN,
}

# Networks for which a shift means a change that clouds at prediction, centred as they are, never show.
_CENTRED = ("vn_dgcnn",)


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
