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
from ._batches import Packed, Scaling
from ._dgcnn import HFSDGCNN
from ._full import HFSFull
from ._training import Training, all_logits, train

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


def choose_device(name: str) -> torch.device:
    """ "auto" is a GPU if there is one, else the processor."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ValueError(f"device={name!r} cannot be used: {str(error).splitlines()[0]}") from None
    return device


class Learner:
    """A network with the scaling of its inputs: all that is needed to classify a table of point features."""

    def __init__(
        self,
        kind: str,
        recipe: PointSettings,
        n_classes: int,
        network: Mapping[str, Any] | None,
        device: torch.device,
    ) -> None:
        self.kind, self.recipe, self.n_classes = kind, recipe, n_classes
        if network is not None and not isinstance(network, Mapping):
            raise ValueError(f"network must be a dict of parts of the network, got {network!r}")
        self.options = dict(network or {})
        self.device = device
        self.points = self.whole = Scaling(np.empty(0), np.empty(0), np.empty(0, bool))
        self.history: list[dict[str, float]] = []
        try:
            with torch.device("meta"):  # shapes only: memory is taken when it is known what for
                self.network = self._build()
        except (TypeError, RuntimeError) as error:
            raise ValueError(f"network={network!r}: {str(error).splitlines()[0]}") from None

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
        cuda = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(cuda):  # the caller's random numbers are not touched
            self._seed(options.seed)
            self.network = self._build().to(self.device)
            self.history = train(
                self.network,
                self._forward,
                self._packed(kept),
                own,
                others,
                self.n_classes,
                options,
                "" if options.checkpoint is None else self._fingerprint(table, labels, held_out, options),
            )
        self.network.eval()

    def _seed(self, seed: int | None) -> None:
        """The generators that the training draws from; `torch.manual_seed` would set those of all devices."""
        first = torch.default_generator.seed() if seed is None else seed
        torch.default_generator.manual_seed(first)
        if self.device.type == "cuda":
            with torch.cuda.device(self.device):
                torch.cuda.manual_seed(first)

    def logits(self, table: PointTable) -> NDArray[np.float32]:
        """(N, classes), with all points of every cloud."""
        return all_logits(self.network, self._forward, self._packed(table)).cpu().numpy()

    def probabilities(self, table: PointTable) -> Array:
        """The softmax of the logits, in double precision."""
        values = self.logits(table).astype(np.float64)
        values = np.exp(values - values.max(axis=1, keepdims=True))
        return values / values.sum(axis=1, keepdims=True)

    @property
    def unit(self) -> tuple[Array, Array]:
        """Shift and unit in which a table of new clouds is best stored."""
        return self.points.mean, self.points.scale

    def _packed(self, table: PointTable) -> Packed:
        return Packed(table, self.points, self.whole, self.device)

    def _forward(
        self, network: nn.Module, inputs: tuple[Tensor, ...], rng: np.random.Generator | None
    ) -> Tensor:
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
        found = {f"network.{k}": v.detach().cpu().numpy() for k, v in self.network.state_dict().items()}
        for name in ("points", "whole"):
            found |= {f"{name}.{k}": v for k, v in vars(getattr(self, name)).items()}
        return found

    def load(self, tensors: Mapping[str, NDArray]) -> None:
        """Take over what `tensors` gave; a ValueError where a name, shape or type is not this network's."""
        widths = {"points": len(self.recipe.point_names), "whole": len(self.recipe.whole_names)}
        wanted = {f"network.{k}": (tuple(v.shape), v.dtype) for k, v in self.network.state_dict().items()}
        for name, width in widths.items():
            for part, kind in (("mean", torch.float64), ("scale", torch.float64), ("constant", torch.bool)):
                wanted[f"{name}.{part}"] = ((width,), kind)
        found = {k: torch.from_numpy(np.array(v)) for k, v in tensors.items()}
        odd = sorted(set(wanted) ^ set(found))
        if odd:
            raise ValueError(
                f"it does not hold the tensors of this network: {odd[0]!r} and {len(odd) - 1} others differ"
            )
        for name, (shape, kind) in wanted.items():
            if tuple(found[name].shape) != shape or found[name].dtype != kind:
                raise ValueError(
                    f"tensor {name!r} must be {kind} of shape {shape}, "
                    f"got {found[name].dtype} of shape {tuple(found[name].shape)}"
                )
            if not torch.isfinite(found[name]).all() or (
                name.endswith(".scale") and (found[name] <= 0).any()
            ):
                raise ValueError(f"tensor {name!r} holds numbers that cannot be")
        with torch.random.fork_rng([]):  # first weights are drawn, but not from the caller's numbers
            self.network = self._build().to(self.device)
        start = "network."
        self.network.load_state_dict({k[len(start) :]: v for k, v in found.items() if k.startswith(start)})
        for name in widths:
            parts = (np.array(tensors[f"{name}.{part}"]) for part in ("mean", "scale", "constant"))
            setattr(self, name, Scaling(*parts))
        self.network.eval()


def augmented(coordinates: Tensor, starts: Tensor, rng: np.random.Generator) -> Tensor:
    """Each cloud turned about its last axis, scaled by 0.8 to 1.25, moved by up to 0.1, its points jittered.

    In the plane the turn is about the origin. Jitter is normal with spread 0.01, at most 0.05.
    """
    sizes = torch.diff(starts).cpu().numpy()
    n, count = coordinates.shape[1], len(sizes)
    turn = np.tile(np.eye(n), (count, 1, 1))
    if n >= 2:
        angle = rng.uniform(0.0, 2.0 * np.pi, count)
        turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angle)
        turn[:, 0, 1], turn[:, 1, 0] = -np.sin(angle), np.sin(angle)
    turn *= rng.uniform(0.8, 1.25, count)[:, None, None]
    move = rng.uniform(-0.1, 0.1, (count, n))
    jitter = np.clip(0.01 * rng.standard_normal(coordinates.shape), -0.05, 0.05)
    owner = torch.from_numpy(np.repeat(np.arange(count), sizes)).to(coordinates.device)
    turns, moves, noise = (
        torch.from_numpy(x.astype(np.float32)).to(coordinates.device) for x in (turn, move, jitter)
    )
    return torch.einsum("pn,pkn->pk", coordinates, turns[owner]) + moves[owner] + noise
