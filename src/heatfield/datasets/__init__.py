"""Point clouds to try things on: made, or read from the benchmarks' own files."""

from ._allen import ALLEN_STRUCTURES, load_allen
from ._atlas1 import load_atlas1
from ._branching_tree import make_branching_tree
from ._dataset import Dataset
from ._disks_annuli import make_disks_annuli
from ._folder import load_folder
from ._for_species20k import FOR_SPECIES, load_for_species20k
from ._forest import FOREST_CLASSES, make_forest
from ._four_shapes import FOUR_SHAPES, make_four_shapes
from ._intra import load_intra
from ._manifolds import Manifold, sample_manifold
from ._mixed_shape import PARTS as MIXED_SHAPE_PARTS
from ._mixed_shape import make_mixed_shape
from ._neuromorpho import NEUROMORPHO_CLASSES, load_neuromorpho
from ._orbit5k import make_orbit5k
from ._processes import PROCESS_CLASSES, make_processes
from ._scop import load_scop
from ._splits import content_hash, make_folds, make_splits

__all__ = [
    "ALLEN_STRUCTURES",
    "FOREST_CLASSES",
    "FOR_SPECIES",
    "FOUR_SHAPES",
    "MIXED_SHAPE_PARTS",
    "NEUROMORPHO_CLASSES",
    "PROCESS_CLASSES",
    "Dataset",
    "Manifold",
    "content_hash",
    "load_allen",
    "load_atlas1",
    "load_folder",
    "load_for_species20k",
    "load_intra",
    "load_neuromorpho",
    "load_scop",
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
