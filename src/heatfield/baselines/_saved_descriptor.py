"""`DescriptorClassifier` to a folder and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from .._base.check import check_choice, check_count
from .._classifier.heads import HEADS, head_pipeline
from .._classifier.saving.classifier import from_plain, plain, saved_classes, saved_range
from .._classifier.saving.folder import read_model, write_model
from .._classifier.saving.preprocessing import pack, unpack
from ._descriptor_classifier import DESCRIPTORS, named_descriptor

_KIND = "DescriptorClassifier"


def save_descriptor_classifier(model: Any, folder: str | Path, notes: Mapping[str, Any]) -> None:
    """Everything that prediction depends on, and the parameters."""
    descriptor = model.descriptor_
    name = type(descriptor).__name__
    if name not in DESCRIPTORS or type(named_descriptor(name)) is not type(descriptor):
        raise ValueError(f"cannot save a classifier on {descriptor!r}: it is no descriptor of this library")
    readout, tensors = pack(model.readout_)
    facts = {
        "kind": _KIND,
        "params": {k: plain(v, k) for k, v in model.get_params(deep=False).items() if k != "descriptor"},
        "descriptor": {
            "name": name,
            "params": {k: plain(v, k) for k, v in descriptor.get_params(deep=False).items()},
        },
        "classes": {"dtype": model.classes_.dtype.str, "values": model.classes_.tolist()},
        "n_dims": descriptor.n_dims_,
        "input_range": None if model.input_range_ is None else asdict(model.input_range_),
        "scikit-learn": sklearn.__version__,
        "notes": dict(notes),
        "head": model.head_,
        "head_scores": model.head_scores_,
        "readout": readout,
    }
    write_model(folder, facts, tensors)


def load_descriptor_classifier(kind: type, folder: str | Path) -> Any:
    """A classifier as it was saved."""
    facts, tensors = read_model(folder)
    if facts.get("kind") != _KIND:
        raise ValueError(f"{str(folder)!r} is not a {_KIND}; is it an HFSClassifier?")
    try:
        return _rebuild(kind, facts, tensors)
    except KeyError as error:
        raise ValueError(f"{str(folder)!r} is not a whole model: {error} is missing") from None
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{str(folder)!r} cannot be loaded: {error}") from None


def _rebuild(kind: type, facts: dict[str, Any], tensors: dict[str, Any]) -> Any:
    saved = facts["descriptor"]
    descriptor = named_descriptor(saved["name"], {k: from_plain(v) for k, v in saved["params"].items()})
    model = kind(descriptor, **{k: from_plain(v) for k, v in facts["params"].items()})
    check_choice(model.head, "head", (*HEADS, "auto"))
    model.descriptor_ = named_descriptor(saved["name"], descriptor.get_params())
    model.descriptor_.n_dims_ = check_count(facts["n_dims"], "n_dims", 1)
    if not isinstance(facts["notes"], dict):
        raise ValueError("its notes are not an object")
    # A count in the file can claim any width; names are only made for one that the numbers have.
    width = model.descriptor_.n_columns()
    held = np.size(tensors["gapimputer.fill_"])
    if width != held:
        raise ValueError(f"its descriptor has {width} columns, its numbers are for {held}")
    classes = saved_classes(facts)
    model.head_ = check_choice(facts["head"], "head", HEADS)
    model.head_scores_ = facts["head_scores"]
    blank = head_pipeline(model, model.head_, dense=True)
    model.readout_ = unpack(blank, facts["readout"], tensors, classes, width)
    model.input_range_ = saved_range(facts)
    model.classes_, model.notes_ = classes, facts["notes"]
    return model
