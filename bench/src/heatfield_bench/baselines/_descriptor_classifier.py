"""`DescriptorClassifier`: a descriptor of clouds, and the read-out of `HFSClassifier` on top."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from heatfield._base.check import Array, check_choice, check_count
from heatfield._classifier.documented import READOUT, documented
from heatfield._classifier.heads import HEADS, fit_head, head_probabilities
from heatfield._classifier.input_range import InputRange
from heatfield._classifier.labels import labels_for

from ._estimator import BaselineClassifier, options
from ._point_descriptor import PointDescriptor

# Only these are built by name, so that a file can name no other code.
DESCRIPTORS = {"FPFH": "_fpfh", "HKS": "_hks", "WKS": "_wks", "LocalCovariance": "_local_covariance"}


@documented(readout=READOUT)
@options
class DescriptorClassifier(BaselineClassifier):
    """Classify point clouds by a descriptor baseline, with the same read-out as `HFSClassifier`.

    Gaps are filled with the median of the training set, features standardised (those constant up to round-off
    set to 0), and read out by the paper's network with hidden layers of 128 and 64 or another head. So a
    comparison with `HFSClassifier` compares representations, not classifiers. Of the probabilities of
    support vectors see there.

    Guide: ``heatfield docs guide/baselines_descriptors``.

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
    {readout}

    Examples
    --------
    >>> import heatfield as hf
    >>> import heatfield_bench as hb
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=12, n_points=150)
    >>> model = hb.baselines.DescriptorClassifier(hb.baselines.HKS(n_pairs=40), head="lda")
    >>> model.fit(clouds[::2], labels[::2]).score(clouds[1::2], labels[1::2]) > 0.3
    True
    >>> rows = hb.baselines.HKS(n_pairs=40).fit_transform(clouds)  # once, for all splits
    >>> model.fit_features(rows[::2], labels[::2], n_dims=2).predict_features(rows[1::2]).shape
    (30,)
    """

    # What the heads of `HFSClassifier` ask for: features here are exact and in double precision.
    dtype, tol = "float64", None

    _saved_by = "_saved_descriptor"

    # The only one that can be given by position.
    descriptor: str | PointDescriptor = field(default="FPFH", kw_only=False)
    head: str = "mlp"
    epochs: int | None = None
    random_state: int | None = None
    inner_folds: int = 5
    n_jobs: int | None = None

    def _learn(self, clouds: list[Array], labels: np.ndarray) -> None:
        descriptor = self._new_descriptor()
        self._fit(descriptor, descriptor.fit_transform(clouds), labels, InputRange.of(clouds))

    def _fitted_dims(self) -> int:
        return self.descriptor_.n_dims_

    def _probabilities(self, clouds: list[Array]) -> Array:
        return head_probabilities(self.readout_, self.head_, self.descriptor_.transform(clouds))

    def fit_features(self, features: ArrayLike, y: Sequence[Any], *, n_dims: int) -> Self:
        """Learn from descriptors that were computed before, with the same settings.

        Spares computing them again for every split. ``n_dims`` is the dimension of the points.

        Parameters
        ----------
        features : (N, columns)
        y : sequence of N labels
        n_dims : int
            The dimension of the points.

        Returns
        -------
        self : DescriptorClassifier
        """
        descriptor = self._new_descriptor()
        descriptor.n_dims_ = check_count(n_dims, "n_dims", 1)
        table = self._table(features, descriptor)
        labels = labels_for(y, len(table))
        self._forget()
        return self._fit(descriptor, table, labels, None)

    def predict(self, clouds: Sequence[ArrayLike]) -> np.ndarray:
        """The label of each cloud.

        Parameters
        ----------
        clouds : sequence of N clouds

        Returns
        -------
        labels : (N,), of ``classes_``

        Examples
        --------
        >>> import heatfield as hf
        >>> import heatfield_bench as hb
        >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=3, n_points=50)
        >>> model = hb.baselines.DescriptorClassifier("LocalCovariance", head="svm").fit(clouds, labels)
        >>> model.predict(clouds[:3]).shape
        (3,)
        """
        checked = self._expected(clouds)
        return self.readout_.predict(self.descriptor_.transform(checked))

    def predict_features(self, features: ArrayLike) -> np.ndarray:
        """The label of each row of descriptors that were computed before.

        Parameters
        ----------
        features : (N, columns)

        Returns
        -------
        labels : (N,)
        """
        check_is_fitted(self, "classes_")
        return self.readout_.predict(self._table(features, self.descriptor_))

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
    ) -> Self:
        self.descriptor_ = descriptor
        self.head_, self.head_scores_, self.readout_ = fit_head(self, features, labels, dense=True)
        self.classes_, self.input_range_ = self.readout_.classes_, known
        return self


def named_descriptor(name: str, params: Mapping[str, Any] | None = None) -> PointDescriptor:
    """A descriptor of this package by its name."""
    check_choice(name, "descriptor", tuple(DESCRIPTORS))
    kind = getattr(importlib.import_module(f".{DESCRIPTORS[name]}", __package__), name)
    return kind(**(params or {}))
