"""Labels of clouds, checked, and clouds with their labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .._base.check import Array, as_clouds

Labels = Sequence[Any] | NDArray[Any]


def checked_labels(y: Labels) -> np.ndarray:
    """Labels of at least two classes as an array of words or of numbers."""
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind not in "biufU":  # for instance from pandas: words or numbers in an array of objects
        plain = np.array(labels.tolist())
        if plain.dtype.kind not in "biufU" or len({isinstance(v, str) for v in labels.tolist()}) > 1:
            some = list(dict.fromkeys(map(repr, labels.tolist())))[:5]
            raise ValueError(f"y must be all words or all numbers, got {', '.join(some)}")
        labels = plain
    check_classification_targets(labels)
    if len(np.unique(labels)) < 2:
        raise ValueError(f"y must hold at least two classes, got only {np.unique(labels).tolist()}")
    return labels


def labels_for(y: Any, count: int) -> np.ndarray:
    """Labels of so many clouds, checked."""
    if not hasattr(y, "__len__"):
        raise ValueError(f"y must be a label for each cloud, got {y!r}")
    if len(y) != count:
        raise ValueError(f"y has {len(y)} labels for {count} clouds")
    return checked_labels(y)


def checked_training(clouds: Any, y: Any) -> tuple[list[Array], np.ndarray]:
    """Clouds and as many labels, or a ValueError."""
    checked = as_clouds(clouds)
    return checked, labels_for(y, len(checked))


def rarest_class(labels: np.ndarray) -> tuple[Any, int]:
    """The label of the fewest clouds, and how many they are."""
    values, counts = np.unique(labels, return_counts=True)
    return values.tolist()[counts.argmin()], int(counts.min())
