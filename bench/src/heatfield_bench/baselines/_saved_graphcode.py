"""What files hold of a `GraphCode`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._saved_persistence import frame_facts, take_frame


def pack(model: Any) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Frame, thresholds and network."""
    own = {"thresholds": model.thresholds_.tolist(), "history": model.history_}
    return frame_facts(model) | own, model.learner_.tensors()


def unpack(model: Any, facts: Mapping[str, Any], tensors: dict[str, Any], classes: NDArray) -> None:
    """The same, checked."""
    take_frame(model, facts)
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
    model.learner_ = model._learner(len(classes))
    model.learner_.load(tensors)
    model.history_ = model.learner_.history = facts["history"]


def _numbers(value: Any) -> list[float]:
    if isinstance(value, Mapping):
        return [n for v in value.values() for n in _numbers(v)]
    if isinstance(value, (list, tuple)):
        return [n for v in value for n in _numbers(v)]
    return [float(value)]
