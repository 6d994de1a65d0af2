"""The orientation block: how well the local axes of neighbours agree.

S_i(a) is the covariance of r under w at scale a, divided by 2t, without its trace: it has the axes of the
neighbourhood and vanishes where no direction is preferred. E_i^b S is its mean around point i at scale b
(`around`), and G = sqrt(2t) grad log u. All products are Frobenius products of whole tensors, not angles
between eigenvectors, so that they stay smooth where two eigenvalues meet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ... import _core
from ..._base.check import Array
from ...core.evaluate import totals
from ..around import scale_pairs
from . import (
    CHANNEL,
    STATISTIC,
    STATISTICS,
    Block,
    Found,
    Meaning,
    Shape,
    channel_name,
    channel_order,
    channel_words,
    scale_words,
)

# How many scales the means are coarser than the tensors; by how many two scales differ that are compared.
_AROUND, _COARSER, _ACROSS, _ALONG, _SLOPES = (0, 1, 3), (1, 3), (1, 2, 3), (0, 1), (1, 2)
_POOLED = [name for name in STATISTICS if name != "std"]
_KEPT = [list(STATISTICS).index(name) for name in _POOLED]
# A tensor smaller than this has no direction. It is what single precision leaves of one and what the default
# tolerance allows, so that columns mean the same in both precisions and on both paths.
_LEAST_SIZE = 1e-4


# Per part: scales apart, whether pooled over the points, what it is, statistic, what a high value means.
_COSINE = "cosine of the angle between both over all points, -1 to 1"
_AXES = "axes (covariance without its trace)"
_SLOPE = "length of sqrt(2t) grad log u"
_SAME = "neighbours have the same axes: fibres or sheets; near 0: axes turn from point to point"
_PARTS: dict[str, tuple[tuple[int, ...], bool, str, str, str]] = {
    "agreement": (
        _AROUND,
        False,
        f"{_AXES} of scale {{a}}, with their mean around the point, weighted at scale {{b}}",
        _COSINE,
        _SAME,
    ),
    "share": (
        _AROUND,
        False,
        f"size of the mean around a point, weighted at scale {{b}}, of {_AXES} of scale {{a}}, over theirs",
        "ratio of root mean squares, 0 to about 1",
        _SAME,
    ),
    "cosine": (
        _AROUND,
        True,
        f"cosine of {_AXES} of scale {{a}} with their mean around the point, weighted at scale {{b}}",
        "",
        _SAME,
    ),
    "length": (
        _AROUND,
        True,
        f"size of the mean around a point, at scale {{b}}, of {_AXES} of scale {{a}}, over their mean size",
        "",
        _SAME,
    ),
    "coarser": (
        _COARSER,
        False,
        f"mean of {_AXES} of scale {{a}} around a point, weighted at scale {{b}}, with those of scale {{b}}",
        _COSINE,
        "what is seen at scale {b} is a bundle of what is seen at scale {a}; below 0: they cross",
    ),
    "axes": (
        _ACROSS,
        False,
        f"{_AXES} of scale {{a}}, with those of scale {{b}} at the same point",
        _COSINE,
        "long directions stay the same from scale to scale; below 0: they turn",
    ),
    "slope": (
        _ACROSS,
        False,
        "direction of grad log u of scale {a}, with that of scale {b} at the same point",
        _COSINE,
        "neighbours lie to the same side from scale to scale",
    ),
    "slope_along_axes": (
        _ALONG,
        False,
        f"grad log u of scale {{a}} in the {_AXES} of scale {{b}}",
        "mean of the quadratic form over mean square and mean size",
        "heat grows along the long direction; below 0: across it",
    ),
    "slope_slope": (
        _SLOPES,
        False,
        f"{_SLOPE}, with itself at a coarser scale",
        "correlation over the points, -1 to 1",
        "points at an edge at scale {a} are at one at scale {b} too",
    ),
}


def _names(shape: Shape) -> Iterator[str]:
    for what, (steps, pooled, *_) in _PARTS.items():
        if what == "slope_slope":
            channels = map(channel_name, range(3 + shape.n))
            yield from (f"slope_{channel}_s{a}" for channel in channels for a in range(shape.n_scales))
        for a, b in scale_pairs(shape.n_scales, steps):
            yield from (f"{what}{s}_s{a}_s{b}" for s in ([f"_{s}" for s in _POOLED] if pooled else [""]))


def _meaning(block: str, what: str, s: str | None, c: str | None, a: str, b: str | None) -> Meaning:
    if c is not None:
        text, high = (
            f"{_SLOPE}, with {channel_words(c)[0]}",
            f"points at an edge have high {c}; below 0: low {c}",
        )
        return Meaning(block, text, _PARTS["slope_slope"][3], scale_words(a), "pure number", high)
    _, _, text, how, high = _PARTS[what]
    text, high = text.format(a=a, b=b), high.format(a=a, b=b)
    return Meaning(block, text, STATISTICS[s] if s else how, scale_words(a, b), "pure number", high)


def trace_free(entries: Array, n: int) -> Array:
    """Coordinates (n (n+1) / 2 - 1, ...) of symmetric tensors, by their upper triangles, without their trace.

    The basis is orthonormal, so a sum of products of coordinates is a Frobenius product.
    """
    diagonal = np.cumsum([0, *range(n, 1, -1)])
    out = [math.sqrt(2.0) * entry for k, entry in enumerate(entries) if k not in diagonal]
    for k in range(1, n):
        before = entries[diagonal[:k]].sum(axis=0)
        out.append((before - k * entries[diagonal[k]]) / math.sqrt(k * (k + 1)))
    return np.array(out).reshape(-1, *entries.shape[1:])


def _dot(one: Array, two: Array) -> Array:
    return (one * two).sum(axis=0)


def _values(found: Found) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.concatenate(list(_parts(found)), axis=1)


def _parts(found: Found) -> Iterator[Array]:
    """The columns (N, ...), part by part; what is below the least size has no direction and gives NaN."""
    covariance, slopes, ends = found.local.covariance, found.local.slopes, found.ends
    n, steps, total = slopes.shape
    least = max(found.least, _LEAST_SIZE)
    count = np.diff(ends, prepend=0)[:, None].astype(float)

    def mean(field: Array) -> Array:
        """Rows (K, total) averaged over each cloud, (N, K)."""
        return totals(np.ascontiguousarray(field), ends) / count

    def ratio(top: Array, bottom: Array, *squares: Array) -> Array:
        """NaN where one of the mean squares is that of a tensor without direction."""
        return np.where(np.logical_and.reduce([s > least * least for s in squares]), top / bottom, np.nan)

    def agreement(dots: Array, one: Array, two: Array) -> Array:
        return ratio(dots, np.sqrt(one * two), one, two)

    tensors = trace_free(covariance, n)
    squares = _dot(tensors, tensors)  # (T, total)
    sizes = np.sqrt(squares)
    square, size = mean(squares), mean(sizes)

    around = scale_pairs(steps, _AROUND)
    dots, square_around, coarser = np.empty((3, len(around), len(ends)))
    cosines, lengths = np.empty((2, len(ends), len(around), len(_KEPT)))
    for p, ((a, b), smooth) in enumerate(zip(around, found.around.means(tensors, around), strict=True)):
        products, smooth_squares = _dot(tensors[:, a], smooth), _dot(smooth, smooth)
        length = np.sqrt(smooth_squares)
        known = (sizes[a] > least) & (length > least)
        dots[p], square_around[p], coarser[p] = mean(
            np.array([products, smooth_squares, _dot(smooth, tensors[:, b])])
        ).T
        cosines[:, p] = _pooled_where(known, products / (sizes[a] * length), ends)
        lengths[:, p] = _pooled(length, ends)
    dots, square_around, coarser = dots.T, square_around.T, coarser.T
    fine = around[:, 0]
    yield agreement(dots, square[:, fine], square_around)
    yield np.sqrt(ratio(square_around, square[:, fine], square[:, fine]))
    yield cosines.reshape(len(ends), -1)
    lengths = ratio(lengths, size[:, fine, None], size[:, fine, None] ** 2)
    yield lengths.reshape(len(ends), -1)
    some = np.isin(np.diff(around)[:, 0], _COARSER)
    yield agreement(coarser[:, some], square_around[:, some], square[:, around[some, 1]])

    slope_squares = _dot(slopes, slopes)
    slope_square = mean(slope_squares)
    a, b = scale_pairs(steps, _ACROSS).T
    yield agreement(mean(_dot(tensors[:, a], tensors[:, b])), square[:, a], square[:, b])
    yield agreement(mean(_dot(slopes[:, a], slopes[:, b])), slope_square[:, a], slope_square[:, b])
    a, b = scale_pairs(steps, _ALONG).T
    outer = np.array([slopes[k] * slopes[l] for k in range(n) for l in range(k, n)])
    along = mean(_dot(trace_free(outer, n)[:, a], tensors[:, b]))
    yield ratio(along, slope_square[:, a] * size[:, b], slope_square[:, a], size[:, b] ** 2)

    rows = np.concatenate([np.sqrt(slope_squares)[None], found.channels]).reshape(-1, total)
    beside = [(s, (c + 1) * steps + s) for c in channel_order(len(found.channels)) for s in range(steps)]
    pairs = np.array([*beside, *scale_pairs(steps, _SLOPES)], dtype=np.int64)
    out = np.empty((len(ends), len(pairs)))
    _core.correlate(rows, ends, pairs, found.least, out)
    yield out


def _pooled(row: Array, ends: np.ndarray) -> Array:
    out = np.empty((len(ends), 1, len(STATISTICS)))
    _core.pool(np.ascontiguousarray(row)[None], ends, out)
    return out[:, 0, _KEPT]


def _pooled_where(known: Array, row: Array, ends: np.ndarray) -> Array:
    """`_POOLED` over the points of each cloud that have a value; NaN where none has."""
    left = np.concatenate([[0], np.cumsum(known)])[ends]
    some = np.diff(left, prepend=0) > 0
    out = np.full((len(ends), len(_KEPT)), np.nan)
    if some.any():
        out[some] = _pooled(row[known], np.ascontiguousarray(left[some]))
    return out


_PAIR = rf"(?P<what>{'|'.join(_PARTS)})(?:_{STATISTIC})?"
BLOCKS = (
    Block(
        "orientation",
        10,
        ("oriented",),
        "how well the axes of neighbours agree, at one scale and across scales",
        _names,
        _values,
        (rf"(?:{_PAIR}|slope_(?P<c>{CHANNEL}))_s(?P<a>\d+)(?:_s(?P<b>\d+))?", _meaning),
        order_one=True,
        needs=("spectrum", "covariance", "slopes"),
    ),
)
