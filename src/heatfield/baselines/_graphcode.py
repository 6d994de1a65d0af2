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
two-parameter module (`tests/baselines` computes all its ranks from it). How bases and sums are computed is
described in `_slices`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._base.check import Array, check_count, thread_count
from .._base.threads import pieces, run_pieces
from .._classifier.input_range import InputRange
from ._bifiltration import codensities, distinct
from ._frame import check_frame, fit_frame
from ._frame import degrees as degrees_of
from ._graph_table import GraphTable, graph_of, pack_graphs
from ._persistence_classifier import checked_training, expected_clouds, forget, named

if TYPE_CHECKING:
    from ..nn.networks._graph_learner import GraphLearner


class GraphCode(ClassifierMixin, BaseEstimator):
    """Classify clouds by graphcodes: attention along the graph, the maximum of each slice, a dense head.

    Parameters
    ----------
    edges : bool
        False leaves the edges out: a network over the barcodes of the slices alone.
    complex, degrees, bandwidth, max_radius :
        Of the bifiltration, see `MPSignedMeasure`.
    n_slices : int
        Thresholds of codensity: each slice adds the same share of all points of the training clouds.
    max_bars : int, optional
        Of each slice and degree, keep so many of the longest bars; all if not given.
    network : dict, optional
        Parts of the network that shall differ: ``widths`` (32, 32, 32) of the attention layers, their
        ``heads`` 4, ``head`` (128, 64), the hidden layers of the dense part, and ``dropout`` 0.2 there.
    epochs, batch_size, learning_rate, final_rate, weight_decay, label_smoothing :
        Of the training, by Adam; the rate falls by a cosine from ``learning_rate`` to ``final_rate``.
    random_state : int, optional
        Seed of the first weights, batches and dropout. On one thread the result is the same to the bit.
    checkpoint : path-like, optional
        A file that is written after every epoch. Where it exists, training goes on from it and ends with
        the same weights as if it had not been stopped.
    device : str
        "cpu", "cuda", ...; "auto" is a GPU if there is one.
    n_jobs : int
        Threads that compute graphs.
    progress : bool, optional
        A line with loss, accuracy and time left; by default on a terminal.

    Attributes
    ----------
    classes_ : the labels
    frame_, thresholds_ : the box, and the thresholds of codensity from 0 to 1 in it
    learner_, history_ : the network with its scaling; loss and accuracy by epoch

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_processes(n_per_class=4, strauss_steps=4000)
    >>> model = hf.baselines.GraphCode(n_slices=4, epochs=2, random_state=0).fit(clouds, labels)
    >>> model.predict(clouds).shape, model.graph_table(clouds).values.shape[1]
    ((16,), 5)
    """

    def __init__(
        self,
        *,
        edges: bool = True,
        complex: str = "alpha",
        degrees: Sequence[int] = (0, 1),
        bandwidth: float | None = None,
        max_radius: float | None = None,
        n_slices: int = 10,
        max_bars: int | None = None,
        network: Mapping[str, Any] | None = None,
        epochs: int = 100,
        batch_size: int = 32,
        learning_rate: float = 1e-3,
        final_rate: float = 0.0,
        weight_decay: float = 0.0,
        label_smoothing: float = 0.0,
        random_state: int | None = None,
        checkpoint: str | Path | None = None,
        device: str = "auto",
        n_jobs: int | None = 1,
        progress: bool | None = None,
    ) -> None:
        self.edges = edges
        self.complex = complex
        self.degrees = degrees
        self.bandwidth = bandwidth
        self.max_radius = max_radius
        self.n_slices = n_slices
        self.max_bars = max_bars
        self.network = network
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.final_rate = final_rate
        self.weight_decay = weight_decay
        self.label_smoothing = label_smoothing
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.device = device
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, clouds: Sequence[ArrayLike], y: Sequence[Any]) -> GraphCode:
        """Learn from a list of clouds and their labels."""
        checked, labels = checked_training(clouds, y)
        forget(self)
        check_frame(self, checked[0].shape[1])  # what is wrong is said before the long work
        self._check_graph()
        training = self._training()
        classes, positions = np.unique(labels, return_inverse=True)
        learner = self._learner(len(classes))
        bar = None if self.progress is False else "clouds"
        self.frame_ = fit_frame(self, checked, thread_count(self.n_jobs), bar)
        self.thresholds_ = self._thresholds(checked)
        learner.fit(self._table(checked), positions.astype(np.int64), training)
        self.learner_, self.history_ = learner, learner.history
        self.input_range_ = InputRange.of(checked)
        self.classes_ = classes
        return self

    def predict_proba(self, clouds: Sequence[ArrayLike]) -> Array:
        """Probabilities (N, classes), columns as in ``classes_``."""
        table = self._table(expected_clouds(self, clouds))
        return self.learner_.probabilities(table)

    def predict(self, clouds: Sequence[ArrayLike]) -> NDArray:
        """The label of each cloud."""
        return self.classes_[self.predict_proba(clouds).argmax(axis=1)]

    def graph_table(self, clouds: Sequence[ArrayLike]) -> GraphTable:
        """The graphcodes of clouds as the network sees them, packed."""
        return self._table(expected_clouds(self, clouds))

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to a folder: numbers as safetensors, the rest as JSON.

        ``notes`` is anything that JSON can hold; `load` gives it back as ``notes_``.
        """
        from ._saved_persistence import save_graphcode

        check_is_fitted(self, "classes_")
        save_graphcode(self, folder, notes or {})

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> GraphCode:
        """A model that `save` wrote. No code is run; a changed or mismatched file is a ValueError."""
        from ._saved_persistence import load_graphcode

        return load_graphcode(cls, folder, device)

    def _check_graph(self) -> None:
        if not isinstance(self.edges, bool):
            raise ValueError(f"edges must be True or False, got {self.edges!r}")
        if check_count(self.n_slices, "n_slices", 1) > 1000:
            raise ValueError(f"n_slices must be at most 1000, got {self.n_slices!r}")
        if self.max_bars is not None:
            check_count(self.max_bars, "max_bars", 1)

    def _training(self) -> Any:
        from ..nn._training import Training

        asked: dict[str, Any] = {
            "epochs": check_count(self.epochs, "epochs", 1),
            "batch_size": check_count(self.batch_size, "batch_size", 2),
            "progress": self.progress,
        }
        if self.random_state is not None:
            asked["seed"] = check_count(self.random_state, "random_state", 0)
        for name in ("learning_rate", "final_rate", "weight_decay", "label_smoothing"):
            value = getattr(self, name)
            number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            most = 1.0 if name == "label_smoothing" else np.inf
            if not number or not 0.0 <= value < most or (name == "learning_rate" and value == 0.0):
                raise ValueError(f"{name} is out of range, got {value!r}")
            asked[name] = float(value)
        if self.checkpoint is not None:
            asked["checkpoint"] = Path(self.checkpoint)
            if asked["checkpoint"].is_dir():
                raise ValueError(f"checkpoint must be a file, got the folder {str(self.checkpoint)!r}")
        return Training(**asked)

    def _learner(self, n_classes: int) -> GraphLearner:
        from ..nn._learner import choose_device
        from ..nn.networks._graph_learner import GraphLearner

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
        graphs: list[tuple[Any, ...]] = [()] * len(clouds)

        def work(first: int, last: int) -> None:
            for i in range(first, last):
                with named(i):
                    graphs[i] = graph_of(
                        self.frame_.bifiltration(clouds[i]),
                        degrees_of(self),
                        self.thresholds_,
                        edges=self.edges,
                        max_bars=self.max_bars,
                    )

        bar = None if self.progress is False else "clouds"
        run_pieces(work, pieces(len(clouds), 1), thread_count(self.n_jobs), bar)
        return pack_graphs(graphs, len(degrees_of(self)) * self.n_slices)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags
