"""Point clouds to try things on: made, or read from a folder per class."""

from ._branching_tree import make_branching_tree
from ._dataset import Dataset
from ._disks_annuli import make_disks_annuli
from ._folder import load_folder
from ._forest import FOREST_CLASSES, make_forest
from ._four_shapes import FOUR_SHAPES, make_four_shapes
from ._manifolds import Manifold, sample_manifold
from ._mixed_shape import PARTS as MIXED_SHAPE_PARTS
from ._mixed_shape import make_mixed_shape
from ._orbit5k import make_orbit5k
from ._processes import PROCESS_CLASSES, make_processes
from ._splits import content_hash, make_folds, make_splits

__all__ = [
    "FOREST_CLASSES",
    "FOUR_SHAPES",
    "MIXED_SHAPE_PARTS",
    "PROCESS_CLASSES",
    "Dataset",
    "Manifold",
    "content_hash",
    "load_folder",
    "make_branching_tree",
    "make_disks_annuli",
    "make_folds",
    "make_forest",
    "make_four_shapes",
    "make_mixed_shape",
    "make_orbit5k",
    "make_processes",
    "make_splits",
    "sample_manifold",
]
