"""`CovariancePointClassifier`: labels for points by local covariance features, the usual way of the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heatfield._base.check import Array, thread_count
from heatfield._points.classifier import HFSPointClassifier
from heatfield._points.features import Features
from heatfield._points.settings import PointFeatureSettings

from ._local_covariance import FEATURES, covariance_features, local_covariances

# A ball of this many sqrt(t) has the same second moment in space as the weights exp(-D^2 / 4t).
SAME_MOMENT = float(np.sqrt(10.0))


class CovariancePointClassifier(HFSPointClassifier):
    """The rival of `HFSPointClassifier`: eigenvalue features of balls, as jakteristics has them.

    The same reader, height above the floor and columns; instead of signatures at a length sqrt(t) the
    twelve features of `LocalCovariance` within the radius ``ratio * sqrt(t)``.

    Guide: ``heatfield docs guide/points``.

    Parameters
    ----------
    ratio : float
        Radius of a ball over the length. The default has the second moment of the Gaussian weights.
    lengths, columns, cell, iterations, class_weight, points_per_class, random_state, n_jobs, progress :
        See `HFSPointClassifier`. It cannot be saved.

    Examples
    --------
    >>> import heatfield as hf
    >>> import heatfield_bench as hb
    >>> clouds, labels = hf.datasets.make_forest(1, n_points=800)
    >>> model = hb.baselines.CovariancePointClassifier(lengths=[0.3, 1.0], iterations=5)
    >>> model.fit(clouds, labels).predict(clouds)[0].shape, model.predict_proba(clouds)[0].shape
    ((800,), (800, 5))
    >>> model.score(clouds, labels) > 0.3
    True
    >>> settings = model.settings_for(clouds)
    >>> rows = model.features(clouds[0], settings)  # once, for several classifiers
    >>> model.fit_features(rows, labels[0], settings).predict_proba_features(rows).shape
    (800, 5)
    >>> hb.baselines.CovariancePointClassifier.load("no such folder")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: there is no model at 'no such folder': ...
    """

    # Those of the features of `HFSPointClassifier` that the rival has too.
    blocks = ("height",)
    reader = "boosting"
    tol = 1e-4

    def __init__(
        self,
        *,
        ratio: float = SAME_MOMENT,
        lengths: Sequence[float] | None = None,
        columns: Sequence[str] = (),
        cell: float | None = None,
        iterations: int = 150,
        class_weight: str | Mapping[Any, float] | None = "balanced",
        points_per_class: int = 50_000,
        random_state: int = 0,
        n_jobs: int | None = 1,
        progress: bool | None = None,
    ) -> None:
        self.ratio = ratio
        self.lengths = lengths
        self.columns = columns
        self.cell = cell
        self.class_weight = class_weight
        self.iterations = iterations
        self.points_per_class = points_per_class
        self.random_state = random_state
        self.progress = progress
        self.n_jobs = n_jobs

    def features(
        self,
        points: Array,
        settings: PointFeatureSettings,
        columns: Mapping[str, Any] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> Features:
        """Covariance features at all lengths, then height and columns.

        Parameters
        ----------
        points, settings, columns, rows :
            As of `HFSPointClassifier.features`.

        Returns
        -------
        features : (q, F) float32

        Examples
        --------
        >>> import heatfield as hf
        >>> import heatfield_bench as hb
        >>> clouds, _ = hf.datasets.make_forest(1, n_points=500)
        >>> model = hb.baselines.CovariancePointClassifier(lengths=[0.3, 1.0])
        >>> model.features(clouds[0], model.settings_for(clouds)).shape  # twelve at either length, and height
        (500, 25)
        """
        rest = super().features(points, settings, columns, rows)
        space = np.zeros((len(points), 3))
        space[:, : points.shape[1]] = points
        table = local_covariances(space, self._radii(settings), thread_count(self.n_jobs))
        known = covariance_features(table if rows is None else table[rows])
        parts = [known[name][:, a] for a in range(len(settings.lengths)) for name in FEATURES]
        return np.concatenate([np.stack(parts, axis=1).astype(np.float32), rest], axis=1)

    def feature_groups(self, settings: PointFeatureSettings) -> list[tuple[str, list[str]]]:
        """See `HFSPointClassifier`.

        Parameters
        ----------
        settings : PointFeatureSettings
            By `settings_for`.

        Returns
        -------
        groups : list of (block, names)

        Examples
        --------
        >>> import numpy as np, heatfield_bench as hb
        >>> model = hb.baselines.CovariancePointClassifier(lengths=[0.3, 1.0])
        >>> [block for block, _ in model.feature_groups(model.settings_for([np.eye(3)]))]
        ['covariance', 'height']
        """
        own = [f"{name}_s{a}" for a in range(len(settings.lengths)) for name in FEATURES]
        return [("covariance", own), *settings.columns_of_blocks()]

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Not offered: a ValueError.

        Parameters
        ----------
        folder, notes : any

        Examples
        --------
        >>> import heatfield_bench as hb
        >>> hb.baselines.CovariancePointClassifier().save("a")
        Traceback (most recent call last):
        ValueError: cannot save to 'a': a CovariancePointClassifier is for comparison only
        """
        raise ValueError(
            f"cannot save to {str(folder)!r}: a CovariancePointClassifier is for comparison only"
        )

    def _radii(self, settings: PointFeatureSettings) -> Array:
        if not isinstance(self.ratio, (int, float)) or not 0.0 < self.ratio < np.inf:
            raise ValueError(f"ratio must be a positive number, got {self.ratio!r}")
        return self.ratio * np.array(settings.lengths)
