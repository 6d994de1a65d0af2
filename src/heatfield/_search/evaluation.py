"""How good a search is where labels are known: does it bring clouds of the same class first?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold

from .._base.check import Array, check_count
from .._base.progress import progress_bar
from .._base.summary import Summarised, Summary, plural
from .space import Rows, Space

_TABLE = 1 << 24  # distances that are held at a time


@dataclass(frozen=True, repr=False)
class RetrievalScores(Summarised):
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

    def _summary(self) -> Summary:
        lines: list[tuple[str, str | list[str]]] = [
            ("nearest is of the class", f"{100 * self.nearest:.1f} %"),
            ("first tier", f"{100 * self.first_tier:.1f} %"),
            ("second tier", f"{100 * self.second_tier:.1f} %"),
            ("mean average precision", f"{self.mean_average_precision:.3f}"),
            ("precision at 10", f"{self.precision_at_10:.3f}"),
        ]
        if self.skipped:
            lines.append(("left out", f"{self.skipped:,} without another cloud of their class"))
        return Summary(f"Retrieval scores of {plural(self.queries, 'cloud')}", lines)


def leave_one_out(
    places: Rows | Array,
    labels: NDArray,
    queries: NDArray[np.int64] | None = None,
    metric: str = "euclidean",
) -> RetrievalScores:
    """Every row (or some of them) against all others, by a metric of `scipy.spatial.distance.cdist`."""
    chosen = np.arange(len(places)) if queries is None else queries
    ranked = _Ranking(metric)
    ranked.add(places[chosen], labels[chosen], places, labels, own=chosen)
    return ranked.scores()


def across_folds(
    features: NDArray, labels: NDArray, fit: Callable[[NDArray, NDArray], Space], folds: int, seed: int
) -> RetrievalScores:
    """Each fold against the rows of the other folds, in a space that is fitted on these."""
    counts = np.unique(labels, return_counts=True)[1]
    most = min(check_count(folds, "folds", 2), int(counts.max()))
    if most < 2:
        raise ValueError("every class has one cloud only: there is nothing to evaluate")
    ranked = _Ranking()
    # Classes with fewer clouds than folds are in some of the folds only, which is no fault here.
    parts = _quiet_folds(most, seed, labels)
    for train, test in progress_bar(parts, unit="folds", total=most):
        space = fit(features[train], labels[train])
        gallery = space.places(space.standardise(features[train]))
        ranked.add(space.places(space.standardise(features[test])), labels[test], gallery, labels[train])
    return ranked.scores()


def _quiet_folds(folds: int, seed: int, labels: NDArray) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        yield from StratifiedKFold(folds, shuffle=True, random_state=seed).split(labels, labels)


class _Ranking:
    """Scores of queries, gathered."""

    def __init__(self, metric: str = "euclidean") -> None:
        self._metric = metric
        self._rows: list[tuple[float, ...]] = []
        self._labels: list[Any] = []
        self._skipped = 0

    def add(
        self,
        queries: Any,
        classes: NDArray,
        gallery: Any,
        labels: NDArray,
        own: NDArray[np.int64] | None = None,
    ) -> None:
        """Rank the gallery for each query; ``own`` are the queries' own rows in it, which do not count."""
        step = max(1, _TABLE // len(gallery))
        right = np.asarray(gallery, dtype=np.float64)
        for first in progress_bar(range(0, len(queries), step), unit="blocks"):
            some = np.asarray(queries[first : first + step], dtype=np.float64)
            table = cdist(some, right, self._metric)
            for i in range(len(some)):
                order = np.argsort(table[i], kind="stable")
                if own is not None:
                    order = order[order != own[first + i]]
                self._one(labels[order] == classes[first + i], classes[first + i])

    def _one(self, same: NDArray[np.bool_], label: Any) -> None:
        relevant = int(same.sum())
        if relevant == 0:
            self._skipped += 1
            return
        places = np.flatnonzero(same)
        precision = (np.arange(relevant) + 1.0) / (places + 1.0)
        self._rows.append(
            (
                float(same[0]),
                float(same[:relevant].mean()) if relevant else 0.0,
                float(same[: 2 * relevant].sum() / relevant),
                float(precision.mean()),
                float(same[:10].mean()),
            )
        )
        self._labels.append(label.item() if isinstance(label, np.generic) else label)

    def scores(self) -> RetrievalScores:
        """The means."""
        if not self._rows:
            raise ValueError("no cloud shares its class with another: there is nothing to evaluate")
        table, labels = np.array(self._rows), np.array(self._labels)
        by_class = {
            label.item() if isinstance(label, np.generic) else label: float(table[labels == label, 3].mean())
            for label in np.unique(labels)
        }
        nearest, first, second, average, precision = table.mean(axis=0).tolist()
        return RetrievalScores(
            nearest, first, second, average, precision, len(table), self._skipped, by_class
        )
