"""The space in which clouds are compared: descriptors standardised, then the metric.

Every metric is the Euclidean distance of some vectors, the *places*: of the standardised rows themselves, of
the rows at length 1 (cosine), or of their linear discriminants (learned). So one search serves all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular, svd
from sklearn.covariance import ledoit_wolf

from .._base.check import Array, check_dtype
from .._base.progress import progress_bar
from .._classifier.preprocessing import GapImputer, RoundOffScaler, magnitudes
from .._features.descriptor import HFSDescriptor
from .._features.round_off import ROUND_OFF

Rows = NDArray[np.float32]
METRICS = ("euclidean", "cosine", "learned")
# Medians, means and deviations of more rows than these are taken from a sample of so many.
MOST_FITTED = 50_000
_TOGETHER = 4096  # rows that are converted at a time: double precision of all would be twice the index


@dataclass(frozen=True)
class Space:
    """What turns descriptors into standardised rows, and these into places.

    Attributes
    ----------
    metric : one of `METRICS`
    fill, mean, scale : (width,) medians for gaps, means and standard deviations
    constant : (width,) bool
        Columns that vary by round-off only; they are 0 in every row.
    directions : (width, d) of the learned metric, else (width, 0)
        Linear discriminants, scaled so that the classes have unit variance within.
    """

    metric: str
    fill: Array
    mean: Array
    scale: Array
    constant: NDArray[np.bool_]
    directions: Array

    def standardise(self, features: NDArray, quiet: bool = True) -> Rows:
        """Rows of a table of descriptors, gaps filled; a ValueError where a row has nothing but gaps."""
        out = np.empty(features.shape, dtype=np.float32)
        starts = range(0, len(features), _TOGETHER)
        for first in progress_bar(starts, unit=f"x {_TOGETHER} rows", quiet=quiet):
            some = np.asarray(features[first : first + _TOGETHER], dtype=np.float64)
            known = np.isfinite(some)
            empty = ~known.any(axis=1)
            if empty.any():
                raise ValueError(
                    f"features[{first + int(empty.argmax())}] holds no finite number: "
                    "its cloud has fewer than two distinct points"
                )
            filled = np.where(known, some, self.fill)
            out[first : first + _TOGETHER] = np.where(self.constant, 0.0, (filled - self.mean) / self.scale)
        return out

    def places(self, rows: Rows) -> Rows:
        """The vectors whose Euclidean distance is the metric, or grows with it; see `distances`."""
        if self.metric == "learned":
            # In double precision, so that equal rows have equal places whatever rows come with them.
            starts = range(0, len(rows), _TOGETHER)
            parts = [rows[i : i + _TOGETHER].astype(np.float64) @ self.directions for i in starts]
            return np.concatenate(parts).astype(np.float32)
        if self.metric == "cosine":
            length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
            return (rows / np.where(length > 0.0, length, 1.0)[:, None]).astype(np.float32)
        return rows

    def distances(self, squared: Array) -> Array:
        """The metric, from squared Euclidean distances of places: their root, or 1 - cosine."""
        return 0.5 * squared if self.metric == "cosine" else np.sqrt(squared)


def fit_space(
    features: NDArray, labels: np.ndarray | None, descriptor: HFSDescriptor, metric: str, seed: int | None
) -> Space:
    """Standardise as the classifier does, and learn the metric where it is learned."""
    scaler = RoundOffScaler(ROUND_OFF[check_dtype(descriptor.dtype)], magnitudes(descriptor.layout()))
    return fit_rows(features, labels, metric, seed, scaler)


def fit_rows(
    features: NDArray,
    labels: np.ndarray | None,
    metric: str,
    seed: int | None,
    scaler: RoundOffScaler | None = None,
) -> Space:
    """`fit_space` of any table of features."""
    chosen = _sample(len(features), seed)
    some = np.asarray(features[chosen], dtype=np.float64)
    imputer = GapImputer().fit(some)
    standard = (scaler or RoundOffScaler()).fit(imputer.transform(some))
    if standard.constant_.all():
        raise ValueError(
            f"the {len(features)} clouds have the same descriptor up to rounding: "
            "an index needs at least two that differ"
        )
    directions = np.empty((features.shape[1], 0))
    if metric == "learned":
        if labels is None:
            raise ValueError("metric='learned' needs labels: give one for each cloud")
        directions = _discriminants(standard.transform(imputer.transform(some)), labels[chosen])
    return Space(metric, imputer.fill_, standard.mean_, standard.scale_, standard.constant_, directions)


def _sample(count: int, seed: int | None) -> NDArray[np.int64] | slice:
    if count <= MOST_FITTED:
        return slice(None)
    return np.sort(np.random.default_rng(seed).choice(count, MOST_FITTED, replace=False))


def _discriminants(rows: Array, labels: np.ndarray) -> Array:
    classes = len(np.unique(labels))
    if classes < 2:
        raise ValueError(f"metric='learned' needs at least two classes, got {np.unique(labels).tolist()}")
    if len(rows) <= classes:
        raise ValueError(
            f"metric='learned' needs more clouds than classes, got {len(rows)} clouds of {classes} classes"
        )
    # Within the classes, shrunk, since there are often fewer clouds than columns; between them, of the means
    # themselves. scikit-learn's solver shrinks both, and takes the difference for a signal.
    known, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    means = np.stack([rows[inverse == c].mean(axis=0) for c in range(len(known))])
    within, _ = ledoit_wolf(rows - means[inverse], assume_centered=True)
    # Columns that are 0 in every row have no variance; a little keeps the factor in existence.
    factor = cholesky(within + 1e-9 * np.trace(within) / len(within) * np.eye(len(within)), lower=True)
    between = np.sqrt(counts / len(rows))[:, None] * (means - rows.mean(axis=0))
    _, size, axes = svd(solve_triangular(factor, between.T, lower=True).T, full_matrices=False)
    # C means lie in C - 1 dimensions.
    axes = axes[: classes - 1][size[: classes - 1] > 1e-9 * size[0]]
    return np.ascontiguousarray(solve_triangular(factor, axes.T, lower=True, trans="T"))
