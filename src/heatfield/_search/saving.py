"""An index as safetensors and JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import check_choice, check_count
from .._classifier.saving.classifier import from_plain, plain, saved_notes
from .._classifier.saving.folder import load_model, write_model
from .._features.descriptor import HFSDescriptor
from .approximate import Cells
from .members import checked_members
from .space import METRICS, Space

_ARRAYS = ("fill", "mean", "scale", "constant", "directions")
_PARAMS = ("metric", "method", "recall", "random_state")


def save_index(index: Any, folder: str | Path, notes: Mapping[str, Any]) -> None:
    """Everything that a query depends on."""
    described = index.descriptor_.get_params(deep=False) | {"n_dims": index.descriptor_.n_dims_}
    members, cells = index.members_, index.cells_
    facts: dict[str, Any] = {
        "estimator": "HFSIndex",
        "params": {name: plain(getattr(index, name), name) for name in _PARAMS},
        "descriptor": {k: plain(v, k) for k, v in described.items() if k != "n_jobs"},
        "names": members.names,
        "labels": members.labels,
        "cells": None if cells is None else {"probes": cells.probes, "recall": cells.recall},
        "notes": dict(notes),
    }
    tensors = {name: np.asarray(getattr(index.space_, name)) for name in _ARRAYS}
    tensors["rows"] = index.rows_
    if cells is not None:
        tensors |= {"centres": cells.centres, "assigned": cells.assigned}
    lengths = [-1 if one is None else len(one) for one in members.sketches]
    if max(lengths) >= 0:
        tensors["sketch_lengths"] = np.array(lengths, dtype=np.int32)
        tensors["sketches"] = np.concatenate([one for one in members.sketches if one is not None])
    write_model(folder, facts, tensors)


def load_index(kind: type, folder: str | Path) -> Any:
    """An index as it was saved."""
    return load_model(folder, lambda facts, tensors: _rebuild(kind, facts, tensors), "HFSIndex")


def _rebuild(kind: type, facts: dict[str, Any], tensors: dict[str, NDArray]) -> Any:
    params = {name: from_plain(facts["params"][name]) for name in _PARAMS}
    options = {name: from_plain(value) for name, value in facts["descriptor"].items()}
    for name, most in (("n_dims", 1 << 10), ("n_scales", 1 << 10)):
        if check_count(options[name], name, 1) > most:
            raise ValueError(f"{name}={options[name]!r} is more than {most}")
    n_dims = options.pop("n_dims")
    descriptor = HFSDescriptor(**options)
    index = kind(descriptor, **params)
    descriptor = HFSDescriptor(**options)._fit_dims(n_dims)
    width, rows = descriptor.layout().width, tensors["rows"]
    if rows.dtype != np.float32 or rows.ndim != 2 or rows.shape[1] != width or len(rows) == 0:
        raise ValueError(f"its rows are {rows.dtype} of shape {rows.shape}, not float32 of {width} columns")
    if not np.isfinite(rows).all():
        raise ValueError("its rows hold values that are no finite numbers")
    members = checked_members(
        len(rows), _list(facts, "labels"), _list(facts, "names"), _sketches(tensors, len(rows))
    )
    index._set(descriptor, _space(params["metric"], tensors, width), rows, members)
    if facts["cells"] is not None:
        index.cells_ = _cells(facts["cells"], tensors, index.places_)
    index.notes_ = saved_notes(facts)
    return index


def _list(facts: Mapping[str, Any], name: str) -> list[Any]:
    if not isinstance(facts[name], list):
        raise ValueError(f"its {name} are not a list")
    return facts[name]


def _space(metric: Any, tensors: Mapping[str, NDArray], width: int) -> Space:
    check_choice(metric, "metric", METRICS)
    found = {name: tensors[name] for name in _ARRAYS}
    for name, array in found.items():
        wanted = (width, array.shape[-1]) if name == "directions" else (width,)
        kind = np.bool_ if name == "constant" else np.float64
        if array.shape != wanted or array.dtype != kind or not np.isfinite(array).all():
            raise ValueError(f"its {name} must be finite numbers of shape {wanted}, got {array.shape}")
    if (found["scale"] <= 0.0).any():
        raise ValueError("its scale holds values that are not above 0")
    if (metric == "learned") != (found["directions"].shape[1] > 0):
        raise ValueError(f"its directions do not fit metric={metric!r}")
    return Space(metric, **found)


def _cells(facts: Mapping[str, Any], tensors: Mapping[str, NDArray], places: Any) -> Cells:
    centres, assigned = tensors["centres"], tensors["assigned"]
    if centres.dtype != np.float32 or centres.ndim != 2 or centres.shape[1] != places.shape[1]:
        raise ValueError(f"its centres are {centres.dtype} of shape {centres.shape}")
    # faiss takes these as positions without a look.
    fits = assigned.dtype == np.int32 and assigned.shape == (len(places),)
    if not fits or len(centres) == 0 or assigned.min() < 0 or assigned.max() >= len(centres):
        raise ValueError("its rows are assigned to cells that do not exist")
    if not np.isfinite(centres).all():
        raise ValueError("its centres hold values that are no finite numbers")
    probes = min(check_count(facts["probes"], "probes", 1), len(centres))
    return Cells(centres, assigned, probes, float(facts["recall"]), places)


def _sketches(tensors: Mapping[str, NDArray], count: int) -> list[NDArray[np.uint8] | None] | None:
    if "sketch_lengths" not in tensors:
        return None
    lengths, points = tensors["sketch_lengths"], tensors["sketches"]
    held = np.maximum(lengths, 0).astype(np.int64)
    if lengths.shape != (count,) or points.dtype != np.uint8 or points.shape != (int(held.sum()), 2):
        raise ValueError("its thumbnails do not fit together")
    parts = np.split(points, np.cumsum(held)[:-1])
    return [None if n < 0 else part for n, part in zip(lengths.tolist(), parts, strict=True)]
