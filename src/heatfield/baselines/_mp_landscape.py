"""Multiparameter persistence landscapes (Vipond 2020), exact, from the barcodes of diagonal lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.check import Array, check_count
from .._base.compile import compiled
from ._bifiltration import Bifiltration
from ._frame import degrees as degrees_of
from ._persistence_classifier import PersistenceClassifier
from ._slices import sliced


class MPLandscape(PersistenceClassifier):
    """Classify clouds by multiparameter persistence landscapes, with XGBoost.

    With both values from 0 to 1 over the box of the training set, the k-th landscape at x is the largest e
    for which the map of homology from x - (e, e) to x + (e, e) has rank at least k. All these maps lie on
    the diagonal through x: the landscape there is the ordinary persistence landscape of the filtration
    along this line, in which a simplex enters at the first point of the line that is beyond both of its
    values. One reduction per diagonal of the grid gives it exactly. Bars that do not end within the box do
    not end at all.


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
    n_landscapes : int
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
    >>> model = hf.baselines.MPLandscape(resolution=6, n_estimators=5).fit(clouds, labels)
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
        resolution: int = 25,
        n_landscapes: int = 5,
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
        self.n_landscapes = n_landscapes
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.subsample = subsample
        self.colsample = colsample
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def _width(self) -> int:
        nodes = check_count(self.resolution, "resolution", 2) ** 2
        return len(degrees_of(self)) * check_count(self.n_landscapes, "n_landscapes", 1) * nodes

    def _vector(self, complex_: Bifiltration) -> Array:
        tables = [landscapes(complex_, d, self.resolution, self.n_landscapes) for d in degrees_of(self)]
        return np.stack(tables).ravel()


def landscapes(complex_: Bifiltration, degree: int, resolution: int, count: int) -> Array:
    """(k, codensity, radius): the first ``count`` landscapes at the nodes of the regular grid on the box."""
    out = np.zeros((count, resolution, resolution))
    nodes = np.linspace(0.0, 1.0, resolution)
    level = tuple(np.zeros(len(c)) for c in complex_.codensity)
    for shift in range(1 - resolution, resolution):
        # The line of points (t, t + shift): a node of radius t has the codensity t + shift.
        offset = shift / (resolution - 1)
        pairs = zip(complex_.radius, complex_.codensity, strict=True)
        line = complex_.with_values(tuple(np.maximum(r, c - offset) for r, c in pairs), level)
        bars = sliced(line, degree, np.zeros(1))
        radii = np.arange(max(0, -shift), min(resolution, resolution - shift))
        values = np.zeros((len(radii), count))
        _tents(bars.birth, bars.death, nodes[radii], values)
        out[:, radii + shift, radii] = values.T
    return out


@compiled()
def _tents(birth: Any, death: Any, places: Any, largest: Any) -> None:
    """The largest heights at each place of the tents over the bars, from the largest on."""
    count = largest.shape[1]
    for b in range(birth.shape[0]):
        for i in range(places.shape[0]):
            height = min(places[i] - birth[b], death[b] - places[i])
            if height <= largest[i, count - 1]:
                continue
            k = count - 1
            while k > 0 and largest[i, k - 1] < height:
                largest[i, k] = largest[i, k - 1]
                k -= 1
            largest[i, k] = height
