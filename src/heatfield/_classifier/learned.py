"""The learned variants: a table of point features, and a network (in torch) that pools and classifies it."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array, check_count
from .._features.cloud_input import check_same_dims
from .._features.point_features import PointSettings
from .._features.point_table import PointTable, point_table
from .._features.settings import options_of
from .labels import checked_labels
from .training_options import held_out, learner_module, training

if TYPE_CHECKING:
    from ..nn.learner import Learner
    from ..nn.training import Training

LEARNED = ("full", "dgcnn")
# Where training draws points, this share of the epochs at its end takes all of them, as prediction does:
# without, learned pooling is behind the closed form on some data (benchmarks.learned_gap).
WHOLE_SHARE = 0.15


def point_recipe(model: Any, n_dims: int) -> PointSettings:
    """The features that a classifier asks for."""
    if model.head != "mlp":
        raise ValueError(
            f"head={model.head!r} is an option of the closed-form variants, got variant={model.variant!r}"
        )
    return PointSettings(n_dims, **options_of(model))


def new_learner(model: Any, recipe: PointSettings, n_classes: int) -> Learner:
    """An untrained network of the classifier's kind."""
    learner = learner_module()
    return learner.Learner(
        model.variant, recipe, n_classes, model.network, learner.choose_device(model.device)
    )


@dataclass(frozen=True)
class LearningPlan:
    """All that a training needs beside the features."""

    learner: Learner  # not trained yet
    classes: NDArray
    positions: NDArray[np.int64]  # of the labels among the classes
    validation: NDArray[np.bool_] | None  # which clouds are held out
    training: Training


def plan_learning(model: Any, recipe: PointSettings, labels: NDArray) -> LearningPlan:
    """What a classifier asks for, checked against its labels before anything is computed."""
    classes, positions = np.unique(labels, return_inverse=True)
    positions = positions.astype(np.int64)
    options = _training(model, positions, classes)
    # Without a seed every split differs, but a training that is continued must have the same one.
    seed = 0 if options.seed is None and options.checkpoint is not None else options.seed
    validation = held_out(model.validation, positions, classes, seed)
    return LearningPlan(new_learner(model, recipe, len(classes)), classes, positions, validation, options)


def _training(model: Any, positions: NDArray[np.int64], classes: NDArray) -> Training:
    """How to train, with the last epochs on all points unless the user asked otherwise."""
    if model.whole_epochs is None:
        options = training(model, positions, classes)
        whole = 0 if options.train_points is None else int(WHOLE_SHARE * options.epochs)
        return replace(options, whole_epochs=whole)
    if check_count(model.whole_epochs, "whole_epochs", 0) == 0:
        model = copy(model)
        model.whole_epochs = None  # what networks without this option have: none
    return training(model, positions, classes)


def table_of(
    model: Any, clouds: list[Array], recipe: PointSettings, *, cache: str | Path | None = None
) -> PointTable:
    """Features by a recipe, in the unit of the fitted network where the recipe is its own."""
    learner = getattr(model, "learner_", None)
    if learner is not None:
        check_same_dims(clouds, learner.recipe.n_dims, "the classifier")
    unit = learner.unit if learner is not None and learner.recipe == recipe else None
    return point_table(clouds, recipe, unit=unit, n_jobs=model.n_jobs, cache=cache)


def fit(model: Any, table: PointTable, plan: LearningPlan) -> None:
    """Train the network."""
    plan.learner.fit(table, plan.positions, plan.validation, plan.training)
    model.learner_, model.history_, model.classes_ = plan.learner, plan.learner.history, plan.classes


def fit_features(model: Any, table: Any, y: Any, n_dims: int) -> None:
    """Train the network on a table that was computed before."""
    recipe = point_recipe(model, n_dims)
    if getattr(table, "recipe", None) != recipe:
        raise ValueError(
            f"features must be a table by point_table with the settings of variant={model.variant!r}"
        )
    if len(y) != len(table):
        raise ValueError(f"y has {len(y)} labels for {len(table)} clouds")
    fit(model, table, plan_learning(model, recipe, checked_labels(y)))


def check_features(model: Any, features: Any) -> None:
    """A ValueError where a table is not of the settings of the fit."""
    if getattr(features, "recipe", None) != model.learner_.recipe:
        raise ValueError("features must be a table by point_table with the settings of the fit")


def predict(model: Any, table: PointTable) -> NDArray:
    """The label of each cloud."""
    return model.classes_[probabilities(model, table).argmax(axis=1)]


def probabilities(model: Any, table: PointTable) -> Array:
    """The probability of each class (N, classes)."""
    return model.learner_.probabilities(table)
