"""The one cross-validation: every cloud is predicted once, by a model that was not fitted on it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from .classifier import HFSClassifier
from .labels import rarest_class


@dataclass(frozen=True)
class Fold:
    """A model, and the clouds that were held out."""

    number: int  # from 0
    count: int  # of all folds
    model: HFSClassifier  # fitted on all other clouds
    test: NDArray[np.int64]
    features: Any  # of the clouds in ``test``
    predicted: NDArray  # their labels by the model


def cross_validate(
    model: HFSClassifier,
    features: Any,
    y: NDArray,
    *,
    n_dims: int,
    n_splits: int = 5,
    random_state: int | None = None,
    prepare: Callable[[HFSClassifier, int, int], object] = lambda model, number, count: None,  # noqa: ARG005
    skip: Container[int] = (),
) -> Iterator[Fold]:
    """Fit clones of a classifier on features that were computed before, fold by fold.

    Settings are checked against the labels of every fold before the first one is fitted: a class that is
    too rare in the last fold is reported at once.

    Parameters
    ----------
    model : HFSClassifier
    features : (N, columns) array, or PointTable
        As `HFSClassifier.fit_features` takes them.
    y : (N,) array
    n_dims : int
    n_splits : int
        Stratified folds; fewer where a class has fewer clouds.
    random_state : int, optional
        Of the shuffle before the split.
    prepare : callable
        Called with the unfitted model of a fold, its number and the number of folds.
    skip : container of int
        Folds that are left out, since their result is known from before.

    Yields
    ------
    fold : Fold

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=6, n_points=60)
    >>> features = hf.HFSDescriptor("simple").fit_transform(clouds)
    >>> model = hf.HFSClassifier("simple", head="lda")
    >>> [fold.test.size for fold in cross_validate(model, features, labels, n_dims=2, n_splits=3)]
    [10, 10, 10]
    """
    count = min(n_splits, rarest_class(y)[1])
    splits = list(StratifiedKFold(count, shuffle=True, random_state=random_state).split(y, y))
    for train, _ in splits:
        clone(model)._check_settings(y[train], n_dims)
    for number, (train, test) in enumerate(splits):
        if number in skip:
            continue
        fitted = clone(model)
        prepare(fitted, number, count)
        fitted.fit_features(_rows(features, train), y[train], n_dims=n_dims)
        held_out = _rows(features, test)
        yield Fold(number, count, fitted, test, held_out, fitted.predict_features(held_out))


def _rows(features: Any, clouds: NDArray[np.int64]) -> Any:
    """The features of some clouds, of an array or of a table of points."""
    return features[clouds] if isinstance(features, np.ndarray) else features.take(clouds)
