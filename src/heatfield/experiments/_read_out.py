"""The read-out of descriptor rows: gaps filled, features standardised, the paper's network."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from .._base.check import Array
from .._classifier.preprocessing import AnnealedMLP, GapImputer, RoundOffScaler, magnitudes
from .._features.layout import Layout
from .._features.round_off import ROUND_OFF

WIDTHS, ALPHA = (128, 64), 1.0


def read_out(
    recipe: dict[str, Any],
    layout: Layout,
    tables: Sequence[Array],
    labels: NDArray,
    tests: Sequence[NDArray[np.bool_]],
    seeds: Sequence[int],
    *,
    trains: Sequence[NDArray[np.bool_]] | None = None,
) -> list[tuple[list[NDArray], dict[str, float]]]:
    """Train on the first table, split by split, and predict the test rows of all tables.

    The first table holds the clouds as they are; the others are the same clouds after a change.

    Returns
    -------
    found : list
        For each split the labels of the test rows by every table, and seconds of training and prediction.
    """
    chosen = [~test for test in tests] if trains is None else list(trains)
    classes, positions = np.unique(labels, return_inverse=True)
    scaled = [_scaler(layout).fit(tables[0][train]) for train in chosen]
    started = time.perf_counter()
    with threadpool_limits(1):
        models = _trained(
            recipe,
            [scale.transform(tables[0][train]) for scale, train in zip(scaled, chosen, strict=True)],
            [positions[train] for train in chosen],
            len(classes),
            seeds,
        )
        training = (time.perf_counter() - started) / len(chosen)
        found = []
        for model, scale, test in zip(models, scaled, tests, strict=True):
            started = time.perf_counter()
            said = [classes[model(scale.transform(table[test]))] for table in tables]
            seconds = (time.perf_counter() - started) / len(tables)
            found.append((said, {"train": round(training, 3), "predict": round(seconds, 4)}))
    return found


def _scaler(layout: Layout) -> Any:
    return make_pipeline(GapImputer(), RoundOffScaler(ROUND_OFF[np.dtype(np.float64)], magnitudes(layout)))


def _trained(
    recipe: dict[str, Any],
    tables: list[Array],
    labels: list[NDArray],
    n_classes: int,
    seeds: Sequence[int],
) -> list[Any]:
    """For each table a function from standardised rows to positions of classes."""
    if recipe["head"] == "mlp" and recipe["trainer"] != "scikit-learn":
        from ..nn._mlps import train_mlps

        networks = train_mlps(
            tables, labels, n_classes, seeds, widths=WIDTHS, alpha=ALPHA, max_epochs=recipe["epochs"]
        )
        return [lambda rows, net=net: net.scores(rows).argmax(axis=1) for net in networks]
    found = []
    for table, label, seed in zip(tables, labels, seeds, strict=True):
        if recipe["head"] == "mlp":
            model: Any = AnnealedMLP(WIDTHS, alpha=ALPHA, max_iter=recipe["epochs"], random_state=seed)
        elif recipe["head"] == "lda":
            model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        else:
            model = SVC(C=10.0, break_ties=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the budget says how many epochs
            found.append(model.fit(table, label).predict)
    return found
