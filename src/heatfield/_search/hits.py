"""What a search found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array
from .._base.summary import Summarised, Summary, number, plural, shown
from .space import Rows

# Standardised columns of two clouds drawn at random differ by this much, in the root of the mean square.
_USUAL = 2.0**0.5


@dataclass(frozen=True, repr=False)
class Hits(Summarised):
    """The nearest clouds of some queries, nearest first.

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

    def _summary(self) -> Summary:
        lines: list[tuple[str, str | list[str]]] = []
        for i in range(min(len(self), 8)):
            words = [
                f"{name} ({number(float(d))})"
                for name, d in zip(self.names[i], self.distances[i], strict=True)
            ]
            lines.append((f"query {i}", shown(words, 100)))
        if len(self) > 8:
            lines.append(("...", f"{len(self) - 8:,} more"))
        return Summary(f"Hits of {len(self):,} quer{'y' if len(self) == 1 else 'ies'}, "
                       f"{plural(self.rows.shape[1], 'cloud')} each", lines)  # fmt: skip


def block_differences(
    queries: Rows, found: Rows, columns: dict[str, slice], constant: NDArray[np.bool_]
) -> Array:
    """Differences (q, k, B) of standardised rows (q, w) and (q, k, w), block by block; see `Hits`."""
    out = np.full((*found.shape[:2], len(columns)), np.nan)
    square = (found.astype(np.float64) - queries[:, None, :]) ** 2
    for b, place in enumerate(columns.values()):
        varies = ~constant[place]
        if varies.any():
            out[:, :, b] = np.sqrt(square[:, :, place][:, :, varies].mean(axis=2)) / _USUAL
    return out
