"""Read-outs of the closed-form variants: from descriptors to labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC

from .._base.check import Array, check_choice, check_count, check_dtype, check_tol
from .._features.round_off import ROUND_OFF
from .labels import rarest_class
from .preprocessing import AnnealedMLP, GapImputer, RoundOffScaler, magnitudes

HEADS = ("mlp", "lda", "svm")


def fit_head(
    model: Any, features: Array, labels: np.ndarray, dense: bool
) -> tuple[str, dict[str, float], Pipeline]:
    """The head of a classifier: its name, the score of each candidate of "auto", the fitted pipeline."""
    check_choice(model.head, "head", (*HEADS, "auto"))
    heads = HEADS if model.head == "auto" else (model.head,)
    candidates = {head: head_pipeline(model, head, dense) for head in heads}
    scores: dict[str, float] = {}
    if model.head == "auto":
        folds = _inner_folds(model, labels)
        for head, pipeline in candidates.items():
            found = cross_val_score(pipeline, features, labels, cv=folds, scoring="balanced_accuracy")
            scores[head] = float(found.mean())
    chosen = max(scores, key=scores.__getitem__) if scores else model.head
    return chosen, scores, clone(candidates[chosen]).fit(features, labels)


def head_probabilities(readout: Pipeline, head: str, features: Array) -> Array:
    """Probabilities (N, classes); of support vectors the softmax of their decision values."""
    if head != "svm":
        return readout.predict_proba(features)
    values = readout.decision_function(features)
    values = np.stack([-values, values], axis=1) if values.ndim == 1 else values
    shifted = np.exp(values - values.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def head_pipeline(model: Any, head: str, dense: bool) -> Pipeline:
    """Gaps filled, features standardised, and one of `HEADS`; not fitted."""
    if head == "mlp":
        most = 3000 if model.epochs is None else check_count(model.epochs, "epochs", 1)
        last: Any = AnnealedMLP((128, 64), alpha=1.0, max_iter=most, random_state=model.random_state)
    elif head == "lda":
        last = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    else:
        last = SVC(C=10.0, break_ties=True, random_state=model.random_state)
    precision = check_dtype(model.dtype)
    # The error of the fast path is no signal either.
    noise = ROUND_OFF[precision] if dense else 100.0 * check_tol(model.tol, precision)
    scaler = RoundOffScaler(noise, magnitudes(model.descriptor_.layout()))
    return make_pipeline(GapImputer(), scaler, last)


def _inner_folds(model: Any, labels: np.ndarray) -> StratifiedKFold:
    rare, count = rarest_class(labels)
    if count < 2:
        raise ValueError(
            f"head='auto' needs at least 2 clouds per class, but class {rare!r} has 1; choose a head"
        )
    folds = min(check_count(model.inner_folds, "inner_folds", 2), count)
    return StratifiedKFold(folds, shuffle=True, random_state=model.random_state)
