"""What an index finds, and how well."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.check import check_count
from .evaluation import RetrievalScores, across_folds, leave_one_out
from .exact import nearest
from .hits import Hits, block_differences
from .space import Space, fit_space
from .state import IndexState, as_table


class Finding(IndexState):
    """`query` and `evaluate`."""

    def query(self, clouds: Sequence[ArrayLike], k: int = 10) -> Hits:
        """The k nearest clouds of each of these, nearest first; a cloud that is in the index finds itself.

        Parameters
        ----------
        clouds : list of (m_i, n) arrays
        k : int
            How many; fewer where the index has fewer.

        Returns
        -------
        hits : Hits
        """
        checked = self._expected(clouds)
        return self.query_features(self.descriptor_.transform(checked), k)

    def query_features(self, features: ArrayLike, k: int = 10) -> Hits:
        """`query` of descriptors that were computed before.

        Parameters
        ----------
        features : (q, columns)
        k : int

        Returns
        -------
        hits : Hits
        """
        self._check_built()
        k = min(check_count(k, "k", 1), len(self))
        rows = self.space_.standardise(as_table(features, self.descriptor_))
        queries = self.space_.places(rows)
        search = nearest if self.cells_ is None else self.cells_.nearest
        found, squared = search(queries, self.places_, k)
        columns = self.descriptor_.layout().columns
        differences = np.empty((len(rows), k, len(columns)))
        for i in range(len(rows)):  # one by one: the rows of all hits may not fit into memory
            differences[i : i + 1] = block_differences(
                rows[i : i + 1], self.rows_[found[i]][None], columns, self.space_.constant
            )
        members = self.members_
        return Hits(
            found,
            [[members.names[j] for j in row] for row in found],
            [[members.labels[j] for j in row] for row in found],
            self.space_.distances(squared),
            tuple(columns),
            differences,
        )

    def evaluate(self, *, folds: int = 5, most: int = 2000) -> RetrievalScores:
        """How well clouds find others of their class, by exact search.

        Every cloud is sought among all others. With a learned metric, which has seen the labels, each of
        ``folds`` parts is sought among the others in a space that was learned from these alone.

        Parameters
        ----------
        folds : int
        most : int
            Of more clouds than these, so many are drawn at random as queries.

        Returns
        -------
        scores : RetrievalScores
        """
        self._check_built()
        labels = self.members_.classes()
        if labels is None:
            raise ValueError("an index without labels cannot be evaluated; give labels to build()")
        check_count(most, "most", 1)
        if self.metric == "learned":

            def fit(rows: NDArray, known: NDArray) -> Space:
                return fit_space(rows, known, self.descriptor_, "learned", self.random_state)

            return across_folds(self.rows_, labels, fit, folds, self.random_state)
        drawn = np.random.default_rng(self.random_state).permutation(len(self))[:most]
        return leave_one_out(self.places_, labels, np.sort(drawn))
