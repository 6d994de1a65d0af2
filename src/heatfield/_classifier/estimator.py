"""What `HFSClassifier` does: learn from clouds or their features, predict, be saved and loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._base.check import Array, as_clouds, check_choice, check_count
from .._features.cloud_input import CloudEstimator
from .._features.layout import VARIANT_BLOCKS
from . import closed_form, learned
from .input_range import InputRange
from .labels import Labels, checked_labels, checked_training
from .learned import LEARNED, LearningPlan
from .training_options import refuse_learned_options

if TYPE_CHECKING:
    from .._features.point_table import PointTable


class CloudClassifier(ClassifierMixin, CloudEstimator):
    """The methods of `HFSClassifier`, which adds the options."""

    def fit(self, clouds: Sequence[ArrayLike], y: Labels) -> Self:
        """Learn from clouds and their labels.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)
        y : sequence of N labels

        Returns
        -------
        self : HFSClassifier
        """
        checked, labels = checked_training(clouds, y)
        self._forget()
        plan = self._check_settings(labels, checked[0].shape[1])  # errors are raised before the long work
        if plan is not None:
            table = learned.table_of(self, checked, plan.learner.recipe, cache=self.cache)
            learned.fit(self, table, plan)
        else:
            closed_form.fit(self, checked, labels)
        self.input_range_ = InputRange.of(checked)
        return self

    def fit_features(self, features: Any, y: Labels, *, n_dims: int) -> Self:
        """Learn from features that were computed before, with the same settings.

        Spares computing them again for every split of a comparison.

        Parameters
        ----------
        features : (N, columns) array, or PointTable
            By `HFSDescriptor`, or for a learned variant by `point_table`.
        y : sequence of N labels
        n_dims : int
            The dimension of the points.

        Returns
        -------
        self : HFSClassifier

        Examples
        --------
        >>> import heatfield as hf
        >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=4, n_points=60)
        >>> features = hf.HFSDescriptor("desc", n_scales=4).fit_transform(clouds)
        >>> hf.HFSClassifier("desc", n_scales=4, head="svm").fit_features(features, labels, n_dims=2).n_dims_
        2
        """
        self._forget()
        n = check_count(n_dims, "n_dims", 1)
        if self._is_learned():
            learned.fit_features(self, features, y, n)
        else:
            closed_form.fit_features(self, features, checked_labels(y), n)
        return self

    def predict(self, clouds: Sequence[ArrayLike]) -> np.ndarray:
        """The label of each cloud.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)

        Returns
        -------
        labels : (N,)
        """
        return self.predict_features(self._features_of(clouds))

    def predict_proba(self, clouds: Sequence[ArrayLike]) -> Array:
        """The probability of each class for each cloud.

        They are ordered like the predictions. Those of linear discriminants ("lda") are calibrated: decision
        values are divided by a temperature that was found on held-out training clouds, where every class has
        three or more. Support vectors have no probabilities of their own: theirs are the softmax of the
        one-against-rest decision values, and not calibrated; nor are those of the networks.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)

        Returns
        -------
        probabilities : (N, classes)
            Columns as in ``classes_``.
        """
        return self.predict_proba_features(self._features_of(clouds))

    def predict_features(self, features: Any) -> np.ndarray:
        """`predict` from features that were computed before, as `fit_features` takes them.

        Parameters
        ----------
        features : (N, columns) array, or PointTable

        Returns
        -------
        labels : (N,)

        Examples
        --------
        >>> import heatfield as hf
        >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=4, n_points=60)
        >>> features = hf.HFSDescriptor("simple").fit_transform(clouds)
        >>> model = hf.HFSClassifier("simple", head="lda").fit_features(features, labels, n_dims=2)
        >>> bool((model.predict_features(features) == model.predict(clouds)).all())
        True
        """
        return self._fitted_module(features).predict(self, features)

    def predict_proba_features(self, features: Any) -> Array:
        """`predict_proba` from features that were computed before, as `fit_features` takes them.

        Parameters
        ----------
        features : (N, columns) array, or PointTable

        Returns
        -------
        probabilities : (N, classes)

        Examples
        --------
        >>> import heatfield as hf
        >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=4, n_points=60)
        >>> rows = hf.HFSDescriptor("simple").fit_transform(clouds)  # once, for all splits
        >>> model = hf.HFSClassifier("simple", head="lda").fit_features(rows[::2], labels[::2], n_dims=2)
        >>> model.predict_proba_features(rows[1::2]).shape
        (10, 5)
        """
        return self._fitted_module(features).probabilities(self, features)

    def point_table(self, clouds: Sequence[ArrayLike], *, cache: str | Path | None = None) -> PointTable:
        """Features of all points, as a learned variant needs them.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)
        cache : path-like, optional
            A folder that keeps the table.

        Returns
        -------
        table : PointTable
            Its method ``take`` chooses clouds.

        Examples
        --------
        >>> import numpy as np, heatfield as hf
        >>> clouds = [np.random.default_rng(i).normal(size=(m, 3)) for i, m in enumerate((20, 30))]
        >>> table = hf.HFSClassifier("full").point_table(clouds)
        >>> table.starts.tolist(), table.take([1]).starts.tolist()
        ([0, 20, 50], [0, 30])
        """
        checked = as_clouds(clouds)
        return learned.table_of(self, checked, learned.point_recipe(self, checked[0].shape[1]), cache=cache)

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to a folder: numbers as safetensors, the rest as JSON.

        Parameters
        ----------
        folder : path-like
        notes : mapping, optional
            Anything that JSON can hold; `load` gives it back as ``notes_``.

        Examples
        --------
        >>> import tempfile, heatfield as hf
        >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=4, n_points=60)
        >>> model = hf.HFSClassifier("simple", head="lda", n_scales=4).fit(clouds, labels)
        >>> with tempfile.TemporaryDirectory() as place:
        ...     model.save(f"{place}/orbits")
        ...     again = hf.HFSClassifier.load(f"{place}/orbits")
        >>> bool((again.predict_proba(clouds) == model.predict_proba(clouds)).all())
        True
        """
        from .saving.classifier import save_classifier

        check_is_fitted(self, "classes_")
        save_classifier(self, folder, notes or {})

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        """A model that `save` wrote. No code is run; a changed or mismatched file is a ValueError.

        Parameters
        ----------
        folder : path-like
        device : str
            Of a learned variant.

        Returns
        -------
        model : HFSClassifier

        Examples
        --------
        >>> import heatfield as hf
        >>> hf.HFSClassifier.load("no such folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: there is no model at 'no such folder': ...
        """
        from .saving.classifier import load_classifier

        return load_classifier(cls, folder, device)

    @property
    def n_dims_(self) -> int:
        """The dimension of the points that the classifier was fitted on."""
        learner = getattr(self, "learner_", None)
        return learner.recipe.n_dims if learner is not None else self.descriptor_.n_dims_

    def _is_learned(self) -> bool:
        check_choice(self.variant, "variant", (*VARIANT_BLOCKS, *LEARNED))
        if self.variant not in LEARNED:
            refuse_learned_options(self)
        return self.variant in LEARNED

    def _check_settings(self, y: Labels, n_dims: int) -> LearningPlan | None:
        """A ValueError where settings do not go together, or not with the labels; nothing is computed."""
        labels = checked_labels(y)
        if self._is_learned():
            return learned.plan_learning(self, learned.point_recipe(self, n_dims), labels)
        closed_form.check(self, n_dims)
        return None

    def _fitted_module(self, features: Any) -> Any:
        """The module of the variant that was fitted, after a check that the features are its own."""
        check_is_fitted(self, "classes_")
        module = learned if hasattr(self, "learner_") else closed_form
        module.check_features(self, features)
        return module

    def _features_of(self, clouds: Sequence[ArrayLike]) -> Any:
        """The features of new clouds.

        Parameters that were set since do not count before the next fit, but for ``n_jobs``.
        """
        check_is_fitted(self, "classes_")
        checked = as_clouds(clouds)
        if getattr(self, "input_range_", None) is not None:
            self.input_range_.warn(checked)
        if hasattr(self, "learner_"):
            return learned.table_of(self, checked, self.learner_.recipe)
        return self.descriptor_._compute(checked, self.n_jobs)
