"""What the point descriptors share: checks, threads over clouds, pooling over points, names."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from heatfield._base.check import Array, HeatFieldWarning, as_clouds, as_points, thread_count
from heatfield._base.threads import pieces, run_pieces
from heatfield._features.cloud_input import CloudEstimator, check_same_dims
from heatfield._features.describe import pooled
from heatfield._features.layout import STATISTICS, Layout


class PointDescriptor(TransformerMixin, CloudEstimator, ABC):
    """Features of every point, pooled over the points of each cloud: the base of the descriptor baselines.

    A subclass says which parameters are valid (`_settings`), how its features are called (`_axes`) and
    computes them for one cloud (`_features`). Everything a user sees beyond that is here.
    """

    # Clouds for which no feature can be computed; completes "N clouds have ...".
    _undefined = "fewer than two distinct points"
    # Most coordinates per point, or None where the method works in any dimension.
    _most_dims: int | None = None
    # Whether features come from large eigenvalue problems: the threads of BLAS would then fight with
    # ours, and change the last digits.
    _uses_blas = False

    n_jobs: int | None

    @abstractmethod
    def _settings(self) -> Any:
        """The parameters, checked; a ValueError where one is wrong."""

    @abstractmethod
    def _axes(self) -> tuple[Sequence[str], str, int]:
        """Names of the channels; the letter and the number of the steps (scales, bins) that each has."""

    @abstractmethod
    def _features(self, points: Array, settings: Any, n_threads: int) -> Array | None:
        """Channels (C, T, m) of one cloud of at least one point; None if none can be computed."""

    def fit(self, clouds: Sequence[ArrayLike], y: Any = None) -> PointDescriptor:  # noqa: ARG002
        """Check the parameters and learn the dimension of the points; there is nothing else to learn.

        Parameters
        ----------
        clouds : list of N arrays (m_i, n)
        y : ignored

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np, heatfield_bench as hb
        >>> clouds = [np.random.default_rng(i).normal(size=(60, 3)) for i in range(3)]
        >>> descriptor = hb.baselines.LocalCovariance(radii=(0.5, 1.0)).fit(clouds)
        >>> descriptor.n_dims_
        3
        """
        self._fit(as_clouds(clouds))
        return self

    def transform(self, clouds: Sequence[ArrayLike]) -> Array:
        """Pooled features (N, columns) of N clouds.

        Parameters
        ----------
        clouds : list of N arrays
            With as many coordinates as those of `fit`.

        Returns
        -------
        features : (N, columns)

        Examples
        --------
        >>> import numpy as np, heatfield_bench as hb
        >>> clouds = np.random.default_rng(0).normal(size=(3, 60, 3))
        >>> hb.baselines.HKS().fit(clouds).transform(clouds[:2]).shape
        (2, 80)
        """
        check_is_fitted(self, "n_dims_")
        checked = as_clouds(clouds)
        check_same_dims(checked, self.n_dims_, "the descriptor")
        return self._compute(checked)

    def fit_transform(self, clouds: Sequence[ArrayLike], y: Any = None, **params: Any) -> Any:  # noqa: ARG002
        """`fit` and `transform`, checking the clouds once.

        Parameters
        ----------
        clouds, y, **params : those of `fit`

        Returns
        -------
        features : (N, columns), as of `transform`

        Examples
        --------
        >>> import numpy as np, heatfield_bench as hb
        >>> hb.baselines.WKS().fit_transform(np.random.default_rng(0).normal(size=(2, 50, 2))).shape
        (2, 80)
        """
        checked = as_clouds(clouds)
        self._fit(checked)
        return self._compute(checked)

    def per_point(self, cloud: ArrayLike) -> Array:
        """Features (m, columns) of the points of one cloud, columns as in `point_names`; needs no `fit`.

        NaN is what cannot be computed at a point.

        Parameters
        ----------
        cloud : array_like (m, n)

        Returns
        -------
        features : (m, columns)

        Examples
        --------
        >>> import numpy as np, heatfield_bench as hb
        >>> hb.baselines.HKS().per_point(np.random.default_rng(0).normal(size=(50, 3))).shape
        (50, 16)
        """
        points = as_points(cloud, "cloud")
        self._check_dims(points, "cloud")
        settings, n_threads = self._settings(), thread_count(self.n_jobs)
        with self._one_blas_thread():
            found = self._of_cloud(points, settings, n_threads)
        return np.ascontiguousarray(found.reshape(found.shape[0] * found.shape[1], len(points)).T)

    def point_names(self) -> np.ndarray:
        """Names of the columns of `per_point`: channel and step, as in ``linearity_s2``.

        Returns
        -------
        names : array of str

        Examples
        --------
        >>> import heatfield_bench as hb
        >>> hb.baselines.LocalCovariance().point_names()[:2].tolist()
        ['eigenvalue_sum_s0', 'eigenvalue_sum_s1']
        """
        self._settings()
        channels, letter, steps = self._axes()
        return np.array([f"{c}_{letter}{a}" for c in channels for a in range(steps)], dtype=object)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """Names of the pooled columns: channel, statistic and step, as in ``linearity_p90_s2``.

        Parameters
        ----------
        input_features : any
            Not looked at.

        Returns
        -------
        names : array of str, (columns,)

        Examples
        --------
        >>> import heatfield_bench as hb
        >>> hb.baselines.HKS().get_feature_names_out()[0]
        'hks_mean_s0'
        """
        return np.array(self.layout().names, dtype=object)

    def layout(self) -> Layout:
        """The pooled columns: their names, and those of each channel.

        Returns
        -------
        layout : Layout
            Its ``columns`` hold a slice by channel.

        Examples
        --------
        >>> import heatfield_bench as hb
        >>> hb.baselines.LocalCovariance().layout().columns["linearity"]
        slice(125, 150, None)
        """
        self._settings()
        channels, letter, steps = self._axes()
        names = [f"{c}_{s}_{letter}{a}" for c in channels for s in STATISTICS for a in range(steps)]
        width = len(STATISTICS) * steps
        return Layout(tuple(names), {c: slice(i * width, (i + 1) * width) for i, c in enumerate(channels)})

    def n_columns(self) -> int:
        """How many columns describe a cloud.

        Returns
        -------
        count : int

        Examples
        --------
        >>> import heatfield_bench as hb
        >>> hb.baselines.FPFH().n_columns()
        165
        """
        self._settings()
        channels, _, steps = self._axes()
        return len(channels) * len(STATISTICS) * steps

    def _check_dims(self, points: Array, name: str) -> None:
        n = points.shape[1]
        if self._most_dims is not None and n > self._most_dims:
            raise ValueError(
                f"{type(self).__name__} is defined for points of at most {self._most_dims} coordinates, "
                f"but {name} has {n}"
            )

    def _fit(self, clouds: list[Array]) -> None:
        self._check_dims(clouds[0], "clouds[0]")
        self._settings()
        thread_count(self.n_jobs)
        self.n_dims_ = clouds[0].shape[1]

    def _of_cloud(self, points: Array, settings: Any, n_threads: int) -> Array:
        """Channels (C, T, m) of one cloud, NaN where they cannot be computed."""
        found = self._features(points, settings, n_threads) if len(points) else None
        if found is None:
            channels, _, steps = self._axes()
            return np.full((len(channels), steps, len(points)), np.nan)
        return found

    def _one_blas_thread(self) -> Any:
        return threadpool_limits(1, "blas") if self._uses_blas else nullcontext()

    def _compute(self, clouds: list[Array]) -> Array:
        settings, n_threads = self._settings(), thread_count(self.n_jobs)
        out = np.empty((len(clouds), self.n_columns()))
        within = n_threads if len(clouds) == 1 else 1  # one cloud has all threads to itself

        def work(first: int, last: int) -> None:
            for i in range(first, last):
                pool_defined(self._of_cloud(clouds[i], settings, within), out[i])

        with self._one_blas_thread():
            run_pieces(work, pieces(len(clouds), 1), n_threads, progress="clouds")
        empty = np.flatnonzero(np.isnan(out).all(axis=1))
        if empty.size:
            shown = ", ".join(map(str, empty[:10])) + (", ..." if empty.size > 10 else "")
            warnings.warn(
                f"{empty.size} of {len(clouds)} clouds have {self._undefined}, "
                f"so their {type(self).__name__} features are NaN: clouds {shown}",
                HeatFieldWarning,
                stacklevel=4,
            )
        return out


def pool_defined(channels: Array, out: Array) -> None:
    """Pool channels (C, T, m) over the points at which each is defined; NaN where it is at none."""
    defined = ~np.isnan(channels)
    if channels.shape[2] and defined.all():
        out[:] = pooled(np.ascontiguousarray(channels), np.array([channels.shape[2]]))[0]
        return
    table = out.reshape(channels.shape[0], len(STATISTICS), channels.shape[1])
    for c, a in np.ndindex(channels.shape[:2]):
        values = channels[c, a, defined[c, a]]
        table[c, :, a] = pooled(values[None, None], np.array([values.size]))[0]


def in_unit_ball(points: Array) -> Array | None:
    """Points (m, 3), z = 0 if there is none, centroid at 0, farthest at distance 1; None without extent."""
    space = np.zeros((len(points), 3))
    space[:, : points.shape[1]] = points - points[0]  # so that the mean of map coordinates loses nothing
    space -= space.mean(axis=0)
    radius = float(np.sqrt((space**2).sum(axis=1).max()))
    extent = float(np.ptp(points, axis=0).max())
    return space / radius if extent > 0.0 else None
