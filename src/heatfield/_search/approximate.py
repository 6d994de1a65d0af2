"""The nearest rows of millions, most of them: an inverted file of faiss, with exact distances at the end.

The rows are divided among cells around centres that k-means found. A query looks only into the cells whose
centres are nearest; there distances are taken in half precision, and the best candidates are compared again
by their exact distance. How many cells are looked into is measured on the rows themselves: as many
as it takes to find the wanted share of the ten nearest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array
from .._base.optional import need
from .._base.progress import progress_bar
from .exact import closest
from .space import Rows

_SAMPLE = 200  # rows whose neighbours are sought both ways to measure the recall
_NEIGHBOURS = 10
_SPARE = 4  # candidates per neighbour: half precision may confuse the order of near ones
_PER_CELL = 64  # rows per cell that k-means looks at
_ROUNDS = 10
_TOGETHER = 1 << 16
_LARGEST = 6e4  # half precision ends at 65504


def faiss() -> Any:
    """The library, or an error that says what to install."""
    return need("faiss", "approximate search", "search", name="faiss-cpu", verb="needs")


class Cells:
    """An inverted file.

    Attributes
    ----------
    centres : (cells, d)
    assigned : (N,) the cell of each row
    probes : int
        Cells that a query looks into.
    recall : float
        Share of the ten nearest rows that it finds, measured; NaN where it was not.
    """

    def __init__(
        self, centres: Rows, assigned: NDArray[np.int32], probes: int, recall: float, rows: Rows
    ) -> None:
        self.centres, self.assigned, self.probes, self.recall = centres, assigned[:0], probes, recall
        self._file = self._empty()
        self._append(rows, assigned)

    @classmethod
    def build(cls, rows: Rows, recall: float, seed: int, *, cells: int | None = None, quiet: bool) -> Cells:
        """Find centres, divide the rows, and measure how many cells to look into."""
        library = faiss()
        count = cells or max(1, round(len(rows) ** 0.5))
        clustering = library.Kmeans(
            rows.shape[1], count, niter=_ROUNDS, seed=seed % 2**31, max_points_per_centroid=_PER_CELL,
            min_points_per_centroid=1,
        )  # fmt: skip
        drawn = np.random.default_rng(seed).permutation(len(rows))[: _PER_CELL * count]
        clustering.train(_limited(rows[np.sort(drawn)]))
        made = cls(clustering.centroids, np.empty(0, np.int32), 1, float("nan"), rows[:0])
        starts = range(0, len(rows), _TOGETHER)
        for first in progress_bar(starts, unit=f"x {_TOGETHER} rows", quiet=quiet):
            made.add(rows[first : first + _TOGETHER])
        made._choose_probes(rows, recall, seed)
        return made

    def add(self, rows: Rows) -> None:
        """Append rows, each to the cell of its nearest centre."""
        if len(rows):
            _, cell = self._file.quantizer.search(_limited(rows), 1)
            self._append(rows, cell[:, 0].astype(np.int32))

    def without(self, keep: NDArray[np.int64], rows: Rows) -> Cells:
        """The same cells with the kept rows only, which ``rows`` holds."""
        return Cells(self.centres, self.assigned[keep], self.probes, self.recall, rows)

    def nearest(
        self, queries: Rows, rows: Rows, k: int, probes: int | None = None
    ) -> tuple[NDArray[np.int64], Array]:
        """As `exact.nearest`; more cells are looked into where those hold fewer than k rows."""
        k = min(k, len(rows))
        index = np.empty((len(queries), k), dtype=np.int64)
        squared = np.empty((len(queries), k))
        todo, looked = np.arange(len(queries)), probes or self.probes
        while len(todo):
            self._file.nprobe = looked
            _, found = self._file.search(_limited(queries[todo]), min(len(rows), _SPARE * k))
            short = []
            for i, candidates in zip(todo, found, strict=True):
                known = np.sort(candidates[candidates >= 0])
                if len(known) < k and looked < len(self.centres):
                    short.append(i)
                else:
                    index[i], squared[i] = closest(queries[i], rows, known, k)
            todo, looked = np.array(short, dtype=int), min(4 * looked, len(self.centres))
        return index, squared

    def _empty(self) -> Any:
        library = faiss()
        width = self.centres.shape[1]
        self._quantizer = library.IndexFlatL2(width)  # held: faiss keeps no count of it
        self._quantizer.add(np.ascontiguousarray(self.centres))
        made = library.IndexIVFScalarQuantizer(
            self._quantizer, width, len(self.centres), library.ScalarQuantizer.QT_fp16,
            library.METRIC_L2, False,
        )  # fmt: skip
        made.is_trained = True  # half precision has nothing to train, and the centres are there
        return made

    def _append(self, rows: Rows, assigned: NDArray[np.int32]) -> None:
        library = faiss()
        for first in range(0, len(rows), _TOGETHER):
            some = _limited(rows[first : first + _TOGETHER])
            cell = np.ascontiguousarray(assigned[first : first + _TOGETHER], dtype=np.int64)
            start = len(self.assigned) + first
            number = np.arange(start, start + len(some), dtype=np.int64)
            pointer = library.swig_ptr
            self._file.add_core(len(some), pointer(some), pointer(number), pointer(cell))
        self.assigned = np.concatenate([self.assigned, assigned]).astype(np.int32)

    def _choose_probes(self, rows: Rows, wanted: float, seed: int) -> None:
        drawn = np.random.default_rng(seed).permutation(len(rows))[:_SAMPLE]
        queries, k = rows[drawn], min(_NEIGHBOURS + 1, len(rows))
        _, true = faiss().knn(queries, rows, k)
        probes = 1
        while True:
            found, _ = self.nearest(queries, rows, k, probes)
            # Of 200 rows the share is known to about 1 %: half of what may be missing is kept as a margin.
            self.recall = recall_of(found, true, drawn)
            if self.recall >= wanted + 0.5 * (1.0 - wanted) or probes == len(self.centres):
                break
            probes = min(len(self.centres), probes + max(1, probes // 2))
        self.probes = probes


def recall_of(found: NDArray[np.int64], true: NDArray[np.int64], own: NDArray[np.int64]) -> float:
    """The share of the true neighbours that were found, the rows themselves not counted."""
    hits = total = 0
    for mine, yours, me in zip(found.tolist(), true.tolist(), own.tolist(), strict=True):
        wanted = {*yours} - {me}
        hits += len(wanted & {*mine})
        total += len(wanted)
    return hits / total if total else 1.0


def _limited(rows: Rows) -> Rows:
    """Rows as half precision can hold them."""
    return np.ascontiguousarray(np.clip(rows, -_LARGEST, _LARGEST), dtype=np.float32)
