"""What files hold of a `NetworkClassifier`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from heatfield._base.check import check_count
from heatfield._classifier.saving.classifier import from_plain, plain

# What a network is fed with: clouds drawn, centred and scaled as `FixedClouds` does.
SCHEMA = "points-1"


def pack(model: Any) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """The network with the number of points that it sees, and the seed by which they are drawn."""
    learner = model.learner_
    facts = {
        "schema": SCHEMA,
        "network": plain(learner.options, "network"),
        "n_dims": learner.n_dims,
        "n_points": learner.n_points,
        "seed": learner.seed,
        "history": model.history_,
    }
    return facts, learner.tensors()


def unpack(model: Any, facts: Mapping[str, Any], tensors: dict[str, Any], classes: NDArray) -> None:
    """The same, checked."""
    from heatfield.nn.learner import choose_device

    from ..networks._learner import NetworkLearner

    n_dims = check_count(facts["n_dims"], "n_dims", 1)
    if n_dims > 3:
        raise ValueError(f"n_dims={n_dims} is more than 3")
    model.learner_ = NetworkLearner(
        model._kind,
        len(classes),
        from_plain(facts["network"]),
        choose_device(model.device),
        n_points=check_count(facts["n_points"], "n_points", 1),
        n_dims=n_dims,
        seed=check_count(facts["seed"], "seed", 0),
    )
    model.learner_.load(tensors)
    model.history_ = model.learner_.history = facts["history"]
    model.n_points_ = model.learner_.n_points
