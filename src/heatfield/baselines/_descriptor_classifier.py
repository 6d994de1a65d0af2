"""`DescriptorClassifier`: a descriptor of clouds, and the read-out of `HFSClassifier` on top."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._base.check import Array, as_clouds, check_choice, check_count
from .._classifier.heads import HEADS, fit_head, head_probabilities
from .._classifier.input_range import InputRange
from .._classifier.labels import checked_labels
from ._point_descriptor import PointDescriptor

# Only these are built by name, so that a file can name no other code.
DESCRIPTORS = {"FPFH": "_fpfh", "HKS": "_hks", "WKS": "_wks", "LocalCovariance": "_local_covariance"}


class DescriptorClassifier(ClassifierMixin, BaseEstimator):
    """Classify point clouds by a descriptor baseline, with the same read-out as `HFSClassifier`.

    Gaps are filled with the median of the training set, features standardised (those constant up to round-off
    set to 0), and read out by the paper's network with hidden layers of 128 and 64 or another head. So a
    comparison with `HFSClassifier` compares representations, not classifiers.

    Parameters
    ----------
    descriptor : str or estimator
        "FPFH", "HKS", "WKS" or "LocalCovariance" with their defaults, or such an estimator with its
        own settings.
    head : "mlp", "lda", "svm" or "auto"
        See `HFSClassifier`.
    epochs, random_state, inner_folds :
        See `HFSClassifier`: most passes of the network (3000), its seed, folds of head="auto".
    n_jobs : int, optional
        Threads over the clouds; the descriptor's own ``n_jobs`` where not given.

    Attributes
    ----------
    classes_ : the labels
    descriptor_ : the fitted descriptor
    readout_ : the scikit-learn pipeline from descriptors to labels
    head_, head_scores_ : the head in use; with "auto", the accuracy of each candidate

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=12, n_points=150)
    >>> model = hf.baselines.DescriptorClassifier(hf.baselines.HKS(n_pairs=40), head="lda")
    >>> model.fit(clouds[::2], labels[::2]).score(clouds[1::2], labels[1::2]) > 0.3
    True
    """

    # What the heads of `HFSClassifier` ask for: features here are exact and in double precision.
    dtype, tol = "float64", None

    def __init__(
        self,
        descriptor: str | PointDescriptor = "FPFH",
        *,
        head: str = "mlp",
        epochs: int | None = None,
        random_state: int | None = None,
        inner_folds: int = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.descriptor = descriptor
        self.head = head
        self.epochs = epochs
        self.random_state = random_state
        self.inner_folds = inner_folds
        self.n_jobs = n_jobs

    def fit(self, clouds: Sequence[ArrayLike], y: Sequence[Any]) -> DescriptorClassifier:
        """Learn from a list of clouds and their labels."""
        checked = as_clouds(clouds)
        descriptor = self._new_descriptor()
        labels = self._labels(y, len(checked))  # what is wrong is said before the long work
        return self._fit(descriptor, descriptor.fit_transform(checked), labels, InputRange.of(checked))

    def fit_features(self, features: ArrayLike, y: Sequence[Any], *, n_dims: int) -> DescriptorClassifier:
        """Learn from descriptors that were computed before, with the same settings.

        Spares computing them again for every split. ``n_dims`` is the dimension of the points.
        """
        descriptor = self._new_descriptor()
        descriptor.n_dims_ = check_count(n_dims, "n_dims", 1)
        table = self._table(features, descriptor)
        return self._fit(descriptor, table, self._labels(y, len(table)), None)

    def predict(self, clouds: Sequence[ArrayLike]) -> np.ndarray:
        """The label of each cloud."""
        check_is_fitted(self, "classes_")
        return self.readout_.predict(self._described(clouds))

    def predict_proba(self, clouds: Sequence[ArrayLike]) -> Array:
        """Probabilities (N, classes), columns as in ``classes_``; of support vectors see `HFSClassifier`."""
        check_is_fitted(self, "classes_")
        return head_probabilities(self.readout_, self.head_, self._described(clouds))

    def predict_features(self, features: ArrayLike) -> np.ndarray:
        """The label of each row of descriptors that were computed before."""
        check_is_fitted(self, "classes_")
        return self.readout_.predict(self._table(features, self.descriptor_))

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to a folder: numbers as safetensors, the rest as JSON.

        ``notes`` is anything that JSON can hold; `load` gives it back as ``notes_``.

        Examples
        --------
        >>> import tempfile, heatfield as hf
        >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=4, n_points=60)
        >>> model = hf.baselines.DescriptorClassifier("LocalCovariance", head="lda").fit(clouds, labels)
        >>> with tempfile.TemporaryDirectory() as place:
        ...     model.save(f"{place}/orbits")
        ...     again = hf.baselines.DescriptorClassifier.load(f"{place}/orbits")
        >>> bool((again.predict_proba(clouds) == model.predict_proba(clouds)).all())
        True
        """
        from ._saved_descriptor import save_descriptor_classifier

        check_is_fitted(self, "classes_")
        save_descriptor_classifier(self, folder, notes or {})

    @classmethod
    def load(cls, folder: str | Path) -> DescriptorClassifier:
        """A model that `save` wrote. No code is run; a changed or mismatched file is a ValueError."""
        from ._saved_descriptor import load_descriptor_classifier

        return load_descriptor_classifier(cls, folder)

    def _new_descriptor(self) -> PointDescriptor:
        """An unfitted descriptor, settings checked."""
        check_choice(self.head, "head", (*HEADS, "auto"))
        if isinstance(self.descriptor, PointDescriptor):
            descriptor = clone(self.descriptor)
        elif isinstance(self.descriptor, str):
            descriptor = named_descriptor(self.descriptor)
        else:
            raise ValueError(
                f"descriptor must be one of {', '.join(map(repr, DESCRIPTORS))} or such an estimator, "
                f"got {self.descriptor!r}"
            )
        if self.n_jobs is not None:
            descriptor.set_params(n_jobs=self.n_jobs)
        return descriptor

    def _labels(self, y: Any, count: int) -> np.ndarray:
        if not hasattr(y, "__len__"):
            raise ValueError(f"y must be a label for each cloud, got {y!r}")
        if len(y) != count:
            raise ValueError(f"y has {len(y)} labels for {count} clouds")
        return checked_labels(y)

    def _table(self, features: ArrayLike, descriptor: PointDescriptor) -> Array:
        width = descriptor.n_columns()
        if np.ndim(features) != 2 or np.shape(features)[1] != width:
            raise ValueError(
                f"features must have shape (N, {width}) for {type(descriptor).__name__}, "
                f"got {np.shape(features)}"
            )
        return np.asarray(features, dtype=np.float64)

    def _fit(
        self, descriptor: PointDescriptor, features: Array, labels: np.ndarray, known: InputRange | None
    ) -> DescriptorClassifier:
        self.descriptor_ = descriptor
        self.head_, self.head_scores_, self.readout_ = fit_head(self, features, labels, dense=True)
        self.classes_, self.input_range_ = self.readout_.classes_, known
        return self

    def _described(self, clouds: Sequence[ArrayLike]) -> Array:
        """Descriptors of clouds, with a warning where these are unlike those of the training."""
        checked = as_clouds(clouds)
        if self.input_range_ is not None:
            self.input_range_.warn(checked)
        return self.descriptor_.transform(checked)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags


def named_descriptor(name: str, params: Mapping[str, Any] | None = None) -> PointDescriptor:
    """A descriptor of this package by its name."""
    check_choice(name, "descriptor", tuple(DESCRIPTORS))
    kind = getattr(importlib.import_module(f".{DESCRIPTORS[name]}", __package__), name)
    return kind(**(params or {}))
