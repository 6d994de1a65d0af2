"""Labels for points by local covariance features, the usual way of the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heatfield import HFSPointClassifier
from heatfield._base.check import Array, thread_count
from heatfield_bench.baselines.local_covariance import FEATURES, covariance_features, local_covariances

# A ball of this many sqrt(t) has the same second moment in space as the weights exp(-D^2 / 4t).
SAME_MOMENT = float(np.sqrt(10.0))


class CovariancePointClassifier(HFSPointClassifier):
    """The rival of `HFSPointClassifier`: eigenvalue features of balls, as jakteristics has them.

    The same reader, height above the floor and columns; instead of signatures at a length sqrt(t) the twelve
    features of `LocalCovariance` within the radius ``ratio`` sqrt(t), which has the second moment of the
    Gaussian weights. It cannot be saved.

    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_forest(1, n_points=800)
    >>> model = CovariancePointClassifier(lengths=[0.3, 1.0], iterations=5)
    >>> model.fit(clouds, labels).predict(clouds)[0].shape
    (800,)
    """

    ratio = SAME_MOMENT

    def settings_for(self, points: Sequence[Array]) -> Any:
        return replace(super().settings_for(points), blocks=("height",))  # the one block that it has too

    def features(
        self,
        points: Array,
        settings: Any,
        columns: Mapping[str, Any] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float32]:
        """Covariance features at all lengths, then height and columns."""
        rest = super().features(points, settings, columns, rows)
        space = np.zeros((len(points), 3))
        space[:, : points.shape[1]] = points
        radii = self.ratio * np.array(settings.lengths)
        table = local_covariances(space, radii, thread_count(self.n_jobs))
        known = covariance_features(table if rows is None else table[rows])
        parts = [known[name][:, a] for a in range(len(settings.lengths)) for name in FEATURES]
        return np.concatenate([np.stack(parts, axis=1).astype(np.float32), rest], axis=1)

    def feature_groups(self, settings: Any) -> list[tuple[str, list[str]]]:
        own = [f"{name}_s{a}" for a in range(len(settings.lengths)) for name in FEATURES]
        return [("covariance", own), *super().feature_groups(settings)]

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        raise ValueError(
            f"cannot save to {str(folder)!r}: a CovariancePointClassifier is for comparison only"
        )
