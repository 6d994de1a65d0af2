"""Train a method on splits of a data set and score it on test clouds, as they are and after changes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .._base.check import Array, HeatFieldWarning
from ._changes import NONE, Change, changed
from ._features import features_of, layout_of
from ._kinds import made
from ._methods import Method
from ._protocol import scores
from ._read_out import read_out
from ._sets import Loaded

# Splits of a descriptor row that are trained together.
TOGETHER = 20


def evaluate(
    method: Method,
    recipe: dict[str, Any],
    data: Loaded,
    splits: Sequence[int],
    changes: Sequence[Change],
    cache: Path | None,
    *,
    n_jobs: int = 1,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Scores of each split: ``scores`` by change, ``seconds``, and what else is known.

    A recipe with ``train_per_class`` trains on that many clouds of each class only, nested: fewer are always
    among more.
    """
    run = _descriptor if method.family == "descriptor" else _estimator
    for split, said, more in run(method, recipe, data, splits, changes, cache, n_jobs):
        truth = data.labels[data.tests[split]]
        found: dict[str, Any] = {
            "scores": {c.label: scores(truth, p) for c, p in zip(changes, said, strict=True)},
            "train": int(train_rows(data, split, recipe).sum()),
            "test": len(truth),
            "seed": split,
        }
        if len(changes) > 1:
            found["changed"] = {
                c.label: int((p != said[0]).sum()) for c, p in zip(changes[1:], said[1:], strict=True)
            }
        yield split, found | more


def train_rows(data: Loaded, split: int, recipe: dict[str, Any]) -> NDArray[np.bool_]:
    """The training clouds of a split."""
    train = ~data.tests[split]
    count = recipe.get("train_per_class")
    if count is None:
        return train
    kept = np.zeros_like(train)
    rng = np.random.default_rng(np.random.SeedSequence([int(data.content[:8], 16), split]))
    for label in np.unique(data.labels):
        kept[rng.permutation(np.flatnonzero(train & (data.labels == label)))[:count]] = True
    return kept


Found = Iterator[tuple[int, list[NDArray], dict[str, Any]]]


def _descriptor(
    method: Method, recipe: dict[str, Any], data: Loaded, splits: Sequence[int],
    changes: Sequence[Change], cache: Path | None, n_jobs: int,
) -> Found:  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeatFieldWarning)  # gaps are counted in the record
        tables = [features_of(method, data, change, cache, n_jobs=n_jobs) for change in changes]
    features, seconds = tables[0]
    layout = layout_of(method, data.n_dims, features.shape[1])
    known: dict[str, Any] = {
        "columns": features.shape[1],
        "imputed_clouds": int((~np.isfinite(features)).any(axis=1).sum()),
    }
    if len(changes) > 1:
        known["deviation"] = {
            c.label: _deviation(features, t) for c, (t, _) in zip(changes[1:], tables[1:], strict=True)
        }
    for first in range(0, len(splits), TOGETHER):
        chosen = splits[first : first + TOGETHER]
        results = read_out(
            recipe, layout, [t for t, _ in tables], data.labels, [data.tests[k] for k in chosen],
            list(chosen), trains=[train_rows(data, k, recipe) for k in chosen],
        )  # fmt: skip
        for split, (said, took) in zip(chosen, results, strict=True):
            yield split, said, known | {"seconds": {"extract": round(seconds, 3), **took}}


def _deviation(features: Array, after: Array) -> float:
    """The paper's check: the mean over clouds of |F(X) - F(RX)| / |F(X)|, over features that are defined."""
    both = np.isfinite(features) & np.isfinite(after)
    size = np.sqrt((np.where(both, features, 0.0) ** 2).sum(axis=1))
    gap = np.sqrt((np.where(both, features - after, 0.0) ** 2).sum(axis=1))
    known = size > 0
    return float((gap[known] / size[known]).mean()) if known.any() else float("nan")


def _estimator(
    method: Method, recipe: dict[str, Any], data: Loaded, splits: Sequence[int],
    changes: Sequence[Change], cache: Path | None, n_jobs: int,
) -> Found:  # fmt: skip
    learned = method.family == "learned"
    clouds = {change: changed(data.clouds, change) for change in changes}
    table, took = None, 0.0
    if learned:
        started = time.perf_counter()
        first = made(method.kind, recipe["options"], random_state=0, progress=False, n_jobs=n_jobs)
        table = first.point_table(data.clouds, cache=None if cache is None else cache / "points")
        took = time.perf_counter() - started
    for split in splits:
        test = data.tests[split]
        train = train_rows(data, split, recipe)
        model = made(method.kind, recipe["options"], random_state=split, progress=False, n_jobs=n_jobs)
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", HeatFieldWarning)  # changed clouds are unlike the training clouds
            started = time.perf_counter()
            if table is not None:
                model.fit_features(table.take(train), data.labels[train], n_dims=data.n_dims)
            else:
                model.fit([data.clouds[i] for i in np.flatnonzero(train)], data.labels[train])
            fitted = time.perf_counter()
            said = []
            for change in changes:
                if table is not None and change == NONE:
                    said.append(model.predict_features(table.take(test)))
                else:
                    said.append(np.asarray(model.predict([clouds[change][i] for i in np.flatnonzero(test)])))
            end = time.perf_counter()
        seconds = {"extract": took, "train": fitted - started, "predict": (end - fitted) / len(changes)}
        more: dict[str, Any] = {"seconds": {k: round(v, 3) for k, v in seconds.items()}}
        history = None if isinstance(method.kind, type) else getattr(model, "history_", None)
        if history:
            more |= {"epochs": len(history), "train_accuracy": round(100.0 * history[-1]["accuracy"], 3)}
        yield split, said, more
