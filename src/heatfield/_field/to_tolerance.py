"""The heat field at many places of many sources, to a tolerance.

Places take the sums of `core.query_points`: neighbours or transforms, whichever is cheaper. Far from the
data, where sums would underflow, and where no tolerance is sharp enough, every place has its own
reference (cpp/field.cpp).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .._base.check import Array
from .._base.progress import Bar, progress_bar
from .._base.threads import pieces, run_pieces
from ..core.cloud import ArrangedCloud
from ..core.moments import FIRST, WEIGHT, Request
from ..core.query_points import largest_sum, place_sums

# Places that one thread takes at a time.
_PIECE = 2048


def field_columns(n: int, moments: bool) -> int:
    """log sum, then the mean of x_j - y and the upper triangle of the covariance."""
    return 1 + n + n * (n + 1) // 2 if moments else 1


@dataclass(frozen=True)
class FastField:
    """The sources of a heat field as the fast path takes them."""

    cloud: ArrangedCloud
    logs: Array  # half the base-two logarithm of each weight, relative to the largest
    heaviest: Array  # its largest value in each node
    weights: Array | None  # relative to the largest; None where all are equal
    uneven: float  # mean weight over the smallest
    largest: dict[float, float]  # about the largest sum, by time

    @classmethod
    def of(cls, cloud: ArrangedCloud, logs: Array, heaviest: Array) -> FastField:
        """From the arrays that `HeatField` keeps."""
        weights = None if (logs == 0.0).all() else np.exp2(2.0 * logs)
        uneven = 1.0 if weights is None else float(weights.mean() / max(weights.min(), 1e-300))
        in_nodes = np.empty(len(cloud.tree[1]))
        _core.heaviest(*cloud.tree, heaviest, in_nodes)
        return cls(cloud, logs, in_nodes, weights, uneven, {})

    def sums(self, targets: ArrangedCloud, times: Array, moments: bool, tol: float, n_threads: int) -> Array:
        """The sums (q, T, `field_columns`) in the caller's order; times in normalised units."""
        n, q = targets.points.shape
        out = np.empty((q, times.size, field_columns(n, moments)))
        if q == 0:
            return out
        offsets, nearest = self.cloud.nearest_to(targets.points, n_threads)
        if self.weights is not None:
            nearest[:] = -1  # the strongest may be another one
        request = Request(tol=tol, directions=moments, n_threads=n_threads).priced(q)
        with progress_bar(total=q * times.size, unit="places", unit_scale=True) as bar:
            for a, t in enumerate(times):
                out[targets.order, a] = self._rows(targets, offsets, nearest, float(t), request, bar)
        return out

    def _rows(
        self,
        targets: ArrangedCloud,
        offsets: Array,
        nearest: np.ndarray,
        t: float,
        request: Request,
        bar: Bar,
    ) -> Array:
        """The rows at one time, in the order of the targets."""
        n, q = targets.points.shape
        moments = request.directions
        out = np.empty((q, field_columns(n, moments)))

        def largest() -> float:
            if t not in self.largest:
                self.largest[t] = largest_sum(self.cloud, t, request, self.weights)
            return self.largest[t]

        sums, good, _ = place_sums(
            targets, self.cloud, t, request, offsets, largest,
            moments=moments, weights=self.weights, uneven=self.uneven, advance=bar.update,
        )  # fmt: skip
        if good.any():
            out[good] = _read(sums[good], n, moments)
        if not good.all():
            places = np.ascontiguousarray(targets.points[:, ~good].T)
            out[~good] = self._far(places, nearest[~good], t, request, bar)
        return out

    def _far(self, places: Array, nearest: np.ndarray, t: float, request: Request, bar: Bar) -> Array:
        """Far places, each with the strongest source as its reference."""
        moments = request.directions
        out = np.empty((places.shape[0], field_columns(places.shape[1], moments)))
        log_accuracy = math.log(1.0 / request.tol) + 2.0

        def work(first: int, last: int) -> None:
            _core.field_by_tree(
                self.cloud.points, self.logs, *self.cloud.tree, self.heaviest, t,
                places, nearest, first, last, log_accuracy, moments, out,
            )  # fmt: skip
            bar.update(last - first)

        run_pieces(work, pieces(places.shape[0], _PIECE // 4), request.n_threads)
        return out


def dimension_of(rows: Array, n: int, t: Any) -> Array:
    """<|r|**2> / 2t = (|<r>|**2 + trace of the covariance) / 2t, of which no term is negative."""
    diagonal = 1 + n + np.flatnonzero(np.equal(*np.triu_indices(n)))
    return ((rows[..., 1 : 1 + n] ** 2).sum(axis=-1) + rows[..., diagonal].sum(axis=-1)) / (2.0 * t)


def _read(sums: Array, n: int, moments: bool) -> Array:
    """From a table of sums to log sum, mean of x_j - y and upper triangle of the covariance."""
    weight = sums[:, WEIGHT]
    out = np.empty((weight.size, field_columns(n, moments)))
    out[:, 0] = np.log(weight)
    if moments:
        mean = sums[:, FIRST : FIRST + n] / weight[:, None]
        out[:, 1 : 1 + n] = mean
        rows, columns = np.triu_indices(n)
        out[:, 1 + n :] = sums[:, FIRST + n :] / weight[:, None] - mean[:, rows] * mean[:, columns]
    return out
