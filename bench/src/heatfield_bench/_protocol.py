"""How a data set is tested: splits that are fixed once and shared by every method, and the scores."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score, recall_score

from heatfield._base.check import Array, check_choice, check_count
from heatfield.datasets import make_folds, make_splits


@dataclass(frozen=True)
class Protocol:
    """Random splits or folds, and the score that the tables show.

    Guide: ``heatfield docs results/experiments``.

    Attributes
    ----------
    kind : "splits" or "folds"
    count : int
    share : float
        Part of every class that is tested; of folds 1 / count.
    metric : "oa" or "macc"
        Overall accuracy, or its mean over classes.

    Examples
    --------
    >>> import numpy as np
    >>> from heatfield_bench import Protocol
    >>> folds = Protocol("folds", 2, 0.5, "oa")
    >>> tests = folds.tests([np.eye(2) * i for i in range(1, 5)], np.array([0, 0, 1, 1]))
    >>> [int(test.sum()) for test in tests], folds.facts()["kind"]
    ([2, 2], 'folds')
    """

    kind: str
    count: int
    share: float
    metric: str

    def __post_init__(self) -> None:
        check_choice(self.kind, "kind", ("splits", "folds"))
        check_choice(self.metric, "metric", ("oa", "macc"))
        check_count(self.count, "count", 2 if self.kind == "folds" else 1)
        if not 0.0 < self.share < 1.0:
            raise ValueError(f"share must lie between 0 and 1, got {self.share!r}")

    def tests(self, clouds: Sequence[Array], labels: NDArray) -> list[NDArray[np.bool_]]:
        """For each split, True where a cloud is tested; decided by the content of the data alone.

        Parameters
        ----------
        clouds : sequence of (m_i, n) arrays
        labels : (N,)

        Returns
        -------
        tests : list of (N,) bool arrays
        """
        if self.kind == "folds":
            fold = make_folds(clouds, labels, self.count)
            return [fold == k for k in range(self.count)]
        return list(make_splits(clouds, labels, self.count, test_share=self.share))

    def facts(self) -> dict[str, Any]:
        """As JSON keeps it.

        Returns
        -------
        facts : dict
        """
        return asdict(self)


# The paper's: synthetic sets by overall accuracy over random splits, real ones
# by mean class accuracy over folds.
SYNTHETIC = Protocol("splits", 20, 0.2, "oa")
ORBITS = Protocol("splits", 20, 0.3, "oa")
REAL = Protocol("folds", 5, 0.2, "macc")


def splits_digest(tests: Sequence[NDArray[np.bool_]]) -> str:
    """A hash of all test sets: records of other splits are told apart by it."""
    digest = hashlib.sha256()
    for test in tests:
        digest.update(np.packbits(test).tobytes())
    return digest.hexdigest()[:16]


def scores(labels: NDArray, predicted: NDArray) -> dict[str, float]:
    """Overall accuracy, mean accuracy over classes and macro-F1, in percent.

    Examples
    --------
    >>> import numpy as np
    >>> scores(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    {'oa': 75.0, 'macc': 50.0, 'f1': 42.857}
    """
    classes = np.unique(labels)
    with_ = {"labels": classes, "average": "macro", "zero_division": 0.0}
    found = {
        "oa": accuracy_score(labels, predicted),
        "macc": recall_score(labels, predicted, **with_),
        "f1": f1_score(labels, predicted, **with_),
    }
    return {name: round(100.0 * float(value), 3) for name, value in found.items()}
