"""Multiparameter persistence landscapes (Vipond 2020), exact, from the barcodes of diagonal lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from heatfield._base.check import Array, check_count
from heatfield._classifier.documented import documented

from .._compile import compiled
from ._bifiltration import Bifiltration
from ._estimator import options
from ._frame import degrees as degrees_of
from ._persistence_classifier import ATTRIBUTES, OPTIONS, PersistenceClassifier, example
from ._slices import sliced


@documented(options=OPTIONS, attributes=ATTRIBUTES, example=example("MPLandscape", 6, 360))
@options
class MPLandscape(PersistenceClassifier):
    """Classify clouds by multiparameter persistence landscapes, with XGBoost.

    Guide: ``heatfield docs guide/baselines_persistence``.

    With both values from 0 to 1 over the box of the training set, the k-th landscape at x is the largest e
    for which the map of homology from x - (e, e) to x + (e, e) has rank at least k. All these maps lie on
    the diagonal through x: the landscape there is the ordinary persistence landscape of the filtration
    along this line, in which a simplex enters at the first point of the line that is beyond both of its
    values. One reduction per diagonal of the grid gives it exactly. Bars that do not end within the box do
    not end at all.

    Parameters
    ----------
    {options}
    resolution : int
        Nodes of the regular grid in each direction.
    n_landscapes : int
        The largest k.

    {attributes}

    {example}
    """

    resolution: int = 25
    n_landscapes: int = 5

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
