"""The neighbour graph of a cloud and the lowest eigenpairs of its Laplacian: what HKS and WKS stand on.

Nothing here depends on the order of the points, on rotation, or on which of several equal
choices a library happens to make:

* points at one place are one vertex, so that copies do not use up each other's neighbours;
* every place is joined to its k nearest others and to all that are as far as the k-th, in either
  direction, so that ties are not broken by the order of the points;
* connected components are solved one by one. The Laplacian of the whole has one zero eigenvalue
  per component, and with many components any basis of that null space would be as good as another;
* no eigenspace is cut: with the last eigenpair come all others of the same eigenvalue.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh, splu
from scipy.spatial import cKDTree

from heatfield._base.check import Array

# Places closer than this part of the extent are one: a rotation may tell copies apart by rounding.
_SAME = 1e-10
# Distances that differ by less than this part are equal.
_TIE = 1e-9
# Eigenvalues that differ by less than this part of the largest possible one are equal.
_EQUAL = 1e-6
# Up to this many vertices a dense solver is as fast as Lanczos iterations.
_DENSE = 400
# Below the spectrum, so that the shifted Laplacian can be factorised.
_SHIFT = -1e-3
# Newer versions of scipy draw the vectors of a restart from this generator, older ones from a fixed one.
_HAS_RNG = "rng" in inspect.signature(eigsh).parameters


@dataclass(frozen=True)
class Component:
    """The lowest eigenpairs of one connected component."""

    places: np.ndarray  # (p,) which places belong to it
    values: Array  # (k,) eigenvalues, the first exactly 0
    squares: Array  # (p, k) squared entries of the eigenvectors


@dataclass(frozen=True)
class GraphSpectrum:
    """Eigenpairs of all components, and the place of every point."""

    components: list[Component]
    place: np.ndarray  # (m,)
    n_places: int

    @property
    def positive(self) -> Array:
        """All eigenvalues kept but the zero of each component, ascending."""
        return np.sort(np.concatenate([part.values[1:] for part in self.components]))

    def sum_squares(self, weights: Any) -> Array:
        """Sums over the eigenpairs of weight times squared entry, (T, m): ``weights(values)`` is (T, k)."""
        steps = weights(np.zeros(1)).shape[0]
        out = np.empty((steps, self.n_places))
        for part in self.components:
            out[:, part.places] = weights(part.values) @ part.squares.T
        return out[:, self.place]


def graph_spectrum(points: Array, n_neighbors: int, n_pairs: int) -> GraphSpectrum | None:
    """The lowest eigenpairs of the symmetric neighbour graph of a cloud; None without two distinct places."""
    places, place = distinct_places(points)
    if len(places) < 2:
        return None
    graph = neighbour_graph(places, n_neighbors)
    count, label = connected_components(graph, directed=False)
    members = np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label, minlength=count))[:-1])
    parts = []
    for inside in members:
        values, vectors = lowest_pairs(_laplacian(graph[inside][:, inside]), n_pairs)
        parts.append(Component(inside, values, vectors**2))
    return GraphSpectrum(parts, place, len(places))


def distinct_places(points: Array) -> tuple[Array, np.ndarray]:
    """Distinct places in the order in which they first occur, and the place of every point."""
    _, first, place = np.unique(points, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    places, place = points[np.sort(first)], rank[place.ravel()]
    extent = float(np.ptp(points, axis=0).max())
    same = cKDTree(places).query_pairs(_SAME * extent, output_type="ndarray")
    if not len(same):
        return places, place
    links = coo_array((np.ones(len(same)), (same[:, 0], same[:, 1])), shape=(len(places),) * 2)
    _, label = connected_components(links, directed=False)
    _, first = np.unique(label, return_index=True)
    return places[first], label[place]


def neighbour_graph(places: Array, n_neighbors: int) -> csr_array:
    """Adjacency (0 or 1) of places that are among each other's nearest in one direction at least."""
    m = len(places)
    tree = cKDTree(places)
    last = min(n_neighbors, m - 1)
    left, asked = np.arange(m), min(m, last + 3)
    rows, columns = [], []
    while left.size:
        distance, index = tree.query(places[left], k=asked)
        near = distance <= distance[:, last, None] * (1.0 + _TIE)
        # Where the last one found is still as near as the k-th, there may be more of them.
        done = ~near[:, -1] if asked < m else np.ones(len(left), dtype=bool)
        near[~done] = False
        row, column = np.nonzero(near)
        rows.append(left[row])
        columns.append(index[row, column])
        left, asked = left[~done], min(m, 2 * asked)
    row, column = np.concatenate(rows), np.concatenate(columns)
    keep = row != column
    one_way = coo_array((np.ones(keep.sum()), (row[keep], column[keep])), shape=(m, m)).tocsr()
    return one_way.maximum(one_way.T)


def _laplacian(graph: csr_array) -> csr_array:
    return (diags_array(graph.sum(axis=1)) - graph).tocsr()


def lowest_pairs(laplacian: csr_array, n_pairs: int) -> tuple[Array, Array]:
    """The lowest eigenpairs of a connected graph: ``n_pairs``, and all others equal to the last of them."""
    m = laplacian.shape[0]
    equal = _EQUAL * 2.0 * float(laplacian.diagonal().max())  # twice the largest degree bounds the spectrum
    asked = min(m, n_pairs + 4)
    while True:
        if m <= _DENSE or 2 * asked > m:
            values, vectors = eigh(laplacian.toarray(), subset_by_index=[0, asked - 1])
        else:
            values, vectors = _lanczos(laplacian, asked, equal)
        kept = min(n_pairs, m)
        while kept < asked and values[kept] - values[kept - 1] <= equal:
            kept += 1
        if kept < asked or asked == m:
            break
        asked = min(m, 2 * asked)
    values, vectors = values[:kept].copy(), vectors[:, :kept].copy()
    # Of a connected graph this pair is known exactly, and all others are positive, whatever rounding says.
    values[0], vectors[:, 0] = 0.0, 1.0 / np.sqrt(m)
    values[1:] = np.maximum(values[1:], 1e-10 * equal)
    return values, vectors


def _lanczos(laplacian: csr_array, count: int, equal: float) -> tuple[Array, Array]:
    """The lowest pairs by shift and invert, each eigenspace whole.

    Lanczos iterations from one vector may miss a copy of a multiple eigenvalue. So what is
    orthogonal to all vectors found is searched as well, until nothing there is lower.
    """
    m = laplacian.shape[0]
    factor = splu((laplacian - _SHIFT * diags_array(np.ones(m))).tocsc())
    inverse = LinearOperator((m, m), matvec=factor.solve, dtype=np.float64)
    rng = np.random.default_rng(0)  # a fixed start, so that the result is the same in every run
    start = {"v0": rng.standard_normal(m), **_fixed()}
    values, vectors = eigsh(laplacian, count, sigma=_SHIFT, OPinv=inverse, **start)
    while True:
        values, vectors = values[np.argsort(values)], vectors[:, np.argsort(values)]
        value, vector = _lowest_beyond(factor, vectors, rng.standard_normal(m))
        if value >= values[-1] - equal:
            return values, vectors
        values, vectors = np.append(values[:-1], value), np.column_stack([vectors[:, :-1], vector])


def _lowest_beyond(factor: Any, vectors: Array, start: Array) -> tuple[float, Array]:
    """The lowest eigenpair orthogonal to some eigenvectors."""
    m = len(start)

    def beyond(x: Array) -> Array:
        return x - vectors @ (vectors.T @ x)

    # What is orthogonal is all that is left of the inverse, so its largest eigenvalue is the one looked for.
    rest = LinearOperator((m, m), matvec=lambda x: beyond(factor.solve(beyond(x.ravel()))), dtype=np.float64)
    found, vector = eigsh(rest, 1, which="LA", v0=beyond(start), tol=1e-10, **_fixed())
    vector = beyond(vector[:, 0])
    return 1.0 / float(found[0]) + _SHIFT, vector / np.linalg.norm(vector)


def _fixed() -> dict[str, Any]:
    return {"rng": np.random.default_rng(0)} if _HAS_RNG else {}
