"""What a closed-form training keeps until it is done: features, and the predictions of finished folds."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from .._base.arrays import read_array, read_arrays
from .._base.check import Array, OutOfRangeError
from .._base.files import write_atomically
from .._base.progress import progress_bar
from .._base.threads import even_pieces
from .._classifier.closed_form import descriptor_of
from .._features.layout import SCHEMA
from .._features.settings import options_of
from ..cluster import Executor, InProcess
from ..core.costs import Costs, costs, fixed_costs

# Pairs of points that are described together: a few seconds, which is what a stop may cost.
_TOGETHER = 4e8


def kept_features(
    model: Any, clouds: list[Array], parts: Path, quiet: bool, executor: Executor | None = None
) -> Array:
    """Descriptors of all clouds, a few seconds' worth at a time; what was kept is not computed again.

    With an executor its workers compute them; they are kept here.
    """
    descriptor = descriptor_of(model, clouds[0].shape[1])
    options = {name: value for name, value in options_of(model).items() if name != "n_jobs"}
    prices = costs(measure=False)  # those that the task was begun with
    text = json.dumps(
        [__version__, SCHEMA, model.variant, options, asdict(prices)], sort_keys=True, default=str
    )
    width = descriptor.layout().width
    pieces = list(even_pieces([len(cloud) for cloud in clouds], _TOGETHER))
    places = [parts / f"features-{_key(text, clouds[first:last])}.npy" for first, last in pieces]
    tables = [
        _load_features(place, (last - first, width))
        for place, (first, last) in zip(places, pieces, strict=True)
    ]
    todo = [k for k, table in enumerate(tables) if table is None]
    before = len(clouds) - sum(pieces[k][1] - pieces[k][0] for k in todo)
    tasks = [(descriptor, clouds[slice(*pieces[k])], prices) for k in todo]
    with progress_bar(total=len(clouds), initial=before, unit="clouds", quiet=quiet, keep=True) as bar:
        for number, found in (executor or InProcess(descriptor.n_jobs)).map(describe_piece, tasks):
            k = todo[number]
            first, last = pieces[k]
            if isinstance(found, tuple):  # its number among all clouds
                raise OutOfRangeError(found[0], first + found[1])
            buffer = io.BytesIO()
            np.save(buffer, found)
            parts.mkdir(parents=True, exist_ok=True)
            write_atomically(places[k], buffer.getvalue())
            tables[k] = found
            bar.update(last - first)
    return np.concatenate([table for table in tables if table is not None])


def describe_piece(task: tuple[Any, list[Array], Costs], n_threads: int) -> Array | tuple[str, int]:
    """Descriptors of some clouds; what is wrong with one of them, and which, where they cannot be had."""
    descriptor, clouds, prices = task
    try:
        with fixed_costs(prices):
            return np.asarray(descriptor.set_params(n_jobs=n_threads).transform(clouds))
    except OutOfRangeError as error:
        return error.problem, error.cloud or 0


def keep_fold(place: Path, test: NDArray[np.int64], predicted: NDArray) -> None:
    """Write the predictions of a finished fold."""
    buffer = io.BytesIO()
    np.savez(buffer, test=test, predicted=predicted)
    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place, buffer.getvalue())


def kept_fold(place: Path, labels: NDArray) -> tuple[NDArray[np.int64], NDArray] | None:
    """Positions and predictions of a fold that was finished before; None where there is none."""
    try:
        data = read_arrays(place, ("test", "predicted"))
    except (OSError, ValueError):
        return None
    test, predicted = data["test"], data["predicted"]
    fits = test.dtype == np.int64 and test.shape == predicted.shape and test.ndim == 1 and len(test)
    if not fits or test.min() < 0 or test.max() >= len(labels) or not np.isin(predicted, labels).all():
        return None
    return test, predicted


def _load_features(place: Path, shape: tuple[int, int]) -> Array | None:
    try:
        table = read_array(place)
    except (OSError, ValueError):
        return None
    return table if table.shape == shape and table.dtype == np.float64 else None


def _key(settings: str, clouds: list[Array]) -> str:
    digest = hashlib.sha256(settings.encode())
    for cloud in clouds:
        digest.update(repr(cloud.shape).encode())
        digest.update(np.ascontiguousarray(cloud).tobytes())
    return digest.hexdigest()[:32]
