"""`HFSClassifier`: from clouds and labels to predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ._check import Array, as_clouds, check_choice, check_count, check_dtype, check_tol
from ._descriptor import HFSDescriptor
from ._outputs import surely_dense
from ._readout import ROUND_OFF, AnnealedMLP, GapImputer, RoundOffScaler, magnitudes

HEADS = ("mlp", "lda", "svm")


class HFSClassifier(ClassifierMixin, BaseEstimator):
    """Classify point clouds by their heat field descriptors.

    Descriptors are computed in closed form, gaps filled from the training set, features
    standardised (those constant up to round-off silenced, so that rotating a cloud
    never changes its class), and read out by a small classifier.

    Parameters
    ----------
    variant : "simple", "desc" or "joint"
        See `HFSDescriptor`.
    head : "mlp", "lda", "svm" or "auto"
        The paper's network with hidden layers of 128 and 64, linear discriminants with
        automatic shrinkage, or support vectors with a Gaussian kernel. "auto" tries the
        three by cross-validation on the training set and keeps the best by mean accuracy
        over classes; ``head_`` says which, ``head_scores_`` how well each did.
    epochs : int, optional
        Most passes of the network over the training set; 3000 if not given, as in the
        paper. Training stops when the loss no longer falls.
    random_state : int, optional
        Seed of the network and of the inner folds.
    inner_folds : int
        Folds of head="auto"; fewer where a class has fewer clouds.
    n_scales, c_min, c_max, transition, blocks, method, tol, dtype, n_jobs :
        See `HFSDescriptor`.

    Attributes
    ----------
    classes_ : the labels
    descriptor_ : the fitted `HFSDescriptor`
    readout_ : the scikit-learn pipeline from descriptors to labels
    head_, head_scores_ : the head in use; with "auto", the accuracy of each candidate

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=12, n_points=150)
    >>> model = hf.HFSClassifier("simple", head="lda").fit(clouds[::2], labels[::2])
    >>> model.predict(clouds[1::2]).shape, model.score(clouds[1::2], labels[1::2]) > 0.4
    ((30,), True)
    """

    def __init__(
        self,
        variant: str = "desc",
        *,
        head: str = "mlp",
        epochs: int | None = None,
        random_state: int | None = None,
        inner_folds: int = 5,
        n_scales: int = 8,
        c_min: float = 0.05,
        c_max: float = 0.25,
        transition: str | None = None,
        blocks: Sequence[str] | None = None,
        method: str = "auto",
        tol: float | None = None,
        dtype: str = "float64",
        n_jobs: int | None = 1,
    ) -> None:
        self.variant = variant
        self.head = head
        self.epochs = epochs
        self.random_state = random_state
        self.inner_folds = inner_folds
        self.n_scales = n_scales
        self.c_min = c_min
        self.c_max = c_max
        self.transition = transition
        self.blocks = blocks
        self.method = method
        self.tol = tol
        self.dtype = dtype
        self.n_jobs = n_jobs

    def fit(self, clouds: Sequence[ArrayLike], y: Sequence[Any]) -> HFSClassifier:
        """Learn from a list of clouds and their labels."""
        checked = as_clouds(clouds)
        if len(y) != len(checked):
            raise ValueError(f"y has {len(y)} labels for {len(checked)} clouds")
        self.descriptor_ = self._descriptor()
        features = self.descriptor_.fit_transform(checked)
        dense = all(surely_dense(self.method, *cloud.shape) for cloud in checked)
        return self._fit_readout(features, y, dense)

    def fit_features(self, features: Array, y: Sequence[Any], *, n_dims: int) -> HFSClassifier:
        """Learn from descriptors that were computed before, by `HFSDescriptor` with the same settings.

        Spares computing them again for every split of a comparison; ``n_dims`` is the
        dimension of the points.
        """
        self.descriptor_ = self._descriptor()
        self.descriptor_.n_dims_ = check_count(n_dims, "n_dims", 1)
        width = self.descriptor_.layout().width
        if np.ndim(features) != 2 or np.shape(features)[1] != width:
            raise ValueError(
                f"features must have shape (N, {width}) for variant={self.variant!r} in {n_dims} dimensions, "
                f"got {np.shape(features)}"
            )
        return self._fit_readout(features, y, self.method != "fast")

    def _descriptor(self) -> HFSDescriptor:
        return HFSDescriptor(
            self.variant,
            n_scales=self.n_scales,
            c_min=self.c_min,
            c_max=self.c_max,
            transition=self.transition,
            blocks=self.blocks,
            method=self.method,
            tol=self.tol,
            dtype=self.dtype,
            n_jobs=self.n_jobs,
        )

    def _fit_readout(self, features: Array, y: Sequence[Any], dense: bool) -> HFSClassifier:
        check_choice(self.head, "head", (*HEADS, "auto"))
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        if len(np.unique(labels)) < 2:
            raise ValueError(f"y must hold at least two classes, got only {np.unique(labels).tolist()}")
        heads = HEADS if self.head == "auto" else (self.head,)
        candidates = {head: self._pipeline(head, dense) for head in heads}
        self.head_scores_: dict[str, float] = {}
        if self.head == "auto":
            folds = self._inner_folds(labels)
            for head, pipeline in candidates.items():
                scores = cross_val_score(pipeline, features, labels, cv=folds, scoring="balanced_accuracy")
                self.head_scores_[head] = float(scores.mean())
            self.head_ = max(self.head_scores_, key=self.head_scores_.__getitem__)
        else:
            self.head_ = self.head
        self.readout_ = clone(candidates[self.head_]).fit(features, labels)
        self.classes_ = self.readout_.classes_
        return self

    def predict(self, clouds: Sequence[ArrayLike]) -> np.ndarray:
        """The label of each cloud."""
        check_is_fitted(self)
        return self.readout_.predict(self.descriptor_.transform(clouds))

    def predict_proba(self, clouds: Sequence[ArrayLike]) -> Array:
        """Probabilities (N, classes), columns as in ``classes_``.

        Support vectors have no probabilities of their own: theirs are the softmax of the
        one-against-rest decision values, ordered like the predictions but not calibrated.
        """
        check_is_fitted(self)
        features = self.descriptor_.transform(clouds)
        if self.head_ != "svm":
            return self.readout_.predict_proba(features)
        values = self.readout_.decision_function(features)
        values = np.stack([-values, values], axis=1) if values.ndim == 1 else values
        shifted = np.exp(values - values.max(axis=1, keepdims=True))
        return shifted / shifted.sum(axis=1, keepdims=True)

    def _pipeline(self, head: str, dense: bool) -> Pipeline:
        if head == "mlp":
            most = 3000 if self.epochs is None else check_count(self.epochs, "epochs", 1)
            model: Any = AnnealedMLP((128, 64), alpha=1.0, max_iter=most, random_state=self.random_state)
        elif head == "lda":
            model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        else:
            model = SVC(C=10.0, break_ties=True, random_state=self.random_state)
        precision = check_dtype(self.dtype)
        # What the fast path leaves open is no signal either.
        noise = ROUND_OFF[precision] if dense else 100.0 * check_tol(self.tol, precision)
        scaler = RoundOffScaler(noise, magnitudes(self.descriptor_.layout()))
        return make_pipeline(GapImputer(), scaler, model)

    def _inner_folds(self, labels: np.ndarray) -> StratifiedKFold:
        values, counts = np.unique(labels, return_counts=True)
        if counts.min() < 2:
            rare = values[counts.argmin()].item()
            raise ValueError(
                f"head='auto' needs at least 2 clouds a class, but class {rare!r} has 1; choose a head"
            )
        folds = min(check_count(self.inner_folds, "inner_folds", 2), int(counts.min()))
        return StratifiedKFold(folds, shuffle=True, random_state=self.random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags
