"""What the classifiers by vectors of multiparameter persistence share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin

from heatfield._base.check import Array, thread_count
from heatfield._classifier.input_range import InputRange
from heatfield._classifier.labels import checked_training

from ._bifiltration import Bifiltration
from ._boosted_trees import boosting_options, grow
from ._estimator import options
from ._frame import check_frame
from ._persistence_estimator import FRAME, PersistenceEstimator

# More would be a slip: every cloud has so many, and the trees look at each.
MOST_FEATURES = 1_000_000

# The options and attributes of all of them, for the docstring of each.
OPTIONS = f"""\
{FRAME}
random_state : int, optional
    Seed of XGBoost.
n_jobs : int
    Threads; they change no bit of the features.
progress : bool, optional
    False for no progress bar; otherwise there is one on a terminal.
n_estimators, max_depth, learning_rate, subsample, colsample : optional
    Of XGBoost (rounds, depth of trees, shrinkage, shares of clouds and of features for each tree)."""
ATTRIBUTES = """\
Attributes
----------
classes_ : the labels
frame_ : bandwidth, largest radius and range of codensity, as fixed on the training clouds
trees_ : the trees, as arrays"""


def example(name: str, resolution: int, width: int) -> str:
    """The example of a docstring: at this resolution there are ``width`` features."""
    return f"""\
Examples
--------
>>> import heatfield as hf
>>> import heatfield_bench as hb
>>> clouds, labels = hf.datasets.make_processes(n_per_class=4, strauss_steps=4000)
>>> model = hb.baselines.{name}(resolution={resolution}, n_estimators=5).fit(clouds, labels)
>>> model.transform(clouds[:2]).shape, model.predict(clouds[:2]).shape
((2, {width}), (2,))"""


def check_width(model: Any) -> int:
    """The number of features, if a table of them can be held at all."""
    width: int = model._width()
    if width > MOST_FEATURES:
        raise ValueError(
            f"the options make {width} features per cloud, at most {MOST_FEATURES}: lower resolution"
        )
    return width


def check_share(value: Any, name: str) -> float:
    """A positive number, in units of the box."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
    return float(value)


@options
class PersistenceClassifier(TransformerMixin, PersistenceEstimator):
    """Bifiltration of a cloud -> vector (a subclass says which) -> gradient-boosted trees."""

    _saved_by = "_saved_persistence"

    n_estimators: int = 100
    max_depth: int = 6
    learning_rate: float = 0.3
    subsample: float = 1.0
    colsample: float = 1.0

    def _width(self) -> int:
        """How many features there are; a ValueError where the options of the vector are wrong."""
        raise NotImplementedError

    def _vector(self, complex_: Bifiltration) -> Array:
        """The features of one bifiltration, whose values run from 0 to 1."""
        raise NotImplementedError

    def fit_transform(self, clouds: Sequence[ArrayLike], y: Sequence[Any]) -> Array:
        """As `fit`, but returns the features of the clouds.

        Parameters
        ----------
        clouds, y : as of `fit`

        Returns
        -------
        features : (N, features)

        Examples
        --------
        >>> import heatfield as hf
        >>> import heatfield_bench as hb
        >>> clouds, labels = hf.datasets.make_disks_annuli(n_per_class=2)
        >>> model = hb.baselines.MPLandscape(resolution=6, n_estimators=2)
        >>> model.fit_transform([cloud[:80] for cloud in clouds], labels).shape
        (10, 360)
        """
        checked, labels = checked_training(clouds, y)
        self._forget()
        return self._learn(checked, labels)

    def _learn(self, clouds: list[Array], labels: np.ndarray) -> Array:
        boosting = boosting_options(self)  # what is wrong is said before the long work
        check_frame(self, clouds[0].shape[1])
        check_width(self)
        self._fit_frame(clouds)
        features = self._vectors(clouds)
        classes, positions = np.unique(labels, return_inverse=True)
        threads = thread_count(self.n_jobs)
        self.trees_ = grow(features, positions.astype(np.int64), len(classes), boosting, threads)
        self.input_range_ = InputRange.of(clouds)
        self.n_features_out_ = features.shape[1]
        self.classes_ = classes
        return features

    def transform(self, clouds: Sequence[ArrayLike]) -> Array:
        """The features of each cloud, (N, features), on the grid that was fixed by `fit`.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)

        Returns
        -------
        features : (N, features)
        """
        return self._vectors(self._expected(clouds))

    def _probabilities(self, clouds: list[Array]) -> Array:
        return self.trees_.probabilities(self._vectors(clouds))

    def _vectors(self, clouds: list[Array]) -> Array:
        return np.stack(self._of_each(clouds, self._vector))
