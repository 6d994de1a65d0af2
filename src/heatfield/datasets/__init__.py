"""Point clouds to try things on: made, or read from a folder per class."""

from ._dataset import Dataset, content_hash, load_folder, make_folds, make_splits
from ._forest import FOREST_CLASSES, make_forest
from ._planar import PROCESS_CLASSES, make_disks_annuli, make_orbit5k, make_processes
from ._shapes import (
    FOUR_SHAPES,
    MIXED_SHAPE_PARTS,
    Manifold,
    make_branching_tree,
    make_four_shapes,
    make_mixed_shape,
    sample_manifold,
)

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
