"""`WKS`: the wave kernel signature of the neighbour graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heatfield._base.check import Array, check_count

from ._graph_spectrum import graph_spectrum
from ._point_descriptor import PointDescriptor

# Positive eigenvalues whose logarithms span less than this are all the same.
_ONE_ENERGY = 1e-6


class WKS(PointDescriptor):
    """Wave kernel signatures (Aubry, Schlickewei and Cremers 2011) on the neighbour graph of each cloud.

    wks(x, e) = sum_k phi_k(x)² g_k / sum_k g_k, g_k = exp(-(e - log lambda_k)² / 2 sigma²), over the
    positive ones among the lowest eigenvalues of the same graph as `HKS`.

    Guide: ``heatfield docs guide/baselines_descriptors``.

    Parameters
    ----------
    n_neighbors, n_pairs : int
        Neighbours per point (10) and eigenpairs (80), see `HKS`.
    n_energies : int
        Energies e, spaced evenly between log lambda_min + 2 sigma and log lambda_max - 2 sigma.
    width : float
        sigma as a part of log lambda_max - log lambda_min. The authors' 7 steps of 100 are 0.07; at
        that width 16 energies lie closer than sigma, so that more of them would repeat each other.
    n_jobs : int
        Threads over the clouds; -1 for all cores.

    Notes
    -----
    Copies, ties, components and multiple eigenvalues: see `HKS`; the sums run over the eigenvalues of all
    components. Where all positive eigenvalues are equal (points that are all neighbours of each other),
    every energy has the same value.

    Examples
    --------
    >>> import numpy as np, heatfield_bench as hb
    >>> points = np.random.default_rng(0).normal(size=(60, 3))
    >>> found = hb.baselines.WKS().per_point(points)
    >>> found.shape, bool(np.allclose(found.sum(axis=0), 1.0))
    ((60, 16), True)
    """

    _uses_blas = True

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        n_pairs: int = 80,
        n_energies: int = 16,
        width: float = 0.07,
        n_jobs: int | None = 1,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_pairs = n_pairs
        self.n_energies = n_energies
        self.width = width
        self.n_jobs = n_jobs

    def _settings(self) -> tuple[int, int, int, float]:
        width = self.width
        if isinstance(width, bool) or not isinstance(width, (int, float, np.number)) or not 0 < width < 0.25:
            raise ValueError(f"width must be a number between 0 and 0.25, got {width!r}")
        return (
            check_count(self.n_neighbors, "n_neighbors", 1),
            check_count(self.n_pairs, "n_pairs", 2),
            check_count(self.n_energies, "n_energies", 1),
            float(width),
        )

    def _axes(self) -> tuple[Sequence[str], str, int]:
        return ("wks",), "s", self.n_energies

    def _features(self, points: Array, settings: Any, n_threads: int) -> Array | None:  # noqa: ARG002
        n_neighbors, n_pairs, n_energies, width = settings
        spectrum = graph_spectrum(points, n_neighbors, n_pairs)
        if spectrum is None:
            return None
        logs = np.log(spectrum.positive)
        sigma = width * (logs[-1] - logs[0])
        energies = np.linspace(logs[0] + 2.0 * sigma, logs[-1] - 2.0 * sigma, n_energies)[:, None]
        flat = logs[-1] - logs[0] < _ONE_ENERGY

        # Relative to the nearest eigenvalue, so that a narrow Gaussian far from all of them is not 0 / 0.
        nearest = np.abs(energies - logs).min(axis=1, keepdims=True)

        def gaussian(log_values: Array) -> Array:
            if flat:
                return np.ones((n_energies, log_values.size))
            apart = np.abs(energies - log_values)
            return np.exp(-0.5 * (apart - nearest) * (apart + nearest) / sigma**2)

        def weights(values: Array) -> Array:
            out = np.zeros((n_energies, values.size))
            out[:, 1:] = gaussian(np.log(values[1:]))  # the first is the zero of its component
            return out

        return (spectrum.sum_squares(weights) / gaussian(logs).sum(axis=1)[:, None])[None]
