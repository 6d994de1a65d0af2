"""Labels of clouds, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

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


def rarest_class(labels: np.ndarray) -> tuple[Any, int]:
    """The label of the fewest clouds, and how many they are."""
    values, counts = np.unique(labels, return_counts=True)
    return values.tolist()[counts.argmin()], int(counts.min())
