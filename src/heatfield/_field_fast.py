"""The heat field at many places of many sources, to a tolerance.

Places take the sums of `_fast`: neighbours or transforms, whichever is cheaper. Two things cost digits
there. Mean and covariance of r = x_j - y are read from moments around the place, which loses a factor
of <|r|**2> / 2t, the heat dimension. And a transform's error is relative to the largest sum there is, which
away from the data is larger than any sum at the places. Both losses are known once the sums are: a
place whose loss exceeds what the tolerance was sharpened by is taken again with a sharper one. Far
from the data, where sums would underflow, and where no tolerance is sharp enough, every place
has a reference of its own (`_field_tree`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tqdm import tqdm

from ._arrange import bounding_boxes, kd_order
from ._check import Array
from ._costs import costs
from ._dense import FIRST, WEIGHT
from ._fast import Places, Wish, scale_sums
from ._field_sums import field_columns
from ._field_tree import field_sums_by_tree, heaviest_in_nodes
from ._threads import pieces, run_pieces
from ._tree import nearest_source

# Squared distance to the data, in units of 2t, from which on a place is far.
_FAR = 64.0
# By what the tolerance is sharpened in each round, and where that ends.
_ROUND = 16.0
_LEAST = 1e-12
# Places that one thread looks at in one go.
_PIECE = 2048
# Places times sources from which the fast path pays.
MANY = 1e8


@dataclass(frozen=True)
class FastField:
    """The sources of a heat field as the fast path wants them."""

    places: Places
    logs: Array  # half the base-two logarithm of each weight, relative to the largest
    heaviest: Array  # its largest value in each node
    weights: Array | None  # relative to the largest; None where all are equal
    uneven: float  # mean weight over the smallest
    largest: dict[float, float]  # about the largest sum, by time

    @classmethod
    def of(cls, sources: Array, boxes: Array, logs: Array, heaviest: Array) -> FastField:
        """From the arrays that `HeatField` keeps."""
        places = Places.of(sources, boxes)
        weights = None if (logs == 0.0).all() else np.exp2(2.0 * logs)
        uneven = 1.0 if weights is None else float(weights.mean() / max(weights.min(), 1e-300))
        return cls(places, logs, heaviest_in_nodes(heaviest, *places.tree[1:]), weights, uneven, {})

    def sums(self, places: Array, times: Array, moments: bool, tol: float, n_threads: int) -> Array:
        """The rows of `field_sums` (q, T, columns) at places (q, n), all in normalised units."""
        q, n = places.shape
        out = np.empty((q, times.size, field_columns(n, moments)))
        if q == 0:
            return out
        order = kd_order(places)
        targets = np.ascontiguousarray(places[order].T)
        offsets = self._offsets(targets, n_threads)
        wish = Wish(
            tol, moments, False, False, np.dtype(np.float64), n_threads, costs(measure=q * len(order) > MANY)
        )
        # disable=None: no bar where standard error is not a terminal.
        with tqdm(
            total=q * times.size, unit=" places", unit_scale=True, delay=2, disable=None, leave=False
        ) as bar:
            for a, t in enumerate(times):
                out[order, a] = self._rows(targets, offsets, float(t), wish, bar)
        return out

    def _rows(self, targets: Array, offsets: Array, t: float, wish: Wish, bar: tqdm) -> Array:
        """The rows at one time, in the order of the targets."""
        n, q = targets.shape
        moments = wish.spectrum
        out = np.empty((q, field_columns(n, moments)))
        # At least what the dimension will be; sharpening the tolerance by less would be in vain.
        loss = offsets / (8.0 * t) if moments else np.zeros(q)
        rest = offsets <= 2.0 * t * _FAR
        sharper = 1.0
        while wish.tol / (self.uneven * sharper) >= _LEAST:
            chosen = np.flatnonzero(rest & (loss <= sharper))
            if chosen.size:
                some = np.ascontiguousarray(targets[:, chosen])
                sums, report = scale_sums(
                    Places.of(some, bounding_boxes(some)), self.places, np.array([t]),
                    replace(wish, tol=wish.tol / (self.uneven * sharper)),
                    offsets=offsets[chosen], weights=self.weights,
                )  # fmt: skip
                rows = _read(sums, n, moments)
                need = np.maximum(1.0, (dimension_of(rows, n, t) - 2.0 * n) / 4.0 if moments else 1.0)
                if report.transforms:
                    need *= np.maximum(1.0, 0.25 * self._largest(t, wish) / sums[:, WEIGHT])
                good = need <= sharper
                out[chosen[good]] = rows[good]
                rest[chosen[good]] = False
                loss[chosen] = need
                bar.update(int(good.sum()))
            sharper *= _ROUND
            if not rest.any():
                break
        rest |= offsets > 2.0 * t * _FAR
        out[rest] = self._far(np.ascontiguousarray(targets[:, rest].T), t, wish, bar)
        return out

    def _largest(self, t: float, wish: Wish) -> float:
        """About the largest sum of weights at any source, and so, but for a small factor, anywhere."""
        if t not in self.largest:
            rough = replace(wish, tol=1e-2, spectrum=False)
            sums, _ = scale_sums(self.places, self.places, np.array([t]), rough, weights=self.weights)
            self.largest[t] = float(sums[:, WEIGHT].max())
        return self.largest[t]

    def _offsets(self, targets: Array, n_threads: int) -> Array:
        """Squared distance of each target to the nearest source."""
        out = np.empty(targets.shape[1])

        def work(first: int, last: int) -> None:
            some = np.ascontiguousarray(targets[:, first:last])
            out[first:last] = nearest_source(some, self.places.points, *self.places.tree)

        run_pieces(work, pieces(out.size, _PIECE), n_threads)
        return out

    def _far(self, places: Array, t: float, wish: Wish, bar: tqdm) -> Array:
        """Far places, each with the strongest source as its reference."""
        moments = wish.spectrum
        out = np.empty((places.shape[0], field_columns(places.shape[1], moments)))
        digits = math.log(1.0 / wish.tol) + 2.0

        def work(first: int, last: int) -> None:
            field_sums_by_tree(
                self.places.points, self.logs, *self.places.tree, self.heaviest, t,
                places, first, last, digits, moments, out,
            )  # fmt: skip
            bar.update(last - first)

        run_pieces(work, pieces(places.shape[0], _PIECE // 16), wish.n_threads)
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
