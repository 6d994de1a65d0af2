"""Where to evaluate: all points of a cloud, some of them, or places anywhere in space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.check import Array
from .cloud import ArrangedCloud


@dataclass(frozen=True)
class Targets:
    """Arranged targets; their ``order`` is the row of the answer that each of them fills."""

    places: ArrangedCloud
    offsets: Array  # squared distance to the nearest source; empty where the targets are sources

    @classmethod
    def every(cls, cloud: ArrangedCloud) -> Targets:
        """All points of the cloud."""
        return cls(cloud, np.empty(0))

    @classmethod
    def at_indices(cls, cloud: ArrangedCloud, indices: np.ndarray) -> Targets:
        """Points of the cloud, by their index."""
        column = np.empty(cloud.order.size, np.int64)
        column[cloud.order] = np.arange(cloud.order.size)
        rows = np.argsort(column[indices], kind="stable")
        return cls(cloud.rearranged(column[indices[rows]], rows), np.empty(0))

    @classmethod
    def at_places(cls, cloud: ArrangedCloud, at: Array) -> Targets:
        """Anywhere in space, in the coordinates of the caller's cloud."""
        places = cloud.arrange_like(at)
        return cls(places, cloud.nearest_to(places.points, cloud.n_threads)[0])
