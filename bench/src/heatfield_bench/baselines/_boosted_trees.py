"""Gradient-boosted trees by XGBoost, kept as plain arrays.

XGBoost grows the trees; what it grew is read from its JSON form into arrays, and from then on compiled
code of this library walks through them. So a saved model is numbers only, whose every index is checked
when it is loaded, and it predicts the same bits as before, also where XGBoost is not installed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heatfield._base.check import Array, check_count

from .._compile import compiled
from ._persistence_extra import need

_TYPES = {
    "starts": np.int64, "feature": np.int64, "threshold": np.float32, "left": np.int64, "right": np.int64,
    "base": np.float32,
}  # fmt: skip


@dataclass(frozen=True)
class BoostedTrees:
    """Trees one after the other: tree t holds the nodes starts[t] to starts[t + 1], its root first.

    A node sends a row whose ``feature`` is below ``threshold`` to ``left``, else to ``right``; a leaf
    has left = -1, and its threshold is what it adds to the margin of class t modulo classes.
    """

    starts: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float32]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    base: NDArray[np.float32]

    def margins(self, features: Array) -> NDArray[np.float32]:
        """Scores (N, classes) before the softmax."""
        out = np.tile(self.base, (len(features), 1))
        rows = np.ascontiguousarray(features, dtype=np.float32)
        _walk(rows, self.starts, self.feature, self.threshold, self.left, self.right, out)
        return out

    def probabilities(self, features: Array) -> Array:
        """The softmax of the margins."""
        values = self.margins(features).astype(np.float64)
        values = np.exp(values - values.max(axis=1, keepdims=True))
        return values / values.sum(axis=1, keepdims=True)

    def tensors(self) -> dict[str, NDArray]:
        """All arrays by name."""
        return {name: getattr(self, name) for name in _TYPES}

    @classmethod
    def checked(cls, tensors: Mapping[str, NDArray], n_classes: int, width: int) -> BoostedTrees:
        """From arrays that may come from anywhere: a ValueError where a walk would leave them."""
        for name, kind in _TYPES.items():
            if name not in tensors:
                raise ValueError(f"the saved trees have no {name!r}")
            if tensors[name].dtype != kind or tensors[name].ndim != 1:
                raise ValueError(
                    f"{name!r} of the saved trees must be a row of {np.dtype(kind)}, "
                    f"got {tensors[name].dtype} of shape {tensors[name].shape}"
                )
        trees = cls(**{name: np.array(tensors[name]) for name in _TYPES})
        nodes = len(trees.feature)
        if any(len(part) != nodes for part in (trees.threshold, trees.left, trees.right)):
            raise ValueError("the saved trees do not fit together: their arrays differ in length")
        if len(trees.base) != n_classes:
            raise ValueError(f"the saved trees have {len(trees.base)} scores for {n_classes} classes")
        if not np.isfinite(trees.threshold).all() or not np.isfinite(trees.base).all():
            raise ValueError("the saved trees hold values that are no finite numbers")
        starts = trees.starts
        if len(starts) < 1 or starts[0] != 0 or starts[-1] != nodes or (np.diff(starts) < 1).any():
            raise ValueError("the saved trees do not fit together: their starts lead astray")
        if (len(starts) - 1) % n_classes:
            raise ValueError(f"{len(starts) - 1} saved trees do not go round {n_classes} classes")
        here = np.arange(nodes)
        end = np.repeat(starts[1:], np.diff(starts))
        inner = trees.left >= 0
        for name, child in (("left", trees.left), ("right", trees.right)):
            # Children come after their node: no walk goes round in a circle.
            if ((child <= here) | (child >= end))[inner].any() or (child[~inner] != -1).any():
                raise ValueError(f"{name!r} of the saved trees leads out of a tree, or back")
        if ((trees.feature < 0) | (trees.feature >= width))[inner].any():
            raise ValueError(f"the saved trees ask for a feature beyond the {width} that there are")
        return trees


@compiled()
def _walk(rows: Any, starts: Any, feature: Any, threshold: Any, left: Any, right: Any, out: Any) -> None:
    classes = out.shape[1]
    for i in range(rows.shape[0]):
        for t in range(starts.shape[0] - 1):
            node = starts[t]
            while left[node] >= 0:
                node = left[node] if rows[i, feature[node]] < threshold[node] else right[node]
            out[i, t % classes] += threshold[node]


def grow(
    features: Array, labels: NDArray[np.int64], n_classes: int, options: Mapping[str, Any], threads: int
) -> BoostedTrees:
    """Train by XGBoost: softmax over the classes, histograms, everything else as its defaults."""
    xgboost = need("xgboost", "the classifier of multiparameter persistence")
    booster = xgboost.train(
        {
            "objective": "multi:softprob",
            "num_class": n_classes,
            "tree_method": "hist",
            "max_depth": options["max_depth"],
            "learning_rate": options["learning_rate"],
            "subsample": options["subsample"],
            "colsample_bytree": options["colsample"],
            "seed": options["seed"],
            "nthread": threads,
            "verbosity": 0,
        },
        xgboost.DMatrix(features.astype(np.float32), labels, nthread=threads),
        num_boost_round=options["n_estimators"],
    )
    return from_json(bytes(booster.save_raw("json")), n_classes, features.shape[1])


def from_json(text: bytes, n_classes: int, width: int) -> BoostedTrees:
    """The trees of XGBoost's JSON form."""
    learner = json.loads(text)["learner"]
    parts: dict[str, list[Any]] = {name: [] for name in ("feature", "threshold", "left", "right")}
    starts = [0]
    for tree in learner["gradient_booster"]["model"]["trees"]:
        if any(tree["split_type"]):
            raise ValueError("the trees have splits by category, which are not supported")
        left, right, moved = (
            np.array(tree["left_children"], np.int64), np.array(tree["right_children"], np.int64), starts[-1],
        )  # fmt: skip
        parts["left"].append(np.where(left < 0, -1, left + moved))
        parts["right"].append(np.where(right < 0, -1, right + moved))
        parts["feature"].append(np.array(tree["split_indices"], np.int64))
        parts["threshold"].append(np.array(tree["split_conditions"], np.float32))
        starts.append(moved + len(left))
    base = np.atleast_1d(np.array(json.loads(learner["learner_model_param"]["base_score"]), np.float32))
    found: dict[str, NDArray] = {name: np.concatenate(values) for name, values in parts.items()}
    found |= {"starts": np.array(starts, np.int64), "base": np.broadcast_to(base, n_classes).copy()}
    return BoostedTrees.checked(found, n_classes, width)


def boosting_options(model: Any) -> dict[str, Any]:
    """The options of the trees of an estimator, checked."""
    found: dict[str, Any] = {
        "n_estimators": check_count(model.n_estimators, "n_estimators", 1),
        "max_depth": check_count(model.max_depth, "max_depth", 1),
        "seed": 0 if model.random_state is None else check_count(model.random_state, "random_state", 0),
    }
    for name in ("learning_rate", "subsample", "colsample"):
        value = getattr(model, name)
        number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not number or not 0.0 < value <= 1.0:
            raise ValueError(f"{name} must be a number above 0 and at most 1, got {value!r}")
        found[name] = float(value)
    return found
