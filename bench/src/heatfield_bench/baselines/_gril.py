"""The generalised rank invariant landscape (Xin et al. 2023), of our own, at low resolution."""

from __future__ import annotations

import numpy as np

from heatfield._base.check import Array, check_count
from heatfield._classifier.documented import documented

from ._bifiltration import Bifiltration
from ._estimator import options
from ._frame import degrees as degrees_of
from ._persistence_classifier import ATTRIBUTES, OPTIONS, PersistenceClassifier, example
from ._worms import worm_widths


@documented(options=OPTIONS, attributes=ATTRIBUTES, example=example("GRIL", 6, 360))
@options
class GRIL(PersistenceClassifier):
    """Classify clouds by generalised rank invariant landscapes (GRIL), with XGBoost.

    Guide: ``heatfield docs guide/baselines_persistence``.

    The l-worm of width d at a point p of the plane of (radius, codensity) is the union of the squares of
    half-side d about the points p + a (1, -1), |a| <= (l - 1) d. The landscape at (p, k) is the largest d for
    which the generalised rank of homology over the worm, the rank of the map from limit to colimit, is at
    least k. Here points, widths and squares are those of a regular grid over the box of the training set, and
    the module is that of the grid: see `_worms`. Widths are given in sides of the box.

    Parameters
    ----------
    {options}
    resolution : int
        Nodes of the regular grid in each direction.
    length : int
        l, of the worms; 1 is squares alone.
    n_ranks : int
        The largest k.

    {attributes}

    {example}
    """

    resolution: int = 32
    length: int = 2
    n_ranks: int = 5

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
