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

    Guide: ``heatfield docs guide/report``.

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
    lengths : (N, T) array, optional
        Lengths sqrt(t) of the scales of each cloud.
    unit : str
        Of the coordinates, "" where it is not known.

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=2, n_points=60)
    >>> descriptor = hf.HFSDescriptor("desc")
    >>> rows = descriptor.fit_transform(clouds)
    >>> found = hf.report.Collection(
    ...     "orbits", [f"{i}.csv" for i in range(10)], np.full(10, 60), rows, descriptor, 2,
    ...     [f"class {label}" for label in labels], clouds,
    ... )
    >>> found.classes, found.composition().shape, found.scale_name(3)
    (['class 0', 'class 1', 'class 2', 'class 3', 'class 4'], (10, 8, 3), 's3')
    >>> found.length_table() is None, found.length_words()
    (True, '')
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
    lengths: Array | None = None
    unit: str = ""

    @property
    def classes(self) -> list[str]:
        """Class names in order; one nameless class without labels."""
        return sorted(set(self.labels)) if self.labels else []

    @property
    def steps(self) -> int:
        """The number of scales."""
        lengths = self.descriptor.lengths
        return self.descriptor.n_scales if lengths is None else len(lengths)

    def scale_name(self, a: int) -> str:
        """``s3, √t = 0.2 m``: index and length, the median where clouds have their own.

        Parameters
        ----------
        a : int
            The finest scale is 0.

        Returns
        -------
        str
        """
        table = self.length_table()
        if table is None:
            return f"s{a}"
        shown = float(np.nanmedian(table[:, a]))
        return f"s{a}, √t = {shown:.3g}" + (f" {self.unit}" if self.unit else "")

    def length_table(self) -> Array | None:
        """Lengths (N, T), or (1, T) where all clouds have the same; None where they are not known.

        Returns
        -------
        lengths : array or None
        """
        if self.descriptor.lengths is not None:
            return np.atleast_2d(np.asarray(self.descriptor.lengths, dtype=float))
        if self.lengths is None or not np.isfinite(self.lengths).all(axis=1).any():
            return None
        return self.lengths

    def length_words(self) -> str:
        """The lengths of all scales in a line; "" where they are not known.

        Returns
        -------
        str
        """
        table = self.length_table()
        if table is None:
            return ""
        own = np.nanmax(np.ptp(table, axis=0)) > 0.0
        ends = [float(np.nanmedian(table[:, a])) for a in (0, -1)]
        unit = f" {self.unit}" if self.unit else ""
        words = f"√t from {ends[0]:.3g} to {ends[1]:.3g}{unit}"
        return words + (" (medians; each cloud has its own)" if own else ", the same for all clouds")

    def composition(self) -> Array:
        """Shares of each dimension (N, T, K), read from the block "hds".

        Returns
        -------
        shares : (N, T, K)
        """
        block = self.features[:, self.descriptor.layout().columns["hds"]]
        shares = block[:, : block.shape[1] // 2]
        return shares.reshape(len(block), -1, self.steps).transpose(0, 2, 1)
