"""`HFSPointClassifier` to a folder and back: safetensors and JSON, no code."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sklearn

from .._classifier.saving.classifier import plain, saved_classes, saved_notes, saved_params
from .._classifier.saving.folder import load_model, write_model
from .settings import PointFeatureSettings
from .trees import Trees

ESTIMATOR = "HFSPointClassifier"
# Raised when the features of a point change their meaning or order.
SCHEMA = "points-1"
_LOCAL = ("progress",)


def save_points(model: Any, folder: str | Path, notes: Mapping[str, Any]) -> None:
    """Everything that prediction depends on."""
    if not hasattr(model, "trees_"):
        raise ValueError(f"only reader='boosting' can be saved without code, got reader={model.reader!r}")
    facts = {
        "estimator": ESTIMATOR,
        "schema": SCHEMA,
        "params": {k: plain(v, k) for k, v in model.get_params(deep=False).items() if k not in _LOCAL},
        "classes": {"dtype": model.classes_.dtype.str, "values": model.classes_.tolist()},
        "features": model.settings_.facts(),
        "scikit-learn": sklearn.__version__,
        "notes": dict(notes),
    }
    write_model(folder, facts, model.trees_.tensors())


def load_points(kind: type, folder: str | Path) -> Any:
    """A classifier as it was saved."""
    return load_model(folder, lambda facts, tensors: _rebuild(kind, facts, tensors), ESTIMATOR, SCHEMA)


def _rebuild(kind: type, facts: dict[str, Any], tensors: dict[str, Any]) -> Any:
    known = set(inspect.signature(kind).parameters) - {*_LOCAL}
    model = kind(**saved_params(facts, known))
    if model.reader != "boosting":
        raise ValueError(f"its reader is {model.reader!r}, not 'boosting'")
    features: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in facts["features"].items()
    }
    model.settings_ = PointFeatureSettings(**features)
    model.classes_, model.notes_ = saved_classes(facts), saved_notes(facts)
    model.trees_ = Trees.from_tensors(tensors, len(model.settings_.names), len(model.classes_))
    return model
