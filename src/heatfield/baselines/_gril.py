"""The generalised rank invariant landscape (Xin et al. 2023), of our own, at low resolution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._base.check import Array, check_count
from ._bifiltration import Bifiltration
from ._frame import degrees as degrees_of
from ._persistence_classifier import PersistenceClassifier
from ._worms import worm_widths


class GRIL(PersistenceClassifier):
    """Classify clouds by generalised rank invariant landscapes (GRIL), with XGBoost.

    The l-worm of width d at a point p of the plane of (radius, codensity) is the union of the squares of
    half-side d about the points p + a (1, -1), |a| <= (l - 1) d. The landscape at (p, k) is the largest d for
    which the generalised rank of homology over the worm, the rank of the map from limit to colimit, is at
    least k. Here points, widths and squares are those of a regular grid over the box of the training set, and
    the module is that of the grid: see `_worms`. Widths are given in sides of the box.

    Parameters
    ----------
    complex : "alpha" or "rips"
        The complex that radius filters. Alpha complexes (up to 3 coordinates) have a few simplices per
        point; a Rips complex of 1,500 points takes thousands of times longer.
    degrees : sequence of int
        Degrees of homology, of 0, 1 and 2.
    bandwidth : float, optional
        Of the Gaussian codensity, in units of the points; a tenth of the side of the bounding box (the
        largest side of each training cloud, the median of them) if not given.
    max_radius : float, optional
        Where the radius ends. If not given, for alpha complexes the median over the training clouds of the
        radius below which 95 % of the simplices of the highest dimension lie; for Rips complexes 0.15
        sides.
    resolution : int
        Nodes of the regular grid in each direction.
    length : int
        l, of the worms; 1 is squares alone.
    n_ranks : int
        The largest k.
    n_estimators, max_depth, learning_rate, subsample, colsample : optional
        Of XGBoost (rounds, depth of trees, shrinkage, shares of clouds and of features for each tree).
    random_state : int, optional
        Seed of XGBoost.
    n_jobs : int
        Threads; they change no bit of the features.
    progress : bool, optional
        False for no progress bar; otherwise there is one on a terminal.

    Attributes
    ----------
    classes_ : the labels
    frame_ : bandwidth, largest radius and range of codensity, as fixed on the training clouds
    trees_ : the trees, as arrays

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_processes(n_per_class=4, strauss_steps=4000)
    >>> model = hf.baselines.GRIL(resolution=6, n_estimators=5).fit(clouds, labels)
    >>> model.transform(clouds[:2]).shape, model.predict(clouds[:2]).shape
    ((2, 360), (2,))
    """

    def __init__(
        self,
        *,
        complex: str = "alpha",
        degrees: Sequence[int] = (0, 1),
        bandwidth: float | None = None,
        max_radius: float | None = None,
        resolution: int = 32,
        length: int = 2,
        n_ranks: int = 5,
        n_estimators: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.3,
        subsample: float = 1.0,
        colsample: float = 1.0,
        random_state: int | None = None,
        n_jobs: int | None = 1,
        progress: bool | None = None,
    ) -> None:
        self.complex = complex
        self.degrees = degrees
        self.bandwidth = bandwidth
        self.max_radius = max_radius
        self.resolution = resolution
        self.length = length
        self.n_ranks = n_ranks
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.subsample = subsample
        self.colsample = colsample
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def _width(self) -> int:
        check_count(self.length, "length", 1)
        nodes = check_count(self.resolution, "resolution", 2) ** 2
        return len(degrees_of(self)) * check_count(self.n_ranks, "n_ranks", 1) * nodes

    def _vector(self, complex_: Bifiltration) -> Array:
        tables = [
            worm_widths(complex_, degree, self.resolution, self.length, self.n_ranks)
            for degree in degrees_of(self)
        ]
        return np.stack(tables).ravel() / (self.resolution - 1)
