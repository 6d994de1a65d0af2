"""Features of a set of clouds: computed once for all splits and tables, and kept in a folder."""

from __future__ import annotations

import hashlib
import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from .._base.arrays import open_regular, read_array
from .._base.check import Array
from .._base.files import write_atomically
from .._features.descriptor import HFSDescriptor
from .._features.layout import Layout
from ._changes import Change, changed
from ._code import code_digest
from ._kinds import class_of, made
from ._methods import Method
from ._sets import Loaded

_MOST = 1 << 16  # bytes of the file of seconds that are read


def descriptor_of(method: Method, n_dims: int) -> Any:
    """The estimator that describes clouds of a descriptor method, all its blocks."""
    found = class_of(method.kind)(**method.options)
    return found._fit_dims(n_dims) if isinstance(found, HFSDescriptor) else found


def layout_of(method: Method, n_dims: int, width: int = 0) -> Layout:
    """The columns that a descriptor method reads, named as they are in its own table.

    A class of the user's own may have no layout: then it has ``width`` columns, none of them in a block.
    """
    descriptor = descriptor_of(method, n_dims)
    if not hasattr(descriptor, "layout"):
        return Layout(tuple(f"column_{i}" for i in range(width)), {})
    return _chosen(method, descriptor.layout())[0]


def features_of(
    method: Method, data: Loaded, change: Change, cache: Path | None, *, n_jobs: int = 1
) -> tuple[Array, float]:
    """Descriptors (N, columns) of all clouds after a change, and the seconds that computing them took.

    The name of the kept file carries the content of the data, the options, the change and the code.
    """
    if isinstance(method.kind, type):  # what it calls is not known, so that no name could carry it
        return _own_features(method, changed(data.clouds, change), n_jobs)
    descriptor = descriptor_of(method, data.n_dims)
    place = None
    if cache is not None:
        code = code_digest(method.modules()[:1])  # of the descriptor, not of what reads it
        text = json.dumps([method.kind, dict(method.options), change.label, code], sort_keys=True)
        name = f"{data.content[:24]}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        place = cache / "features" / f"{name}.npy"
    found = None if place is None else _kept(place, (len(data.clouds), descriptor.layout().width))
    if found is not None:
        table, seconds = found
    else:
        clouds = changed(data.clouds, change)
        descriptor.set_params(n_jobs=n_jobs)
        started = time.perf_counter()
        table = np.asarray(descriptor.fit_transform(clouds))
        seconds = time.perf_counter() - started
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(place.with_suffix(".json"), json.dumps({"seconds": seconds}).encode())
            held = io.BytesIO()
            np.save(held, table)
            write_atomically(place, held.getvalue())
    return table[:, _chosen(method, descriptor.layout())[1]], seconds


def _own_features(method: Method, clouds: list[Array], n_jobs: int) -> tuple[Array, float]:
    """Descriptors by a class of the user's own."""
    descriptor = made(method.kind, method.options, n_jobs=n_jobs)
    started = time.perf_counter()
    table = np.asarray(descriptor.fit_transform(clouds), dtype=np.float64)
    seconds = time.perf_counter() - started
    if table.ndim != 2 or len(table) != len(clouds) or not table.shape[1]:
        wanted = f"a row for each of {len(clouds)} clouds"
        raise ValueError(f"fit_transform of {method.name!r} must give {wanted}, got shape {table.shape}")
    chosen = _chosen(method, descriptor.layout())[1] if method.blocks else slice(None)
    return table[:, chosen], seconds


def _kept(place: Path, shape: tuple[int, int]) -> tuple[Array, float] | None:
    """A table of features that was kept, and its seconds; None where there is none, or a damaged one."""
    try:
        table = read_array(place)
        with open_regular(place.with_suffix(".json")) as file:
            seconds = float(json.loads(file.read(_MOST))["seconds"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    fits = table.shape == shape and table.dtype.kind == "f" and 0.0 <= seconds < np.inf
    return (table, seconds) if fits else None


def _chosen(method: Method, whole: Layout) -> tuple[Layout, Any]:
    if method.blocks is None:
        return whole, slice(None)
    columns: dict[str, slice] = {}
    at: list[int] = []
    for block, place in whole.columns.items():
        if block in method.blocks:
            columns[block] = slice(len(at), len(at) + place.stop - place.start)
            at += range(place.start, place.stop)
    return Layout(tuple(whole.names[i] for i in at), columns), at
