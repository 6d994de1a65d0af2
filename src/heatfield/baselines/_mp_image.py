"""Multiparameter persistence images (Carriere and Blumberg 2020) on candidate decompositions by multipers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.check import Array, check_count
from ._bifiltration import Bifiltration
from ._frame import degrees as degrees_of
from ._persistence_classifier import PersistenceClassifier, check_share
from ._persistence_extra import need


class MPImage(PersistenceClassifier):
    """Classify clouds by multiparameter persistence images, with XGBoost.

    The module of homology over the box of the training set is approximated by a sum of interval modules
    (the candidate decomposition of multipers: barcodes along parallel lines, matched from line to line). An
    interval I weighs w(I), the largest e with a point x so that x and x + (e, e) are both in I (and in the
    box), and the image at x is the sum over all I of w(I)^power exp(-d(x, I)^2 / (2 s^2)), d being the
    distance by the larger coordinate. The published images match the lines by vineyards, multipers by its
    own rule: the same kind of decomposition, not the identical one.


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
        Pixels of the regular grid in each direction.
    smoothing : float
        s, in sides of the box.
    power : float
        Of the weight of an interval.
    max_error : float
        Distance between neighbouring lines, in sides of the box.
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
    >>> model = hf.baselines.MPImage(resolution=8, n_estimators=5).fit(clouds, labels)
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
        power: float = 1.0,
        max_error: float = 0.02,
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
        self.power = power
        self.max_error = max_error
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.subsample = subsample
        self.colsample = colsample
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def _width(self) -> int:
        for name in ("smoothing", "power", "max_error"):
            check_share(getattr(self, name), name)
        return len(degrees_of(self)) * check_count(self.resolution, "resolution", 2) ** 2

    def _vector(self, complex_: Bifiltration) -> Array:
        found = np.zeros((len(degrees_of(self)), self.resolution, self.resolution))
        if len(complex_.simplices[0]):
            module = candidate_decomposition(complex_, self.max_error)
            grid = [np.linspace(0.0, 1.0, self.resolution)] * 2
            found[:] = module.representation(
                degrees=list(degrees_of(self)), bandwidth=self.smoothing, p=self.power, grid=grid,
                kernel="gaussian", normalize=False, n_jobs=1,
            )  # fmt: skip
        return found.ravel()


def candidate_decomposition(complex_: Bifiltration, max_error: float) -> Any:
    """Interval modules over the unit square that approximate the homology, by multipers."""
    multipers = need("multipers", "MPImage")
    tree = need("multipers.simplex_tree_multi", "MPImage").SimplexTreeMulti(num_parameters=2)
    parts = zip(complex_.simplices, complex_.radius, complex_.codensity, strict=True)
    for cells, radius, codensity in parts:
        if len(cells):
            tree.insert_batch(cells.T.astype(np.int32), np.stack([radius, codensity], axis=1))
    box = np.array([[0.0, 0.0], [1.0, 1.0]])
    return multipers.module_approximation(tree, box=box, max_error=max_error, n_jobs=1)
