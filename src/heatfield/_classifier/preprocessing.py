"""From descriptors to labels: gaps filled, features that vary only by round-off set to 0, a network."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.neural_network import MLPClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base.check import Array
from .._features.layout import Layout

# Blocks whose numbers are differences of quantities of order one: their round-off is
# that of 1, however small they are. The others are exact relative to themselves.
_ORDER_ONE_BLOCKS = {"hds", "transition", "spectrum", "gradient", "correlation", "coupling", "neighbourhood"}


def magnitudes(columns: Layout) -> Array:
    """The least magnitude to which a feature's round-off is relative: 1, or 0 where it is its own size."""
    out = np.zeros(columns.width)
    for block, place in columns.columns.items():
        out[place] = 1.0 if block in _ORDER_ONE_BLOCKS else 0.0
    return out


class GapImputer(TransformerMixin, BaseEstimator):
    """Fill what could not be computed with the median of the training set.

    Only the gaps are filled: where one channel of a cloud is undefined, the channels
    and blocks that were computed stay. A feature without any training value becomes 0.
    """

    def fit(self, X: Array, y: Any = None) -> GapImputer:  # noqa: ARG002
        """Learn the medians of the finite values."""
        X = validate_data(self, X, ensure_all_finite=False, dtype=np.float64)
        finite = np.isfinite(X)
        known = finite.any(axis=0)
        self.fill_ = np.zeros(X.shape[1])
        self.fill_[known] = np.nanmedian(np.where(finite, X, np.nan)[:, known], axis=0)
        return self

    def transform(self, X: Array) -> Array:
        """Fill the gaps of X."""
        check_is_fitted(self)
        X = validate_data(self, X, ensure_all_finite=False, dtype=np.float64, reset=False)
        return np.where(np.isfinite(X), X, self.fill_)


class RoundOffScaler(TransformerMixin, BaseEstimator):
    """Standardise, but set to zero what varies only by round-off.

    Plain standardisation divides a nearly constant feature by its tiny standard deviation and
    so turns the last digits, which a rotation of the cloud changes, into a signal.

    Parameters
    ----------
    tolerance : float
        Standard deviation, relative to the feature's magnitude, that counts as round-off.
    magnitude : array_like, optional
        Least magnitude of each feature (see `magnitudes`); its largest training value otherwise.
    """

    def __init__(self, tolerance: float = 1e-9, magnitude: Any = None) -> None:
        self.tolerance = tolerance
        self.magnitude = magnitude

    def fit(self, X: Array, y: Any = None) -> RoundOffScaler:  # noqa: ARG002
        """Learn mean and standard deviation of each feature, and which are constant."""
        X = validate_data(self, X, dtype=np.float64)
        largest = np.abs(X).max(axis=0)
        if self.magnitude is not None:
            largest = np.maximum(largest, np.asarray(self.magnitude))
        self.mean_ = X.mean(axis=0)
        deviation = X.std(axis=0)
        self.constant_ = deviation <= self.tolerance * largest
        self.scale_ = np.where(self.constant_, 1.0, deviation)
        return self

    def transform(self, X: Array) -> Array:
        """Standardise X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.where(self.constant_, 0.0, (X - self.mean_) / self.scale_)


class AnnealedMLP(MLPClassifier):
    """scikit-learn's network, trained to the end twice: at its learning rate, then at a tenth of it.

    The second pass lets the weights converge where the first, with its larger steps,
    oscillates around the minimum. Ctrl-C ends the training with a KeyboardInterrupt.
    """

    def fit(self, X: Array, y: Any) -> AnnealedMLP:
        """Train, then train again at a tenth of the learning rate."""
        asked = {name: getattr(self, name) for name in ("learning_rate_init", "warm_start")}
        try:
            with _interruptible():
                super().fit(X, y)
                self.set_params(learning_rate_init=asked["learning_rate_init"] / 10.0, warm_start=True)
                super().fit(X, y)
        finally:
            self.set_params(**asked)
        return self


# How scikit-learn's warning of an interruption begins.
_INTERRUPTED = "Training interrupted by user"


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C through: scikit-learn's network catches it, warns, and returns half trained.

    The warning is turned into an error, and that into the KeyboardInterrupt that it was. Filters of warnings
    belong to the whole process, so other threads, which Ctrl-C never reaches, leave them alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=_INTERRUPTED, category=UserWarning)
        try:
            yield
        except UserWarning as word:
            if not str(word).startswith(_INTERRUPTED):
                raise
            raise KeyboardInterrupt from None
