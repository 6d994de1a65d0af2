"""`HFSRegressor`: closed-form descriptors, and a number that is read out of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.model_selection import GroupKFold, KFold
from sklearn.svm import SVR

from .._base.check import Array
from ..options import Regression, options
from .cloud_model import ClosedFormModel, CloudModel
from .heads import REGRESSORS, Linear, Readout, SupportVectors, Tensors
from .read_out import MOST_FOR_VECTORS, Candidate, Prepared, Tables, held_out_margins

# What is tried: penalties of ridge regression, and costs of points outside the tube of support vectors, both
# for a target of mean 0 and standard deviation 1.
STRENGTHS: dict[str, tuple[float, ...]] = {
    "ridge": (1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5),
    "svm": (1.0, 10.0, 100.0),
}
_TUBE = 0.05  # errors up to here cost nothing


class CloudRegressor(RegressorMixin, CloudModel):
    """What the regressors of clouds share."""

    def score(self, clouds: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions: 1 at best, 0 where the mean of the numbers would do as well.

        Parameters
        ----------
        clouds : as of `predict`
        y : (N,)
        sample_weight : (N,), optional

        Returns
        -------
        score : float
        """
        return float(super().score(clouds, y, sample_weight))

    def _target(self, y: Any, count: int) -> Array:
        return numbers_for(y, count)


@options
class HFSRegressor(CloudRegressor, ClosedFormModel, Regression):
    """Predict a number of each point cloud from its heat field signatures, in closed form.

    Gaps are filled from the training set and features standardised, as of `HFSClassifier`. The target is
    standardised too; predictions are in its own unit. `HFSNetworkRegressor` learns the pooling instead.

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    {options}

    Attributes
    ----------
    n_dims_ : the dimension of the points
    n_clouds_ : how many clouds it was fitted on
    descriptor_ : the fitted `HFSDescriptor`
    head_, head_scores_ : the head in use; with "auto", the R^2 of each candidate on clouds held out
    strength_ : the penalty of ridge regression, or the cost of support vectors, that was chosen
    readout_ : from descriptors to numbers, as plain arrays

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> rng = np.random.default_rng(0)
    >>> flat = rng.uniform(0.1, 1.0, 60)
    >>> clouds = [rng.normal(size=(80, 3)) * [1, 1, share] for share in flat]
    >>> model = hf.HFSRegressor("simple").fit(clouds[:40], flat[:40])
    >>> model.predict(clouds[40:]).shape, model.score(clouds[40:], flat[40:]) > 0.8
    ((20,), True)
    >>> rows = hf.describe(clouds, "simple")  # once, for all splits
    >>> again = hf.HFSRegressor("simple").fit_features(rows[:40], flat[:40], n_dims=3)
    >>> bool((again.predict_features(rows) == model.predict(clouds)).all()), again.choice() != ""
    (True, True)
    >>> model.unlike(clouds), model.descriptor_options()["variant"]
    ({}, 'simple')
    """

    _kinds, _words, _least_score = REGRESSORS, REGRESSORS, -np.inf
    _scored_by = "R² on clouds held out"

    def _choose(
        self, tables: Tables, target: NDArray[Any], groups: NDArray[Any] | None
    ) -> tuple[Candidate, dict[str, float], Readout]:
        heads = tuple(STRENGTHS) if self.head == "auto" else (self.head,)
        if self.head == "auto" and len(target) > MOST_FOR_VECTORS:
            heads = ("ridge",)
        tried = [
            Candidate(variant, head, strength=strength)
            for variant in tables
            for head in heads
            for strength in STRENGTHS[head]
        ]
        folds = number_folds(len(target), self.inner_folds, groups, self.random_state)
        found = held_out_margins(tried, tables, target, folds, fit_regressor)
        scores = {one: determination(target, margins[:, 0]) for one, margins in found.items()}
        chosen = max(scores, key=scores.__getitem__)
        self.strength_ = chosen.strength
        several, named = len(tables) > 1, dict[str, float]()
        for candidate, score in scores.items():
            name = f"{candidate.variant} {candidate.head}" if several else candidate.head
            named[name] = max(score, named.get(name, -np.inf))
        features, scaler = tables[chosen.variant]
        training = Prepared.of(features, target, scaler, "standard")
        readout = Readout(training.scaling, fit_regressor(chosen, training))
        return chosen, named if len(named) > 1 or self.head == "auto" else {}, readout

    def _check_settings(self, target: NDArray[Any], n_dims: int, groups: NDArray[Any] | None) -> None:
        self._descriptor(n_dims)
        number_folds(len(target), self.inner_folds, groups, self.random_state)

    def _predicted(self, features: Any) -> Array:
        rows = self._checked_features(features)
        return self.readout_.margins(rows)[:, 0]

    def _score_words(self, score: float) -> str:
        return f"{score:.3f}"

    def _packed(self) -> tuple[dict[str, Any], Tensors]:
        metadata, tensors = super()._packed()
        return metadata | {"strength": self.strength_}, tensors

    def _unpack(self, metadata: Mapping[str, Any], tensors: Tensors) -> None:
        super()._unpack(metadata, tensors)
        self.strength_ = metadata["strength"]
        if self.strength_ not in STRENGTHS[self.head_]:
            raise ValueError(
                f"its strength is {str(self.strength_)[:40]}, which {self.head_!r} does not have"
            )


# --- numbers, folds and fits ---------------------------------------------------------


def numbers_for(y: Any, count: int) -> Array:
    """The numbers of so many clouds, or a ValueError that names what is wrong."""
    if not hasattr(y, "__len__"):
        raise ValueError(f"y must be a number for each cloud, got {y!r}")
    if len(y) != count:
        raise ValueError(f"y has {len(y)} numbers for {count} clouds")
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        some = ", ".join(map(repr, list(y)[:5]))
        raise ValueError(f"y must be numbers, got {some}") from None
    if values.shape != (count,):
        raise ValueError(f"y must be one number for each cloud, got shape {values.shape}")
    if not np.isfinite(values).all():
        first = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"y must be finite, got {values[first]} for clouds[{first}]")
    if count < 2:
        raise ValueError("y has one number: at least two clouds are needed")
    return values


def number_folds(
    count: int, folds: int, groups: NDArray[Any] | None, random_state: int | None
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows to learn from and rows held out, fold by fold; those of one group stay together."""
    rows = np.arange(count)
    if groups is None:
        splitter: Any = KFold(min(folds, count), shuffle=True, random_state=random_state)
        return list(splitter.split(rows))
    known = len(np.unique(groups))
    if known < 2:
        raise ValueError("groups has one group only: nothing can be learnt for other groups")
    splitter = GroupKFold(min(folds, known), shuffle=True, random_state=random_state)
    return list(splitter.split(rows, groups=groups))


def standard(target: Array) -> tuple[float, float]:
    """Mean and standard deviation; 1 for the latter where all are alike."""
    deviation = float(target.std())
    return float(target.mean()), deviation if deviation > 0.0 else 1.0


def determination(target: Array, predicted: Array) -> float:
    """R²: the share of the variance that is predicted; where there is none, 1 for all right and else 0."""
    error, whole = (float(((target - other) ** 2).sum()) for other in (predicted, target.mean()))
    if whole == 0.0:
        return 1.0 if error == 0.0 else 0.0
    return 1.0 - error / whole


def fit_regressor(chosen: Candidate, training: Prepared) -> Linear | SupportVectors:
    """A head that predicts in the unit of the target, which is standardised for the fit."""
    mean, scale = standard(training.target)
    target = (training.target - mean) / scale
    head: Linear | SupportVectors
    if chosen.head == "ridge":
        left, values, right = training.svd
        along = values * (left.T @ target) / (values**2 + chosen.strength)
        coef = along @ right
        head = Linear(coef[None], np.array([-coef @ training.rows.mean(axis=0)]))
    else:
        gamma, kernel = training.kernel
        fitted = SVR(C=chosen.strength, epsilon=_TUBE, kernel="precomputed").fit(kernel, target)
        head = SupportVectors.of(fitted, training.rows, gamma)
    return head.in_unit(mean, scale)
