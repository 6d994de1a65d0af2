"""What all estimators have in common: their input is a list of clouds."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator


class CloudEstimator(BaseEstimator):
    """An estimator whose input is a list of clouds, not one 2-D array."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags
