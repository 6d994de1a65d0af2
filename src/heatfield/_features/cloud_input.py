"""What all estimators have in common: their input is a list of clouds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from .._base.check import Array
from .layout import Layout


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


class CloudTransformer(TransformerMixin, CloudEstimator):
    """A descriptor of clouds, whose columns have names."""

    def layout(self) -> Layout:
        """The columns: their names, and those of each block."""
        raise NotImplementedError

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """Names of block or channel, statistic and scale, as in ``dimension_p90_s3``.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : (columns,) array of str
        """
        return np.array(self.layout().names, dtype=object)


def check_same_dims(clouds: Sequence[Array], n_dims: int, fitted: str) -> None:
    """A ValueError where new clouds have other coordinates than those that ``fitted`` was fitted on."""
    found = clouds[0].shape[1]
    if found != n_dims:
        raise ValueError(f"clouds[0] has {found} coordinates per point, but {fitted} was fitted on {n_dims}")
