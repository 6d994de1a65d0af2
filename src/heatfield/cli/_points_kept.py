"""What a training of points keeps until it is done: features of files, and results of finished folds."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from .._base.arrays import open_regular, read_arrays
from .._base.files import write_atomically
from .._points.classifier import HFSPointClassifier
from .._points.saving import SCHEMA
from .._points.settings import PointFeatureSettings
from .._points.validation import FileFold, FileTable, file_table
from ..io import Cloud

# Options of the model that change no result.
_HOW = ("n_jobs", "progress", "reader")


def kept_table(
    model: HFSPointClassifier,
    settings: PointFeatureSettings,
    cloud: Cloud,
    labels: NDArray,
    rows: Any,
    parts: Path,
) -> FileTable:
    """The features of one file, taken from the folder of parts where a stopped command left them."""
    digest = hashlib.sha256(json.dumps([__version__, SCHEMA, settings.facts()], sort_keys=True).encode())
    for array in (cloud.points, rows[0], *(np.asarray(cloud.columns[c]) for c in settings.columns)):
        digest.update(np.ascontiguousarray(array).tobytes())
    place = parts / f"points-{digest.hexdigest()[:32]}.npz"
    try:
        found = read_arrays(place, ("features",))["features"]
        if found.shape == (len(rows[0]), len(settings.names)) and found.dtype == np.float32:
            return FileTable(found, labels[rows[0]], rows[1], rows[2])
    except (OSError, ValueError):
        pass
    table = file_table(model, settings, cloud.points, cloud.columns, labels, rows)
    buffer = io.BytesIO()
    np.savez(buffer, features=table.features)
    parts.mkdir(parents=True, exist_ok=True)
    write_atomically(place, buffer.getvalue())
    return table


class KeptFolds:
    """Results of folds in the folder of parts, under a hash of all that decides them."""

    def __init__(
        self,
        parts: Path,
        model: HFSPointClassifier,
        settings: PointFeatureSettings,
        tables: Sequence[FileTable],
        classes: NDArray,
        n_splits: int,
        seed: int,
    ) -> None:
        options = {name: value for name, value in model.get_params(deep=False).items() if name not in _HOW}
        facts = [__version__, SCHEMA, settings.facts(), options, classes.tolist(), n_splits, seed]
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode())
        for table in tables:
            for array in (table.features, table.labels, table.learn, table.test):
                digest.update(f"{array.dtype} {array.shape}".encode())
                digest.update(np.ascontiguousarray(array).tobytes())
        self._start = parts / digest.hexdigest()[:16]
        self._classes, self._files = len(classes), len(tables)

    def keep(self, fold: FileFold) -> None:
        """Write a finished fold, whole or not at all."""
        facts = {
            "files": list(fold.files),
            "confusion": fold.confusion.tolist(),
            "importance": [[*group, lost] for group, lost in fold.importance.items()],
        }
        place = self._place(fold.number)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, json.dumps(facts).encode())

    def found(self, count: int) -> dict[int, FileFold]:
        """Those of ``count`` folds that an earlier run finished; what cannot be read is done again."""
        folds = {}
        for number in range(count):
            try:
                with open_regular(self._place(number)) as file:
                    folds[number] = self._fold(number, json.loads(file.read()))
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                continue
        return folds

    def _fold(self, number: int, facts: dict[str, Any]) -> FileFold:
        matrix = np.array(facts["confusion"], dtype=np.int64)
        files = tuple(int(i) for i in facts["files"])
        if matrix.shape != (self._classes,) * 2 or matrix.min() < 0 or not {*files} <= {*range(self._files)}:
            raise ValueError("it is not the result of a fold")
        importance = {(str(kind), str(name)): float(lost) for kind, name, lost in facts["importance"]}
        return FileFold(number, files, matrix, importance)

    def _place(self, number: int) -> Path:
        return self._start.with_suffix(f".fold{number}")
