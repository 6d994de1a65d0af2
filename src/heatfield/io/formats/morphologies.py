"""Neurons: morphologies in HDF5, Neurolucida ASC by MorphIO, NML of webKnossos and KNOSSOS."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...options import Reading
from ..cloud import Cloud
from ..limits import Source
from .swc import without_soma

_SOMA = 1


def read_sections(source: Source, reading: Reading, points: NDArray, structure: NDArray) -> Cloud:
    """A skeleton from points (m, 4) with diameters, and sections (s, 3): first point, type, parent section.

    The outline of the cell body becomes one node at its centre; the first sections hang on it.
    """
    m, starts = len(points), structure[:, 0].astype(np.int64)
    ends = np.append(starts[1:], m)
    if starts[0] != 0 or (ends <= starts).any() or ends[-1] != m:
        raise source.error("sections must start at increasing points, the first at 0", "array 'structure'")
    section = np.repeat(np.arange(len(starts)), ends - starts)
    above = structure[:, 2].astype(np.int64)
    if (above >= np.arange(len(starts))).any() or above.min() < -1:
        raise source.error("the parent of a section must come before it", "array 'structure'")
    types = structure[:, 1].astype(np.int64)
    body = types == _SOMA
    if (body[1:]).any():
        raise source.error("only the first section can be the cell body", "array 'structure'")
    last = np.where(above < 0, -1, ends[above] - 1)  # of the parent section
    parents = np.arange(-1, m - 1)
    parents[starts] = last
    kinds, radii = types[section], 0.5 * points[:, 3].astype(np.float64)
    xyz = points[:, :3].astype(np.float64)
    if body[0]:
        outline = int(ends[0])
        centre = xyz[:outline].mean(axis=0)
        if outline > 1:
            radii[outline - 1] = np.linalg.norm(xyz[:outline] - centre, axis=1).mean()
        xyz[outline - 1] = centre
        cut = outline - 1
        xyz, radii, kinds, parents = xyz[cut:], radii[cut:], kinds[cut:], np.maximum(parents[cut:] - cut, -1)
        parents[0] = -1
    cloud = Cloud(xyz, {"type": kinds, "radius": radii}, "hdf5", parents=parents)
    return without_soma(cloud) if reading.soma == "drop" else cloud
