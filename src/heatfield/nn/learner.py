"""From a table of point features and labels to a trained network, and from it to logits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .._base.check import Array
from ..features.layout import ROUND_OFF
from ..features.points import PointSettings, PointTable, packed
from .dgcnn import HFSDGCNN
from .full import HFSFull
from .training import Batches, Output, Training, all_logits, train

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


# --- batches of packed clouds: the points of some clouds, one cloud after the other ----


@dataclass(frozen=True)
class Scaling:
    """Means and standard deviations of the training set; features constant up to round-off become 0."""

    mean: Array
    scale: Array
    constant: NDArray[np.bool_]

    @classmethod
    def of_points(cls, table: PointTable, tolerance: float) -> Scaling:
        """Of the point features of a table, in their own unit."""
        count, total, squares = 0, 0.0, 0.0
        low, high = np.inf, -np.inf
        for first in range(0, len(table.rows), 1 << 16):  # in double precision, a piece at a time
            piece = table.rows[first : first + (1 << 16)].astype(np.float64)
            piece = piece[np.isfinite(piece).all(axis=1)]
            if len(piece):
                count, total = count + len(piece), total + piece.sum(axis=0)
                squares = squares + (piece**2).sum(axis=0)
                low, high = np.minimum(low, piece.min(axis=0)), np.maximum(high, piece.max(axis=0))
        if count == 0:
            raise ValueError("no training cloud has two distinct points: there is nothing to learn from")
        mean = total / count
        deviation = np.sqrt(np.maximum(0.0, squares / count - mean**2)) * table.unit
        ends = [np.abs(table.shift + table.unit * end) for end in (low, high)]
        return cls._of(
            table.shift + table.unit * mean,
            deviation,
            np.maximum(*ends),
            table.recipe.magnitudes()[0],
            tolerance,
        )

    @classmethod
    def of_whole(cls, table: PointTable, tolerance: float) -> Scaling:
        """Of the features of whole clouds; gaps do not count."""
        finite = np.where(np.isfinite(table.whole), table.whole, np.nan)
        known = np.isfinite(finite).any(axis=0)
        mean, deviation, largest = np.zeros((3, finite.shape[1]))
        mean[known], deviation[known] = (
            np.nanmean(finite[:, known], axis=0),
            np.nanstd(finite[:, known], axis=0),
        )
        largest[known] = np.nanmax(np.abs(finite[:, known]), axis=0)
        return cls._of(mean, deviation, largest, table.recipe.magnitudes()[1], tolerance)

    @classmethod
    def _of(
        cls, mean: Array, deviation: Array, largest: Array, magnitude: Array, tolerance: float
    ) -> Scaling:
        constant = deviation <= tolerance * np.maximum(largest, magnitude)
        return cls(mean, np.where(constant, 1.0, deviation), constant)

    def apply(self, values: Array) -> Array:
        """Standardised; gaps and constants become 0."""
        scaled = (values - self.mean) / self.scale
        return np.where(self.constant | ~np.isfinite(scaled), 0.0, scaled)


# Standardised features are cut off here. Clouds in another unit are that far off: there is a warning, and
# their numbers stay finite in single precision.
_FAR = 1e6


class Packed:
    """A table made ready for one network: where batches of its clouds come from."""

    def __init__(self, table: PointTable, points: Scaling, whole: Scaling, device: torch.device) -> None:
        self.table, self.device = table, device
        scaled = np.clip(whole.apply(table.whole), -_FAR, _FAR).astype(np.float32)
        self.whole = torch.from_numpy(scaled).to(device)
        keep = ~points.constant
        self.factor = torch.from_numpy((keep * table.unit / points.scale).astype(np.float32)).to(device)
        offset = keep * (table.shift - points.mean) / points.scale
        self.offset = torch.from_numpy(offset.astype(np.float32)).to(device)
        ends = [table.rows.max(initial=0.0), -table.rows.min(initial=0.0)]  # NaN if there is one
        self.gaps = not max(ends) * max(1.0, float(self.factor.max())) < _FAR

    def batch(
        self, clouds: NDArray, points: int | None = None, rng: np.random.Generator | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Point features (P, F), whole features (B, W), coordinates (P, n) and starts (B + 1,).

        With ``points``, at most so many points of each cloud, drawn without replacement.
        """
        if points is None or rng is None:
            at, starts = packed(self.table.starts, clouds)
        else:
            at, starts = _drawn(self.table.starts, clouds, points, rng)
        rows = torch.from_numpy(self.table.rows[at]).to(self.device)
        rows = torch.addcmul(self.offset, rows, self.factor)
        if self.gaps:
            rows = torch.nan_to_num(rows, nan=0.0).clamp(-_FAR, _FAR)
        coordinates = torch.from_numpy(self.table.coordinates[at]).to(self.device)
        chosen = torch.from_numpy(np.asarray(clouds)).to(self.device)
        return rows, self.whole[chosen], coordinates, torch.from_numpy(starts).to(self.device)

    def pieces(self, most: int = 1 << 16) -> Iterator[NDArray]:
        """All clouds in order, in runs of at most so many points (or of one cloud)."""
        starts, first, count = self.table.starts, 0, len(self.table)
        while first < count:
            last = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
            last = min(count, max(last, first + 1))
            yield np.arange(first, last)
            first = last


def _drawn(
    starts: NDArray[np.int64], clouds: NDArray, points: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Some rows of each cloud, by the smallest of random keys."""
    sizes = np.diff(starts)[clouds]
    most = int(sizes.max())
    if most <= points:
        return packed(starts, clouds)
    keys = rng.random((len(clouds), most), np.float32)
    keys[np.arange(most) >= sizes[:, None]] = 2.0
    chosen = np.sort(np.argpartition(keys, points - 1, axis=1)[:, :points], axis=1)
    real = np.take_along_axis(keys, chosen, axis=1) < 2.0
    at = (chosen + starts[clouds][:, None])[real]
    return at, np.concatenate([[0], np.cumsum(real.sum(axis=1))])


# --- clouds turned, scaled, moved and jittered anew in every epoch, as for the paper's deep baselines


def random_rotations(count: int, n: int, rng: np.random.Generator) -> Array:
    """(count, n, n) rotations, evenly spread over SO(n) (the Haar measure).

    The orthogonal factor of a Gaussian matrix, its signs fixed by the diagonal of the triangular one; a
    reflection becomes a rotation by turning one axis around, which keeps the measure.
    """
    q, r = np.linalg.qr(rng.standard_normal((count, n, n)))
    q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    q[:, :, 0] *= np.sign(np.linalg.det(q))[:, None]
    return q


def augmented(
    coordinates: Tensor, starts: Tensor, rng: np.random.Generator, rotation: str | None = "z"
) -> Tensor:
    """Each cloud turned, scaled by 0.8 to 1.25, moved by up to 0.1, its points jittered.

    ``rotation`` "z" turns about the last axis (in the plane, about the origin), "so3" is any rotation, None
    none. Jitter is normal with spread 0.01, at most 0.05.
    """
    sizes = torch.diff(starts).cpu().numpy()
    n, count = coordinates.shape[1], len(sizes)
    turn = random_rotations(count, n, rng) if rotation == "so3" else np.tile(np.eye(n), (count, 1, 1))
    if rotation == "z" and n >= 2:
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


# --- a network that is built, trained on some batches, asked for logits, and turned into arrays and back

Wanted = dict[str, tuple[tuple[int, ...], torch.dtype]]


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


class TrainedNetwork:
    """What the learners share; each says how its network is built and what it is fed with."""

    def __init__(self, n_classes: int, network: Mapping[str, Any] | None, device: torch.device) -> None:
        self.n_classes, self.device = n_classes, device
        if network is not None and not isinstance(network, Mapping):
            raise ValueError(f"network must be a dict of parts of the network, got {network!r}")
        self.options = dict(network or {})
        self.history: list[dict[str, float]] = []
        try:
            with torch.device("meta"):  # shapes only: memory is taken when it is known what for
                self.network = self._build()
        except (TypeError, RuntimeError) as error:
            raise ValueError(f"network={network!r}: {str(error).splitlines()[0]}") from None

    def _build(self) -> nn.Module:
        raise NotImplementedError

    def _forward(
        self, network: nn.Module, inputs: tuple[Tensor, ...], rng: np.random.Generator | None
    ) -> Output:
        raise NotImplementedError

    def _train(
        self,
        data: Callable[[], Batches],
        labels: NDArray[Any],
        held_out: tuple[Batches, NDArray[Any]] | None,
        options: Training,
        fingerprint: str,
    ) -> None:
        """Train anew, or go on from the checkpoint in the options; the caller's random numbers stay."""
        cuda = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(cuda):
            self._seed(options.seed)
            self.network = self._build().to(self.device)
            self.history = train(
                self.network, self._forward, data(), labels, held_out, self.n_classes, options, fingerprint
            )
        self.network.eval()

    def _seed(self, seed: int | None) -> None:
        """The generators that the training draws from; `torch.manual_seed` would set those of all devices."""
        first = torch.default_generator.seed() if seed is None else seed
        torch.default_generator.manual_seed(first)
        if self.device.type == "cuda":
            with torch.cuda.device(self.device):
                torch.cuda.manual_seed(first)

    def _logits(self, data: Batches) -> NDArray[np.float32]:
        return all_logits(self.network, self._forward, data).cpu().numpy()

    def tensors(self) -> dict[str, Array]:
        """Everything learnt, as arrays."""
        return {f"network.{k}": v.detach().cpu().numpy() for k, v in self.network.state_dict().items()}

    def _load(self, tensors: Mapping[str, NDArray], more: Wanted) -> None:
        """Take over the weights; a ValueError where a tensor is not of this network or of ``more``."""
        wanted = {f"network.{k}": (tuple(v.shape), v.dtype) for k, v in self.network.state_dict().items()}
        wanted |= more
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
        self.network.eval()


def finite(outputs: NDArray[np.float32]) -> Array:
    """Outputs in double precision; a ValueError where the network gives no numbers."""
    values = outputs.astype(np.float64)
    odd = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if odd.size:
        raise ValueError(
            f"the network gives non-finite values for {odd.size} of {len(values)} clouds, the first is "
            f"clouds[{odd[0]}]: its weights or the cloud are out of the range of single precision"
        )
    return values


def softmax(logits: NDArray[np.float32]) -> Array:
    """Probabilities in double precision; a ValueError where the network gives no numbers."""
    values = finite(logits)
    values = np.exp(values - values.max(axis=1, keepdims=True))
    return values / values.sum(axis=1, keepdims=True)


class Learner(TrainedNetwork):
    """A network with the scaling of its inputs: all that is needed to answer for a table of point features.

    It learns classes, or where its labels are single-precision numbers, the first of its outputs.
    """

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
        labels: NDArray[Any],
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

    def outputs(self, table: PointTable) -> NDArray[np.float32]:
        """(N, outputs), with all points of every cloud."""
        return self._logits(self._packed(table))

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
