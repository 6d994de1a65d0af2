"""Models of multiparameter persistence to a folder and back: safetensors and JSON, and no code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._classifier.saving.classifier import from_plain, plain, saved_classes, saved_range
from .._classifier.saving.folder import read_model, write_model
from ._boosted_trees import BoostedTrees
from ._frame import Frame, check_frame, degrees
from ._persistence_classifier import check_width

# Where the training kept its files says nothing about the model.
_LOCAL = ("checkpoint", "device", "progress")


def save_boosted(model: Any, folder: str | Path, notes: Mapping[str, Any]) -> None:
    """A fitted `PersistenceClassifier`."""
    facts = common_facts(model, notes) | {"width": model.n_features_out_}
    write_model(folder, facts, model.trees_.tensors())


def load_boosted(kind: type, folder: str | Path) -> Any:
    """A `PersistenceClassifier` as it was saved."""

    def fill(model: Any, facts: dict[str, Any], tensors: dict[str, NDArray]) -> None:
        width = check_width(model)
        if facts["width"] != width:
            raise ValueError(f"its trees are for {facts['width']!r} features, its parameters make {width}")
        model.trees_ = BoostedTrees.checked(tensors, len(model.classes_), width)
        model.n_features_out_ = width

    return load_common(kind, folder, {}, fill)


def common_facts(model: Any, notes: Mapping[str, Any]) -> dict[str, Any]:
    """What all these models keep beside their numbers."""
    return {
        "estimator": type(model).__name__,
        "params": {k: plain(v, k) for k, v in model.get_params(deep=False).items() if k not in _LOCAL},
        "classes": {"dtype": model.classes_.dtype.str, "values": model.classes_.tolist()},
        "frame": model.frame_.facts(),
        "input_range": asdict(model.input_range_),
        "notes": dict(notes),
    }


def load_common(kind: type, folder: str | Path, more: Mapping[str, Any], fill: Callable[..., None]) -> Any:
    """Rebuild a model; whatever is wrong with the folder is a ValueError that names it."""
    facts, tensors = read_model(folder, kind.__name__)
    try:
        model = _rebuild(kind, facts, more)
        fill(model, facts, tensors)
    except KeyError as error:
        raise ValueError(f"{str(folder)!r} is not a whole model: {error} is missing") from None
    except (ValueError, TypeError, AttributeError, OverflowError, MemoryError) as error:
        raise ValueError(f"{str(folder)!r} cannot be loaded: {error}") from None
    return model


def _rebuild(kind: type, facts: dict[str, Any], more: Mapping[str, Any]) -> Any:
    names = set(inspect.signature(kind).parameters) - {*_LOCAL}
    odd = sorted(set(facts["params"]) ^ names)
    if odd:
        raise ValueError(f"its parameters are not those of {kind.__name__}: {odd[0]!r} differs")
    model = kind(**{k: from_plain(v) for k, v in facts["params"].items()}, **more)
    classes = saved_classes(facts)
    if not isinstance(facts["notes"], dict):
        raise ValueError("its notes are not an object")
    model.frame_ = Frame.checked(facts["frame"])
    check_frame(model, model.frame_.n_dims)
    if (model.frame_.kind, model.frame_.dimension) != (model.complex, max(degrees(model)) + 1):
        raise ValueError("its frame does not fit its parameters")
    model.input_range_ = saved_range(facts)
    model.classes_, model.notes_ = classes, facts["notes"]
    return model


def save_graphcode(model: Any, folder: str | Path, notes: Mapping[str, Any]) -> None:
    """A fitted `GraphCode`."""
    facts = common_facts(model, notes) | {
        "thresholds": model.thresholds_.tolist(),
        "history": model.history_,
    }
    write_model(folder, facts, model.learner_.tensors())


def load_graphcode(kind: type, folder: str | Path, device: str) -> Any:
    """A `GraphCode` as it was saved."""

    def fill(model: Any, facts: dict[str, Any], tensors: dict[str, NDArray]) -> None:
        model._check_graph()
        thresholds = np.array(facts["thresholds"], np.float64)
        if thresholds.shape != (model.n_slices,) or not np.isfinite(thresholds).all():
            raise ValueError(f"it has thresholds of shape {thresholds.shape} for {model.n_slices} slices")
        if (np.diff(thresholds) < 0).any():
            raise ValueError("its thresholds do not increase")
        if not isinstance(facts["history"], list):
            raise ValueError("its history is not a list")
        # A network is built by its parameters: not beyond the numbers that the file holds.
        held = sum(array.size for array in tensors.values())
        for value in _numbers(model.network or {}):
            if value > held:
                raise ValueError(f"network={model.network!r} does not fit its {held} numbers")
        model.thresholds_ = thresholds
        model.learner_ = model._learner(len(model.classes_))
        model.learner_.load(tensors)
        model.history_ = model.learner_.history = facts["history"]

    return load_common(kind, folder, {"device": device}, fill)


def _numbers(value: Any) -> list[float]:
    if isinstance(value, Mapping):
        return [n for v in value.values() for n in _numbers(v)]
    if isinstance(value, (list, tuple)):
        return [n for v in value for n in _numbers(v)]
    return [float(value)]
