"""What all estimators have in common: their input is a list of clouds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator

from .._base.check import Array


class CloudEstimator(BaseEstimator):
    """An estimator whose input is a list of clouds, not one 2-D array."""

    def _forget(self) -> None:
        """Remove all attributes of an earlier fit."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A list of clouds is neither a 2-D array nor free of gaps.
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags


def check_same_dims(clouds: Sequence[Array], n_dims: int, fitted: str) -> None:
    """A ValueError where new clouds have other coordinates than those that ``fitted`` was fitted on."""
    found = clouds[0].shape[1]
    if found != n_dims:
        raise ValueError(f"clouds[0] has {found} coordinates per point, but {fitted} was fitted on {n_dims}")
