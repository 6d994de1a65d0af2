"""`HFSClassifier`: from clouds and labels to predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._base.check import Array, as_clouds, check_choice, check_count
from .._features.descriptor import HFSDescriptor
from .._features.layout import VARIANT_BLOCKS
from .._sums.choose import surely_dense
from .heads import HEADS, fit_head, head_probabilities
from .input_range import InputRange
from .labels import checked_labels
from .training_options import LEARNED, LearningPlan, plan_learning, point_recipe, refuse_learned_options

if TYPE_CHECKING:
    from .._features.point_table import PointTable


class HFSClassifier(ClassifierMixin, BaseEstimator):
    """Classify point clouds by their heat field signatures.

    Signatures are computed in closed form, gaps filled from the training set, features
    standardised (those constant up to round-off silenced, so that rotating a cloud
    never changes its class). The closed-form variants pool them by fixed statistics and read
    them out by a small classifier; "full" and "dgcnn" learn the pooling (and need torch).

    Parameters
    ----------
    variant : "simple", "desc", "joint", "full" or "dgcnn"
        The first three: see `HFSDescriptor`. "full" is the paper's HFS-full, a network over the points
        pooled by mean and maximum (`heatfield.nn.HFSFull`); "dgcnn" its HFS+DGCNN, DGCNN on coordinates and
        point features (`heatfield.nn.HFSDGCNN`), which is not invariant under rotation.
    head : "mlp", "lda", "svm" or "auto"
        Of the closed-form variants.
        The paper's network with hidden layers of 128 and 64, linear discriminants with
        automatic shrinkage, or support vectors with a Gaussian kernel. "auto" tries the
        three by cross-validation on the training set and keeps the best by mean accuracy
        over classes; ``head_`` says which, ``head_scores_`` how well each did.
    epochs : int, optional
        Most passes of the network over the training set; 3000 if not given, as in the
        paper, where training stops when the loss no longer falls. With a learned variant
        all of them, 250 if not given.
    random_state : int, optional
        Seed of the network, its batches and the inner folds. On one thread the result is the same
        to the bit.
    inner_folds : int
        Folds of head="auto"; fewer where a class has fewer clouds.
    n_scales, c_min, c_max, transition, blocks, method, tol, dtype, n_jobs :
        See `HFSDescriptor`. ``blocks`` of the learned variants are "global", "log_global" and "hds" for
        the cloud, and "density", "log_density", "dimension", "transition", "spectrum", "gradient" and
        "neighbourhood" for each point; the default is the paper's (no logarithms, none of the last two).
    network : dict, optional
        Parts of the network that shall differ, by the names of `heatfield.nn.HFSFull` or `HFSDGCNN`.
    batch_size, optimizer, learning_rate, final_rate, weight_decay, label_smoothing : optional
        Of the training. Default of "full": 32, "adam", 1e-3 and by a cosine down to 0, 0, 0; of "dgcnn": 32,
        "sgd" (with momentum 0.9), 0.1 down to 1e-3, 1e-4, 0.2. Smoothing is the share of all wrong classes
        together.
    augment : bool, optional
        Of "dgcnn": stretch and move each cloud anew in every epoch, as its authors do; the default.
    class_weight : "balanced" or dict, optional
        Weight of each class in the loss.
    validation : float, optional
        Share of every class that only watches; its loss and accuracy are in ``history_``.
    patience : int, optional
        Stop after so many epochs without a better loss there, and keep the best weights.
    train_points : int, optional
        In training, draw so many points of each cloud anew for every epoch. The features still come from
        all points, and prediction uses all. A quarter of the points takes a quarter of the time.
    whole_epochs : int, optional
        The last so many epochs take all points all the same: a maximum over few points is smaller than
        one over all, and the network had better know it.
    checkpoint : path-like, optional
        A file that is written after every epoch. Where it exists, training goes on from it and ends with
        the same weights as if it had not been stopped.
    cache : path-like, optional
        A folder that keeps the features of the training clouds.
    device : str
        "cpu", "cuda", ...; "auto" is a GPU if there is one.
    progress : bool, optional
        A line with loss, accuracy and time left; by default on a terminal.

    Attributes
    ----------
    classes_ : the labels
    descriptor_ : the fitted `HFSDescriptor`
    readout_ : the scikit-learn pipeline from descriptors to labels
    head_, head_scores_ : the head in use; with "auto", the accuracy of each candidate
    learner_, history_ : of a learned variant, the network with its scaling, and loss and accuracy by epoch

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=12, n_points=300)
    >>> model = hf.HFSClassifier("simple", head="svm").fit(clouds[::2], labels[::2])
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
        network: Mapping[str, Any] | None = None,
        batch_size: int | None = None,
        optimizer: str | None = None,
        learning_rate: float | None = None,
        final_rate: float | None = None,
        weight_decay: float | None = None,
        label_smoothing: float | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        augment: bool | None = None,
        validation: float | None = None,
        patience: int | None = None,
        train_points: int | None = None,
        whole_epochs: int | None = None,
        checkpoint: str | Path | None = None,
        cache: str | Path | None = None,
        device: str = "auto",
        progress: bool | None = None,
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
        self.network = network
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.final_rate = final_rate
        self.weight_decay = weight_decay
        self.label_smoothing = label_smoothing
        self.class_weight = class_weight
        self.augment = augment
        self.validation = validation
        self.patience = patience
        self.train_points = train_points
        self.whole_epochs = whole_epochs
        self.checkpoint = checkpoint
        self.cache = cache
        self.device = device
        self.progress = progress

    def fit(self, clouds: Sequence[ArrayLike], y: Sequence[Any]) -> HFSClassifier:
        """Learn from a list of clouds and their labels."""
        checked = as_clouds(clouds)
        if not hasattr(y, "__len__"):
            raise ValueError(f"y must be a label for each cloud, got {y!r}")
        if len(y) != len(checked):
            raise ValueError(f"y has {len(y)} labels for {len(checked)} clouds")
        self._forget()
        plan = self._check_settings(y, checked[0].shape[1])  # what is wrong is said before the long work
        if plan is not None:
            self._fit_learned(self.point_table(checked, cache=self.cache), plan)
        else:
            self.descriptor_ = self._descriptor()
            features = self.descriptor_.fit_transform(checked)
            dense = all(surely_dense(self.method, *cloud.shape) for cloud in checked)
            self._fit_readout(features, checked_labels(y), dense)
        self.input_range_ = InputRange.of(checked)
        return self

    def fit_features(self, features: Any, y: Sequence[Any], *, n_dims: int) -> HFSClassifier:
        """Learn from features that were computed before, with the same settings.

        Spares computing them again for every split of a comparison: descriptors by
        `HFSDescriptor`, or for a learned variant a table by `point_table`. ``n_dims`` is the dimension
        of the points.
        """
        self._forget()
        if self._is_learned():
            recipe = point_recipe(self, check_count(n_dims, "n_dims", 1))
            if getattr(features, "recipe", None) != recipe:
                raise ValueError(
                    f"features must be a table by point_table with the settings of variant={self.variant!r}"
                )
            if len(y) != len(features):
                raise ValueError(f"y has {len(y)} labels for {len(features)} clouds")
            return self._fit_learned(features, plan_learning(self, recipe, checked_labels(y)))
        self.descriptor_ = self._descriptor()
        self.descriptor_.n_dims_ = check_count(n_dims, "n_dims", 1)
        width = self.descriptor_.layout().width
        if np.ndim(features) != 2 or np.shape(features)[1] != width:
            raise ValueError(
                f"features must have shape (N, {width}) for variant={self.variant!r} in {n_dims} dimensions, "
                f"got {np.shape(features)}"
            )
        return self._fit_readout(features, checked_labels(y), self.method != "fast")

    def point_table(self, clouds: Sequence[ArrayLike], *, cache: str | Path | None = None) -> PointTable:
        """Features of all points, as a learned variant needs them; its method ``take`` chooses clouds."""
        checked = as_clouds(clouds)
        return self._table(checked, point_recipe(self, checked[0].shape[1]), cache)

    def _table(self, clouds: list[Array], recipe: Any, cache: str | Path | None = None) -> PointTable:
        """Features by a recipe, in the unit of the fitted network if they are for it."""
        from .._features.point_table import point_table

        learner = getattr(self, "learner_", None)
        if learner is not None and clouds[0].shape[1] != learner.recipe.n_dims:
            raise ValueError(
                f"clouds[0] has {clouds[0].shape[1]} coordinates a point, "
                f"but the classifier was fitted on {learner.recipe.n_dims}"
            )
        unit = learner.unit if learner is not None and learner.recipe == recipe else None
        return point_table(clouds, recipe, unit=unit, n_jobs=self.n_jobs, cache=cache)

    def _is_learned(self) -> bool:
        check_choice(self.variant, "variant", (*VARIANT_BLOCKS, *LEARNED))
        if self.variant not in LEARNED:
            refuse_learned_options(self)
        return self.variant in LEARNED

    def _forget(self) -> None:
        """Nothing of an earlier fit stays, also where the variant has changed."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _check_settings(self, y: Sequence[Any], n_dims: int) -> LearningPlan | None:
        """A ValueError where settings do not go together, or not with the labels; nothing is computed."""
        labels = checked_labels(y)
        if self._is_learned():
            return plan_learning(self, point_recipe(self, n_dims), labels)
        check_choice(self.head, "head", (*HEADS, "auto"))
        descriptor = self._descriptor()
        descriptor.n_dims_ = n_dims
        descriptor.layout()
        return None

    def _fit_learned(self, table: Any, plan: LearningPlan) -> HFSClassifier:
        plan.learner.fit(table, plan.positions, plan.watching, plan.training)
        self.learner_, self.history_, self.classes_ = plan.learner, plan.learner.history, plan.classes
        return self

    def _fit_readout(self, features: Array, labels: np.ndarray, dense: bool) -> HFSClassifier:
        self.head_, self.head_scores_, self.readout_ = fit_head(self, features, labels, dense)
        self.classes_ = self.readout_.classes_
        return self

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

    def predict(self, clouds: Sequence[ArrayLike]) -> np.ndarray:
        """The label of each cloud."""
        check_is_fitted(self, "classes_")
        if hasattr(self, "learner_"):
            return self.classes_[self.predict_proba(clouds).argmax(axis=1)]
        return self.readout_.predict(self.descriptor_.transform(self._expected(clouds)))

    def predict_proba(self, clouds: Sequence[ArrayLike]) -> Array:
        """Probabilities (N, classes), columns as in ``classes_``.

        Support vectors have no probabilities of their own: theirs are the softmax of the
        one-against-rest decision values, ordered like the predictions but not calibrated.
        """
        check_is_fitted(self, "classes_")
        if hasattr(self, "learner_"):
            # Parameters that were set since do not count before the next fit.
            return self.learner_.probabilities(self._table(self._expected(clouds), self.learner_.recipe))
        features = self.descriptor_.transform(self._expected(clouds))
        return head_probabilities(self.readout_, self.head_, features)

    def _expected(self, clouds: Sequence[ArrayLike]) -> list[Array]:
        """The clouds, checked, with a warning where they are unlike those of the training."""
        checked = as_clouds(clouds)
        if getattr(self, "input_range_", None) is not None:
            self.input_range_.warn(checked)
        return checked

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to a folder: numbers as safetensors, the rest as JSON.

        ``notes`` is anything that JSON can hold; `load` gives it back as ``notes_``.

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
    def load(cls, folder: str | Path, *, device: str = "auto") -> HFSClassifier:
        """A model that `save` wrote. No code is run; a changed or mismatched file is a ValueError."""
        from .saving.classifier import load_classifier

        return load_classifier(cls, folder, device)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags
