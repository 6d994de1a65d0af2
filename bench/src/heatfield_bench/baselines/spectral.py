"""`HKS` and `WKS`: signatures by the lowest eigenpairs of the Laplacian of a cloud's neighbour graph.

Nothing in the graph and its eigenpairs depends on the order of the points, on rotation, or on which of
several equal choices a library happens to make:

* points at one place are one vertex, so that copies do not use up each other's neighbours;
* every place is joined to its k nearest others and to all that are as far as the k-th, in either
  direction, so that ties are not broken by the order of the points;
* connected components are solved one by one. The Laplacian of the whole has one zero eigenvalue
  per component, and with many components any basis of that null space would be as good as another;
* no eigenspace is cut: with the last eigenpair come all others of the same eigenvalue.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh, splu
from scipy.spatial import cKDTree

from heatfield._base.check import Array
from heatfield.options import Threads, count, number, option, options

from .point_descriptor import PointDescriptor
from .registry import baseline

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


@options
class Spectral(Threads, PointDescriptor):
    """What both signatures have."""

    _uses_blas = True

    n_neighbors: int = option("Neighbours per point; as in the paper.", count(1), default=10)
    n_pairs: int = option("Eigenpairs; as in the paper.", count(2), default=80)


@baseline(
    "HKS", recipe="Sun et al. 2009; graph, eigenpairs and times of the HFS paper", order=2, cost=12.0,
    published={
        "main": "85.2 32.8 50.4 79.5 30.7 31.2 20.0", "runtime": "126.8 39.9 24.7 4.1", "speed_up": "24.5",
        "rotation": "28.0 7.1 12.5 2.3", "boundary": "62.6 50.3", "boundary_f1": "64.1 50.3",
    },
)  # fmt: skip
@options
class HKS(Spectral):
    """Heat kernel signatures (Sun, Ovsjanikov and Guibas 2009) on the neighbour graph of each cloud.

    hks(x, t) = sum_k exp(-lambda_k t) phi_k(x)², with the lowest eigenpairs of the Laplacian
    D - A of the symmetric graph of nearest neighbours, all weights 1. Times are spaced evenly in log t from
    4 ln 10 / lambda_max to 4 ln 10 / lambda_min, the largest and the smallest positive eigenvalue kept.
    Pooled over the points by mean, standard deviation, 10th, 50th and 90th percentile.

    Guide: ``heatfield docs guide/baselines_descriptors``.

    Parameters
    ----------
    {options}

    Notes
    -----
    Copies of a point are one vertex and share its values. Neighbours as far as the k-th all count. Connected
    components are solved one by one, each with up to ``n_pairs`` eigenpairs; times are the same for all. An
    eigenspace is never cut: with the last pair come all others of its eigenvalue. So the signature does
    not change with rotation, reflection, translation, scale or order of the points. A graph
    of fewer vertices has fewer pairs. A cloud of one place has no graph: NaN.

    Examples
    --------
    >>> import numpy as np, heatfield_bench as hb
    >>> rng = np.random.default_rng(0)
    >>> clouds = [rng.normal(size=(m, 3)) for m in (40, 60)]
    >>> hks = hb.baselines.HKS()
    >>> hks.fit_transform(clouds).shape, hks.per_point(clouds[0]).shape
    ((2, 80), (40, 16))
    >>> hks.get_feature_names_out()[-1], hks.point_names()[0], hks.layout().columns["hks"]
    ('hks_p90_s15', 'hks_s0', slice(0, 80, None))
    >>> hks.fit(clouds).transform(clouds[:1]).shape
    (1, 80)
    """

    n_times: int = option("Times; as in the paper.", count(1), default=16)

    def _axes(self) -> tuple[Sequence[str], str, int]:
        return ("hks",), "s", self.n_times

    def _features(self, points: Array, settings: Mapping[str, Any], n_threads: int) -> Array | None:  # noqa: ARG002
        spectrum = graph_spectrum(points, settings["n_neighbors"], settings["n_pairs"])
        if spectrum is None:
            return None
        positive = spectrum.positive
        times = 4.0 * np.log(10.0) * np.geomspace(1.0 / positive[-1], 1.0 / positive[0], settings["n_times"])
        return spectrum.sum_squares(lambda values: np.exp(-np.outer(times, values)))[None]


# Positive eigenvalues whose logarithms span less than this are all the same.
_ONE_ENERGY = 1e-6


@baseline("WKS", recipe="Aubry et al. 2011", order=3, cost=12.0, beside=())
@options
class WKS(Spectral):
    """Wave kernel signatures (Aubry, Schlickewei and Cremers 2011) on the neighbour graph of each cloud.

    wks(x, e) = sum_k phi_k(x)² g_k / sum_k g_k, g_k = exp(-(e - log lambda_k)² / 2 sigma²), over the
    positive ones among the lowest eigenvalues of the same graph as `HKS`.

    Guide: ``heatfield docs guide/baselines_descriptors``.

    Parameters
    ----------
    {options}

    Notes
    -----
    Copies, ties, components and multiple eigenvalues: see `HKS`; the sums run over the eigenvalues of all
    components. Where all positive eigenvalues are equal (points that are all neighbours of each other),
    every energy has the same value.

    Examples
    --------
    >>> import numpy as np, heatfield_bench as hb
    >>> points = np.random.default_rng(0).normal(size=(60, 3))
    >>> found = hb.baselines.WKS().per_point(points)
    >>> found.shape, bool(np.allclose(found.sum(axis=0), 1.0))
    ((60, 16), True)
    """

    n_energies: int = option(
        "Energies e, spaced evenly between log lambda_min + 2 sigma and log lambda_max - 2 sigma.",
        count(1),
        default=16,
    )
    width: float = option(
        "sigma as a part of log lambda_max - log lambda_min. The authors' 7 steps of 100 are 0.07; at that"
        " width 16 energies lie closer than sigma, so that more of them would repeat each other.",
        number(above=0, below=0.25),
        default=0.07,
    )

    def _axes(self) -> tuple[Sequence[str], str, int]:
        return ("wks",), "s", self.n_energies

    def _features(self, points: Array, settings: Mapping[str, Any], n_threads: int) -> Array | None:  # noqa: ARG002
        n_energies = settings["n_energies"]
        spectrum = graph_spectrum(points, settings["n_neighbors"], settings["n_pairs"])
        if spectrum is None:
            return None
        logs = np.log(spectrum.positive)
        sigma = self.width * (logs[-1] - logs[0])
        energies = np.linspace(logs[0] + 2.0 * sigma, logs[-1] - 2.0 * sigma, n_energies)[:, None]
        flat = logs[-1] - logs[0] < _ONE_ENERGY

        # Relative to the nearest eigenvalue, so that a narrow Gaussian far from all of them is not 0 / 0.
        nearest = np.abs(energies - logs).min(axis=1, keepdims=True)

        def gaussian(log_values: Array) -> Array:
            if flat:
                return np.ones((n_energies, log_values.size))
            apart = np.abs(energies - log_values)
            return np.exp(-0.5 * (apart - nearest) * (apart + nearest) / sigma**2)

        def weights(values: Array) -> Array:
            out = np.zeros((n_energies, values.size))
            out[:, 1:] = gaussian(np.log(values[1:]))  # the first is the zero of its component
            return out

        return (spectrum.sum_squares(weights) / gaussian(logs).sum(axis=1)[:, None])[None]
