"""What the networks share as estimators: options, checks, training, prediction, saving."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._base.check import Array, HeatFieldWarning, as_clouds, check_count
from .._classifier.labels import checked_labels
from .._classifier.training_options import held_out, training

# Points of a cloud that the networks see at most if not told otherwise: what they were published with.
PUBLISHED_POINTS = 1024


# The options of all networks, for the docstring of each.
OPTIONS = """n_points : int, optional
        Points that the network sees of every cloud. If not given, the median number of points of the training
        clouds, at most 1,024. Of a larger cloud so many are drawn without replacement; of a smaller one all
        points are repeated equally often, up to one. The draw depends on ``random_state`` and on the size of
        the cloud alone, and is the same in training and in prediction.
    rotation : "z", "so3" or None
        How clouds are turned in training: about the z axis, by any rotation (Haar measure), or not.
    epochs : int, optional
        Passes over the training set; the schedule of the learning rate stretches with them.
    random_state : int, optional
        Seed of the network, its batches, augmentation and draws. On one thread the result is the same to the
        bit.
    network : dict, optional
        Parts of the network that shall differ, by the names of the class in `heatfield.nn.networks`.
    batch_size : int, optional
        32 if not given, as in the HFS paper.
    optimizer, learning_rate, final_rate, weight_decay, label_smoothing : optional
        Of the training; the defaults are the recipe above. ``final_rate`` is the end of the cosine, or the
        least rate where the rate falls in steps. Smoothing is the share of all wrong classes together.
    class_weight : "balanced" or dict, optional
        Weight of each class in the loss.
    augment : bool, optional
        Turn, scale, move and jitter each cloud anew in every epoch; the default. False also turns nothing.
    redraw : bool
        Draw the points of each cloud anew in every epoch. Prediction keeps the fixed draw.
    validation : float, optional
        Share of every class that only watches; its loss and accuracy are in ``history_``.
    patience : int, optional
        Stop after so many epochs without a better loss there, and keep the best weights. Otherwise the last
        epoch counts; nothing is ever chosen by test clouds.
    checkpoint : path-like, optional
        A file that is written after every epoch. Where it exists, training goes on from it and ends with
        the same weights as if it had not been stopped.
    device : str
        "cpu", "cuda", ...; "auto" is a GPU if there is one.
    progress : bool, optional
        A line with loss, accuracy and time left; by default on a terminal.

    Attributes
    ----------
    classes_ : the labels
    n_points_ : points that the network sees of every cloud
    history_ : loss and accuracy by epoch
    learner_ : the network, ``learner_.network``, with all it needs"""


class NetworkClassifier(ClassifierMixin, BaseEstimator):
    """Base class of the networks: a scikit-learn classifier over lists of clouds.

    Each cloud is brought to ``n_points`` points, centred, and scaled to the unit ball; clouds in the plane
    get z = 0.
    """

    _kind: ClassVar[str]

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        cls.__doc__ = (cls.__doc__ or "").replace("{options}", OPTIONS)

    def __init__(
        self,
        *,
        n_points: int | None = None,
        rotation: str | None = "z",
        epochs: int | None = None,
        random_state: int | None = None,
        network: Mapping[str, Any] | None = None,
        batch_size: int | None = None,
        optimizer: str | None = None,
        learning_rate: float | None = None,
        final_rate: float | None = None,
        weight_decay: float | None = None,
        label_smoothing: float | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        augment: bool | None = None,
        redraw: bool = False,
        validation: float | None = None,
        patience: int | None = None,
        checkpoint: str | Path | None = None,
        device: str = "auto",
        progress: bool | None = None,
    ) -> None:
        self.n_points = n_points
        self.rotation = rotation
        self.epochs = epochs
        self.random_state = random_state
        self.network = network
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.final_rate = final_rate
        self.weight_decay = weight_decay
        self.label_smoothing = label_smoothing
        self.class_weight = class_weight
        self.augment = augment
        self.redraw = redraw
        self.validation = validation
        self.patience = patience
        self.checkpoint = checkpoint
        self.device = device
        self.progress = progress

    def fit(self, clouds: Sequence[ArrayLike], y: Sequence[Any]) -> Any:
        """Learn from a list of clouds and their labels.

        Returns
        -------
        self
        """
        checked = as_clouds(clouds)
        if not hasattr(y, "__len__"):
            raise ValueError(f"y must be a label for each cloud, got {y!r}")
        if len(y) != len(checked):
            raise ValueError(f"y has {len(y)} labels for {len(checked)} clouds")
        self._forget()
        classes, positions = np.unique(checked_labels(y), return_inverse=True)
        positions = positions.astype(np.int64)
        options = self._training(positions, classes)
        # Without a seed every split is another, but a training that goes on must find the one it had.
        seed = 0 if options.seed is None and options.checkpoint is not None else options.seed
        watching = held_out(self.validation, positions, classes, seed)
        n_points = self._points(checked)
        if self.redraw:
            options = replace(options, train_points=n_points)
        learner = self._learner(len(classes), n_points, checked[0].shape[1])
        self._warn_of_nothing(checked)
        learner.fit(checked, positions, watching, options)
        self.learner_, self.history_, self.classes_ = learner, learner.history, classes
        self.n_points_ = n_points
        return self

    def predict(self, clouds: Sequence[ArrayLike]) -> np.ndarray:
        """The label of each cloud."""
        check_is_fitted(self, "classes_")
        return self.classes_[self.predict_proba(clouds).argmax(axis=1)]

    def predict_proba(self, clouds: Sequence[ArrayLike]) -> Array:
        """Probabilities (N, classes), columns as in ``classes_``."""
        check_is_fitted(self, "classes_")
        checked = as_clouds(clouds)
        n_dims = checked[0].shape[1]
        if n_dims != self.learner_.n_dims:
            raise ValueError(
                f"clouds[0] has {n_dims} coordinates a point, "
                f"but the classifier was fitted on {self.learner_.n_dims}"
            )
        return self.learner_.probabilities(checked)

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to a folder: numbers as safetensors, the rest as JSON.

        ``notes`` is anything that JSON can hold; `load` gives it back as ``notes_``.
        """
        from ._saved_network import save_network

        check_is_fitted(self, "classes_")
        save_network(self, folder, notes or {})

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Any:
        """A model that `save` wrote. No code is run; a changed or mismatched file is a ValueError.

        Returns
        -------
        A fitted classifier of this class.
        """
        from ._saved_network import load_network

        return load_network(cls, folder, device)

    @classmethod
    def parameter_count(cls, n_classes: int, **settings: Any) -> int:
        """Numbers that are learned, with so many classes and settings of the estimator.

        Returns
        -------
        int
        """
        from ..nn.networks._learner import parameter_count

        return parameter_count(cls._kind, check_count(n_classes, "n_classes", 2), cls(**settings)._parts())

    def _parts(self) -> dict[str, Any]:
        """Options of the network."""
        return dict(self.network or {})

    def _training(self, positions: np.ndarray, classes: np.ndarray) -> Any:
        """The published recipe with what the user asked for, checked."""
        from ..nn._augment import ROTATIONS
        from ..nn.networks._recipes import RECIPES

        if self.rotation not in ROTATIONS:
            raise ValueError(f"rotation must be one of 'z', 'so3' or None, got {self.rotation!r}")
        if not isinstance(self.redraw, bool):
            raise ValueError(f"redraw must be True or False, got {self.redraw!r}")
        recipe = replace(RECIPES[self._kind], rotation=self.rotation)
        return training(self, positions, classes, recipe)

    def _points(self, clouds: Sequence[Array]) -> int:
        n_dims = clouds[0].shape[1]
        if n_dims > 3:
            raise ValueError(
                f"{type(self).__name__} takes points of at most 3 coordinates, clouds[0] has {n_dims}"
            )
        if self.n_points is not None:
            return check_count(self.n_points, "n_points", 1)
        return max(1, min(PUBLISHED_POINTS, int(np.median([len(cloud) for cloud in clouds]))))

    def _learner(self, n_classes: int, n_points: int, n_dims: int) -> Any:
        from ..nn._trained import choose_device
        from ..nn.networks._learner import NetworkLearner

        seed = 0 if self.random_state is None else check_count(self.random_state, "random_state", 0)
        if self.network is not None and not isinstance(self.network, Mapping):
            raise ValueError(f"network must be a dict of parts of the network, got {self.network!r}")
        device = choose_device(self.device)
        return NetworkLearner(
            self._kind, n_classes, self._parts(), device, n_points=n_points, n_dims=n_dims, seed=seed
        )

    @staticmethod
    def _warn_of_nothing(clouds: Sequence[Array]) -> None:
        empty = [i for i, cloud in enumerate(clouds) if len(cloud) == 0 or (cloud == cloud[0]).all()]
        if len(empty) == len(clouds):
            raise ValueError("no training cloud has two distinct points: there is nothing to learn from")
        if empty:
            shown = ", ".join(map(str, empty[:10])) + (", ..." if len(empty) > 10 else "")
            warnings.warn(
                f"{len(empty)} of {len(clouds)} clouds have fewer than two distinct points, "
                f"so nothing is known of them: clouds {shown}",
                HeatFieldWarning,
                stacklevel=3,
            )

    def _forget(self) -> None:
        """Nothing of an earlier fit stays."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags
