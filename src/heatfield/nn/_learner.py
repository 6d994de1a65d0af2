"""From a table of point features and labels to a trained network, and from it to logits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .._base.check import Array
from .._features.point_features import PointSettings
from .._features.point_table import PointTable
from .._features.round_off import ROUND_OFF
from ._augment import augmented
from ._batches import Packed, Scaling
from ._dgcnn import HFSDGCNN
from ._full import HFSFull
from ._trained import TrainedNetwork, Wanted, softmax
from ._trained import choose_device as choose_device
from ._training import Output, Training

# What the paper and DGCNN's authors do, where it is not what `Training` has.
RECIPES: dict[str, Training] = {
    "full": Training(),
    "dgcnn": Training(
        optimizer="sgd",
        learning_rate=0.1,
        final_rate=1e-3,
        weight_decay=1e-4,
        label_smoothing=0.2,
        augment=True,
    ),
}


class Learner(TrainedNetwork):
    """A network with the scaling of its inputs: all that is needed to classify a table of point features."""

    def __init__(
        self,
        kind: str,
        recipe: PointSettings,
        n_classes: int,
        network: Mapping[str, Any] | None,
        device: torch.device,
    ) -> None:
        self.kind, self.recipe = kind, recipe
        self.points = self.whole = Scaling(np.empty(0), np.empty(0), np.empty(0, bool))
        super().__init__(n_classes, network, device)

    def _build(self) -> nn.Module:
        width = len(self.recipe.point_names)
        if self.kind == "full":
            return HFSFull(width, len(self.recipe.whole_names), self.n_classes, **self.options)
        return HFSDGCNN(width, self.recipe.n_dims, self.n_classes, **self.options)

    def fit(
        self,
        table: PointTable,
        labels: NDArray[np.int64],
        held_out: NDArray[np.bool_] | None,
        options: Training,
    ) -> None:
        """Train anew, or go on from the checkpoint in the options."""
        kept = table if held_out is None else table.take(~held_out)
        tolerance = ROUND_OFF[np.dtype(self.recipe.dtype)]
        self.points, self.whole = Scaling.of_points(kept, tolerance), Scaling.of_whole(kept, tolerance)
        own = labels if held_out is None else labels[~held_out]
        others = None if held_out is None else (self._packed(table.take(held_out)), labels[held_out])
        fingerprint = (
            "" if options.checkpoint is None else self._fingerprint(table, labels, held_out, options)
        )
        self._train(lambda: self._packed(kept), own, others, options, fingerprint)

    def logits(self, table: PointTable) -> NDArray[np.float32]:
        """(N, classes), with all points of every cloud."""
        return self._logits(self._packed(table))

    def probabilities(self, table: PointTable) -> Array:
        """The softmax of the logits, in double precision."""
        return softmax(self.logits(table))

    @property
    def unit(self) -> tuple[Array, Array]:
        """Shift and unit in which a table of new clouds is best stored."""
        return self.points.mean, self.points.scale

    def _packed(self, table: PointTable) -> Packed:
        return Packed(table, self.points, self.whole, self.device)

    def _forward(
        self, network: nn.Module, inputs: tuple[Tensor, ...], rng: np.random.Generator | None
    ) -> Output:
        rows, whole, coordinates, starts = inputs
        if self.kind == "full":
            return network(rows, whole, starts)
        if rng is not None:
            coordinates = augmented(coordinates, starts, rng)
        return network(rows, coordinates, starts)

    def _fingerprint(
        self, table: PointTable, labels: NDArray, held_out: NDArray | None, options: Training
    ) -> str:
        """A hash of the data and of every setting that the weights depend on."""
        settings = asdict(replace(options, checkpoint=None, progress=None))
        text = json.dumps(
            [self.kind, self.recipe.identity(), self.n_classes, self.options, settings],
            sort_keys=True,
            default=repr,
        )
        digest = hashlib.sha256(text.encode())
        coordinates = table.coordinates if self.kind == "dgcnn" else None
        for part in (table.starts, table.whole, table.rows, coordinates, labels, held_out):
            digest.update(b"-" if part is None else np.ravel(part).view(np.uint8).data)
        return digest.hexdigest()

    def tensors(self) -> dict[str, Array]:
        """Everything learnt, as arrays."""
        found = super().tensors()
        for name in ("points", "whole"):
            found |= {f"{name}.{k}": v for k, v in vars(getattr(self, name)).items()}
        return found

    def load(self, tensors: Mapping[str, NDArray]) -> None:
        """Take over what `tensors` gave; a ValueError where a name, shape or type is not this network's."""
        widths = {"points": len(self.recipe.point_names), "whole": len(self.recipe.whole_names)}
        more: Wanted = {}
        for name, width in widths.items():
            for part, kind in (("mean", torch.float64), ("scale", torch.float64), ("constant", torch.bool)):
                more[f"{name}.{part}"] = ((width,), kind)
        self._load(tensors, more)
        for name in widths:
            parts = (np.array(tensors[f"{name}.{part}"]) for part in ("mean", "scale", "constant"))
            setattr(self, name, Scaling(*parts))
