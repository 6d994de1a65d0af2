"""Graphcodes (Kerber and Russold 2024): the barcodes of density slices joined to a graph, and a network.

Definition, for a bifiltration by radius and codensity and a degree p of homology. Thresholds of codensity
c_1 < ... < c_S give nested slices K_1, ..., K_S, each filtered by radius. In each slice choose a basis of
the p-cycles that fits the filtration: the cycles born until any radius are spanned by the basis elements
born until then, and the boundaries by those that have ended. Each element z has a bar [birth, death); those
of length 0 are left out. The inclusion of K_s in K_{s+1} makes z a cycle there, so it is a unique sum of
elements of the next basis. The nodes of the graphcode are all bars of all slices, at (birth, death, slice);
the edges join the bar of z to the bars of the elements in its sum. The graph depends on the bases, the bars
do not.

Here an edge to a bar that has ended when z is born is left out: as a map of homology it is zero. What
remains are the matrices of the maps between the homology of slices, so that the graph determines the whole
two-parameter module (`bench/tests` computes all its ranks from it). How bases and sums are computed is
described in `bifiltration`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heatfield._base.check import Array, check_count
from heatfield.models.network import training_recipe
from heatfield.options import Watched, count, number, option, options

from .._tools import need
from .bifiltration import Bifiltration, codensities, distinct, sliced
from .persistence import PersistenceEstimator
from .registry import baseline, yes_or_no


@dataclass(frozen=True)
class GraphTable:
    """Nodes and edges of the graphs of N clouds; edges count nodes from the first of their cloud."""

    node_starts: NDArray[np.int64]  # (N + 1,)
    edge_starts: NDArray[np.int64]
    values: NDArray[np.float32]  # (P, F)
    cell: NDArray[np.int64]  # degree * slices + slice of each node
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    cells: int

    def __len__(self) -> int:
        return len(self.node_starts) - 1


def graph_of(
    complex_: Bifiltration, degrees: tuple[int, ...], thresholds: Array, *, edges: bool, max_bars: int | None
) -> tuple[NDArray, ...]:
    """Values (P, 3 + degrees), cells, sources and targets of one cloud whose values run from 0 to 1.

    A node's values are birth, death (1, the end of the box, if it does not end), slice from 0 to 1, and
    which of several degrees it is of.
    """
    rows, cells, sources, targets = [], [], [], []
    moved, count = 0, len(thresholds)
    for place, degree in enumerate(degrees):
        found = sliced(complex_, degree, thresholds, maps=edges)
        owner = np.repeat(np.arange(count), np.diff(found.starts))
        death = np.minimum(found.death, 1.0)
        keep = np.ones(len(owner), bool)
        if max_bars is not None:  # the longest of each slice; of equal ones the first
            order = np.lexsort((np.arange(len(owner)), found.birth - death, owner))
            keep[order] = np.arange(len(owner)) - found.starts[owner[order]] < max_bars
        number = np.cumsum(keep) - 1 + moved
        values = np.zeros((len(owner), 3 + (len(degrees) if len(degrees) > 1 else 0)), np.float32)
        values[:, 0], values[:, 1], values[:, 2] = found.birth, death, owner / max(1, count - 1)
        if len(degrees) > 1:
            values[:, 3 + place] = 1.0
        rows.append(values[keep])
        cells.append((owner + place * count)[keep])
        both = keep[found.source] & keep[found.target]
        sources.append(number[found.source[both]])
        targets.append(number[found.target[both]])
        moved += int(keep.sum())
    return tuple(np.concatenate(parts) for parts in (rows, cells, sources, targets))


def pack_graphs(graphs: list[tuple[Any, ...]], cells: int) -> GraphTable:
    """One table of the graphs of all clouds."""
    values, cell, source, target = (np.concatenate([g[k] for g in graphs]) for k in range(4))
    nodes, edges = (np.cumsum([0, *(len(g[k]) for g in graphs)]) for k in (0, 2))
    return GraphTable(nodes, edges, values, cell, source, target, cells)


def _slices(value: Any, name: str) -> int:
    """At least 1 and at most 1,000."""
    if check_count(value, name, 1) > 1000:
        raise ValueError(f"{name} must be at most 1000, got {value!r}")
    return int(value)


@baseline(
    "GC", recipe="Kerber and Russold 2024; own implementation", order=16, cost=500.0,
    needs="persistence,torch", published={"persistence": "86.9 83.4"},
)  # fmt: skip
@baseline(
    "GC-NE", recipe="as GC, without edges", order=17, cost=500.0, needs="persistence,torch",
    options={"edges": False},
    published={"persistence": "82.8 83.1"},
)  # fmt: skip
@options
class GraphCode(Watched, PersistenceEstimator):
    """Classify clouds by graphcodes: attention along the graph, the maximum of each slice, a dense head.

    Guide: ``heatfield docs guide/baselines_persistence``.

    Parameters
    ----------
    {options}

    Attributes
    ----------
    classes_ : the labels
    frame_, thresholds_ : the box, and the thresholds of codensity from 0 to 1 in it
    learner_, history_ : the network with its scaling; loss and accuracy by epoch

    Examples
    --------
    >>> import heatfield as hf
    >>> import heatfield_bench as hb
    >>> clouds, labels = hf.datasets.make_processes(n_per_class=4, strauss_steps=4000)
    >>> model = hb.baselines.GraphCode(n_slices=4, epochs=2).fit(clouds, labels)
    >>> graphs = model.graph_table(clouds)
    >>> model.predict(clouds).shape, graphs.values.shape[1]
    ((16,), 5)
    """

    smoke: ClassVar = {"epochs": 2}
    reduced: ClassVar = {"steps": 1000}
    many_points: ClassVar = {"max_bars": 100}

    edges: bool = option(
        "Without, there are no edges: a network over the barcodes of the slices alone.",
        yes_or_no,
        default=True,
    )
    n_slices: int = option(
        "Thresholds of codensity: each slice adds the same share of all points of the training clouds.",
        _slices,
        default=10,
    )
    max_bars: int | None = option(
        "Of each slice and degree, only so many of the longest bars.", count(1), default=None
    )
    network: Mapping[str, Any] | None = option(
        "Overrides of the network's arguments: widths (32, 32, 32) of the attention layers, their heads 4,"
        " head (128, 64), the hidden layers of the dense part, and dropout 0.2 there.",
        default=None,
    )
    epochs: int = option("Passes over the training set, by Adam.", count(1), default=100)
    batch_size: int = option("Clouds per step.", count(2), default=32)
    learning_rate: float = option("At the start; it falls by a cosine.", number(above=0), default=1e-3)
    device: str = option("cpu, cuda, ...; auto is a GPU if there is one.", default="auto")

    def graph_table(self, clouds: Sequence[ArrayLike]) -> GraphTable:
        """The graphcodes of clouds as the network sees them, packed.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)

        Returns
        -------
        table : GraphTable
            Nodes, edges, and where the graph of each cloud begins.
        """
        return self._checked_inputs(clouds)

    def _learn(self, clouds: list[Array], labels: NDArray[np.int64], n_classes: int) -> None:
        need("torch", type(self).__name__, "torch")
        from heatfield.nn.learner import choose_device
        from heatfield.nn.training import Training

        from ..networks.graphcode import GraphLearner

        self._check(clouds[0].shape[1])  # what is wrong is said before the long work
        recipe = training_recipe(self, labels, np.arange(n_classes), Training(epochs=100))
        kinds = len(self.degrees)
        learner = GraphLearner(
            3 + (kinds if kinds > 1 else 0), kinds * self.n_slices, n_classes, self.network,
            choose_device(self.device),
        )  # fmt: skip
        self._fit_frame(clouds)
        self.thresholds_ = self._thresholds(clouds)
        learner.fit(self._inputs(clouds), labels, recipe)
        self.learner_, self.history_ = learner, learner.history

    def _probabilities(self, inputs: GraphTable) -> Array:
        return self.learner_.probabilities(inputs)

    def _thresholds(self, clouds: list[Array]) -> Array:
        """Quantiles of the codensity of all points of the training set; the last is its largest."""
        frame = self.frame_
        found = [codensities(*distinct(cloud), frame.bandwidth) for cloud in clouds]
        width = frame.high - frame.low if frame.high > frame.low else 1.0
        values = (np.concatenate(found) - frame.low) / width
        shares = np.arange(1, self.n_slices + 1) / self.n_slices
        return np.quantile(values, shares) if len(values) else shares

    def _inputs(self, clouds: list[Array]) -> GraphTable:
        degrees = tuple(self.degrees)

        def graph(complex_: Bifiltration) -> tuple[Any, ...]:
            return graph_of(complex_, degrees, self.thresholds_, edges=self.edges, max_bars=self.max_bars)

        return pack_graphs(self._of_each(clouds, graph), len(degrees) * self.n_slices)
