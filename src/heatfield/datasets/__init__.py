"""Point clouds to try things on."""

from ._manifolds import Manifold, sample_manifold
from ._mixed_shape import PARTS as MIXED_SHAPE_PARTS
from ._mixed_shape import make_mixed_shape
from ._orbit5k import make_orbit5k

__all__ = ["MIXED_SHAPE_PARTS", "Manifold", "make_mixed_shape", "make_orbit5k", "sample_manifold"]
