"""The Hilbert function of a bifiltration as a signed measure, smoothed on a grid (Loiseaux et al. 2023)."""

from __future__ import annotations

import numpy as np

from heatfield._base.check import Array, check_count
from heatfield._classifier.documented import documented

from ._bifiltration import Bifiltration
from ._estimator import options
from ._frame import degrees as degrees_of
from ._persistence_classifier import ATTRIBUTES, OPTIONS, PersistenceClassifier, check_share, example
from ._slices import sliced


@documented(options=OPTIONS, attributes=ATTRIBUTES, example=example("MPSignedMeasure", 8, 128))
@options
class MPSignedMeasure(PersistenceClassifier):
    """Classify clouds by convolutions of the signed measure of the Hilbert function, with XGBoost.

    The dimension of homology at (radius, codensity) is a function on the plane; it is the distribution
    function of a signed measure of point masses. On a regular grid over the box of the training set the
    masses are the mixed differences of the function at the nodes; they are smoothed by a Gaussian, and the
    values at the nodes are the features, degree by degree. Masses are not normalised, and none are added to
    close classes that live on beyond the box.

    Guide: ``heatfield docs guide/baselines_persistence``.

    Parameters
    ----------
    {options}
    resolution : int
        Nodes of the grid in each direction.
    smoothing : float
        Standard deviation of the Gaussian, in sides of the box.

    {attributes}

    {example}
    """

    resolution: int = 50
    smoothing: float = 0.05

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
