"""The bifiltration of a cloud by radius and Gaussian codensity, and the box in which a data set is looked at.

A simplex enters at its radius (of the alpha complex, or half its longest edge in the Rips complex) and
at the largest codensity of its vertices. The codensity of a point x is

    -log( 1/m  sum_y exp(-|x - y|^2 / (2 h^2)) )

with the bandwidth h: small where points are dense, 0 where all points coincide, at most log m. Points
that coincide are one vertex; each still counts in the sum. The box is fixed on the training clouds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from heatfield._base.check import Array, check_choice
from heatfield._base.threads import pieces, run_pieces

from .._tools import need

COMPLEXES = ("alpha", "rips")


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


def bifiltration(
    cloud: Array, kind: str, dimension: int, *, bandwidth: float, max_radius: float
) -> Bifiltration:
    """Simplices up to a dimension with radius at most ``max_radius``; all, if that is infinite (alpha)."""
    points, counts = distinct(cloud)
    values = codensities(points, counts, bandwidth)
    if len(points) == 0:
        return _collect([], [], values, dimension)
    if kind == "alpha":
        tree = need("gudhi", "a bifiltration").AlphaComplex(points=points).create_simplex_tree()
        tree.prune_above_dimension(dimension)
        cells = [(s, np.sqrt(max(0.0, r))) for s, r in tree.get_simplices()]
    else:
        cells = _rips(points, values, dimension, max_radius)
    kept = [(s, r) for s, r in cells if r <= max_radius]
    return _collect([s for s, _ in kept], [r for _, r in kept], values, dimension)


def _rips(points: Array, values: Array, dimension: int, max_radius: float) -> list[tuple[Any, float]]:
    """Cliques of the graph of near points, after an edge collapse that keeps the homology everywhere."""
    simplex_tree = need("multipers.simplex_tree_multi", "the Rips bifiltration")
    tree = need("gudhi", "a bifiltration").SimplexTree.create_from_array(
        cdist(points, points), max_filtration=2.0 * max_radius
    )
    both = simplex_tree.SimplexTreeMulti(tree, num_parameters=2)
    both.fill_lowerstar(values, parameter=1)
    if both.dimension > 0:
        both.collapse_edges(-2, ignore_warning=True)
        both.expansion(dimension)
    return [(list(s), 0.5 * float(f[0])) for s, f in both.get_simplices()]


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


# Bandwidth, and the largest radius of a Rips complex, as shares of the side of a cloud's bounding box.
BANDWIDTH, RIPS_RADIUS = 0.1, 0.15
# The largest radius of alpha complexes leaves out the last of the simplices: those on the hull are huge.
SHARE = 0.95


@dataclass(frozen=True)
class Frame:
    """Complex, dimension of points and of simplices, bandwidth, largest radius, range of codensity."""

    kind: str
    n_dims: int
    dimension: int
    bandwidth: float
    max_radius: float
    low: float
    high: float

    def bifiltration(self, cloud: Array) -> Bifiltration:
        """Of a cloud, with both values from 0 to 1 over the box; what enters beyond it is left out."""
        found = bifiltration(
            cloud, self.kind, self.dimension, bandwidth=self.bandwidth, max_radius=self.max_radius
        )
        return found.within(self.max_radius, self.high).scaled(self.max_radius, self.low, self.high)

    @classmethod
    def checked(cls, facts: dict[str, Any]) -> Frame:
        """From plain values that may come from anywhere."""
        check_choice(facts["kind"], "complex", COMPLEXES)
        for name in ("n_dims", "dimension"):
            if type(facts[name]) is not int or not 1 <= facts[name] <= 1000:
                raise ValueError(f"{name} of the saved frame must be a small number, got {facts[name]!r}")
        for name in ("bandwidth", "max_radius", "low", "high"):
            if type(facts[name]) is not float or not math.isfinite(facts[name]):
                raise ValueError(f"{name} of the saved frame must be a finite number, got {facts[name]!r}")
        if facts["bandwidth"] <= 0 or facts["max_radius"] <= 0 or facts["high"] < facts["low"]:
            raise ValueError("the saved frame is empty")
        return cls(**{name: facts[name] for name in cls.__dataclass_fields__})


def fit_frame(model: Any, clouds: Sequence[Array], threads: int, progress: str | None) -> Frame:
    """The frame of a training set: whatever the user did not fix is taken from the clouds."""
    n_dims, dimension = clouds[0].shape[1], max(model.degrees) + 1
    sides = np.array([np.ptp(cloud, axis=0).max() if len(cloud) else 0.0 for cloud in clouds])
    side = float(np.median(sides[sides > 0.0])) if (sides > 0.0).any() else 1.0
    bandwidth = BANDWIDTH * side if model.bandwidth is None else float(model.bandwidth)
    fixed = RIPS_RADIUS * side if model.complex == "rips" else None
    fixed = fixed if model.max_radius is None else float(model.max_radius)
    ends = np.full((len(clouds), 3), np.nan)  # lowest and highest codensity, nearly largest radius

    def work(first: int, last: int) -> None:
        for i in range(first, last):
            points, counts = distinct(clouds[i])
            if len(points):
                values = codensities(points, counts, bandwidth)
                ends[i, 0], ends[i, 1] = values.min(), values.max()
            if fixed is None:
                whole = bifiltration(
                    clouds[i], model.complex, dimension, bandwidth=bandwidth, max_radius=np.inf
                )
                if len(whole.radius[-1]):
                    ends[i, 2] = np.quantile(whole.radius[-1], SHARE)

    run_pieces(work, pieces(len(clouds), 1), threads, progress)
    known = np.isfinite(ends)
    low = float(ends[known[:, 0], 0].min()) if known[:, 0].any() else 0.0
    high = float(ends[known[:, 1], 1].max()) if known[:, 1].any() else 1.0
    if fixed is None:
        fixed = float(np.median(ends[known[:, 2], 2])) if known[:, 2].any() else side
    return Frame(model.complex, n_dims, dimension, bandwidth, fixed, low, high)
