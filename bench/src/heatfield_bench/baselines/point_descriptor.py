"""What point descriptors share: checks, threads, pooling, names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from heatfield._base.check import Array, as_clouds, as_points, thread_count
from heatfield._base.threads import pieces, run_pieces
from heatfield.features.blocks import STATISTICS, pooled
from heatfield.features.describe import warn_of_empty
from heatfield.features.descriptor import CloudTransformer, check_same_dims
from heatfield.features.layout import Layout
from heatfield.options import check_options


class PointDescriptor(CloudTransformer, ABC):
    """Features of every point, pooled over the points of each cloud: the base of the descriptor baselines.

    A subclass declares its options, says how its features are called (`_axes`) and computes them for one
    cloud (`features`). Everything a user sees beyond that is here.
    """

    family = "descriptor"
    # Most coordinates per point, or None where the method works in any dimension.
    _most_dims: ClassVar[int | None] = None
    # Whether features come from large eigenvalue problems: the threads of BLAS would then fight with
    # ours, and change the last digits.
    _uses_blas: ClassVar[bool] = False

    n_jobs: int | None

    @abstractmethod
    def _axes(self) -> tuple[Sequence[str], str, int]:
        """Names of the channels; the letter and the number of the steps (scales, bins) that each has."""

    @abstractmethod
    def _features(self, points: Array, settings: Mapping[str, Any], n_threads: int) -> Array | None:
        """Channels (C, T, m) of one cloud of at least one point; None if none can be computed."""

    def _settings(self) -> dict[str, Any]:
        """The options, checked; a ValueError where one is wrong."""
        return check_options(self)

    def fit(self, clouds: Sequence[ArrayLike], y: Any = None) -> Self:  # noqa: ARG002
        """Check the parameters and learn the dimension of the points; there is nothing else to learn.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)
        y : ignored

        Returns
        -------
        self
        """
        first = as_clouds(clouds)[0]
        self._check_dims(first, "clouds[0]")
        self._settings()
        self.n_dims_ = first.shape[1]
        return self

    def transform(self, clouds: Sequence[ArrayLike]) -> Array:
        """Pooled features of N clouds.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)
            With as many coordinates as those of `fit`.

        Returns
        -------
        features : (N, columns)
        """
        check_is_fitted(self, "n_dims_")
        checked = as_clouds(clouds)
        check_same_dims(checked, self.n_dims_, "the descriptor")
        settings, n_threads = self._settings(), thread_count(self.n_jobs)
        out = np.empty((len(checked), self._width()))
        within = n_threads if len(checked) == 1 else 1  # one cloud has all threads to itself

        def work(first: int, last: int) -> None:
            for i in range(first, last):
                pool_defined(self._of_cloud(checked[i], settings, within), out[i])

        with self._one_blas_thread():
            run_pieces(work, pieces(len(checked), 1), n_threads, progress="clouds")
        warn_of_empty(out, f"their {type(self).__name__} features are NaN")
        return out

    def per_point(self, cloud: ArrayLike) -> Array:
        """Features of the points of one cloud; needs no `fit`. NaN is what cannot be computed at a point.

        Parameters
        ----------
        cloud : array_like (m, n)

        Returns
        -------
        features : (m, columns)
            Columns as in `point_names`.
        """
        points = as_points(cloud, "cloud")
        self._check_dims(points, "cloud")
        with self._one_blas_thread():
            found = self._of_cloud(points, self._settings(), thread_count(self.n_jobs))
        return np.ascontiguousarray(found.reshape(found.shape[0] * found.shape[1], len(points)).T)

    def point_names(self) -> np.ndarray:
        """Names of the columns of `per_point`: channel and step, as in ``linearity_s2``.

        Returns
        -------
        names : array of str
        """
        self._settings()
        channels, letter, steps = self._axes()
        return np.array([f"{c}_{letter}{a}" for c in channels for a in range(steps)], dtype=object)

    def layout(self) -> Layout:
        """The pooled columns: their names, and those of each channel.

        Returns
        -------
        layout : Layout
            With ``names``, ``columns`` (a slice by channel) and ``width``.
        """
        self._settings()
        channels, letter, steps = self._axes()
        names = [f"{c}_{s}_{letter}{a}" for c in channels for s in STATISTICS for a in range(steps)]
        width = len(STATISTICS) * steps
        return Layout(tuple(names), {c: slice(i * width, (i + 1) * width) for i, c in enumerate(channels)})

    def _width(self) -> int:
        channels, _, steps = self._axes()
        return len(channels) * len(STATISTICS) * steps

    def _check_dims(self, points: Array, name: str) -> None:
        n = points.shape[1]
        if self._most_dims is not None and n > self._most_dims:
            raise ValueError(
                f"{type(self).__name__} is defined for points of at most {self._most_dims} coordinates, "
                f"but {name} has {n}"
            )

    def _of_cloud(self, points: Array, settings: Mapping[str, Any], n_threads: int) -> Array:
        """Channels (C, T, m) of one cloud, NaN where they cannot be computed."""
        found = self._features(points, settings, n_threads) if len(points) else None
        if found is None:
            channels, _, steps = self._axes()
            return np.full((len(channels), steps, len(points)), np.nan)
        return found

    def _one_blas_thread(self) -> Any:
        return threadpool_limits(1, "blas") if self._uses_blas else nullcontext()


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
