"""What a report is about: described clouds, their labels, and the files that could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array
from .._features.descriptor import HFSDescriptor


@dataclass(frozen=True)
class Collection:
    """Described clouds.

    Attributes
    ----------
    name : str
    files : names of the N clouds
    points : (N,) how many points each was described by
    features : (N, columns)
    descriptor : HFSDescriptor
        What computed the features; it has the names of the columns.
    dims : int
        Coordinates per point.
    labels : (N,) class names, or None
    sketches : list of (k, 2) arrays
        A few points of each cloud in the plane, for thumbnails.
    broken : list of (file, place, problem)
    """

    name: str
    files: list[str]
    points: NDArray[np.int64]
    features: Array
    descriptor: HFSDescriptor
    dims: int
    labels: list[str] | None
    sketches: list[Array]
    broken: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def classes(self) -> list[str]:
        """Class names in order; one nameless class without labels."""
        return sorted(set(self.labels)) if self.labels else []

    def composition(self) -> Array:
        """Shares of each dimension (N, T, K), read from the block "hds"."""
        block = self.features[:, self.descriptor.layout().columns["hds"]]
        steps = self.descriptor.n_scales
        shares = block[:, : block.shape[1] // 2]
        return shares.reshape(len(block), -1, steps).transpose(0, 2, 1)
