"""A network of a baseline to a folder and back; the format is that of `HFSClassifier`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._base.check import check_count
from .._classifier.saving.classifier import from_plain, plain, saved_classes
from .._classifier.saving.folder import read_model, write_model

# What a network is fed with: clouds drawn, centred and scaled as `FixedClouds` does.
_SCHEMA = "points-1"
# Where the training kept its files says nothing about the model.
_LOCAL = ("checkpoint", "device", "progress")


def save_network(model: Any, folder: str | Path, notes: Mapping[str, Any]) -> None:
    """Everything that prediction depends on, and the parameters."""
    learner = model.learner_
    facts = {
        "estimator": type(model).__name__,
        "schema": _SCHEMA,
        "params": {k: plain(v, k) for k, v in model.get_params(deep=False).items() if k not in _LOCAL},
        "classes": {"dtype": model.classes_.dtype.str, "values": model.classes_.tolist()},
        "network": plain(learner.options, "network"),
        "n_dims": learner.n_dims,
        "n_points": learner.n_points,
        "seed": learner.seed,
        "history": model.history_,
        "notes": dict(notes),
    }
    write_model(folder, facts, learner.tensors())


def load_network(kind: type, folder: str | Path, device: str) -> Any:
    """A classifier as it was saved."""
    facts, tensors = read_model(folder, kind.__name__, _SCHEMA)
    try:
        return _rebuild(kind, facts, tensors, device)
    except KeyError as error:
        raise ValueError(f"{str(folder)!r} is not a whole model: {error} is missing") from None
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{str(folder)!r} cannot be loaded: {error}") from None


def _rebuild(kind: Any, facts: dict[str, Any], tensors: dict[str, Any], device: str) -> Any:
    from ..nn._trained import choose_device
    from ..nn.networks._learner import NetworkLearner

    # Where to write is for the user to say, never for a file.
    unknown = set(facts["params"]) - (set(inspect.signature(kind).parameters) - {*_LOCAL})
    if unknown:
        raise ValueError(f"this library does not know the parameter {sorted(unknown)[0]!r}")
    model = kind(**{k: from_plain(v) for k, v in facts["params"].items()}, device=device)
    classes = saved_classes(facts)
    if not isinstance(facts["notes"], dict):
        raise ValueError("its notes are not an object")
    n_dims = check_count(facts["n_dims"], "n_dims", 1)
    if n_dims > 3:
        raise ValueError(f"n_dims={n_dims} is more than 3")
    model.learner_ = NetworkLearner(
        kind._kind,
        len(classes),
        from_plain(facts["network"]),
        choose_device(device),
        n_points=check_count(facts["n_points"], "n_points", 1),
        n_dims=n_dims,
        seed=check_count(facts["seed"], "seed", 0),
    )
    model.learner_.load(tensors)
    model.history_ = model.learner_.history = facts["history"]
    model.classes_, model.notes_, model.n_points_ = classes, facts["notes"], model.learner_.n_points
    return model
