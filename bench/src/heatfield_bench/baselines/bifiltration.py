"""The bifiltration of a cloud by radius and Gaussian codensity, and the box in which a data set is looked at.

A simplex of the alpha complex enters at its radius and at the largest codensity of its vertices. The
codensity of a point x is

    -log( 1/m  sum_y exp(-|x - y|^2 / (2 h^2)) )

with the bandwidth h: small where points are dense, 0 where all points coincide, at most log m. Points
that coincide are one vertex; each still counts in the sum. The box is fixed on the training clouds.

Barcodes of all density slices of a bifiltration by one out-of-order reduction, and the maps between them.

Slice s is the complex of all simplices whose codensity is at most the s-th threshold; it is filtered by
radius. Slices grow with s, so that the columns of the boundary matrix need not be reduced anew for each:
columns and rows keep their order by radius, and those that enter with a slice are put in between. A new
column that meets the pivot of a column *later* in the order takes the pivot over, and the reduction goes on
with the later one (this is what "out of order" means). After each slice the matrix is reduced, and its
pivots are the bars.

Columns are bit sets over the field of two elements: a cloud of some thousand points in the plane has some
thousand edges, and adding two columns is then less than a hundred machine words.

For homology of degree p a basis of the cycles is kept, one cycle for each simplex e that creates one, in
which e is the last: the reduced column with pivot e, if one has it (the bar ends at that column's radius),
else the combination of columns that became zero (the bar does not end). Such a basis fits the whole
filtration of the slice by radius. A basis cycle of a slice is a cycle of the next slice too, and
eliminating its pivots from the last on writes it in the next basis: the coefficients are the map of
homology that the inclusion of slices induces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from heatfield._base.check import Array
from heatfield._base.threads import pieces, run_pieces

from .._tools import compiled, need


@dataclass(frozen=True)
class Bifiltration:
    """Simplices by dimension: vertices (N, d + 1) in lexicographic order, and the two values of each."""

    simplices: tuple[NDArray[np.int64], ...]
    radius: tuple[Array, ...]
    codensity: tuple[Array, ...]
    _faces: dict[int, NDArray[np.int64]] = field(default_factory=dict, compare=False, repr=False)

    def faces(self, dimension: int) -> NDArray[np.int64]:
        """(N, d + 1): at which place of the simplices of one dimension less each face is."""
        if dimension not in self._faces:
            self._faces[dimension] = self._find_faces(dimension)
        return self._faces[dimension]

    def _find_faces(self, dimension: int) -> NDArray[np.int64]:
        cells, below = self.simplices[dimension], self.simplices[dimension - 1]
        base = max(1, len(self.simplices[0]))
        keys = _keys(below, base)
        kept = [np.delete(cells, i, axis=1) for i in range(dimension + 1)]
        return np.stack([np.searchsorted(keys, _keys(face, base)) for face in kept], axis=1)

    def within(self, radius: float, codensity: float) -> Bifiltration:
        """The simplices that have entered at these values."""
        keep = [(r <= radius) & (c <= codensity) for r, c in zip(self.radius, self.codensity, strict=True)]
        used = np.flatnonzero(keep[0])
        place = np.cumsum(keep[0]) - 1
        cells = [place[s[k]] for s, k in zip(self.simplices[1:], keep[1:], strict=True)]
        return Bifiltration(
            (np.arange(len(used))[:, None], *cells),
            tuple(r[k] for r, k in zip(self.radius, keep, strict=True)),
            tuple(c[k] for c, k in zip(self.codensity, keep, strict=True)),
        )

    def with_values(self, radius: tuple[Array, ...], codensity: tuple[Array, ...]) -> Bifiltration:
        """The same simplices with other values."""
        return Bifiltration(self.simplices, radius, codensity, self._faces)

    def scaled(self, max_radius: float, low: float, high: float) -> Bifiltration:
        """Radius from 0 to ``max_radius`` and codensity from ``low`` to ``high``, both as 0 to 1."""
        width = high - low if high > low else 1.0
        return self.with_values(
            tuple(r / max_radius for r in self.radius), tuple((c - low) / width for c in self.codensity)
        )


def _keys(cells: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    """Numbers in the lexicographic order of the rows."""
    keys = np.zeros(len(cells), np.int64)
    for column in cells.T:
        keys = keys * base + column
    return keys


def distinct(cloud: Array) -> tuple[Array, NDArray[np.int64]]:
    """The distinct points in lexicographic order, and how often each occurs."""
    if len(cloud) == 0:
        return cloud, np.zeros(0, np.int64)
    return np.unique(cloud, axis=0, return_counts=True)


def codensities(points: Array, counts: NDArray[np.int64], bandwidth: float) -> Array:
    """The codensity of each distinct point."""
    out = np.empty(len(points))
    share = counts / max(1, counts.sum())
    for first in range(0, len(points), 1024):  # a table of all pairs would fill the memory
        squared = cdist(points[first : first + 1024], points, "sqeuclidean")
        out[first : first + 1024] = -np.log(np.exp(squared / (-2.0 * bandwidth**2)) @ share)
    return out


def bifiltration(cloud: Array, dimension: int, *, bandwidth: float, max_radius: float) -> Bifiltration:
    """Simplices up to a dimension with radius at most ``max_radius``."""
    points, counts = distinct(cloud)
    values = codensities(points, counts, bandwidth)
    if len(points) == 0:
        return _collect([], [], values, dimension)
    tree = need("gudhi", "a bifiltration").AlphaComplex(points=points).create_simplex_tree()
    tree.prune_above_dimension(dimension)
    cells = [(s, np.sqrt(max(0.0, r))) for s, r in tree.get_simplices()]
    kept = [(s, r) for s, r in cells if r <= max_radius]
    return _collect([s for s, _ in kept], [r for _, r in kept], values, dimension)


def _collect(cells: list[Any], radii: list[float], values: Array, dimension: int) -> Bifiltration:
    simplices, radius, codensity = [], [], []
    for d in range(dimension + 1):
        mine = [i for i, cell in enumerate(cells) if len(cell) == d + 1]
        table = np.array([sorted(cells[i]) for i in mine], np.int64).reshape(len(mine), d + 1)
        order = np.lexsort(table.T[::-1])
        simplices.append(table[order])
        radius.append(np.array([radii[i] for i in mine], np.float64)[order])
        codensity.append(values[table[order]].max(axis=1) if len(mine) else np.zeros(0))
    return Bifiltration(tuple(simplices), tuple(radius), tuple(codensity))


BANDWIDTH = 0.1  # as a share of the side of a cloud's bounding box
# The largest radius leaves out the last of the simplices: those on the hull are huge.
SHARE = 0.95


@dataclass(frozen=True)
class Frame:
    """Dimension of simplices, bandwidth, largest radius, range of codensity."""

    dimension: int
    bandwidth: float
    max_radius: float
    low: float
    high: float

    def bifiltration(self, cloud: Array) -> Bifiltration:
        """Of a cloud, with both values from 0 to 1 over the box; what enters beyond it is left out."""
        found = bifiltration(cloud, self.dimension, bandwidth=self.bandwidth, max_radius=self.max_radius)
        return found.within(self.max_radius, self.high).scaled(self.max_radius, self.low, self.high)


def fit_frame(model: Any, clouds: Sequence[Array], threads: int, progress: str | None) -> Frame:
    """The frame of a training set: whatever the user did not fix is taken from the clouds."""
    dimension = max(model.degrees) + 1
    sides = np.array([np.ptp(cloud, axis=0).max() if len(cloud) else 0.0 for cloud in clouds])
    side = float(np.median(sides[sides > 0.0])) if (sides > 0.0).any() else 1.0
    bandwidth = BANDWIDTH * side if model.bandwidth is None else float(model.bandwidth)
    fixed = None if model.max_radius is None else float(model.max_radius)
    ends = np.full((len(clouds), 3), np.nan)  # lowest and highest codensity, nearly largest radius

    def work(first: int, last: int) -> None:
        for i in range(first, last):
            points, counts = distinct(clouds[i])
            if len(points):
                values = codensities(points, counts, bandwidth)
                ends[i, 0], ends[i, 1] = values.min(), values.max()
            if fixed is None:
                whole = bifiltration(clouds[i], dimension, bandwidth=bandwidth, max_radius=np.inf)
                if len(whole.radius[-1]):
                    ends[i, 2] = np.quantile(whole.radius[-1], SHARE)

    run_pieces(work, pieces(len(clouds), 1), threads, progress)
    known = np.isfinite(ends)
    low = float(ends[known[:, 0], 0].min()) if known[:, 0].any() else 0.0
    high = float(ends[known[:, 1], 1].max()) if known[:, 1].any() else 1.0
    if fixed is None:
        fixed = float(np.median(ends[known[:, 2], 2])) if known[:, 2].any() else side
    return Frame(dimension, bandwidth, fixed, low, high)


# --- slices --------------------------------------------------------------------------

# Bit sets of whole columns: fine for thousands of points, not for hundreds of thousands.
MOST_BYTES = 4_000_000_000


@dataclass(frozen=True)
class Slices:
    """Bars of all slices, one slice after the other, and which bars of the next slice each is mapped to."""

    starts: NDArray[np.int64]  # (slices + 1,)
    birth: Array
    death: Array  # infinite where a bar does not end
    source: NDArray[np.int64]  # bars, as places in `birth`
    target: NDArray[np.int64]


def sliced(complex_: Bifiltration, degree: int, thresholds: Array, *, maps: bool = False) -> Slices:
    """Bars of positive length of each slice; with ``maps``, also the maps between slices.

    A map sends the bar [b, d) to bars [b', d') with b' <= b < d' <= d: any other pair has no map but zero.
    """
    entry = [np.searchsorted(thresholds, values).astype(np.int64) for values in complex_.codensity]
    order = [np.argsort(radius, kind="stable") for radius in complex_.radius]
    rank = [np.argsort(o, kind="stable") for o in order]

    def columns(dimension: int) -> NDArray[np.int64]:
        return rank[dimension - 1][complex_.faces(dimension)][order[dimension]]

    rows, above = len(order[degree]), len(order[degree + 1])
    size = ((rows + 63) // 64) * (above + 2 * rows * maps) * 8
    if size > MOST_BYTES:
        raise ValueError(
            f"has {rows} simplices of dimension {degree} and {above} of the next, whose matrix would take "
            f"{size / 1e9:.1f} GB: sample it to fewer points, or lower max_radius"
        )
    none = np.zeros((0, 0), np.int64)
    lower = columns(degree) if degree else none
    starts, birth, death, source, target = _reduce(
        lower,
        columns(degree + 1),
        len(order[degree - 1]) if degree else 0,
        entry[degree][order[degree]],
        entry[degree + 1][order[degree + 1]],
        complex_.radius[degree][order[degree]],
        complex_.radius[degree + 1][order[degree + 1]],
        len(thresholds),
        maps,
    )
    return Slices(starts, birth, death, source, target)


@compiled
def _last(bits: Any, word: int) -> int:
    """The place of the last bit at or before a word; -1 if there is none."""
    while word >= 0:
        value = bits[word]
        if value != np.uint64(0):
            place = 0
            for step in (32, 16, 8, 4, 2, 1):
                if value >> np.uint64(step) != np.uint64(0):
                    value >>= np.uint64(step)
                    place += step
            return word * 64 + place
        word -= 1
    return -1


@compiled
def _flip(bits: Any, place: int) -> None:
    bits[place >> 6] ^= np.uint64(1) << np.uint64(place & 63)


@compiled
def _add(to: Any, other: Any, words: int) -> None:
    for w in range(words):
        to[w] ^= other[w]


@compiled
def _insert(column: int, matrix: Any, track: Any, tracked: bool, owner: Any) -> int:
    """Reduce a new column and those that it displaces; the column that ended as zero, or -1.

    Each round either ends, or goes on with a column whose last entry lies further to the front.
    """
    last = matrix.shape[1] - 1
    while True:
        pivot = _last(matrix[column], last)
        if pivot < 0:
            return column
        last = pivot >> 6
        other = owner[pivot]
        if other < 0:
            owner[pivot] = column
            return -1
        if other > column:
            owner[pivot] = column
            column, other = other, column
        _add(matrix[column], matrix[other], last + 1)
        if tracked:
            _add(track[column], track[other], (other >> 6) + 1)


@compiled
def _reduce(
    lower: Any, upper: Any, n_below: int, entry: Any, entry_upper: Any, radius: Any, radius_upper: Any,
    n_slices: int, maps: bool,
) -> Any:  # fmt: skip
    n, n_upper = entry.shape[0], entry_upper.shape[0]
    words, words_below = (n + 63) >> 6, (n_below + 63) >> 6
    tracked = maps and lower.shape[0] > 0
    below = np.zeros((n if lower.shape[0] > 0 else 0, words_below), np.uint64)
    chains = np.zeros((n if tracked else 0, words), np.uint64)
    above = np.zeros((n_upper, words), np.uint64)
    owner_below, owner = np.full(n_below, -1, np.int64), np.full(n, -1, np.int64)
    creates = np.zeros(n, np.bool_)  # simplices that create a cycle
    number, before = np.full(n, -1, np.int64), np.full(n, -1, np.int64)  # of the bar of each, in this slice
    kept = np.zeros((n if maps else 0, words), np.uint64)  # the cycles of the slice before
    rest = np.zeros(words, np.uint64)

    starts = np.zeros(n_slices + 1, np.int64)
    birth, death = np.empty(max(n, 16)), np.empty(max(n, 16))
    source, target = np.empty(64, np.int64), np.empty(64, np.int64)
    bars = edges = 0

    # Columns by slice, in each by radius.
    by_slice, by_slice_upper = np.argsort(entry, kind="mergesort"), np.argsort(entry_upper, kind="mergesort")
    at = at_upper = 0
    for s in range(n_slices):
        while at < n and entry[by_slice[at]] <= s:
            e = by_slice[at]
            at += 1
            if lower.shape[0] == 0:  # a vertex has no boundary
                creates[e] = True
                continue
            for k in range(lower.shape[1]):
                _flip(below[e], lower[e, k])
            if tracked:
                _flip(chains[e], e)
            zero = _insert(e, below, chains, tracked, owner_below)
            if zero >= 0:
                creates[zero] = True
        while at_upper < n_upper and entry_upper[by_slice_upper[at_upper]] <= s:
            c = by_slice_upper[at_upper]
            at_upper += 1
            for k in range(upper.shape[1]):
                _flip(above[c], upper[c, k])
            _insert(c, above, above, False, owner)

        starts[s] = bars
        for e in range(n):
            number[e] = -1
            if not creates[e]:
                continue
            end = radius_upper[owner[e]] if owner[e] >= 0 else np.inf
            if radius[e] < end:
                if bars == birth.shape[0]:
                    birth, death = np.concatenate((birth, birth)), np.concatenate((death, death))
                birth[bars], death[bars] = radius[e], end
                number[e] = bars
                bars += 1

        if not maps:
            continue
        for e in range(n):
            if before[e] < 0:
                continue
            # A cycle of the slice before, written in the basis of this one.
            rest[:] = kept[e]
            q = e
            while q >= 0:
                if owner[q] >= 0:
                    _add(rest, above[owner[q]], words)
                elif lower.shape[0] == 0:
                    _flip(rest, q)
                else:
                    _add(rest, chains[q], words)
                if number[q] >= 0 and death[number[q]] > radius[e]:
                    if edges == source.shape[0]:
                        source = np.concatenate((source, source))
                        target = np.concatenate((target, target))
                    source[edges], target[edges] = before[e], number[q]
                    edges += 1
                q = _last(rest, q >> 6)
        for e in range(n):
            before[e] = number[e]
            if number[e] < 0:
                continue
            if owner[e] >= 0:
                kept[e] = above[owner[e]]
            elif lower.shape[0] == 0:
                kept[e] = np.uint64(0)
                _flip(kept[e], e)
            else:
                kept[e] = chains[e]
    starts[n_slices] = bars
    return starts, birth[:bars].copy(), death[:bars].copy(), source[:edges].copy(), target[:edges].copy()
