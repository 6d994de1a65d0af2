"""Training that survives a kill: one safetensors file per epoch, replaced in one step.

It holds the network, the optimiser's moments, both random states, and the history. Loading it runs
no code.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from .._base.arrays import open_regular
from .._base.files import write_atomically

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
        return _restore(network, optimizer, rng, facts, tensors)
    except (LookupError, TypeError, ValueError, RuntimeError, ArithmeticError, AttributeError) as error:
        raise _unreadable(path, error) from None


def _restore(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    rng: np.random.Generator,
    facts: dict[str, Any],
    tensors: dict[str, Tensor],
) -> tuple[dict[str, Any], dict[str, Tensor] | None]:
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
    """A ValueError where weights or moments are no finite numbers, or moments of another shape."""
    shapes = [p.shape for group in optimizer.param_groups for p in group["params"]]
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ValueError(f"{name} holds values that are no finite numbers")
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
