"""Sums over the sources as seen from any place in space, however far away.

Far from the data every weight exp(-D**2 / 4t) underflows, but their ratios do not. So all
is taken relative to one source, the strongest at that place and time. With c its position,
r = x_j - c, and h = y - c for the place y,

    D_j**2 - D_c**2 = r . (r - 2h),

the *excess* of source j, keeps the digits that the difference of two huge squares would
lose, and the moments of r give mean and covariance without cancellation.
Exponents are kept as half of the logarithm to base two, as `_sums.pair_kernels` takes them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._base.compile import EXACT, SUMS, compiled
from .._base.exp2 import LOG2_E, exp2
from .._cloud.arrange import BLOCK
from .._sums.columns import FIRST, WEIGHT, column_count
from .._sums.dense_kernels import find_runs
from .._sums.pair_kernels import TILE, directions1, directions2, directions3, fill, radial

# If the mean lies this many standard deviations (squared) from the reference, the covariance would
# lose more than two digits, and the sums are taken again around the mean.
_OFF_CENTRE = 64.0

# Far away the strongest source is found up to rounding, then again as seen from there.
SEARCHES = 8


def field_columns(n: int, moments: bool) -> int:
    """log sum, then the mean of x_j - y and the upper triangle of the covariance."""
    return 1 + n + n * (n + 1) // 2 if moments else 1


@compiled(inner=True)
def _box_excess(boxes: Any, place: Any, centre: Any, h: Any, excess: Any) -> None:
    """The smallest excess that a source in each block can have."""
    excess[:] = 0.0
    for k in range(place.shape[0]):
        at, middle, twice = place[k], centre[k], 2.0 * h[k]
        for b in range(excess.shape[0]):
            step = min(max(at, boxes[0, k, b]), boxes[1, k, b]) - middle
            excess[b] += step * (step - twice)


@compiled(inner=True)
def _strongest(
    sources: Any, logs: Any, heaviest: Any, excess: Any, centre: Any, h: Any, rate: float, apart: bool
) -> tuple[int, float, float]:
    """The source of largest exponent: index, exponent, squared distance from the centre.

    With ``apart`` only sources away from the centre count; index -1 if there are none.
    """
    n, m = sources.shape
    first, highest = 0, -np.inf
    for b in range(excess.shape[0]):
        bound = heaviest[b] + rate * excess[b]
        if bound > highest:
            first, highest = b, bound
    found, best, distance = -1, -np.inf, 0.0
    for turn in range(-1, excess.shape[0]):
        b = turn if turn >= 0 else first  # the most promising block comes first
        if heaviest[b] + rate * excess[b] <= best:
            continue
        for j in range(b * BLOCK, min(m, (b + 1) * BLOCK)):
            square = more = 0.0
            for k in range(n):
                step = sources[k, j] - centre[k]
                square += step * step
                more += step * (step - 2.0 * h[k])
            exponent = logs[j] + rate * more
            if exponent > best and (square > 0.0 or not apart):
                found, best, distance = j, exponent, square
    return found, best, distance


@compiled(EXACT, inner=True)
def _fill_excess(tile: Any, count: int, h: Any) -> None:
    """Row n+2 of the tile: the excess r . r - 2 r . h of each of its sources."""
    n = h.shape[0]
    square, excess = tile[n, :count], tile[n + 2, :count]
    for j in range(count):
        excess[j] = square[j]
    for k in range(n):
        row = tile[k, :count]
        twice = 2.0 * h[k]
        for j in range(count):
            excess[j] -= row[j] * twice


@compiled(EXACT, inner=True)
def _copy(source: Any, row: Any) -> None:
    for j in range(source.shape[0]):
        row[j] = source[j]


@compiled(EXACT, inner=True)
def _heat(excess: Any, logs: Any, root: Any, count: int, rate: float, top: float) -> None:
    """The root of each weight relative to the strongest, which rounding alone could exceed."""
    for j in range(count):
        root[j] = exp2(min(rate * excess[j] + (logs[j] - top), 0.0))


@compiled(EXACT, inner=True)
def _shift(row: Any, count: int, by: float) -> None:
    for j in range(count):
        row[j] -= by


@compiled(SUMS, inner=True)
def _mixed(x: Any, y: Any, root: Any, count: int) -> float:
    """The sum of w x y for two axes."""
    total = 0.0
    for j in range(count):
        total += root[j] * x[j] * (root[j] * y[j])
    return total


@compiled(inner=True)
def _add_tile(sums: Any, tile: Any, count: int, moments: bool) -> None:
    """Add the sums over a tile whose roots of weights are filled, in the columns of `_sums.columns`."""
    n = tile.shape[0] - 4
    root = tile[n + 1]
    sums[WEIGHT] += radial(tile[n], root, count, 0.0)[0]
    if not moments:
        return
    if n == 3:
        in_space = directions3(tile[0], tile[1], tile[2], root, count, 0.0)
        for c in range(9):
            sums[FIRST + c] += in_space[c]
    elif n == 2:
        in_plane = directions2(tile[0], tile[1], root, count, 0.0)
        for c in range(5):
            sums[FIRST + c] += in_plane[c]
    else:
        c = FIRST + n
        for k in range(n):
            on_axis = directions1(tile[k], root, count, 0.0)
            sums[FIRST + k] += on_axis[0]
            sums[c] += on_axis[1]
            c += 1
            for l in range(k + 1, n):
                sums[c] += _mixed(tile[k], tile[l], root, count)
                c += 1


@compiled(inner=True)
def sum_runs(
    sums: Any,
    tile: Any,
    sources: Any,
    logs: Any,
    begins: Any,
    ends: Any,
    runs: int,
    centre: Any,
    h: Any,
    offset: Any,
    rate: float,
    top: float,
    moments: bool,
) -> None:
    """Sum the sources of all runs, tile by tile, the moments around centre + offset."""
    n = sources.shape[0]
    sums[:] = 0.0
    filled = 0
    for r in range(runs):
        at = begins[r]
        while at < ends[r]:
            count = min(ends[r] - at, TILE - filled)
            fill(tile, filled, sources, at, count, centre)
            _copy(logs[at : at + count], tile[n + 3, filled : filled + count])
            filled += count
            at += count
            if filled < TILE and not (r == runs - 1 and at == ends[r]):
                continue
            _fill_excess(tile, filled, h)
            _heat(tile[n + 2], tile[n + 3], tile[n + 1], filled, rate, top)
            for k in range(n):
                if offset[k] != 0.0:
                    _shift(tile[k], filled, offset[k])
            _add_tile(sums, tile, filled, moments)
            filled = 0


@compiled()
def read_sums(out: Any, sums: Any, h: Any, offset: Any, t: float, top: float, moments: bool) -> bool:
    """From the sums of one place and time to a row of results; False if they are too far off centre."""
    n = h.shape[0]
    inverse_weight = 1.0 / sums[WEIGHT]
    square = 0.0
    for k in range(n):
        square += h[k] * h[k]
    out[0] = 2.0 * top / LOG2_E - square / (4.0 * t) + np.log(sums[WEIGHT])
    if not moments:
        return True
    off = trace = 0.0
    c = 0
    for k in range(n):
        mean = sums[FIRST + k] * inverse_weight
        out[1 + k] = mean + (offset[k] - h[k])
        off += mean * mean
        for l in range(k, n):
            covariance = sums[FIRST + n + c] * inverse_weight - mean * (sums[FIRST + l] * inverse_weight)
            out[1 + n + c] = covariance
            if l == k:
                trace += covariance
            c += 1
    return off <= _OFF_CENTRE * trace


@compiled(inner=True)
def move_reference(sources: Any, star: int, place: Any, centre: Any, h: Any) -> None:
    """Make source ``star`` the centre, and ``h`` the way from there to the place."""
    for k in range(place.shape[0]):
        centre[k] = sources[k, star]
        h[k] = place[k] - centre[k]


@compiled()
def field_sums(
    sources: Any,
    boxes: Any,
    logs: Any,
    heaviest: Any,
    scales: Any,
    places: Any,
    first: int,
    last: int,
    log_accuracy: float,
    moments: bool,
    out: Any,
) -> None:
    """Fill ``out[first:last]``, (q, T, `field_columns`), all in normalised units (see `_cloud.arrange`).

    ``logs`` is half the base-two logarithm of each source's weight, ``heaviest`` its
    largest value in each block; ``log_accuracy`` is log(1 / error).
    """
    n, m = sources.shape
    blocks = boxes.shape[2]
    tile = np.empty((n + 4, TILE + 24))
    sums = np.empty(column_count(n, moments))
    excess, gaps = np.empty(blocks), np.empty(blocks)
    begins, ends = np.empty(blocks, np.int64), np.empty(blocks, np.int64)
    centre, h, offset = np.empty(n), np.empty(n), np.empty(n)
    half_log2_reach = 0.5 * (LOG2_E * log_accuracy + math.log2(m))
    for i in range(first, last):
        place = places[i]
        centre[:] = place
        h[:] = 0.0
        star = -1
        _box_excess(boxes, place, centre, h, excess)
        for a in range(scales.shape[0]):
            t = scales[a]
            rate = -LOG2_E / (8.0 * t)
            for _ in range(SEARCHES):
                found = _strongest(sources, logs, heaviest, excess, centre, h, rate, False)[0]
                if found == star:
                    break
                star = found
                move_reference(sources, star, place, centre, h)
                _box_excess(boxes, place, centre, h, excess)
            top = logs[star]
            # What is left out must be small beside the strongest source, and for the
            # moments also beside w r**2 of the next, which alone determines the heat dimension
            # at an isolated point. Normalised, no r**2 exceeds 4n.
            floor = top - half_log2_reach
            if moments:
                _, second, square = _strongest(sources, logs, heaviest, excess, centre, h, rate, True)
                if square > 0.0:
                    floor = min(floor, second + 0.5 * math.log2(square / (4.0 * n)) - half_log2_reach)
            for b in range(blocks):
                gaps[b] = excess[b] + heaviest[b] / rate
            runs = find_runs(gaps, floor / rate, m, begins, ends)
            offset[:] = 0.0
            for _ in range(2):
                sum_runs(sums, tile, sources, logs, begins, ends, runs, centre, h, offset, rate, top, moments)
                if read_sums(out[i, a], sums, h, offset, t, top, moments):
                    break
                for k in range(n):
                    offset[k] += sums[FIRST + k] / sums[WEIGHT]
