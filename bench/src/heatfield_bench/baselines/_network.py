"""What the networks share as estimators: options, checks, training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from heatfield._base.check import Array, check_count
from heatfield._base.warn import warn_caller
from heatfield._classifier.documented import CHECKPOINT, DEVICE, PROGRESS
from heatfield._classifier.training_options import held_out, training

from ._estimator import BaselineClassifier, OnDevice, options

# Points of a cloud that the networks see at most if not told otherwise: what they were published with.
PUBLISHED_POINTS = 1024


# The options of all networks, for the docstring of each.
OPTIONS = f"""\
n_points : int, optional
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
    Parts of the network that shall differ, by the names of the class in `heatfield_bench.networks`.
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
{CHECKPOINT}
{DEVICE}
{PROGRESS}

Attributes
----------
classes_ : the labels
n_points_ : points that the network sees of every cloud
history_ : loss and accuracy by epoch
learner_ : the network, ``learner_.network``, with all it needs"""


def example(name: str, settings: str = "") -> str:
    """The example of a docstring, with more settings than those that make it short."""
    return f"""\
Examples
--------
>>> import heatfield as hf
>>> import heatfield_bench as hb
>>> clouds, labels = hf.datasets.make_four_shapes(n_per_class=4, n_points=32)
>>> model = hb.baselines.{name}({settings}epochs=1, random_state=0).fit(clouds, labels)
>>> model.predict_proba(clouds).shape, model.n_points_
((16, 4), 32)"""


@options
class NetworkClassifier(OnDevice, BaselineClassifier):
    """Base class of the networks: a scikit-learn classifier over lists of clouds.

    Each cloud is brought to ``n_points`` points, centred, and scaled to the unit ball; clouds in the plane
    get z = 0.
    """

    _kind: ClassVar[str]

    _saved_by = "_saved_network"

    n_points: int | None = None
    rotation: str | None = "z"
    epochs: int | None = None
    random_state: int | None = None
    network: Mapping[str, Any] | None = None
    batch_size: int | None = None
    optimizer: str | None = None
    learning_rate: float | None = None
    final_rate: float | None = None
    weight_decay: float | None = None
    label_smoothing: float | None = None
    class_weight: str | Mapping[Any, float] | None = None
    augment: bool | None = None
    redraw: bool = False
    validation: float | None = None
    patience: int | None = None
    checkpoint: str | Path | None = None
    device: str = "auto"
    progress: bool | None = None

    def _learn(self, clouds: list[Array], labels: np.ndarray) -> None:
        classes, positions = np.unique(labels, return_inverse=True)
        positions = positions.astype(np.int64)
        recipe = self._training(positions, classes)
        # Without a seed every split is another, but a training that goes on must find the one it had.
        seed = 0 if recipe.seed is None and recipe.checkpoint is not None else recipe.seed
        watching = held_out(self.validation, positions, classes, seed)
        n_points = self._points(clouds)
        if self.redraw:
            recipe = replace(recipe, train_points=n_points)
        learner = self._learner(len(classes), n_points, clouds[0].shape[1])
        self._warn_of_nothing(clouds)
        learner.fit(clouds, positions, watching, recipe)
        self.learner_, self.history_, self.classes_ = learner, learner.history, classes
        self.n_points_ = n_points

    def _fitted_dims(self) -> int:
        return self.learner_.n_dims

    def _probabilities(self, clouds: list[Array]) -> Array:
        return self.learner_.probabilities(clouds)

    @classmethod
    def parameter_count(cls, n_classes: int, **settings: Any) -> int:
        """Numbers that are learned, with so many classes and settings of the estimator.

        Parameters
        ----------
        n_classes : int
            At least 2.
        **settings :
            Of the estimator.

        Returns
        -------
        int

        Examples
        --------
        >>> import heatfield_bench as hb
        >>> hb.baselines.PointNet2.parameter_count(40, grouping="msg")
        1747368
        """
        from ..networks._learner import parameter_count

        return parameter_count(cls._kind, check_count(n_classes, "n_classes", 2), cls(**settings)._parts())

    def _parts(self) -> dict[str, Any]:
        """Options of the network."""
        return dict(self.network or {})

    def _training(self, positions: np.ndarray, classes: np.ndarray) -> Any:
        """The published recipe with what the user asked for, checked."""
        from heatfield.nn.learner import ROTATIONS

        from ..networks._recipes import RECIPES

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
        from heatfield.nn.learner import choose_device

        from ..networks._learner import NetworkLearner

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
            warn_caller(
                f"{len(empty)} of {len(clouds)} clouds have fewer than two distinct points, "
                f"so nothing is known of them: clouds {shown}"
            )
