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
described in `_slices`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from heatfield._base.check import Array, check_count
from heatfield._classifier.documented import CHECKPOINT, DEVICE, PROGRESS, documented
from heatfield._classifier.input_range import InputRange
from heatfield._classifier.training_options import training

from ._bifiltration import Bifiltration, codensities, distinct
from ._estimator import OnDevice, options
from ._frame import check_frame
from ._frame import degrees as degrees_of
from ._graph_table import GraphTable, graph_of, pack_graphs
from ._persistence_estimator import FRAME, PersistenceEstimator

if TYPE_CHECKING:
    from ..networks._graph_learner import GraphLearner


@documented(frame=FRAME, progress=PROGRESS, checkpoint=CHECKPOINT, device=DEVICE)
@options
class GraphCode(OnDevice, PersistenceEstimator):
    """Classify clouds by graphcodes: attention along the graph, the maximum of each slice, a dense head.

    Guide: ``heatfield docs guide/baselines_persistence``.

    Parameters
    ----------
    {frame}
    random_state : int, optional
        Seed of the first weights, batches and dropout. On one thread the result is the same to the bit.
    n_jobs : int
        Threads that compute graphs.
    {progress}
    edges : bool
        False leaves the edges out: a network over the barcodes of the slices alone.
    n_slices : int
        Thresholds of codensity: each slice adds the same share of all points of the training clouds.
    max_bars : int, optional
        Of each slice and degree, keep so many of the longest bars; all if not given.
    network : dict, optional
        Parts of the network that shall differ: ``widths`` (32, 32, 32) of the attention layers, their
        ``heads`` 4, ``head`` (128, 64), the hidden layers of the dense part, and ``dropout`` 0.2 there.
    epochs, batch_size, learning_rate, final_rate, weight_decay, label_smoothing :
        Of the training, by Adam; the rate falls by a cosine from ``learning_rate`` to ``final_rate``.
    {checkpoint}
    {device}

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
    >>> model = hb.baselines.GraphCode(n_slices=4, epochs=2, random_state=0).fit(clouds, labels)
    >>> model.predict(clouds).shape, model.graph_table(clouds).values.shape[1]
    ((16,), 5)
    """

    _saved_by = "_saved_graphcode"

    edges: bool = True
    n_slices: int = 10
    max_bars: int | None = None
    network: Mapping[str, Any] | None = None
    epochs: int = 100
    batch_size: int = 32
    learning_rate: float = 1e-3
    final_rate: float = 0.0
    weight_decay: float = 0.0
    label_smoothing: float = 0.0
    checkpoint: str | Path | None = None
    device: str = "auto"

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
        return self._table(self._expected(clouds))

    def _learn(self, clouds: list[Array], labels: np.ndarray) -> None:
        from heatfield.nn.training import Training

        check_frame(self, clouds[0].shape[1])  # what is wrong is said before the long work
        self._check_graph()
        classes, positions = np.unique(labels, return_inverse=True)
        positions = positions.astype(np.int64)
        recipe = training(self, positions, classes, Training(epochs=100))
        learner = self._learner(len(classes))
        self._fit_frame(clouds)
        self.thresholds_ = self._thresholds(clouds)
        learner.fit(self._table(clouds), positions, recipe)
        self.learner_, self.history_ = learner, learner.history
        self.input_range_ = InputRange.of(clouds)
        self.classes_ = classes

    def _probabilities(self, clouds: list[Array]) -> Array:
        return self.learner_.probabilities(self._table(clouds))

    def _check_graph(self) -> None:
        if not isinstance(self.edges, bool):
            raise ValueError(f"edges must be True or False, got {self.edges!r}")
        if check_count(self.n_slices, "n_slices", 1) > 1000:
            raise ValueError(f"n_slices must be at most 1000, got {self.n_slices!r}")
        if self.max_bars is not None:
            check_count(self.max_bars, "max_bars", 1)

    def _learner(self, n_classes: int) -> GraphLearner:
        from heatfield.nn.learner import choose_device

        from ..networks._graph_learner import GraphLearner

        count = len(degrees_of(self))
        inputs = 3 + (count if count > 1 else 0)
        return GraphLearner(
            inputs, count * self.n_slices, n_classes, self.network, choose_device(self.device)
        )

    def _thresholds(self, clouds: list[Array]) -> Array:
        """Quantiles of the codensity of all points of the training set; the last is its largest."""
        frame = self.frame_
        found = [codensities(*distinct(cloud), frame.bandwidth) for cloud in clouds]
        width = frame.high - frame.low if frame.high > frame.low else 1.0
        values = (np.concatenate(found) - frame.low) / width
        shares = np.arange(1, self.n_slices + 1) / self.n_slices
        return np.quantile(values, shares) if len(values) else shares

    def _table(self, clouds: list[Array]) -> GraphTable:
        degrees = degrees_of(self)

        def graph(complex_: Bifiltration) -> tuple[Any, ...]:
            return graph_of(complex_, degrees, self.thresholds_, edges=self.edges, max_bars=self.max_bars)

        return pack_graphs(self._of_each(clouds, graph), len(degrees) * self.n_slices)
