"""How a network is trained: the options of `HFSClassifier` and of the baselines with a network, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import check_choice, check_count

if TYPE_CHECKING:
    from ..nn.training import Training

# Options of the network and of its training: of no use, and refused, with the other variants.
OPTIONS = (
    "network", "batch_size", "optimizer", "learning_rate", "final_rate", "weight_decay", "label_smoothing",
    "class_weight", "augment", "validation", "patience", "train_points", "whole_epochs", "checkpoint",
    "cache", "progress",
)  # fmt: skip


def refuse_learned_options(model: Any) -> None:
    """Options that a closed-form variant would ignore are an error."""
    given = [name for name in OPTIONS if getattr(model, name) is not None]
    given += ["device"] if model.device != "auto" else []
    if given:
        raise ValueError(
            f"{given[0]}={getattr(model, given[0])!r} is an option of variant='full' and 'dgcnn', "
            f"got variant={model.variant!r}"
        )


def training(model: Any, labels: NDArray, classes: NDArray, recipe: Training | None = None) -> Training:
    """How to train: the recipe, by default the variant's own, with what the user asked for.

    A model need not have all of these options.
    """
    found = learner_module().RECIPES[model.variant] if recipe is None else recipe
    asked: dict[str, Any] = {"progress": model.progress}
    if model.random_state is not None:
        asked["seed"] = check_count(model.random_state, "random_state", 0)
    if model.epochs is not None:
        asked["epochs"] = check_count(model.epochs, "epochs", 1)
    if model.batch_size is not None:
        asked["batch_size"] = check_count(model.batch_size, "batch_size", 2)
    if getattr(model, "optimizer", None) is not None:
        asked["optimizer"] = check_choice(model.optimizer, "optimizer", ("adam", "sgd"))
    if getattr(model, "augment", None) is not None:
        if recipe is None and model.variant != "dgcnn":
            raise ValueError(
                f"augment={model.augment!r} is an option of variant='dgcnn', which sees the coordinates, "
                f"got variant={model.variant!r}"
            )
        if not isinstance(model.augment, bool):
            raise ValueError(f"augment must be True or False, got {model.augment!r}")
        asked["augment"] = model.augment
    for name, low, high in (
        ("learning_rate", 0.0, np.inf),
        ("final_rate", -1e-300, np.inf),
        ("weight_decay", -1e-300, np.inf),
        ("label_smoothing", -1e-300, 1.0),
    ):
        value = getattr(model, name)
        if value is not None:
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, float, np.number))
                or not low < value < high
            ):
                least = "above 0" if low == 0.0 else "of at least 0"
                most = " and below 1" if high == 1.0 else ""
                raise ValueError(f"{name} must be a number {least}{most}, got {value!r}")
            asked[name] = float(value)
    for name in ("train_points", "whole_epochs", "patience"):
        if getattr(model, name, None) is not None:
            asked[name] = check_count(getattr(model, name), name, 1)
    if "whole_epochs" in asked and "train_points" not in asked:
        raise ValueError(
            f"whole_epochs={model.whole_epochs!r} needs train_points: without, all epochs are whole"
        )
    if "patience" in asked and not model.validation:
        raise ValueError(
            f"patience={model.patience!r} needs validation, a share of the clouds to watch, such as 0.1"
        )
    if model.checkpoint is not None:
        asked["checkpoint"] = Path(model.checkpoint)
        if asked["checkpoint"].is_dir():
            raise ValueError(f"checkpoint must be a file, got the folder {str(model.checkpoint)!r}")
    if getattr(model, "class_weight", None) is not None:
        asked["class_weight"] = _class_weights(model.class_weight, labels, classes)
    return replace(found, **asked)


def _class_weights(wanted: Any, labels: NDArray, classes: NDArray) -> tuple[float, ...]:
    """One weight per class; "balanced" is inverse to its number of clouds."""
    if isinstance(wanted, Mapping):
        unknown = [key for key in wanted if key not in classes.tolist()]
        if unknown:
            raise ValueError(f"class_weight names {unknown[0]!r}, but the classes are {classes.tolist()}")
        for name, weight in wanted.items():
            number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
            if not number or not 0.0 < weight < np.inf:
                raise ValueError(f"class_weight must be positive numbers, got {weight!r} for {name!r}")
        return tuple(float(wanted.get(name, 1.0)) for name in classes.tolist())
    check_choice(wanted, "class_weight", ("balanced",))
    counts = np.bincount(labels, minlength=len(classes))
    return tuple((len(labels) / (len(classes) * counts)).tolist())


def held_out(share: Any, labels: NDArray, classes: NDArray, seed: int | None) -> NDArray[np.bool_] | None:
    """Which clouds are held out for validation: a share of every class, at least one of each."""
    if not share:
        return None
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0.0 < share < 1.0:
        raise ValueError(f"validation must be a share between 0 and 1, got {share!r}")
    rng = np.random.default_rng(seed)
    out = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        if len(rows) < 2:
            rare = classes.tolist()[label]
            raise ValueError(f"validation={share!r} needs at least 2 clouds per class, class {rare!r} has 1")
        out[rows[: min(len(rows) - 1, max(1, round(share * len(rows))))]] = True
    return out


def learner_module() -> Any:
    """The module of the networks, imported only here because it imports torch."""
    from ..nn import learner

    return learner
