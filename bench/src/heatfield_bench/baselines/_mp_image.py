"""Multiparameter persistence images (Carriere and Blumberg 2020) on candidate decompositions by multipers."""

from __future__ import annotations

from typing import Any

import numpy as np

from heatfield._base.check import Array, check_count
from heatfield._classifier.documented import documented

from ._bifiltration import Bifiltration
from ._estimator import options
from ._frame import degrees as degrees_of
from ._persistence_classifier import ATTRIBUTES, OPTIONS, PersistenceClassifier, check_share, example
from ._persistence_extra import need


@documented(options=OPTIONS, attributes=ATTRIBUTES, example=example("MPImage", 8, 128))
@options
class MPImage(PersistenceClassifier):
    """Classify clouds by multiparameter persistence images, with XGBoost.

    The module of homology over the box of the training set is approximated by a sum of interval modules
    (the candidate decomposition of multipers: barcodes along parallel lines, matched from line to line). An
    interval I weighs w(I), the largest e with a point x so that x and x + (e, e) are both in I (and in the
    box), and the image at x is the sum over all I of w(I)^power exp(-d(x, I)^2 / (2 s^2)), d being the
    distance by the larger coordinate. The published images match the lines by vineyards, multipers by its
    own rule: the same kind of decomposition, not the identical one.

    Guide: ``heatfield docs guide/baselines_persistence``.

    Parameters
    ----------
    {options}
    resolution : int
        Pixels of the regular grid in each direction.
    smoothing : float
        s, in sides of the box.
    power : float
        Of the weight of an interval.
    max_error : float
        Distance between neighbouring lines, in sides of the box.

    {attributes}

    {example}
    """

    resolution: int = 50
    smoothing: float = 0.05
    power: float = 1.0
    max_error: float = 0.02

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
