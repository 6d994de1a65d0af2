"""`HFSClassifier` to a folder and back."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Set
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from ..._base.check import check_choice, check_count
from ..._features.layout import VARIANT_BLOCKS
from ..closed_form import descriptor_of
from ..heads import head_pipeline
from ..input_range import InputRange
from ..learned import LEARNED, new_learner, point_recipe
from .folder import load_model, write_model
from .preprocessing import pack, unpack

# Where the training kept its files is not part of the model.
_LOCAL = ("checkpoint", "cache", "device", "progress")
_WIDEST = 1 << 16  # bytes of one label
_DEEPEST = 16  # lists in lists of a parameter


def save_classifier(model: Any, folder: str | Path, notes: Mapping[str, Any]) -> None:
    """Everything that prediction depends on, and the parameters."""
    learned = model.variant in LEARNED
    known = getattr(model, "input_range_", None)
    facts: dict[str, Any] = {
        "params": {k: plain(v, k) for k, v in model.get_params(deep=False).items() if k not in _LOCAL},
        "classes": {"dtype": model.classes_.dtype.str, "values": model.classes_.tolist()},
        "n_dims": model.n_dims_,
        "input_range": None if known is None else asdict(known),
        "scikit-learn": sklearn.__version__,
        "notes": dict(notes),
    }
    if learned:
        facts["history"] = model.history_
        tensors = model.learner_.tensors()
    else:
        facts |= {"head": model.head_, "head_scores": model.head_scores_}
        facts["readout"], tensors = pack(model.readout_)
    write_model(folder, facts, tensors)


def load_classifier(kind: type, folder: str | Path, device: str) -> Any:
    """A classifier as it was saved."""
    return load_model(folder, lambda facts, tensors: _rebuild(kind, facts, tensors, device))


def _rebuild(kind: type, facts: dict[str, Any], tensors: dict[str, Any], device: str) -> Any:
    # Where to write is the user's choice, never a file's.
    names = set(inspect.signature(kind).parameters) - {*_LOCAL}
    params = saved_params(facts, names)
    check_choice(params["variant"], "variant", (*VARIANT_BLOCKS, *LEARNED))
    model = kind(**params, **({"device": device} if params["variant"] in LEARNED else {}))
    classes, notes = saved_classes(facts), saved_notes(facts)
    # Every scale and dimension has at least one number: more of them than numbers cannot be right.
    held = sum(array.size for array in tensors.values())
    for name, value in (("n_scales", params["n_scales"]), ("n_dims", facts["n_dims"])):
        if check_count(value, name, 1) > held:
            raise ValueError(f"{name}={value!r} does not fit its {held} numbers")
    model.input_range_ = saved_range(facts)
    if model.variant in LEARNED:
        model.learner_ = new_learner(model, point_recipe(model, facts["n_dims"]), len(classes))
        model.learner_.load(tensors)
        model.history_ = model.learner_.history = facts["history"]
    else:
        model.descriptor_ = descriptor_of(model, int(facts["n_dims"]))
        model.head_ = check_choice(facts["head"], "head", ("mlp", "lda", "svm"))
        model.head_scores_ = facts["head_scores"]
        width = model.descriptor_.layout().width
        # Where noise ends matters to the fit alone; what it set to 0 is among the tensors.
        blank = head_pipeline(model, model.head_, dense=True)
        model.readout_ = unpack(blank, facts["readout"], tensors, classes, width)
    model.classes_, model.notes_ = classes, notes
    return model


def saved_params(facts: Mapping[str, Any], known: Set[str]) -> dict[str, Any]:
    """The parameters of a saved classifier; one that is not known is a ValueError."""
    unknown = set(facts["params"]) - known
    if unknown:
        raise ValueError(f"this library does not know the parameter {sorted(unknown)[0]!r}")
    return {k: from_plain(v) for k, v in facts["params"].items()}


def saved_notes(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The notes of a saved classifier, checked."""
    if not isinstance(facts["notes"], dict):
        raise ValueError("its notes are not an object")
    return facts["notes"]


def saved_classes(facts: Mapping[str, Any]) -> NDArray:
    """The labels of a saved classifier, checked."""
    values, dtype = facts["classes"]["values"], np.dtype(facts["classes"]["dtype"])
    # A type wider than any label would need as much memory as a forged file likes.
    if dtype.kind not in "biufU" or dtype.itemsize > _WIDEST or not isinstance(values, list):
        raise ValueError("its classes are not a list of labels")
    classes = np.array(values, dtype=dtype)
    if classes.ndim != 1 or len(classes) < 2:
        raise ValueError("its classes are not a list of labels")
    if not np.array_equal(np.unique(classes), classes):
        raise ValueError("its classes are not in order, or not distinct")
    return classes


def saved_range(facts: Mapping[str, Any]) -> InputRange | None:
    """The range of the training clouds of a saved classifier, if it is known, checked."""
    if facts["input_range"] is None:
        return None
    ranges = {k: (float(a), float(b)) for k, (a, b) in facts["input_range"].items()}
    if not all(0.0 <= a <= b < np.inf for a, b in ranges.values()):
        raise ValueError(f"its input range is no range: {ranges}")
    return InputRange(**ranges)


def plain(value: Any, name: str) -> Any:
    """A value as JSON can hold it: a mapping becomes pairs, since its keys may be numbers."""
    if isinstance(value, Mapping):
        return {"pairs": [[plain(k, name), plain(v, name)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return [plain(v, name) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), name)
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"cannot save {name}={value!r}: only numbers, words, lists and dicts go into JSON")


def from_plain(value: Any, depth: int = 0) -> Any:
    """The value that `plain` was given, with lists for tuples and arrays; ``depth`` counts the nesting."""
    if depth > _DEEPEST:
        raise ValueError("its parameters are nested too deep")
    if isinstance(value, dict):
        return {from_plain(k, depth + 1): from_plain(v, depth + 1) for k, v in value["pairs"]}
    return [from_plain(v, depth + 1) for v in value] if isinstance(value, list) else value
