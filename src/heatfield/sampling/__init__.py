"""Fewer points from many: by length, by area, at random, far apart, or one per cell."""

from ._pick import farthest_rows, random_rows, voxel_rows
from ._sample import sample
from ._seed import seed_from_name
from ._skeleton import sample_skeleton
from ._surface import sample_surface

__all__ = [
    "farthest_rows",
    "random_rows",
    "sample",
    "sample_skeleton",
    "sample_surface",
    "seed_from_name",
    "voxel_rows",
]
