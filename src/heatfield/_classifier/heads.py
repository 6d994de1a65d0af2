"""Read-outs of the closed-form variants: from descriptors to labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC

from .._base.check import Array, check_choice, check_count, check_dtype, check_tol
from .._features.round_off import ROUND_OFF
from .auto_words import LEAST_EPOCHS, LEAST_FOR_NETWORK, MOST_FOR_VECTORS, NETWORK_PASSES
from .labels import rarest_class
from .preprocessing import AnnealedMLP, GapImputer, RoundOffScaler, magnitudes

HEADS = ("mlp", "lda", "svm")
# Folds in which the temperature of discriminant analysis is found.
_CALIBRATION = 5
_TEMPERATURES = (0.05, 1000.0)  # between these


def fit_head(
    model: Any, features: Array, labels: np.ndarray, dense: bool
) -> tuple[str, dict[str, float], Pipeline]:
    """The head of a classifier: its name, the score of each candidate of "auto", the fitted pipeline."""
    check_choice(model.head, "head", (*HEADS, "auto"))
    scores = auto_scores(model, features, labels, dense) if model.head == "auto" else {}
    chosen = max(scores, key=scores.__getitem__) if scores else model.head
    pipeline = head_pipeline(model, chosen, dense)
    fitted = clone(pipeline).fit(features, labels)
    if chosen == "lda":
        temperature = _temperature(pipeline, features, labels)
        if temperature is not None:
            fitted[-1].temperature_ = temperature
    return chosen, scores, fitted


def auto_scores(model: Any, features: Array, labels: np.ndarray, dense: bool) -> dict[str, float]:
    """Mean accuracy over classes of each candidate, by cross-validation; see `auto_words` for its bound.

    The network is scored on the first fold only. So that one easy fold does not decide, its score is that of
    the best fast head, and the difference of the two on that fold.
    """
    folds = list(_inner_folds(model, labels).split(features, labels))
    fast = ("lda", "svm") if len(labels) <= MOST_FOR_VECTORS else ("lda",)
    by_fold = {
        head: _fold_scores(head_pipeline(model, head, dense), features, labels, folds) for head in fast
    }
    scores = {head: float(found.mean()) for head, found in by_fold.items()}
    epochs = NETWORK_PASSES // len(folds[0][0])
    if len(labels) >= LEAST_FOR_NETWORK and epochs >= LEAST_EPOCHS:
        network = head_pipeline(model, "mlp", dense)
        last = network[-1]
        last.set_params(max_iter=min(last.max_iter, epochs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it may stop before the loss does
            found = _fold_scores(network, features, labels, folds[:1])
        best = max(scores, key=scores.__getitem__)
        scores["mlp"] = min(1.0, scores[best] + float(found[0] - by_fold[best][0]))
    return scores


def _fold_scores(pipeline: Pipeline, features: Array, labels: np.ndarray, folds: Any) -> Array:
    return cross_val_score(pipeline, features, labels, cv=folds, scoring="balanced_accuracy")


def head_probabilities(readout: Pipeline, head: str, features: Array) -> Array:
    """Probabilities (N, classes); of support vectors the softmax of their decision values.

    The decision values of discriminant analysis are divided by a temperature that was found on clouds held
    out: with many features and few clouds they are several times too large. Numbers of a forged model may
    overflow: that is an error, not an answer of NaN.
    """
    found = _probabilities(readout, head, features)
    if not np.isfinite(found).all():
        raise ValueError("the model gives no probabilities for some clouds: its numbers are out of range")
    return found


def _probabilities(readout: Pipeline, head: str, features: Array) -> Array:
    if head == "mlp":
        return readout.predict_proba(features)
    values = readout.decision_function(features)
    if head == "lda":
        values = values / getattr(readout[-1], "temperature_", 1.0)
        return np.exp(_log_softmax(np.stack([0.0 * values, values], axis=1) if values.ndim == 1 else values))
    return np.exp(_log_softmax(np.stack([-values, values], axis=1) if values.ndim == 1 else values))


def uncalibrated(model: Any) -> str:
    """Why the probabilities of a fitted classifier are no measure of confidence; "" where they are one."""
    head = getattr(model, "head_", None)
    if head == "svm":
        return "probabilities of support vectors are not calibrated: they rank classes, no more"
    if head == "lda" and not hasattr(model.readout_[-1], "temperature_"):
        return (
            "probabilities of this discriminant analysis are not calibrated: "
            "that needs three clouds of every class"
        )
    return ""


def _temperature(pipeline: Pipeline, features: Array, labels: np.ndarray) -> float | None:
    """What decision values must be divided by to be as confident as right on clouds held out.

    The mean of the largest probability is made the share of clouds that are classified rightly. The
    likeliest temperature would be ruled by the one cloud that is farthest on the wrong side. None for too few
    clouds.
    """
    count = rarest_class(labels)[1]
    if count < 3:  # two of each class to learn from, one to look at
        return None
    folds = StratifiedKFold(min(_CALIBRATION, count), shuffle=True, random_state=0)
    values = cross_val_predict(clone(pipeline), features, labels, cv=folds, method="decision_function")
    values = np.stack([0.0 * values, values], axis=1) if values.ndim == 1 else values
    right = values.argmax(axis=1) == np.unique(labels, return_inverse=True)[1]
    wanted = (right.sum() + 0.5) / (len(right) + 1.0)  # never certain

    def excess(log_temperature: float) -> float:
        return float(np.exp(_log_softmax(values / np.exp(log_temperature))).max(axis=1).mean() - wanted)

    low, high = np.log(_TEMPERATURES)
    if excess(low) <= 0.0 or excess(high) >= 0.0:  # confidence falls as the temperature rises
        return _TEMPERATURES[0] if excess(low) <= 0.0 else _TEMPERATURES[1]
    return float(np.exp(brentq(excess, low, high)))


def _log_softmax(values: Array) -> Array:
    shifted = values - values.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


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
