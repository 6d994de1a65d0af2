"""What the classifiers by vectors of multiparameter persistence share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._base.check import Array, as_clouds, thread_count
from .._base.threads import pieces, run_pieces
from .._classifier.input_range import InputRange
from .._classifier.labels import checked_labels
from ._bifiltration import Bifiltration
from ._boosted_trees import boosting_options, grow
from ._frame import check_frame, fit_frame

# More would be a slip: every cloud has so many, and the trees look at each.
MOST_FEATURES = 1_000_000


def checked_training(clouds: Any, y: Any) -> tuple[list[Array], NDArray]:
    """Clouds and as many labels, or a ValueError."""
    checked = as_clouds(clouds)
    if not hasattr(y, "__len__"):
        raise ValueError(f"y must be a label for each cloud, got {y!r}")
    if len(y) != len(checked):
        raise ValueError(f"y has {len(y)} labels for {len(checked)} clouds")
    return checked, checked_labels(y)


@contextmanager
def named(i: int) -> Iterator[None]:
    """Errors of the work on one cloud say which."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"clouds[{i}] {error}") from None


def forget(model: Any) -> None:
    """Nothing of an earlier fit stays."""
    for name in [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]:
        delattr(model, name)


def expected_clouds(model: Any, clouds: Any) -> list[Array]:
    """New clouds, checked, with a warning where they are unlike those of the training."""
    check_is_fitted(model, "classes_")
    checked = as_clouds(clouds)
    if checked[0].shape[1] != model.frame_.n_dims:
        raise ValueError(
            f"clouds[0] has {checked[0].shape[1]} coordinates a point, "
            f"but {type(model).__name__} was fitted on {model.frame_.n_dims}"
        )
    model.input_range_.warn(checked)
    return checked


def check_width(model: Any) -> int:
    """The number of features, if a table of them can be held at all."""
    width: int = model._width()
    if width > MOST_FEATURES:
        raise ValueError(
            f"the options make {width} features per cloud, at most {MOST_FEATURES}: lower resolution"
        )
    return width


def check_share(value: Any, name: str) -> float:
    """A positive number, in units of the box."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
    return float(value)


class PersistenceClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Bifiltration of a cloud -> vector (a subclass says which) -> gradient-boosted trees."""

    def _width(self) -> int:
        """How many features there are; a ValueError where the options of the vector are wrong."""
        raise NotImplementedError

    def _vector(self, complex_: Bifiltration) -> Array:
        """The features of one bifiltration, whose values run from 0 to 1."""
        raise NotImplementedError

    def fit(self, clouds: Sequence[ArrayLike], y: Sequence[Any]) -> Self:
        """Learn from a list of clouds and their labels."""
        self._fit(clouds, y)
        return self

    def fit_transform(self, clouds: Sequence[ArrayLike], y: Sequence[Any]) -> Array:
        """As `fit`, but returns the features of the clouds."""
        return self._fit(clouds, y)

    def _fit(self, clouds: Any, y: Any) -> Array:
        checked, labels = checked_training(clouds, y)
        forget(self)
        options = boosting_options(self)  # what is wrong is said before the long work
        check_frame(self, checked[0].shape[1])
        check_width(self)
        threads = thread_count(self.n_jobs)
        self.frame_ = fit_frame(self, checked, threads, self._bar())
        features = self._vectors(checked)
        classes, positions = np.unique(labels, return_inverse=True)
        self.trees_ = grow(features, positions.astype(np.int64), len(classes), options, threads)
        self.input_range_ = InputRange.of(checked)
        self.n_features_out_ = features.shape[1]
        self.classes_ = classes
        return features

    def transform(self, clouds: Sequence[ArrayLike]) -> Array:
        """The features of each cloud, (N, features), on the grid that was fixed by `fit`."""
        return self._vectors(expected_clouds(self, clouds))

    def predict_proba(self, clouds: Sequence[ArrayLike]) -> Array:
        """Probabilities (N, classes), columns as in ``classes_``."""
        features = self._vectors(expected_clouds(self, clouds))
        return self.trees_.probabilities(features)

    def predict(self, clouds: Sequence[ArrayLike]) -> NDArray:
        """The label of each cloud."""
        return self.classes_[self.predict_proba(clouds).argmax(axis=1)]

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to a folder: numbers as safetensors, the rest as JSON.

        ``notes`` is anything that JSON can hold; `load` gives it back as ``notes_``.
        """
        from ._saved_persistence import save_boosted

        check_is_fitted(self, "classes_")
        save_boosted(self, folder, notes or {})

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """A model that `save` wrote. No code is run; a changed or mismatched file is a ValueError."""
        from ._saved_persistence import load_boosted

        return load_boosted(cls, folder)

    def _bar(self) -> str | None:
        return None if self.progress is False else "clouds"

    def _vectors(self, clouds: list[Array]) -> Array:
        rows: list[Array] = [np.zeros(0)] * len(clouds)

        def work(first: int, last: int) -> None:
            for i in range(first, last):
                with named(i):
                    rows[i] = self._vector(self.frame_.bifiltration(clouds[i]))

        run_pieces(work, pieces(len(clouds), 1), thread_count(self.n_jobs), self._bar())
        return np.stack(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags
