"""`HFSClassifier`: closed-form descriptors, and a small classifier that reads them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from .._base.check import Array
from ..options import Head, options
from .cloud_model import ClosedFormModel, CloudModel
from .heads import CLASSIFIERS, Readout
from .read_out import WORDS, Candidate, Tables, check_auto, choose_classifier, labels_for


class CloudClassifier(ClassifierMixin, CloudModel):
    """What the classifiers of clouds share."""

    classes_: NDArray[Any]

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

    def predict_proba_features(self, features: Any) -> Array:
        """`predict_proba` from features that were computed before, as `fit_features` takes them.

        Parameters
        ----------
        features : (N, columns) array, or PointTable

        Returns
        -------
        probabilities : (N, classes)
        """
        return self._probabilities(features)

    def uncalibrated(self) -> str:
        """Why the probabilities are no measure of confidence; "" where they are one.

        Returns
        -------
        str
        """
        head = getattr(self, "head_", None)
        if head == "lda":
            if self.readout_.head.temperature is not None:
                return ""
            return (
                "probabilities of this discriminant analysis are not calibrated: "
                "that needs three clouds of every class, and two groups where there are groups"
            )
        kind = "support vectors" if head == "svm" else "networks"
        return f"probabilities of {kind} are not calibrated: they rank classes, no more"

    def _probabilities(self, features: Any) -> Array:
        raise NotImplementedError

    def _predicted(self, features: Any) -> NDArray[Any]:
        positions = self._probabilities(features).argmax(axis=1)
        return self.classes_[positions]

    def _target(self, y: Any, count: int) -> NDArray[Any]:
        return labels_for(y, count)


@options
class HFSClassifier(CloudClassifier, ClosedFormModel, Head):
    """Classify point clouds by their heat field signatures, in closed form.

    Gaps are filled from the training set and features normalised (those constant up to round-off set to 0,
    so that rotating a cloud never changes its class). `HFSNetworkClassifier` learns the pooling instead.

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    {options}

    Attributes
    ----------
    classes_ : the labels
    n_dims_ : the dimension of the points
    n_clouds_ : how many clouds it was fitted on
    descriptor_ : the fitted `HFSDescriptor`, of the variant that was chosen
    head_, normalise_ : the head in use, and how its features are normalised
    head_scores_ : with "auto", the mean accuracy over classes of each candidate, such as "joint lda rank"
    readout_ : from descriptors to classes, as plain arrays

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=12, n_points=300)
    >>> model = hf.HFSClassifier("simple", head="svm").fit(clouds[::2], labels[::2])
    >>> model.predict(clouds[1::2]).shape, model.score(clouds[1::2], labels[1::2]) > 0.4
    ((30,), True)
    >>> model.predict_proba(clouds[:2]).shape, model.unlike(clouds), model.uncalibrated() != ""
    ((2, 5), {}, True)
    >>> rows = hf.describe(clouds, "simple")  # once, for all splits
    >>> again = hf.HFSClassifier("simple", head="svm").fit_features(rows[::2], labels[::2], n_dims=2)
    >>> bool((again.predict_features(rows) == model.predict(clouds)).all()), again.choice()
    (True, '')
    >>> again.predict_proba_features(rows[1::2]).shape, again.descriptor_options()["n_scales"]
    ((30, 5), 8)
    """

    _kinds, _words, _least_score = CLASSIFIERS, WORDS, 0.0
    _scored_by = "mean accuracy over classes"

    def _choose(
        self, tables: Tables, target: NDArray[Any], groups: NDArray[Any] | None
    ) -> tuple[Candidate, dict[str, float], Readout]:
        self.classes_ = np.unique(target)
        return choose_classifier(self, tables, target, groups)

    def _check_settings(self, target: NDArray[Any], n_dims: int, groups: NDArray[Any] | None) -> None:
        self._descriptor(n_dims)
        check_auto(self, target, groups)

    def _probabilities(self, features: Any) -> Array:
        rows = self._checked_features(features)
        return self.readout_.probabilities(rows)

    def _predicted(self, features: Any) -> NDArray[Any]:
        rows = self._checked_features(features)
        return self.classes_[self.readout_.predict(rows)]

    def _score_words(self, score: float) -> str:
        return f"{100 * score:.1f} %"
