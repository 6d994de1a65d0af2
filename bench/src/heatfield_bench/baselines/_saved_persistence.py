"""What files hold of the classifiers by multiparameter persistence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from numpy.typing import NDArray

from heatfield._classifier.saving.classifier import saved_range

from ._boosted_trees import BoostedTrees
from ._frame import Frame, check_frame, degrees
from ._persistence_classifier import check_width


def pack(model: Any) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Of a `PersistenceClassifier`: frame, range of the training clouds, trees."""
    return frame_facts(model) | {"width": model.n_features_out_}, model.trees_.tensors()


def unpack(model: Any, facts: Mapping[str, Any], tensors: dict[str, Any], classes: NDArray) -> None:
    """The same, checked."""
    take_frame(model, facts)
    width = check_width(model)
    if facts["width"] != width:
        raise ValueError(f"its trees are for {facts['width']!r} features, its parameters make {width}")
    model.trees_ = BoostedTrees.checked(tensors, len(classes), width)
    model.n_features_out_ = width


def frame_facts(model: Any) -> dict[str, Any]:
    """Frame, and range of the training clouds."""
    return {"frame": model.frame_.facts(), "input_range": asdict(model.input_range_)}


def take_frame(model: Any, facts: Mapping[str, Any]) -> None:
    """The same, checked, also against the parameters: features depend on each, so the file must have all."""
    missing = set(model.get_params(deep=False)) - {*facts["params"], "checkpoint", "device", "progress"}
    if missing:
        raise ValueError(
            f"its parameters are not those of {type(model).__name__}: {min(missing)!r} is missing"
        )
    model.frame_ = Frame.checked(facts["frame"])
    check_frame(model, model.frame_.n_dims)
    if (model.frame_.kind, model.frame_.dimension) != (model.complex, max(degrees(model)) + 1):
        raise ValueError("its frame does not fit its parameters")
    model.input_range_ = saved_range(facts)
