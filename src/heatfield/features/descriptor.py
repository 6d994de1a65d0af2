"""Estimators of clouds: what they have in common, and `HFSDescriptor`, a table of closed-form features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._base.check import Array, as_clouds, thread_count
from ..options import Features, Spectrum, Threads, count, option, options
from .describe import describe_clouds, own_ends, shared_lengths, warn_of_empty
from .layout import DescriptorSettings, Layout, options_of


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


def check_known_lengths(lengths: Any) -> None:
    """A ValueError where lengths would have to be learnt from clouds that are not there."""
    if isinstance(lengths, str):
        raise ValueError(
            f"lengths={lengths!r} are learnt from clouds; for features, "
            "give the lengths that they were computed with"
        )


@options
class HFSDescriptor(Features, Spectrum, Threads, CloudTransformer):
    """Closed-form heat field descriptors of clouds of any size: a scikit-learn transformer.

    Guide: ``heatfield docs guide/describe``.

    Parameters
    ----------
    {options}
    n_dims : int, optional
        Dimension of the points. Learnt by `fit`; only needed to ask for feature names
        before it, which are otherwise those of points in space.

    Notes
    -----
    A cloud of fewer than two distinct points has no scale schedule: its row is NaN,
    with a warning that names it. Correlations with a channel that does not vary over the
    points are NaN too. `HFSClassifier` fills such gaps from the training set.

    On the fast path errors do not grow by pooling; correlations are NaN where a channel varies by less than
    100 tol, the neighbourhood block has its square to 16 tol of the range squared, and the orientation
    block is right to 64 tol over the size of the tensors that it compares.

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> rng = np.random.default_rng(0)
    >>> clouds = [rng.normal(size=(m, 3)) for m in (40, 50, 60)]
    >>> hf.HFSDescriptor("desc").fit_transform(clouds).shape
    (3, 336)
    >>> hf.HFSDescriptor("desc").get_feature_names_out()[-1]
    'spectrum_3_p90_s7'
    >>> descriptor = hf.HFSDescriptor("joint", blocks=["hds", "gradient"]).fit(clouds)
    >>> descriptor.transform(clouds[:1]).shape, descriptor.layout().columns["gradient"]
    ((1, 104), slice(64, 104, None))
    """

    n_dims: int | None = option("Dimension of the points.", count(1), on_command=False, default=None)

    def fit(self, clouds: Sequence[ArrayLike], y: Any = None) -> HFSDescriptor:  # noqa: ARG002
        """Check the parameters and learn the dimension of the points, and lengths where they are shared.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)
        y : ignored

        Returns
        -------
        self : HFSDescriptor
        """
        return self._fit_clouds(as_clouds(clouds))

    def _fit_clouds(self, clouds: list[Array]) -> HFSDescriptor:
        """`fit` of clouds that were checked before."""
        self._forget()
        self._fit_dims(clouds[0].shape[1])
        if isinstance(self.lengths, str):
            own = self._settings(self.n_dims_)
            self.lengths_ = shared_lengths(own_ends(clouds, own, own.n_threads), own.n_scales)
        return self

    def _fit_dims(self, n: int) -> HFSDescriptor:
        """`fit` where the dimension of the points is known, and no lengths are learnt."""
        if self.n_dims is not None and self.n_dims != n:
            raise ValueError(
                f"clouds[0] has {n} coordinates per point, but n_dims={self.n_dims!r} was asked for"
            )
        self._settings(n)
        self.n_dims_ = n
        return self

    def fit_transform(self, clouds: Sequence[ArrayLike], y: Any = None, **params: Any) -> Any:  # noqa: ARG002
        """`fit` and `transform`, checking the clouds once.

        Parameters
        ----------
        clouds, y, **params : as of `fit`; only the clouds count

        Returns
        -------
        features : (N, columns)
        """
        checked = as_clouds(clouds)
        return self._fit_clouds(checked)._compute(checked)

    def transform(self, clouds: Sequence[ArrayLike]) -> Array:
        """Descriptors of N clouds.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)
            Of the dimension that `fit` met.

        Returns
        -------
        features : (N, columns)
        """
        check_is_fitted(self, "n_dims_")
        return self._compute(as_clouds(clouds))

    def layout(self) -> Layout:
        """The columns: their names, and those of each block.

        Returns
        -------
        layout : Layout
            With ``names``, ``columns`` (a slice by block) and ``width``.
        """
        n = getattr(self, "n_dims_", None) or self.n_dims or 3
        return self._settings(n).columns

    def _settings(self, n: int) -> DescriptorSettings:
        """The parameters, checked."""
        given = options_of(self)
        if isinstance(self.lengths, str) and self.lengths == "shared":
            given["lengths"] = getattr(self, "lengths_", None)
        return DescriptorSettings(n, **given)

    def _check_columns(self, count: int) -> None:
        """A ValueError where there are surely more columns than ``count``."""
        self._settings(self.n_dims_).check_columns(count)

    def _compute(self, clouds: list[Array], n_jobs: Any = "own", *, extents: Array | None = None) -> Array:
        """`transform` of clouds that were checked before, by the descriptor's own ``n_jobs`` or another.

        ``extents`` is that of `describe_clouds`.
        """
        check_same_dims(clouds, self.n_dims_, "the descriptor")
        settings = self._settings(self.n_dims_)
        n_threads = settings.n_threads if n_jobs == "own" else thread_count(n_jobs)
        out = describe_clouds(clouds, settings, extents, n_threads=n_threads)
        warn_of_empty(out, "their descriptors are NaN")
        return out
