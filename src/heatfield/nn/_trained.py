"""A network that is built, trained on some batches, asked for logits, and turned into arrays and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .._base.check import Array
from ._training import Batches, Output, Training, all_logits, train

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
        labels: NDArray[np.int64],
        held_out: tuple[Batches, NDArray[np.int64]] | None,
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


def softmax(logits: NDArray[np.float32]) -> Array:
    """Probabilities in double precision; a ValueError where the network gives no numbers."""
    values = logits.astype(np.float64)
    odd = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if odd.size:
        raise ValueError(
            f"the network gives no finite numbers for {odd.size} of {len(values)} clouds, the first is "
            f"clouds[{odd[0]}]: its weights or the cloud are out of the range of single precision"
        )
    values = np.exp(values - values.max(axis=1, keepdims=True))
    return values / values.sum(axis=1, keepdims=True)
