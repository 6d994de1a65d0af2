"""Classifiers of this package to a folder and back: safetensors and JSON, and no code.

Here is what all of them keep; the module that a class names as ``_saved_by`` adds the rest. Its `pack`
returns facts for JSON and tensors of a fitted model, its `unpack` sets the attributes again and is the place
to check them. The format is that of `HFSClassifier`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from heatfield._classifier.saving.classifier import plain, saved_classes, saved_notes, saved_params
from heatfield._classifier.saving.folder import load_model, write_model

# Where the training kept its files says nothing about the model, and where to write is for the user to say,
# never for a file. A descriptor is an estimator: it is kept beside the parameters.
_APART = {"checkpoint", "device", "progress", "descriptor"}


def save_baseline(model: Any, folder: str | Path, notes: Mapping[str, Any]) -> None:
    """Everything that prediction depends on, and the parameters."""
    facts, tensors = _ways(model).pack(model)
    params = model.get_params(deep=False)
    common = {
        "estimator": type(model).__name__,
        "params": {k: plain(v, k) for k, v in params.items() if k not in _APART},
        "classes": {"dtype": model.classes_.dtype.str, "values": model.classes_.tolist()},
        "notes": dict(notes),
    }
    write_model(folder, common | facts, tensors)


def load_baseline(kind: type, folder: str | Path, here: Mapping[str, Any]) -> Any:
    """A classifier of this class as it was saved; ``here`` are parameters that no file has."""
    ways = _ways(kind)

    def build(facts: dict[str, Any], tensors: dict[str, NDArray]) -> Any:
        known = set(inspect.signature(kind).parameters) - _APART
        model = kind(**saved_params(facts, known), **here)
        classes, notes = saved_classes(facts), saved_notes(facts)
        ways.unpack(model, facts, tensors, classes)
        model.classes_, model.notes_ = classes, notes
        return model

    return load_model(folder, build, kind.__name__, getattr(ways, "SCHEMA", None))


def _ways(kind: Any) -> Any:
    return importlib.import_module(f".{kind._saved_by}", __package__)
