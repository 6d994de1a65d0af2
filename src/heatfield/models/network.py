"""`HFSNetworkClassifier`, `HFSNetworkRegressor`: features of every point, pooled by a network (in torch)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._base.check import Array, as_clouds, check_choice, check_count
from ..features.descriptor import check_known_lengths, check_same_dims
from ..features.layout import FeatureSettings
from ..features.points import PointSettings, PointTable, point_table
from ..options import (
    Learned,
    Optimisation,
    Outliers,
    Scales,
    Sums,
    Threads,
    Training,
    check_options,
    options,
    values_of,
)
from .classifier import CloudClassifier
from .cloud_model import CloudModel, Target
from .heads import Tensors
from .read_out import checked_groups, diameters_of, groups_by_class
from .regressor import CloudRegressor, standard
from .saving import saved_history

if TYPE_CHECKING:
    from ..nn.learner import Learner
    from ..nn.training import Training as Recipe

# Where training draws points, this share of the epochs at its end takes all of them, as prediction does:
# without, learned pooling is behind the closed form on some data.
WHOLE_SHARE = 0.15
Held = NDArray[np.bool_] | None  # which clouds are held out for validation


class NetworkModel(Learned, Optimisation, CloudModel):
    """A model that pools the features of every point by a network."""

    learner_: Learner
    history_: list[dict[str, float]]

    def _fit_clouds(self, clouds: list[Array], target: NDArray[Any], groups: NDArray[Any] | None) -> Array:
        plan = self._plan(self._recipe(clouds[0].shape[1]), target, groups)
        self._fit(self._table(clouds, plan.learner.recipe, cache=self.cache), plan)
        return diameters_of(clouds, drop=plan.learner.recipe.drops_isolated)

    def fit_features(
        self, features: PointTable, y: Target, *, n_dims: int, groups: Sequence[Any] | None = None
    ) -> Self:
        """Learn from a table of features that was computed before, with the same settings.

        Parameters
        ----------
        features : PointTable
            By `point_table`.
        y, groups : as of `fit`
        n_dims : int
            The dimension of the points.

        Returns
        -------
        self : the fitted model
        """
        self._forget()
        check_known_lengths(self.lengths)
        recipe = self._recipe(check_count(n_dims, "n_dims", 1))
        if getattr(features, "recipe", None) != recipe:
            raise ValueError(
                f"features must be a table by point_table with the settings of variant={self.variant!r}"
            )
        count = len(features)
        self._fit(features, self._plan(recipe, self._target(y, count), checked_groups(groups, count)))
        return self

    def point_table(self, clouds: Sequence[ArrayLike], *, cache: str | Path | None = None) -> PointTable:
        """Features of all points.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)
        cache : path-like, optional
            A folder that keeps the table.

        Returns
        -------
        table : PointTable
            Its method ``take`` chooses clouds.
        """
        checked = as_clouds(clouds)
        if not hasattr(self, "lengths_"):
            check_known_lengths(self.lengths)
        return self._table(checked, self._recipe(checked[0].shape[1]), cache=cache)

    @property
    def n_dims_(self) -> int:
        """The dimension of the points that the model was fitted on."""
        return self.learner_.recipe.n_dims

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        """A model that `save` wrote. No code is run; a changed or mismatched file is a `ReadError`.

        Parameters
        ----------
        folder : path-like
        device : str

        Returns
        -------
        model : of this class

        Examples
        --------
        >>> import heatfield as hf
        >>> hf.HFSNetworkClassifier.load("forest")
        Traceback (most recent call last):
        heatfield.io.limits.ReadError: forest: no such folder; a saved model is expected
        """
        return cls._load(folder, device=device)

    # --- what a classifier and a regressor say differently

    def _encoded(self, target: NDArray[Any]) -> tuple[NDArray[Any], int, dict[str, Any]]:
        """The target as the network learns it, how many outputs it has, and what is kept of it."""
        raise NotImplementedError

    def _saved_outputs(self, metadata: Mapping[str, Any]) -> int:
        """Set what is known of the target of a saved model; how many outputs its network has."""
        raise NotImplementedError

    # --- what they share

    def _outputs(self, features: PointTable) -> NDArray[np.float32]:
        """What the network says of clouds."""
        check_is_fitted(self, "n_clouds_")
        if getattr(features, "recipe", None) != self.learner_.recipe:
            raise ValueError("features must be a table by point_table with the settings of the fit")
        return self.learner_.outputs(features)

    def _recipe(self, n_dims: int) -> PointSettings:
        """The features that are asked for."""
        chosen = values_of(self, Scales, Sums, Outliers, Threads) | {"lengths": self._given_lengths()}
        return PointSettings(n_dims, blocks=self.blocks, transition=self.transition, **chosen)  # type: ignore[arg-type]

    def _scales(self, n_dims: int) -> FeatureSettings:
        return self._recipe(n_dims)

    def _check_settings(self, target: NDArray[Any], n_dims: int, groups: NDArray[Any] | None) -> None:
        """A ValueError where settings do not go together, or not with the target; nothing is computed."""
        self._plan(self._recipe(n_dims), target, groups)

    def _plan(self, recipe: PointSettings, target: NDArray[Any], groups: NDArray[Any] | None) -> _Plan:
        """All that a training needs beside the features, checked against the target."""
        check_options(self)
        values, outputs, known = self._encoded(target)
        classes = known.get("classes_", np.empty(0))
        asked = training_recipe(self, values, classes, _learner().RECIPES[self.variant])
        if self.augment is not None and self.variant != "dgcnn":
            raise ValueError(
                f"augment={self.augment!r} is an option of variant='dgcnn', which sees the coordinates, "
                f"got variant={self.variant!r}"
            )
        if self.whole_epochs is None and asked.train_points is not None:
            asked = replace(asked, whole_epochs=int(WHOLE_SHARE * asked.epochs))
        # Without a seed every split differs, but a training that is continued must have the same one.
        seed = 0 if asked.seed is None and asked.checkpoint is not None else asked.seed
        validation = held_out(self.validation, values, classes, seed, groups)
        return _Plan(self._new_learner(recipe, outputs), values, known, validation, asked)

    def _new_learner(self, recipe: PointSettings, outputs: int) -> Learner:
        check_options(self)
        module = _learner()
        return module.Learner(self.variant, recipe, outputs, self.network, module.choose_device(self.device))

    def _fit(self, table: PointTable, plan: _Plan) -> None:
        plan.learner.fit(table, plan.values, plan.validation, plan.training)
        self.learner_, self.history_ = plan.learner, plan.learner.history
        for name, value in plan.known.items():
            setattr(self, name, value)
        self.n_clouds_ = len(plan.values)

    def _table(
        self, clouds: list[Array], recipe: PointSettings, *, cache: str | Path | None = None
    ) -> PointTable:
        """Features by a recipe, in the unit of the fitted network where the recipe is its own."""
        learner = getattr(self, "learner_", None)
        if learner is not None:
            check_same_dims(clouds, learner.recipe.n_dims, "the model")
        unit = learner.unit if learner is not None and learner.recipe == recipe else None
        return point_table(clouds, recipe, unit=unit, n_jobs=self.n_jobs, cache=cache)

    @property
    def _drops_isolated(self) -> bool:
        return self.learner_.recipe.drops_isolated

    def _compute(self, clouds: list[Array]) -> PointTable:
        return self._table(clouds, self.learner_.recipe)

    def _packed(self) -> tuple[dict[str, Any], Tensors]:
        # Without times: the same training is the same file.
        history = [{k: v for k, v in epoch.items() if k != "seconds"} for epoch in self.history_]
        return {"history": history}, self.learner_.tensors()

    def _unpack(self, metadata: Mapping[str, Any], tensors: Tensors) -> None:
        recipe = self._recipe(check_count(metadata["n_dims"], "n_dims", 1))
        recipe.check_columns(np.size(tensors["points.mean"]) + np.size(tensors["whole.mean"]))
        self.learner_ = self._new_learner(recipe, self._saved_outputs(metadata))
        self.learner_.load(tensors)
        tensors.clear()
        self.history_ = self.learner_.history = saved_history(metadata)


@options
class HFSNetworkClassifier(CloudClassifier, NetworkModel, Training):
    """Classify point clouds by heat field signatures that a network pools: HFS-full and HFS+DGCNN.

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    {options}

    Attributes
    ----------
    classes_ : the labels
    n_dims_ : the dimension of the points
    n_clouds_ : how many clouds it was fitted on
    learner_, history_ : the network with its scaling, and loss and accuracy by epoch

    Notes
    -----
    On one thread the result is the same to the bit for the same ``random_state``.

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=4, n_points=40)
    >>> model = hf.HFSNetworkClassifier("full", epochs=2, n_scales=4).fit(clouds, labels)
    >>> model.predict(clouds).shape, len(model.history_), model.n_dims_
    ((20,), 2, 2)
    >>> table = model.point_table(clouds)
    >>> table.starts[:3].tolist(), table.take([1]).starts.tolist(), model.predict_features(table).shape
    ([0, 40, 80], [0, 40], (20,))
    >>> hf.HFSNetworkClassifier("full", epochs=1, n_scales=4).fit_features(table, labels, n_dims=2).n_clouds_
    20
    """

    def _probabilities(self, features: Any) -> Array:
        return _learner().softmax(self._outputs(features))

    def _encoded(self, target: NDArray[Any]) -> tuple[NDArray[Any], int, dict[str, Any]]:
        classes, positions = np.unique(target, return_inverse=True)
        return positions.astype(np.int64), len(classes), {"classes_": classes}

    def _saved_outputs(self, metadata: Mapping[str, Any]) -> int:  # noqa: ARG002
        return len(self.classes_)


@options
class HFSNetworkRegressor(CloudRegressor, NetworkModel):
    """Predict a number of each point cloud from heat field signatures that a network pools.

    The networks of `HFSNetworkClassifier` with one output, trained for the least squared error of a target
    that is standardised; predictions are in its own unit.

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    {options}

    Attributes
    ----------
    n_dims_ : the dimension of the points
    n_clouds_ : how many clouds it was fitted on
    target_mean_, target_scale_ : mean and standard deviation of the target
    learner_, history_ : the network with its scaling, and loss and R^2 by epoch

    Notes
    -----
    On one thread the result is the same to the bit for the same ``random_state``.

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> rng = np.random.default_rng(0)
    >>> flat = rng.uniform(0.1, 1.0, 20)
    >>> clouds = [rng.normal(size=(40, 3)) * [1, 1, share] for share in flat]
    >>> model = hf.HFSNetworkRegressor("full", epochs=2, n_scales=4).fit(clouds, flat)
    >>> model.predict(clouds).shape, sorted(model.history_[0])
    ((20,), ['loss', 'r2', 'seconds'])
    >>> table = model.point_table(clouds)
    >>> bool((model.predict_features(table) == model.predict(clouds)).all()), model.unlike(clouds)
    (True, {})
    >>> hf.HFSNetworkRegressor("full", epochs=1, n_scales=4).fit_features(table, flat, n_dims=3).n_clouds_
    20
    """

    def _predicted(self, features: Any) -> Array:
        outputs = self._outputs(features)
        return self.target_mean_ + self.target_scale_ * _learner().finite(outputs)[:, 0]

    def _encoded(self, target: NDArray[Any]) -> tuple[NDArray[Any], int, dict[str, Any]]:
        mean, scale = standard(target)
        known = {"target_mean_": mean, "target_scale_": scale}
        return ((target - mean) / scale).astype(np.float32), 1, known

    def _packed(self) -> tuple[dict[str, Any], Tensors]:
        metadata, tensors = super()._packed()
        return metadata | {"target": [self.target_mean_, self.target_scale_]}, tensors

    def _saved_outputs(self, metadata: Mapping[str, Any]) -> int:
        mean, scale = metadata["target"]
        if not (type(mean) is type(scale) is float and np.isfinite(mean) and 0.0 < scale < np.inf):
            raise ValueError(f"its target has no mean and deviation: {str(metadata['target'])[:40]}")
        self.target_mean_, self.target_scale_ = mean, scale
        return 1


@dataclass(frozen=True)
class _Plan:
    """All that a training needs beside the features."""

    learner: Learner  # not trained yet
    values: NDArray[Any]  # the target as the network learns it
    known: Mapping[str, Any]  # what is kept of the target
    validation: Held
    training: Recipe


def _learner() -> Any:
    """The module of the networks, imported only here because it imports torch."""
    from ..nn import learner

    return learner


def training_recipe(model: Any, labels: NDArray[Any], classes: NDArray[Any], recipe: Recipe) -> Recipe:
    """How to train: a recipe, with what a model's options ask for; it need not have all of them."""
    checked = check_options(model)
    asked: dict[str, Any] = {"progress": checked.get("progress")}
    for name in (
        "epochs", "batch_size", "optimizer", "learning_rate", "final_rate", "weight_decay", "label_smoothing",
        "augment", "patience", "train_points", "whole_epochs",
    ):  # fmt: skip
        if checked.get(name) is not None:
            asked[name] = checked[name]
    if checked.get("random_state") is not None:
        asked["seed"] = checked["random_state"]
    if "whole_epochs" in asked and "train_points" not in asked:
        raise ValueError(
            f"whole_epochs={model.whole_epochs!r} needs train_points: without, all epochs are whole"
        )
    if "patience" in asked and not model.validation:
        raise ValueError(
            f"patience={model.patience!r} needs validation, a share of the clouds to watch, such as 0.1"
        )
    if checked.get("checkpoint") is not None:
        asked["checkpoint"] = Path(checked["checkpoint"])
        if asked["checkpoint"].is_dir():
            raise ValueError(f"checkpoint must be a file, got the folder {str(model.checkpoint)!r}")
    if checked.get("class_weight") is not None:
        asked["class_weight"] = _class_weights(model.class_weight, labels, classes)
    return replace(recipe, **asked)


def _class_weights(wanted: Any, labels: NDArray[Any], classes: NDArray[Any]) -> tuple[float, ...]:
    """One weight per class; "balanced" is inverse to its number of clouds."""
    if isinstance(wanted, Mapping):
        unknown = [key for key in wanted if key not in classes.tolist()]
        if unknown:
            raise ValueError(f"class_weight names {unknown[0]!r}, but the classes are {classes.tolist()}")
        for name, weight in wanted.items():
            number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
            if not number or not 0.0 < weight < np.inf:
                raise ValueError(f"class_weight must be positive numbers, got {weight!r} for {name!r}")
        return tuple(float(wanted.get(name, 1.0)) for name in classes.tolist())
    check_choice(wanted, "class_weight", ("balanced",))
    counts = np.bincount(labels, minlength=len(classes))
    return tuple((len(labels) / (len(classes) * counts)).tolist())


def held_out(
    share: float | None,
    labels: NDArray[Any],
    classes: NDArray[Any],
    seed: int | None,
    groups: NDArray[Any] | None = None,
) -> Held:
    """A share of every class, or of groups about the share of all clouds, and at least one; None without.

    ``labels`` are positions among the classes. No group is held out without which a class could not be
    learnt. Where there are no classes but numbers, it is a share of the clouds, or of the groups.
    """
    if not share:
        return None
    rng = np.random.default_rng(seed)
    if not len(classes):
        names = np.arange(len(labels)) if groups is None else groups
        known = np.unique(names)
        if len(known) < 2:
            raise ValueError(f"validation={share!r} needs at least 2 groups, got {known.tolist()}")
        count = min(len(known) - 1, max(1, round(share * len(known))))
        return np.isin(names, rng.permutation(known)[:count])
    out = np.zeros(len(labels), bool)
    if groups is not None:
        left = groups_by_class(classes[labels], groups)
        for name in rng.permutation(np.unique(groups)):
            rows = groups == name
            here = np.unique(classes[labels[rows]]).tolist()
            if all(left[label] > 1 for label in here):
                out |= rows
                left |= {label: left[label] - 1 for label in here}
            if out.sum() >= share * len(labels):
                break
        return out
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        if len(rows) < 2:
            rare = classes.tolist()[label]
            raise ValueError(f"validation={share!r} needs at least 2 clouds per class, class {rare!r} has 1")
        out[rows[: min(len(rows) - 1, max(1, round(share * len(rows))))]] = True
    return out
