"""What all baselines share as classifiers: options, checks, prediction, saved models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from heatfield._base.check import Array, as_clouds
from heatfield._classifier.labels import checked_training
from heatfield._features.cloud_input import CloudEstimator, check_same_dims

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def options(kind: type[T]) -> type[T]:
    """Decorate an estimator: its annotated class attributes, after those of its bases, are its parameters.

    The constructor has them all by name and only stores them, as scikit-learn asks for, so an option that
    several estimators have is declared once, in their base class. Comparing and printing stay with
    scikit-learn.
    """
    return dataclass(kw_only=True, eq=False, repr=False)(kind)


class BaselineClassifier(ClassifierMixin, CloudEstimator):
    """A scikit-learn classifier over lists of clouds that can be saved.

    A subclass learns (`_learn`), says what it was fitted on (`_fitted_dims`) and predicts (`_probabilities`).
    Its fitted attributes, apart from ``classes_`` and ``notes_``, go into files by the module ``_saved_by``.
    """

    # A module of this package with `pack` and `unpack`; it is imported when a model is saved or loaded.
    _saved_by: ClassVar[str]

    def _learn(self, clouds: list[Array], labels: np.ndarray) -> Any:
        """Learn from clouds and labels that were checked; sets ``classes_`` last."""
        raise NotImplementedError

    def _fitted_dims(self) -> int:
        """The dimension of the points of the training clouds."""
        raise NotImplementedError

    def _probabilities(self, clouds: list[Array]) -> Array:
        """Of clouds that were checked (N, classes)."""
        raise NotImplementedError

    def fit(self, clouds: Sequence[ArrayLike], y: Sequence[Any]) -> Self:
        """Learn from a list of clouds and their labels.

        Parameters
        ----------
        clouds : list of N arrays (m_i, n)
        y : sequence
            Their labels.

        Returns
        -------
        self

        Examples
        --------
        >>> import heatfield as hf
        >>> import heatfield_bench as hb
        >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=3, n_points=50)
        >>> hb.baselines.DescriptorClassifier("WKS", head="lda").fit(clouds, labels).classes_.tolist()
        [0, 1, 2, 3, 4]
        """
        checked, labels = checked_training(clouds, y)
        self._forget()
        self._learn(checked, labels)
        return self

    def predict(self, clouds: Sequence[ArrayLike]) -> np.ndarray:
        """The label of each cloud.

        Parameters
        ----------
        clouds : list of N arrays (m_i, n)

        Returns
        -------
        labels : array (N,)

        Examples
        --------
        >>> import heatfield as hf
        >>> import heatfield_bench as hb
        >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=3, n_points=50)
        >>> hb.baselines.DescriptorClassifier("HKS", head="svm").fit(clouds, labels).predict(clouds[:4]).shape
        (4,)
        """
        probabilities = self.predict_proba(clouds)
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, clouds: Sequence[ArrayLike]) -> Array:
        """Probabilities (N, classes), columns as in ``classes_``.

        Parameters
        ----------
        clouds : list of N arrays (m_i, n)

        Returns
        -------
        probabilities : array (N, classes)

        Examples
        --------
        >>> import heatfield as hf
        >>> import heatfield_bench as hb
        >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=3, n_points=50)
        >>> model = hb.baselines.DescriptorClassifier("HKS", head="lda").fit(clouds, labels)
        >>> model.predict_proba(clouds[:4]).sum(axis=1).round(6).tolist()
        [1.0, 1.0, 1.0, 1.0]
        """
        return self._probabilities(self._expected(clouds))

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to a folder: numbers as safetensors, the rest as JSON.

        ``notes`` is anything that JSON can hold; `load` gives it back as ``notes_``.

        Parameters
        ----------
        folder : str or Path
        notes : mapping, optional
            Anything that JSON can hold, kept as ``notes_``.

        Examples
        --------
        >>> import tempfile, heatfield as hf
        >>> import heatfield_bench as hb
        >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=4, n_points=60)
        >>> model = hb.baselines.DescriptorClassifier("LocalCovariance", head="lda").fit(clouds, labels)
        >>> with tempfile.TemporaryDirectory() as place:
        ...     model.save(f"{place}/orbits")
        ...     again = hb.baselines.DescriptorClassifier.load(f"{place}/orbits")
        >>> bool((again.predict_proba(clouds) == model.predict_proba(clouds)).all())
        True
        """
        from ._saved import save_baseline

        check_is_fitted(self, "classes_")
        save_baseline(self, folder, notes or {})

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """A model that `save` wrote. No code is run; a changed or mismatched file is a ValueError.

        Parameters
        ----------
        folder : str or Path

        Returns
        -------
        model

        Examples
        --------
        >>> import heatfield_bench as hb
        >>> hb.baselines.DescriptorClassifier.load("no such folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: there is no model at 'no such folder': ...
        """
        return cls._load(folder)

    @classmethod
    def _load(cls, folder: str | Path, **here: Any) -> Self:
        from ._saved import load_baseline

        return load_baseline(cls, folder, here)

    def _expected(self, clouds: Sequence[ArrayLike]) -> list[Array]:
        """New clouds, checked, with a warning where they are unlike those of the training."""
        check_is_fitted(self, "classes_")
        checked = as_clouds(clouds)
        check_same_dims(checked, self._fitted_dims(), type(self).__name__)
        known = getattr(self, "input_range_", None)
        if known is not None:
            known.warn(checked)
        return checked


class OnDevice:
    """A classifier with a network, which can be loaded to another device than that of its training."""

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        """A model that `save` wrote. No code is run; a changed or mismatched file is a ValueError.

        Parameters
        ----------
        folder : str or Path
        device : str
            Where the network shall be: "cpu", "cuda", ...; "auto" is a GPU if there is one.

        Returns
        -------
        model

        Examples
        --------
        >>> import tempfile, heatfield as hf
        >>> import heatfield_bench as hb
        >>> clouds, labels = hf.datasets.make_four_shapes(n_per_class=2, n_points=32)
        >>> model = hb.baselines.PointTransformer(epochs=1, random_state=0).fit(clouds, labels)
        >>> with tempfile.TemporaryDirectory() as place:
        ...     model.save(f"{place}/shapes")
        ...     hb.baselines.PointTransformer.load(f"{place}/shapes", device="cpu").classes_.tolist()
        [0, 1, 2, 3]
        """
        return cls._load(folder, device=device)  # type: ignore[attr-defined]
