"""What files hold of a `DescriptorClassifier`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from heatfield._base.check import check_choice, check_count
from heatfield._classifier.heads import HEADS, head_pipeline
from heatfield._classifier.saving.classifier import from_plain, plain, saved_range
from heatfield._classifier.saving.preprocessing import pack as pack_readout
from heatfield._classifier.saving.preprocessing import unpack as unpack_readout

from ._descriptor_classifier import DESCRIPTORS, named_descriptor


def pack(model: Any) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Descriptor, range of the training clouds, head and read-out."""
    descriptor = model.descriptor_
    name = type(descriptor).__name__
    if name not in DESCRIPTORS or type(named_descriptor(name)) is not type(descriptor):
        raise ValueError(f"cannot save a classifier on {descriptor!r}: it is no descriptor of this library")
    readout, tensors = pack_readout(model.readout_)
    facts = {
        "descriptor": {
            "name": name,
            "params": {k: plain(v, k) for k, v in descriptor.get_params(deep=False).items()},
        },
        "n_dims": descriptor.n_dims_,
        "input_range": None if model.input_range_ is None else asdict(model.input_range_),
        "scikit-learn": sklearn.__version__,
        "head": model.head_,
        "head_scores": model.head_scores_,
        "readout": readout,
    }
    return facts, tensors


def unpack(model: Any, facts: Mapping[str, Any], tensors: dict[str, Any], classes: NDArray) -> None:
    """The same, checked."""
    saved = facts["descriptor"]
    model.descriptor = named_descriptor(saved["name"], {k: from_plain(v) for k, v in saved["params"].items()})
    check_choice(model.head, "head", (*HEADS, "auto"))
    model.descriptor_ = named_descriptor(saved["name"], model.descriptor.get_params())
    model.descriptor_.n_dims_ = check_count(facts["n_dims"], "n_dims", 1)
    # A count in the file can claim any width; names are only made for one that the numbers have.
    width = model.descriptor_.n_columns()
    held = np.size(tensors["gapimputer.fill_"])
    if width != held:
        raise ValueError(f"its descriptor has {width} columns, its numbers are for {held}")
    model.head_ = check_choice(facts["head"], "head", HEADS)
    model.head_scores_ = facts["head_scores"]
    blank = head_pipeline(model, model.head_, dense=True)
    model.readout_ = unpack_readout(blank, facts["readout"], tensors, classes, width)
    model.input_range_ = saved_range(facts)
