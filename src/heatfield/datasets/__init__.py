"""Point clouds to try things on."""

from ._manifolds import Manifold, sample_manifold
from ._orbit5k import make_orbit5k

__all__ = ["Manifold", "make_orbit5k", "sample_manifold"]
