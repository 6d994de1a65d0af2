"""`HKS`: the heat kernel signature of the neighbour graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heatfield._base.check import Array, check_count

from ._graph_spectrum import graph_spectrum
from ._point_descriptor import PointDescriptor


class HKS(PointDescriptor):
    """Heat kernel signatures (Sun, Ovsjanikov and Guibas 2009) on the neighbour graph of each cloud.

    hks(x, t) = sum_k exp(-lambda_k t) phi_k(x)², with the lowest eigenpairs of the Laplacian
    D - A of the symmetric graph of nearest neighbours, all weights 1. Times are spaced evenly in log t from
    4 ln 10 / lambda_max to 4 ln 10 / lambda_min, the largest and the smallest positive eigenvalue kept.
    Pooled over the points by mean, standard deviation, 10th, 50th and 90th percentile.

    Guide: ``heatfield docs guide/baselines_descriptors``.

    Parameters
    ----------
    n_neighbors, n_pairs, n_times : int
        Neighbours per point (10), eigenpairs (80) and times (16); the defaults are the paper's.
    n_jobs : int
        Threads over the clouds; -1 for all cores.

    Notes
    -----
    Copies of a point are one vertex and share its values. Neighbours as far as the k-th all count. Connected
    components are solved one by one, each with up to ``n_pairs`` eigenpairs; times are the same for all. An
    eigenspace is never cut: with the last pair come all others of its eigenvalue. So the signature does
    not change with rotation, reflection, translation, scale or order of the points. A graph
    of fewer vertices has fewer pairs. A cloud of one place has no graph: NaN.

    Examples
    --------
    >>> import numpy as np, heatfield_bench as hb
    >>> rng = np.random.default_rng(0)
    >>> clouds = [rng.normal(size=(m, 3)) for m in (40, 60)]
    >>> hks = hb.baselines.HKS()
    >>> hks.fit_transform(clouds).shape, hks.per_point(clouds[0]).shape
    ((2, 80), (40, 16))
    >>> hks.get_feature_names_out()[-1]
    'hks_p90_s15'
    """

    _uses_blas = True

    def __init__(
        self, *, n_neighbors: int = 10, n_pairs: int = 80, n_times: int = 16, n_jobs: int | None = 1
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_pairs = n_pairs
        self.n_times = n_times
        self.n_jobs = n_jobs

    def _settings(self) -> tuple[int, int, int]:
        return (
            check_count(self.n_neighbors, "n_neighbors", 1),
            check_count(self.n_pairs, "n_pairs", 2),
            check_count(self.n_times, "n_times", 1),
        )

    def _axes(self) -> tuple[Sequence[str], str, int]:
        return ("hks",), "s", self.n_times

    def _features(self, points: Array, settings: Any, n_threads: int) -> Array | None:  # noqa: ARG002
        n_neighbors, n_pairs, n_times = settings
        spectrum = graph_spectrum(points, n_neighbors, n_pairs)
        if spectrum is None:
            return None
        positive = spectrum.positive
        times = 4.0 * np.log(10.0) * np.geomspace(1.0 / positive[-1], 1.0 / positive[0], n_times)
        return spectrum.sum_squares(lambda values: np.exp(-np.outer(times, values)))[None]
