"""What `HFSIndex` computes with: standardised rows, the nearest of them, hits and retrieval scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular, svd
from scipy.spatial.distance import cdist
from sklearn.covariance import ledoit_wolf
from sklearn.model_selection import StratifiedKFold

from .._base.check import Array, check_count
from .._base.check import quiet as without_warnings
from .._base.progress import progress_bar
from .._base.summary import number, plural, shown
from .._base.threads import stop_if_asked
from ..features.descriptor import HFSDescriptor
from .heads import Scaling
from .read_out import RoundOffScaler, new_scaler

Rows = NDArray[np.float32]
Found = tuple[NDArray[np.int64], Array]  # (q, k) rows and their squared distances, nearest first

_BLOCK = 4096  # rows that are converted at a time: double precision of all would be twice the index
_FITTED = 50_000  # rows of which medians, means and deviations are taken; of more, from a sample
_FAR = 1e12  # deviations from the mean beyond which their logarithm counts, up to 7e14
_USUAL = 2.0**0.5  # root mean squared difference of standardised columns of two clouds drawn at random
_TABLE = 1 << 26  # distances that are held at a time
_EPS = float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class Space:
    """What turns descriptors into standardised rows, and these into vectors."""

    metric: str
    scaling: Scaling  # columns that vary by round-off only are 0 in every row
    directions: Array  # (width, d) linear discriminants of unit variance within the classes, or (width, 0)

    def standardise(self, features: NDArray, quiet: bool = True) -> Rows:
        """Rows of a table of descriptors, gaps filled; a ValueError where a row has nothing but gaps."""
        out = np.empty(features.shape, dtype=np.float32)
        for first in progress_bar(range(0, len(features), _BLOCK), unit=f"x {_BLOCK} rows", quiet=quiet):
            some = np.asarray(features[first : first + _BLOCK], dtype=np.float64)
            known = np.isfinite(some)
            empty = ~known.any(axis=1)
            if empty.any():
                raise ValueError(
                    f"features[{first + int(empty.argmax())}] holds no finite number: "
                    "its cloud has fewer than two distinct points"
                )
            with np.errstate(over="ignore"):
                row = self.scaling.normalised(some)
            out[first : first + _BLOCK] = _bounded(row)
        return out

    def vectors(self, rows: Rows) -> Rows:
        """The vectors whose Euclidean distance is the metric, or for the cosine the root of twice it."""
        if self.metric == "learned":
            # In double precision, so that equal rows have equal vectors whatever rows come with them.
            starts = range(0, len(rows), _BLOCK)
            parts = [rows[i : i + _BLOCK].astype(np.float64) @ self.directions for i in starts]
            return np.concatenate([_bounded(part) for part in parts])
        if self.metric == "cosine":
            length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
            return (rows / np.where(length > 0.0, length, 1.0)[:, None]).astype(np.float32)
        return rows

    def embed(self, features: NDArray) -> Rows:
        """The vectors of descriptors."""
        return self.vectors(self.standardise(features))


def _bounded(values: NDArray) -> Rows:
    """In single precision; beyond `_FAR` by logarithm, so that nothing overflows and none become equal.

    Clouds in another unit are that far away from all others: a density differs by the unit to the n.
    """
    size = np.minimum(np.abs(values), np.finfo(values.dtype).max)
    if size.max(initial=0.0) > _FAR:
        values = np.copysign(np.minimum(size, _FAR) + _FAR * np.log(np.maximum(size / _FAR, 1.0)), values)
    return np.ascontiguousarray(values, dtype=np.float32)


def fit_space(
    features: NDArray,
    labels: NDArray | None,
    metric: str,
    seed: int | None,
    descriptor: HFSDescriptor | None = None,
) -> Space:
    """Standardise as the classifier does, and learn the metric where it is learned.

    Without a descriptor the features may be of any kind.
    """
    chosen: Any = slice(None)
    if len(features) > _FITTED:
        chosen = np.random.default_rng(seed).choice(len(features), _FITTED, replace=False)
        chosen.sort()
    some = np.asarray(features[chosen], dtype=np.float64)
    scaler = RoundOffScaler()
    if descriptor is not None:
        scaler = new_scaler(descriptor.layout(), descriptor.dtype, None, dense=True)
    with np.errstate(over="ignore", invalid="ignore"):
        scaling = scaler.fit(some).scaling_
    if not np.isfinite(scaling.scale).all():
        raise ValueError(
            f"features must be below 1e150 in size, got {np.abs(some[np.isfinite(some)]).max():.3g}"
        )
    if scaling.constant.all():
        raise ValueError(
            f"the {len(features)} clouds have the same descriptor up to rounding: "
            "an index needs at least two that differ"
        )
    directions = np.empty((features.shape[1], 0))
    if metric == "learned":
        if labels is None:
            raise ValueError("metric='learned' needs labels: give one for each cloud")
        directions = _discriminants(scaling.normalised(some), labels[chosen])
    return Space(metric, scaling, directions)


def _discriminants(rows: Array, labels: NDArray) -> Array:
    known, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    classes = len(known)
    if classes < 2:
        raise ValueError(f"metric='learned' needs at least two classes, got {known.tolist()}")
    if len(rows) <= classes:
        raise ValueError(
            f"metric='learned' needs more clouds than classes, got {len(rows)} clouds of {classes} classes"
        )
    # Within the classes, shrunk, since there are often fewer clouds than columns; between them, of the means
    # themselves. scikit-learn's solver shrinks both, and takes the difference for a signal.
    means = np.stack([rows[inverse == c].mean(axis=0) for c in range(classes)])
    within, _ = ledoit_wolf(rows - means[inverse], assume_centered=True)
    # Columns that are 0 in every row have no variance; a little keeps the factor in existence.
    factor = cholesky(within + 1e-9 * np.trace(within) / len(within) * np.eye(len(within)), lower=True)
    between = np.sqrt(counts / len(rows))[:, None] * (means - rows.mean(axis=0))
    _, size, axes = svd(solve_triangular(factor, between.T, lower=True).T, full_matrices=False)
    # C means lie in C - 1 dimensions.
    axes = axes[: classes - 1][size[: classes - 1] > 1e-9 * size[0]]
    return np.ascontiguousarray(solve_triangular(factor, axes.T, lower=True, trans="T"))


def nearest(queries: Rows, rows: Rows, k: int) -> Found:
    """The k nearest rows of each query and their squared distances, nearest first; among equals the earlier.

    A matrix product, quick but with cancellation, leaves out the rows that are too far beyond doubt: the
    k-th distance and twice the largest error that it can have. Distances of the others are
    sums of squared differences in double precision, and these alone decide.
    """
    k = min(k, len(rows))
    index, squared = np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k))
    lengths = np.einsum("ij,ij->i", rows, rows)
    longest = float(lengths.max())
    block = max(1, _TABLE // len(rows))
    for first in range(0, len(queries), block):
        stop_if_asked()
        some = queries[first : first + block]
        own = np.einsum("ij,ij->i", some, some)
        table = some @ rows.T
        table *= -2.0
        table += lengths
        table += own[:, None]
        kth = np.partition(table, k - 1, axis=1)[:, k - 1]
        # Of a sum of w products the error is at most w eps times the sum of their sizes.
        error = 2.0 * (rows.shape[1] + 4) * _EPS * (own + longest)
        for i, query in enumerate(some):
            candidates = np.flatnonzero(table[i] <= kth[i] + error[i])
            difference = rows[candidates].astype(np.float64) - query
            exact = np.einsum("ij,ij->i", difference, difference)
            best = np.argsort(exact, kind="stable")[:k]
            index[first + i], squared[first + i] = candidates[best], exact[best]
    return index, squared


@dataclass(frozen=True, repr=False)
class Hits:
    """The nearest clouds of some queries, nearest first.

    Guide: ``heatfield docs guide/search``.

    Attributes
    ----------
    rows : (q, k) positions in the index
    names : list of q lists of k names
    labels : list of q lists of k labels; None where the index has none
    distances : (q, k)
    blocks : names of the B blocks of the descriptor
    differences : (q, k, B)
        How much query and hit differ in each block: the root of the mean squared difference of its
        standardised columns, over that of two clouds drawn at random. 0 is equal, 1 as different as
        any two. NaN for a block that is constant over the index.

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=2, n_points=60)
    >>> hits = hf.HFSIndex("simple").build(clouds, labels=labels).query(clouds[:1], k=2)
    >>> len(hits), hits.table()[0]["name"], hits.most_alike(0, 0, 1)
    (1, '0', [('global', 0.0)])
    """

    rows: NDArray[np.int64]
    names: list[list[str]]
    labels: list[list[Any]]
    distances: Array
    blocks: tuple[str, ...]
    differences: Array

    def __len__(self) -> int:
        return len(self.rows)

    def most_alike(self, query: int, rank: int, count: int = 3) -> list[tuple[str, float]]:
        """The blocks in which a query and one of its hits differ least, with their difference.

        Parameters
        ----------
        query, rank : int
            Both from 0.
        count : int
            How many blocks.

        Returns
        -------
        blocks : list of (name, difference), the most alike first
        """
        row = self.differences[query, rank]
        order = [b for b in np.argsort(row, kind="stable") if not np.isnan(row[b])]
        return [(self.blocks[b], float(row[b])) for b in order[:count]]

    def table(self, queries: list[str] | None = None) -> list[dict[str, Any]]:
        """One row per hit: query, rank, name, label, distance, most_alike.

        Parameters
        ----------
        queries : list of str, optional
            Names of the queries; their numbers otherwise.

        Returns
        -------
        rows : list of dict
        """
        if queries is not None and len(queries) != len(self):
            raise ValueError(f"queries has {len(queries)} names for {len(self)} queries")
        return [
            {
                "query": i if queries is None else queries[i],
                "rank": j + 1,
                "name": self.names[i][j],
                "label": self.labels[i][j],
                "distance": float(self.distances[i, j]),
                "most_alike": ", ".join(f"{b} {d:.2f}" for b, d in self.most_alike(i, j)),
            }
            for i in range(len(self))
            for j in range(self.rows.shape[1])
        ]

    def __repr__(self) -> str:
        rows = zip(self.names[:2], self.distances[:2].tolist(), strict=True)
        found = [[f"{n} ({number(d)})" for n, d in zip(*row, strict=True)] for row in rows]
        lines = [f"  query {i}: {shown(words, 96)}" for i, words in enumerate(found)]
        return "\n".join(
            [f"Hits of {len(self):,} queries, {plural(self.rows.shape[1], 'cloud')} each", *lines]
        )


def block_differences(
    queries: Rows,
    rows: Rows,
    found: NDArray[np.int64],
    columns: dict[str, slice],
    constant: NDArray[np.bool_],
) -> Array:
    """Differences (q, k, B) of standardised queries and the rows found for them, block by block."""
    out = np.full((*found.shape, len(columns)), np.nan)
    for i, hits in enumerate(found):  # one by one: the rows of all hits may not fit into memory
        square = (rows[hits].astype(np.float64) - queries[i]) ** 2
        for b, place in enumerate(columns.values()):
            varies = ~constant[place]
            if varies.any():
                out[i, :, b] = np.sqrt(square[:, place][:, varies].mean(axis=1)) / _USUAL
    return out


@dataclass(frozen=True, repr=False)
class RetrievalScores:
    """Means over all queries; all lie between 0 and 1.

    Attributes
    ----------
    nearest : float
        Share of queries whose nearest cloud is of their class: the leave-one-out accuracy of 1-NN.
    first_tier, second_tier : float
        With R clouds of the query's class in the index, the share of them among the first R, or 2R, hits.
    mean_average_precision : float
        The mean over the R of the precision at the place of each.
    precision_at_10 : float
    queries : int
    skipped : int
        Queries without any other cloud of their class, which are left out.
    by_class : dict
        Mean average precision of the queries of each class.
    """

    nearest: float
    first_tier: float
    second_tier: float
    mean_average_precision: float
    precision_at_10: float
    queries: int
    skipped: int
    by_class: dict[Any, float]

    def as_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)

    def __repr__(self) -> str:
        return (
            f"Retrieval scores of {plural(self.queries, 'cloud')}, {self.skipped:,} left out\n"
            f"  nearest is of the class {100 * self.nearest:.1f} %, "
            f"first tier {100 * self.first_tier:.1f} %, second tier {100 * self.second_tier:.1f} %\n"
            f"  mean average precision {self.mean_average_precision:.3f}, "
            f"precision at 10 {self.precision_at_10:.3f}"
        )


Ranked = list[tuple[Any, tuple[float, ...] | None]]  # of each query its label, and its figures if it has any


def leave_one_out(
    rows: NDArray, labels: NDArray, queries: NDArray[np.int64] | None = None, metric: str = "euclidean"
) -> RetrievalScores:
    """Every row (or some of them) against all others, by a metric of `scipy.spatial.distance.cdist`."""
    chosen = np.arange(len(rows)) if queries is None else queries
    return _scores(_ranked(rows[chosen], labels[chosen], rows, labels, own=chosen, metric=metric))


def across_folds(
    features: NDArray,
    labels: NDArray,
    fit: Callable[[NDArray, NDArray], Callable[[NDArray], NDArray]],
    folds: int,
    seed: int,
) -> RetrievalScores:
    """Each fold against the rows of the other folds, both mapped by what ``fit`` learned from the others."""
    most = min(check_count(folds, "folds", 2), int(np.unique(labels, return_counts=True)[1].max()))
    if most < 2:
        raise ValueError("every class has one cloud only: there is nothing to evaluate")
    found: Ranked = []
    with without_warnings(UserWarning):  # a class with fewer clouds than folds is in some of them only
        split = list(StratifiedKFold(most, shuffle=True, random_state=seed).split(labels, labels))
    for train, test in progress_bar(split, unit="folds"):
        mapped = fit(features[train], labels[train])
        found += _ranked(mapped(features[test]), labels[test], mapped(features[train]), labels[train])
    return _scores(found)


def _ranked(
    queries: NDArray,
    classes: NDArray,
    gallery: NDArray,
    labels: NDArray,
    *,
    own: NDArray[np.int64] | None = None,
    metric: str = "euclidean",
) -> Ranked:
    """Rank the gallery for each query; ``own`` are the queries' own rows in it, which do not count."""
    block = max(1, _TABLE // 4 // len(gallery))
    right = np.asarray(gallery, dtype=np.float64)
    out: Ranked = []
    for first in progress_bar(range(0, len(queries), block), unit="blocks"):
        table = cdist(np.asarray(queries[first : first + block], dtype=np.float64), right, metric)
        for i, distances in enumerate(table, first):
            order = np.argsort(distances, kind="stable")
            if own is not None:
                order = order[order != own[i]]
            out.append((classes[i], _figures(labels[order] == classes[i])))
    return out


def _figures(same: NDArray[np.bool_]) -> tuple[float, ...] | None:
    """The five figures of one query, from which hits are of its class; None where none is."""
    hits = np.flatnonzero(same)
    count = len(hits)
    if count == 0:
        return None
    average = np.mean((np.arange(count) + 1.0) / (hits + 1.0))
    tiers = same[:count].mean(), same[: 2 * count].sum() / count
    return float(same[0]), *map(float, tiers), float(average), float(same[:10].mean())


def _scores(ranked: Ranked) -> RetrievalScores:
    """The means."""
    known = [(label, figures) for label, figures in ranked if figures is not None]
    if not known:
        raise ValueError("no cloud shares its class with another: there is nothing to evaluate")
    labels, table = np.array([label for label, _ in known]), np.array([figures for _, figures in known])
    by_class = {name.item(): float(table[labels == name, 3].mean()) for name in np.unique(labels)}
    nearest, first, second, average, precision = table.mean(axis=0).tolist()
    skipped = len(ranked) - len(known)
    return RetrievalScores(nearest, first, second, average, precision, len(known), skipped, by_class)
