"""Validation on whole files: no point is tested by a model that saw another point of its file."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._base.check import Array
from .classifier import HFSPointClassifier
from .features import Features
from .input import Columns, known
from .sampling import balanced_rows, even_rows
from .scores import confusion, groups_of, importance
from .settings import PointFeatureSettings

# Points of a held-out file on which the groups of features are shuffled.
_SHUFFLED = 20_000


@dataclass(frozen=True)
class FileTable:
    """Features of those points of a file that are learnt from or tested on."""

    features: Features
    labels: NDArray
    learn: NDArray[np.bool_]
    test: NDArray[np.bool_]


@dataclass(frozen=True)
class FileFold:
    """What was found on the files that were held out."""

    number: int
    files: tuple[int, ...]
    confusion: NDArray[np.int64]
    importance: dict[tuple[str, str], float]


def chosen_rows(
    labels: Sequence[NDArray], classes: NDArray, *, per_class: int, test_points: int, seed: int,
    ignore: Sequence[Any],
) -> list[tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]]:  # fmt: skip
    """For each file the rows whose features are needed, and which of them are learnt from and tested on."""
    out = []
    learn = balanced_rows(labels, classes, per_class, seed)
    for i, own in enumerate(labels):
        test = even_rows(known(own, ignore), test_points, seed + i)
        rows = np.union1d(learn[i], test)
        out.append((rows, np.isin(rows, learn[i]), np.isin(rows, test)))
    return out


def file_table(
    model: HFSPointClassifier,
    settings: PointFeatureSettings,
    points: Array,
    columns: Columns,
    labels: NDArray,
    chosen: tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]],
) -> FileTable:
    """The features that one file gives to training and validation."""
    rows, learn, test = chosen
    return FileTable(model.features(points, settings, columns, rows), labels[rows], learn, test)


def folds_of_files(count: int, n_splits: int, seed: int) -> list[NDArray[np.int64]]:
    """The files that each fold holds out: shuffled, every file once."""
    order = np.random.default_rng(seed).permutation(count)
    return [np.sort(part) for part in np.array_split(order, min(n_splits, count))]


def fit_tables(
    model: HFSPointClassifier, tables: Sequence[FileTable], settings: PointFeatureSettings
) -> HFSPointClassifier:
    """Learn from the chosen points of all files."""
    features = np.concatenate([table.features[table.learn] for table in tables])
    labels = np.concatenate([table.labels[table.learn] for table in tables])
    return model.fit_features(features, labels, settings)


def validate_files(
    model: HFSPointClassifier,
    tables: Sequence[FileTable],
    settings: PointFeatureSettings,
    classes: NDArray,
    *,
    n_splits: int = 5,
    seed: int = 0,
    skip: Container[int] = (),
    prepare: Callable[[int, int], object] = lambda number, count: None,  # noqa: ARG005
) -> Iterator[FileFold]:
    """Fit on all files but some, test on these, fold by fold.

    A class that only the held-out files have cannot be learnt: it counts as not found.
    """
    folds = folds_of_files(len(tables), n_splits, seed)
    for number, held in enumerate(folds):
        if number in skip:
            continue
        prepare(number, len(folds))
        rest = [table for i, table in enumerate(tables) if i not in set(held.tolist())]
        fitted = fit_tables(clone(model), rest, settings)

        def predict(features: Features, fitted: HFSPointClassifier = fitted) -> NDArray:
            return fitted.classes_[fitted.predict_proba_features(features).argmax(axis=1)]

        X = np.concatenate([tables[i].features[tables[i].test] for i in held])
        y = np.concatenate([tables[i].labels[tables[i].test] for i in held])
        some = np.random.default_rng(seed).permutation(len(X))[:_SHUFFLED]
        groups = groups_of(fitted.feature_groups(settings), settings.lengths)
        lost = importance(predict, X[some], y[some], groups, classes=classes, seed=seed) if len(X) else {}
        yield FileFold(number, tuple(held.tolist()), confusion(y, predict(X), classes), lost)
