"""The training loop: shuffled batches, a cosine schedule, checkpoints, early stopping."""

from __future__ import annotations

import ctypes
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from .._base.files import open_regular, write_atomically
from .._base.progress import Bar, remaining_fits


@dataclass(frozen=True)
class Training:
    """How to train. The defaults are the paper's for HFS-full."""

    epochs: int = 250
    batch_size: int = 32
    learning_rate: float = 1e-3
    final_rate: float = 0.0
    optimizer: str = "adam"
    weight_decay: float = 0.0
    label_smoothing: float = 0.0  # the share of the wrong classes together
    class_weight: tuple[float, ...] | None = None
    patience: int | None = None
    train_points: int | None = None
    whole_epochs: int = 0  # at the end, with all points
    augment: bool = False
    seed: int | None = None
    checkpoint: Path | None = None
    progress: bool | None = None

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch: half a cosine from the first to the final one."""
        share = 0.5 * (1.0 + math.cos(math.pi * epoch / self.epochs))
        return self.final_rate + (self.learning_rate - self.final_rate) * share

    def before_epoch(self, network: nn.Module, optimizer: torch.optim.Optimizer, epoch: int) -> None:  # noqa: ARG002
        """Set what changes from epoch to epoch; a function of its number alone, so that resuming is exact."""
        for group in optimizer.param_groups:
            group["lr"] = self.rate(epoch)

    def points(self, epoch: int) -> int | None:
        """How many points of each cloud an epoch draws; None for all."""
        return None if epoch >= self.epochs - self.whole_epochs else self.train_points

    def make_optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        """Adam, or SGD with momentum 0.9; one pass over all weights where torch has one for the device."""
        weights = list(network.parameters())
        try:
            if all(w.device.type in ("cpu", "cuda") for w in weights):
                return self._optimizer(weights, fused=True)
        except (RuntimeError, TypeError):  # torch before 2.5 has none for the processor
            pass
        return self._optimizer(weights)

    def _optimizer(self, weights: list[nn.Parameter], **more: Any) -> torch.optim.Optimizer:
        if self.optimizer == "adam":
            return torch.optim.Adam(weights, self.learning_rate, weight_decay=self.weight_decay, **more)
        return torch.optim.SGD(
            weights, self.learning_rate, momentum=0.9, weight_decay=self.weight_decay, **more
        )

    def loss(self, n_classes: int, device: torch.device) -> nn.Module:
        """Cross entropy in which the wrong classes share ``label_smoothing`` evenly."""
        weight = None
        if self.class_weight is not None:
            weight = torch.tensor(self.class_weight, dtype=torch.float32, device=device)
        # torch counts the right class among those that share.
        smoothing = self.label_smoothing * n_classes / (n_classes - 1)
        return nn.CrossEntropyLoss(weight, label_smoothing=smoothing)


class SquaredError(nn.Module):
    """The mean squared error of the first output, for targets that are numbers."""

    def forward(self, outputs: Tensor, target: Tensor) -> Tensor:
        """One number."""
        return nn.functional.mse_loss(outputs[:, 0], target)


def score(outputs: Tensor, target: Tensor) -> dict[str, float]:
    """The share of classes that are right, or R² where the target is numbers."""
    if not target.is_floating_point():
        return {"accuracy": int((outputs.argmax(dim=1) == target).sum()) / len(target)}
    errors, whole = (float(((target - x) ** 2).sum()) for x in (outputs[:, 0], target.mean()))
    return {"r2": 1.0 - errors / whole if whole > 0.0 else 0.0}


# Logits, or numbers; in training perhaps also a penalty that is added to the loss.
Output: TypeAlias = "Tensor | tuple[Tensor, Tensor]"
Forward = Callable[[nn.Module, tuple[Tensor, ...], np.random.Generator | None], Output]


class Batches(Protocol):
    """Where a training gets its inputs from."""

    device: torch.device

    def batch(
        self, clouds: NDArray, points: int | None = None, rng: np.random.Generator | None = None
    ) -> tuple[Tensor, ...]:
        """Inputs of some clouds; with ``points``, of so many points of each, drawn anew."""

    def pieces(self) -> Iterator[NDArray]:
        """All clouds in order, in runs that fit into memory together."""


def train(
    network: nn.Module,
    forward: Forward,
    data: Batches,
    labels: NDArray[Any],
    held_out: tuple[Batches, NDArray[Any]] | None,
    n_classes: int,
    options: Training,
    fingerprint: str,
) -> list[dict[str, float]]:
    """Train in place, from the checkpoint if there is one; returns the history, an entry per epoch.

    Labels are positions of classes, or single-precision numbers: then the loss is the squared error.
    With the same seed and one thread the weights are the same to the bit, stopped and resumed or not.
    """
    keep_memory()
    optimizer = options.make_optimizer(network)
    rng = np.random.default_rng(options.seed)
    target = torch.from_numpy(labels).to(data.device)
    loss = SquaredError() if target.is_floating_point() else options.loss(n_classes, data.device)
    progress: dict[str, Any] = {"epoch": 0, "history": [], "best": None, "stopped": False}
    best: dict[str, Tensor] | None = None
    if options.checkpoint is not None and options.checkpoint.exists():
        progress, best = read_checkpoint(options.checkpoint, fingerprint, network, optimizer, rng)
    line = _Line(options)
    started, done_before = time.perf_counter(), progress["epoch"]
    while progress["epoch"] < options.epochs and not progress["stopped"]:
        epoch_start = time.perf_counter()
        options.before_epoch(network, optimizer, progress["epoch"])
        entry = _one_epoch(
            network, forward, data, target, loss, optimizer, rng,
            batch_size=options.batch_size, points=options.points(progress["epoch"]), augment=options.augment,
        )  # fmt: skip
        if held_out is not None:
            entry |= _validate(network, forward, *held_out, loss)
        _refuse_divergence(network, entry, progress["epoch"] + 1, options)
        if held_out is not None:
            if progress["best"] is None or entry["validation_loss"] < progress["best"][1]:
                progress["best"] = [progress["epoch"], entry["validation_loss"]]
                if options.patience is not None:
                    best = {k: v.clone() for k, v in network.state_dict().items()}
            elif options.patience is not None:
                progress["stopped"] = progress["epoch"] - progress["best"][0] >= options.patience
        entry["seconds"] = round(time.perf_counter() - epoch_start, 4)
        progress["history"].append(entry)
        progress["epoch"] += 1
        if options.checkpoint is not None:
            write_checkpoint(options.checkpoint, fingerprint, network, optimizer, rng, progress, best)
        spent = (time.perf_counter() - started) / (progress["epoch"] - done_before)
        to_come = options.epochs * (remaining_fits.get() + 1) - progress["epoch"]
        line.show(progress["epoch"], entry, spent * to_come)
    line.end()
    if best is not None:
        network.load_state_dict(best)
    return progress["history"]


def _one_epoch(
    network: nn.Module,
    forward: Forward,
    data: Batches,
    target: Tensor,
    loss: nn.Module,
    optimizer: torch.optim.Optimizer,
    rng: np.random.Generator,
    *,
    batch_size: int,
    points: int | None,
    augment: bool,
) -> dict[str, float]:
    network.train()
    order = rng.permutation(len(target))
    cuts = list(range(batch_size, len(order), batch_size))
    if cuts and len(order) - cuts[-1] == 1:  # batch norm needs two: the last cloud joins the batch before
        cuts.pop()
    total, seen = 0.0, list[tuple[Tensor, Tensor]]()
    for clouds in np.split(order, cuts):
        inputs = data.batch(clouds, points, rng)
        wanted = target[torch.from_numpy(clouds).to(data.device)]
        logits, penalty = _parts(forward(network, inputs, rng if augment else None))
        value = loss(logits, wanted) + penalty
        optimizer.zero_grad(set_to_none=True)
        value.backward()
        optimizer.step()
        total += float(value.detach()) * len(clouds)
        seen.append((logits.detach(), wanted))
    outputs, targets = (torch.cat(parts) for parts in zip(*seen, strict=True))
    return {"loss": total / len(order), **score(outputs, targets)}


def _refuse_divergence(network: nn.Module, entry: dict[str, float], epoch: int, options: Training) -> None:
    """Weights that are not finite would stay so and predict nothing: raise before they are saved."""
    losses = [entry["loss"], entry.get("validation_loss", 0.0)]
    weights = network.state_dict().values()
    if not all(map(math.isfinite, losses)) or not all(bool(torch.isfinite(w).all()) for w in weights):
        raise ValueError(
            f"the training diverged in epoch {epoch}: its loss or weights are no longer finite numbers; "
            f"lower learning_rate, {options.learning_rate:g}"
        )


@torch.no_grad()
def all_logits(network: nn.Module, forward: Forward, data: Batches) -> Tensor:
    """Logits (N, classes) of every cloud, with all of its points."""
    network.eval()
    return torch.cat([_parts(forward(network, data.batch(clouds), None))[0] for clouds in data.pieces()])


def _parts(output: Output) -> tuple[Tensor, Tensor | float]:
    return output if isinstance(output, tuple) else (output, 0.0)


def _validate(
    network: nn.Module, forward: Forward, data: Batches, labels: NDArray[Any], loss: nn.Module
) -> dict[str, float]:
    target = torch.from_numpy(labels).to(data.device)
    outputs = all_logits(network, forward, data)
    found = {"loss": float(loss(outputs, target)), **score(outputs, target)}
    return {f"validation_{name}": value for name, value in found.items()}


class _Line:
    """How far the training is: on a terminal one line, below other bars; elsewhere a line per epoch."""

    def __init__(self, options: Training) -> None:
        self.epochs = options.epochs
        terminal = sys.stderr.isatty()
        self.on = terminal if options.progress is None else options.progress
        self.bar = Bar(bar_format="{desc}", leave=None, file=sys.stderr) if self.on and terminal else None

    def show(self, epoch: int, entry: dict[str, float], left: float) -> None:
        if not self.on:
            return
        name, unit, digits = ("accuracy", 100.0, ".1f") if "accuracy" in entry else ("r2", 1.0, ".3f")
        end = " %" if name == "accuracy" else ""
        text = f"epoch {epoch}/{self.epochs}  loss {entry['loss']:.4f}  {name.replace('r2', 'R²')} "
        shown = [f"{unit * entry[key]:{digits}}{end}" for key in (name, f"validation_{name}") if key in entry]
        text += "  validation ".join(shown)
        minutes, seconds = divmod(round(left), 60)
        wide = f"{text}  {entry['seconds']:.2f} s per epoch, {minutes} min {seconds:02d} s left"
        if self.bar is None:
            print(wide, file=sys.stderr, flush=True)
            return
        room = shutil.get_terminal_size().columns - 1  # a line that wraps could not be overwritten
        short = f"{text}  {minutes}:{seconds:02d} left"[:room]
        self.bar.set_description_str(wide if len(wide) <= room else short)

    def end(self) -> None:
        if self.bar is not None:
            self.bar.close()


# --- checkpoints: training that survives a kill ---------------------------------------
#
# One safetensors file per epoch, replaced in one step. It holds the network, the optimiser's moments, both
# random states, and the history. Loading it runs no code.

_FORMAT = "heatfield-checkpoint-1"


def write_checkpoint(
    path: Path,
    fingerprint: str,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    rng: np.random.Generator,
    progress: dict[str, Any],
    best: dict[str, Tensor] | None,
) -> None:
    """Everything that the rest of the training depends on. ``progress`` is plain JSON."""
    tensors = {f"network.{k}": v for k, v in network.state_dict().items()}
    tensors |= {f"best.{k}": v for k, v in (best or {}).items()}
    for number, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{k}": v for k, v in state.items() if isinstance(v, Tensor)}
    tensors["random.cpu"] = torch.get_rng_state()
    device = next(network.parameters()).device
    if device.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state(device)
    facts = {"fingerprint": fingerprint, "numpy": rng.bit_generator.state, "progress": progress}
    data = save({k: v.detach().cpu().contiguous() for k, v in tensors.items()},
                {"format": _FORMAT, "facts": json.dumps(facts)})  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)


def read_checkpoint(
    path: Path,
    fingerprint: str,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    rng: np.random.Generator,
) -> tuple[dict[str, Any], dict[str, Tensor] | None]:
    """Put everything back; returns progress and the best weights so far."""
    try:
        open_regular(path).close()  # a pipe would be waited for
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != _FORMAT:
                raise ValueError(f"{str(path)!r} is not a training checkpoint of this library")
            facts = json.loads(metadata["facts"])
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            found = facts["fingerprint"]
    except (SafetensorError, OSError, json.JSONDecodeError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable(path, error) from None
    if found != fingerprint:
        raise ValueError(
            f"the checkpoint {str(path)!r} belongs to other data or settings; "
            "delete it to start anew, or give another path"
        )
    try:
        _check_progress(facts["progress"])
        _check_numbers(tensors, optimizer)
        network.load_state_dict(_part(tensors, "network."))
        moments: dict[int, dict[str, Tensor]] = {}
        for key, value in _part(tensors, "optimizer.").items():
            number, name = key.split(".", 1)
            moments.setdefault(int(number), {})[name] = value
        optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})
        torch.set_rng_state(tensors["random.cpu"])
        device = next(network.parameters()).device
        if "random.cuda" in tensors and device.type == "cuda":
            torch.cuda.set_rng_state(tensors["random.cuda"], device)
        rng.bit_generator.state = facts["numpy"]
        return facts["progress"], _part(tensors, "best.") or None
    except (LookupError, TypeError, ValueError, RuntimeError, ArithmeticError, AttributeError) as error:
        raise _unreadable(path, error) from None


def _check_progress(progress: Any) -> None:
    """A ValueError where a training cannot go on from there."""
    epoch, history, best = progress["epoch"], progress["history"], progress["best"]
    values = [value for entry in history for value in entry.values()]
    whole = type(epoch) is int and len(history) == epoch and type(progress["stopped"]) is bool
    if best is not None:
        whole = whole and type(best[0]) is int and 0 <= best[0] < epoch and len(best) == 2
        values.append(best[1])
    if not whole or not all(math.isfinite(value) for value in values):
        raise ValueError(f"it does not say how far the training is: {str(progress)[:80]}")


def _check_numbers(tensors: dict[str, Tensor], optimizer: torch.optim.Optimizer) -> None:
    """A ValueError where weights or moments are not finite, or moments have another shape."""
    shapes = [p.shape for group in optimizer.param_groups for p in group["params"]]
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ValueError(f"{name} holds non-finite values")
        if name.startswith("optimizer."):
            shape = shapes[int(name.split(".")[1])]
            if tensor.ndim and tensor.shape != shape:
                raise ValueError(f"{name} has shape {tuple(tensor.shape)}, expected {tuple(shape)}")


def _unreadable(path: Path, error: Exception) -> ValueError:
    why = " ".join(str(error).split())[:200]
    return ValueError(
        f"the checkpoint {str(path)!r} cannot be read ({why}); delete it to start anew, or give another path"
    )


def _part(tensors: dict[str, Tensor], start: str) -> dict[str, Tensor]:
    return {key[len(start) :]: value for key, value in tensors.items() if key.startswith(start)}


# --- freed memory is kept between training steps ---------------------------------------


@cache
def keep_memory() -> bool:
    """Keep freed memory between training steps: once per process, with the C library of GNU only.

    By default it gives large blocks back to the system as soon as they are free, and gets them again, page by
    page and filled with zeros, for the next batch: about a tenth of the time of an epoch. Whoever has set its
    variables is left alone.
    """
    own = [name for name in os.environ if name.startswith("MALLOC_")]
    if sys.platform != "linux" or own or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    set_option.argtypes, set_option.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
    largest = 2**31 - 1
    # M_MMAP_THRESHOLD: the size from which blocks are mapped on their own. M_TRIM_THRESHOLD: how much free
    # memory at the end of the heap is kept.
    return bool(set_option(-3, largest) and set_option(-1, largest))
