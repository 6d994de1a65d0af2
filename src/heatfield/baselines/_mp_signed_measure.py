"""The Hilbert function of a bifiltration as a signed measure, smoothed on a grid (Loiseaux et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._base.check import Array, check_count
from ._bifiltration import Bifiltration
from ._frame import degrees as degrees_of
from ._persistence_classifier import PersistenceClassifier, check_share
from ._slices import sliced


class MPSignedMeasure(PersistenceClassifier):
    """Classify clouds by convolutions of the signed measure of the Hilbert function, with XGBoost.

    The dimension of homology at (radius, codensity) is a function on the plane; it is the distribution
    function of a signed measure of point masses. On a regular grid over the box of the training set the
    masses are the mixed differences of the function at the nodes; they are smoothed by a Gaussian, and the
    values at the nodes are the features, degree by degree. Masses are not normalised, and none are added to
    close classes that live on beyond the box.


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
        Nodes of the grid in each direction.
    smoothing : float
        Standard deviation of the Gaussian, in sides of the box.
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
    >>> model = hf.baselines.MPSignedMeasure(resolution=8, n_estimators=5).fit(clouds, labels)
    >>> model.transform(clouds[:2]).shape, model.predict(clouds[:2]).shape
    ((2, 128), (2,))
    """

    def __init__(
        self,
        *,
        complex: str = "alpha",
        degrees: Sequence[int] = (0, 1),
        bandwidth: float | None = None,
        max_radius: float | None = None,
        resolution: int = 50,
        smoothing: float = 0.05,
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
        self.smoothing = smoothing
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.subsample = subsample
        self.colsample = colsample
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def _width(self) -> int:
        check_share(self.smoothing, "smoothing")
        return len(degrees_of(self)) * check_count(self.resolution, "resolution", 2) ** 2

    def _vector(self, complex_: Bifiltration) -> Array:
        nodes = np.linspace(0.0, 1.0, self.resolution)
        kernel = np.exp((nodes[:, None] - nodes) ** 2 / (-2.0 * self.smoothing**2))
        masses = [signed_measure(complex_, degree, nodes) for degree in degrees_of(self)]
        # Along each axis in turn: a Gaussian of the distance is a product.
        return np.stack([kernel @ mass @ kernel for mass in masses]).ravel()


def signed_measure(complex_: Bifiltration, degree: int, nodes: Array) -> Array:
    """Point masses (codensity, radius) at the nodes of a grid, whose sums are the Hilbert function there."""
    found = sliced(complex_, degree, nodes)
    owner = np.repeat(np.arange(len(nodes)), np.diff(found.starts))
    steps = np.zeros((len(nodes), len(nodes) + 1))  # along the radius, in each slice
    np.add.at(steps, (owner, np.searchsorted(nodes, found.birth)), 1.0)
    np.add.at(steps, (owner, np.searchsorted(nodes, found.death)), -1.0)
    return np.diff(steps[:, :-1], axis=0, prepend=0.0)
