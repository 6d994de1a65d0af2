"""The closed-form variants: a descriptor of each cloud, and a head that reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array, check_choice
from .._features.descriptor import HFSDescriptor
from .._features.settings import options_of
from ..core.dense_or_fast import surely_dense
from .heads import HEADS, fit_head, head_probabilities


def descriptor_of(model: Any, n_dims: int) -> HFSDescriptor:
    """The descriptor that a classifier asks for."""
    return HFSDescriptor(model.variant, **options_of(model))._fit_dims(n_dims)


def check(model: Any, n_dims: int) -> None:
    """A ValueError where settings do not go together; nothing is computed."""
    check_choice(model.head, "head", (*HEADS, "auto"))
    descriptor_of(model, n_dims)


def fit(model: Any, clouds: list[Array], labels: NDArray) -> None:
    """Learn from clouds."""
    model.descriptor_ = descriptor_of(model, clouds[0].shape[1])
    dense = all(surely_dense(model.method, *cloud.shape) for cloud in clouds)
    _fit_head(model, model.descriptor_._compute(clouds), labels, dense)


def fit_features(model: Any, features: Any, labels: NDArray, n_dims: int) -> None:
    """Learn from descriptors."""
    model.descriptor_ = descriptor_of(model, n_dims)
    check_features(model, features)
    _fit_head(model, features, labels, model.method != "fast")


def _fit_head(model: Any, features: Array, labels: NDArray, dense: bool) -> None:
    model.head_, model.head_scores_, model.readout_ = fit_head(model, features, labels, dense)
    model.classes_ = model.readout_.classes_


def check_features(model: Any, features: Any) -> None:
    """A ValueError where descriptors are not those of the classifier."""
    width = model.descriptor_.layout().width
    if np.ndim(features) != 2 or np.shape(features)[1] != width:
        raise ValueError(
            f"features must have shape (N, {width}) for variant={model.descriptor_.variant!r} "
            f"in {model.descriptor_.n_dims_} dimensions, got {np.shape(features)}"
        )


def predict(model: Any, features: Array) -> NDArray:
    """The label of each cloud."""
    return model.readout_.predict(features)


def probabilities(model: Any, features: Array) -> Array:
    """The probability of each class (N, classes)."""
    return head_probabilities(model.readout_, model.head_, features)
