"""A shared network over points, layer by layer, each as one pass over tiles of rows that stay in the cache.

A layer is z = h W', normalised over all rows, cut off at 0. Only z is kept: the normalised and cut-off values
are computed again where they are needed, which costs less than to read them from memory. What is summed over
rows is summed chunk by chunk, and the chunks are added in their order, so that no bit depends on
the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import SUMS, compiled

# Rows of a tile: matrix products of this many rows are the fastest, and three tiles stay in a core's cache.
TILE = 512


@compiled(SUMS)
def activate(z: Any, scale: Any, shift: Any, out: Any) -> None:
    """max(scale z + shift, 0), a row at a time."""
    zero = np.float32(0.0)
    for i in range(z.shape[0]):
        row, to = z[i], out[i]
        for c in range(row.shape[0]):
            y = row[c] * scale[c] + shift[c]
            to[c] = zero if y < zero else y  # so that NaN stays NaN


@compiled(SUMS)
def _add_moments(z: Any, count: int, mean: Any, spread: Any) -> None:
    """Merge the rows of a tile into the mean and the sum of squared deviations of ``count`` rows before."""
    width = z.shape[1]
    total, squares = np.zeros(width, np.float32), np.zeros(width, np.float32)
    for i in range(z.shape[0]):
        row = z[i]
        for c in range(width):
            total[c] += row[c]
    own = total / np.float32(z.shape[0])
    for i in range(z.shape[0]):
        row = z[i]
        for c in range(width):
            squares[c] += (row[c] - own[c]) * (row[c] - own[c])
    rows = count + z.shape[0]
    for c in range(width):
        step = own[c] - mean[c]
        spread[c] += squares[c] + step * step * (count * z.shape[0] / rows)
        mean[c] += step * (z.shape[0] / rows)


@compiled()
def first_layer(rows: Any, weight: Any, first: int, last: int, z: Any, mean: Any, spread: Any) -> None:
    """z = rows W' of rows first..last, and their moments."""
    for at in range(first, last, TILE):
        end = min(last, at + TILE)
        out = z[at:end]
        np.dot(rows[at:end], weight.T, out)
        _add_moments(out, at - first, mean, spread)


@compiled()
def next_layer(
    before: Any, scale: Any, shift: Any, weight: Any, first: int, last: int, z: Any, mean: Any, spread: Any
) -> None:
    """The same from the z of the layer before."""
    tile = np.empty((TILE, before.shape[1]), np.float32)
    for at in range(first, last, TILE):
        end = min(last, at + TILE)
        h = tile[: end - at]
        activate(before[at:end], scale, shift, h)
        out = z[at:end]
        np.dot(h, weight.T, out)
        _add_moments(out, at - first, mean, spread)


@compiled(SUMS)
def pool(
    z: Any, scale: Any, shift: Any, starts: Any, first: int, last: int,
    mean: Any, most: Any, at: Any, above: Any, sums: Any,
) -> None:  # fmt: skip
    """Mean and maximum of the last layer's output over clouds first..last.

    Also, for the way back, the row of each maximum, how many outputs are above 0, and the sum of their z.
    """
    width = z.shape[1]
    zero, one = np.float32(0.0), np.float32(1.0)
    y = np.empty(width, np.float32)
    for b in range(first, last):
        total, best, place, count, inner = mean[b], most[b], at[b], above[b], sums[b]
        for c in range(width):
            total[c] = count[c] = inner[c] = zero
            best[c] = -one
        for i in range(starts[b], starts[b + 1]):
            row, here = z[i], np.int32(i)
            # Loops that each write one array, and no branch: they vectorise.
            for c in range(width):
                value = row[c] * scale[c] + shift[c]
                y[c] = zero if value < zero else value
            for c in range(width):
                total[c] += y[c]
            for c in range(width):
                place[c] = here if y[c] > best[c] else place[c]
            for c in range(width):
                best[c] = y[c] if y[c] > best[c] else best[c]
            for c in range(width):
                count[c] += one if y[c] > zero else zero
            for c in range(width):
                inner[c] += row[c] if y[c] > zero else zero
        share = one / np.float32(starts[b + 1] - starts[b])
        for c in range(width):
            total[c] *= share


@compiled(SUMS)
def _unpool(
    z: Any, scale: Any, shift: Any, slope: Any, offset: Any, by_mean: Any, by_most: Any, at: Any,
    starts: Any, first: int, out: Any,
) -> None:  # fmt: skip
    """The gradient with respect to z of the rows of a tile, from those with respect to mean and maximum.

    ``by_mean`` and ``by_most`` (B, C) are per row and already times ``scale``; what batch norm takes
    away is offset + slope z.
    """
    width, last = z.shape[1], first + z.shape[0]
    zero = np.float32(0.0)
    b = np.searchsorted(starts, first, side="right") - 1
    while b < by_mean.shape[0] and starts[b] < last:
        given, peak, place = by_mean[b], by_most[b], at[b]
        for i in range(max(first, starts[b]), min(last, starts[b + 1])):
            row, to = z[i - first], out[i - first]
            for c in range(width):
                passed = given[c] if row[c] * scale[c] + shift[c] > zero else zero
                to[c] = passed - (offset[c] + slope[c] * row[c])
        for c in range(width):
            if first <= place[c] < last:
                out[place[c] - first, c] += peak[c]
        b += 1


@compiled(SUMS)
def _norm_back(given: Any, z: Any, scale: Any, slope: Any, offset: Any) -> None:
    """In place, from the gradient with respect to the normalised values to that with respect to z."""
    for i in range(given.shape[0]):
        row, to = z[i], given[i]
        for c in range(row.shape[0]):
            to[c] = scale[c] * to[c] - (offset[c] + slope[c] * row[c])


@compiled(SUMS)
def _cut_back(h: Any, z: Any, given: Any, total: Any, inner: Any) -> None:
    """Zero where the output was cut off, in place; adds the sums of the gradient and of it times z."""
    zero = np.float32(0.0)
    width = h.shape[1]
    sums, products = np.zeros(width, np.float32), np.zeros(width, np.float32)
    for i in range(h.shape[0]):
        out, row, to = h[i], z[i], given[i]
        for c in range(width):
            to[c] = to[c] if out[c] > zero else zero
        for c in range(width):
            sums[c] += to[c]
        for c in range(width):
            products[c] += to[c] * row[c]
    for c in range(width):
        total[c] += sums[c]
        inner[c] += products[c]


@compiled()
def _through(
    given: Any, before: Any, scale: Any, shift: Any, weight: Any, h: Any,
    by_weight: Any, by_before: Any, total: Any, inner: Any,
) -> None:  # fmt: skip
    """From the gradient of a tile's z to that of the weights and of the layer before."""
    activate(before, scale, shift, h)
    by_weight += np.dot(given.T, h)
    np.dot(given, weight, by_before)
    _cut_back(h, before, by_before, total, inner)


@compiled()
def last_back(
    z: Any, scale: Any, shift: Any, slope: Any, offset: Any, by_mean: Any, by_most: Any, at: Any, starts: Any,
    before: Any, before_scale: Any, before_shift: Any, weight: Any, first: int, last: int,
    by_weight: Any, by_before: Any, total: Any, inner: Any,
) -> None:  # fmt: skip
    """Rows first..last of the last layer: see `_unpool` and `_through`."""
    given, tile = np.empty((TILE, z.shape[1]), np.float32), np.empty((TILE, before.shape[1]), np.float32)
    for start in range(first, last, TILE):
        end = min(last, start + TILE)
        d = given[: end - start]
        _unpool(z[start:end], scale, shift, slope, offset, by_mean, by_most, at, starts, start, d)
        _through(
            d, before[start:end], before_scale, before_shift, weight, tile[: end - start],
            by_weight, by_before[start:end], total, inner,
        )  # fmt: skip


@compiled()
def inner_back(
    given: Any, z: Any, scale: Any, slope: Any, offset: Any,
    before: Any, before_scale: Any, before_shift: Any, weight: Any, first: int, last: int,
    by_weight: Any, by_before: Any, total: Any, inner: Any,
) -> None:  # fmt: skip
    """Rows first..last of a layer between."""
    tile = np.empty((TILE, before.shape[1]), np.float32)
    for start in range(first, last, TILE):
        end = min(last, start + TILE)
        d = given[start:end]
        _norm_back(d, z[start:end], scale, slope, offset)
        _through(
            d, before[start:end], before_scale, before_shift, weight, tile[: end - start],
            by_weight, by_before[start:end], total, inner,
        )  # fmt: skip


@compiled()
def first_back(
    given: Any, z: Any, scale: Any, slope: Any, offset: Any, rows: Any, first: int, last: int, by_weight: Any
) -> None:
    """Rows first..last of the first layer, whose input needs no gradient."""
    for start in range(first, last, TILE):
        end = min(last, start + TILE)
        d = given[start:end]
        _norm_back(d, z[start:end], scale, slope, offset)
        by_weight += np.dot(d.T, rows[start:end])


@compiled()
def only_back(
    z: Any, scale: Any, shift: Any, slope: Any, offset: Any, by_mean: Any, by_most: Any, at: Any, starts: Any,
    rows: Any, first: int, last: int, by_weight: Any,
) -> None:  # fmt: skip
    """Rows first..last where the last layer is the first."""
    given = np.empty((TILE, z.shape[1]), np.float32)
    for start in range(first, last, TILE):
        end = min(last, start + TILE)
        d = given[: end - start]
        _unpool(z[start:end], scale, shift, slope, offset, by_mean, by_most, at, starts, start, d)
        by_weight += np.dot(d.T, rows[start:end])
