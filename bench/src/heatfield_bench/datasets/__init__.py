"""The paper's six real data sets, read from the files that their authors publish."""

from ._allen import ALLEN_STRUCTURES, load_allen
from ._atlas1 import load_atlas1
from ._for_species20k import FOR_SPECIES, load_for_species20k
from ._intra import load_intra
from ._neuromorpho import NEUROMORPHO_CLASSES, load_neuromorpho
from ._scop import load_scop

__all__ = [
    "ALLEN_STRUCTURES",
    "FOR_SPECIES",
    "NEUROMORPHO_CLASSES",
    "load_allen",
    "load_atlas1",
    "load_for_species20k",
    "load_intra",
    "load_neuromorpho",
    "load_scop",
]
