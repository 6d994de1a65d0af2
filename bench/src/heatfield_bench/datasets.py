"""The paper's six real data sets, read from the files that their authors publish."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from heatfield._base.check import check_choice
from heatfield._base.optional import need
from heatfield.datasets import Dataset, load_folder
from heatfield.datasets._dataset import read_csv, read_files
from heatfield.io import ReadError
from heatfield.sampling import random_rows, seed_from_name

__all__ = ["ALLEN_STRUCTURES", "FOR_SPECIES", "NEUROMORPHO_CLASSES", "load"]

ALLEN_STRUCTURES = ("CETN2", "HIST1H2BJ", "NUP153", "RAB5A", "SLC25A17", "SMC1A", "SON")
FOR_SPECIES = (
    "Pinus_sylvestris", "Fagus_sylvatica", "Acer_campestre", "Carpinus_betulus", "Quercus_faginea",
    "Picea_abies", "Acer_pseudoplatanus", "Pinus_nigra", "Tilia_cordata", "Pseudotsuga_menziesii",
    "Pinus_contorta", "Quercus_ilex", "Eucalyptus_miniata", "Ulmus_laevis", "Crataegus_monogyna",
)  # fmt: skip
_TREE_TABLE = "tree_metadata_dev.csv"
INTRA_CLASSES = ("vessel", "aneurysm")
NEUROMORPHO_CLASSES = (
    "basket", "bipolar", "ganglion", "granule", "medium spiny", "mitral", "Purkinje", "pyramidal", "stellate",
)  # fmt: skip
_SCOP_FILE = "SCOPDataset.residue.avro.gz"


def load(name: str, root: str | Path, *, budget: int | None = None, per_class: int | None = None) -> Dataset:
    """One of the paper's real data sets, as it is published.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    name : "allen", "atlas1", "for_species20k", "intra", "neuromorpho" or "scop"
    root : path-like
        Where its files are; an error says which are missing and where they are published.
    budget : int, optional
        Most points per cloud; by default the benchmark's 1,024, of SCOP 128.
    per_class : int, optional
        Of each class the first so many by name; by default the benchmark's.

    Returns
    -------
    dataset : Dataset
        That of IntrA has the folds of its source.

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> clouds, labels = hb.datasets.load("allen", "folder")  # doctest: +SKIP
    """
    read, points, clouds = _LOADERS[check_choice(name, "name", tuple(_LOADERS))]
    return read(root, budget or points, per_class or clouds)


def _allen(root: str | Path, budget: int, per_class: int | None) -> Dataset:
    """Interphase cells (cell_stage M0) with seven structures of the Allen Institute, ``other_punctate``."""
    steps = (
        "Pass root= with manifest.csv and <CellId>.ply of https://allencell.s3.amazonaws.com/aics/"
        "morphology_appropriate_representation_learning/preprocessed_data/other_punctate."
    )
    folder = need_folder(root, "Allen other_punctate", ["manifest.csv"], steps)
    rows = _columns(folder / "manifest.csv", ("CellId", "structure_name", "cell_stage"))
    chosen = [(cell, name) for cell, name, stage in rows if stage == "M0" and name in ALLEN_STRUCTURES]
    files = [folder / f"{Path(cell).name}.ply" for cell, _ in chosen]
    files, labels = take_each(files, [name for _, name in chosen], ALLEN_STRUCTURES, per_class)
    return read_files(files, labels, ALLEN_STRUCTURES, budget=budget)


def _atlas1(root: str | Path, budget: int, _: int | None) -> Dataset:
    """ATLAS-1, as `load_folder` reads it."""
    steps = "No public address is known: ask its authors, arrange one folder per class, and pass root=."
    return load_folder(need_folder(root, "ATLAS-1", [], steps), budget=budget)


def _for_species20k(root: str | Path, budget: int, per_class: int | None) -> Dataset:
    """Terrestrial scans (TLS) of 15 species."""
    steps = (
        f"Download {_TREE_TABLE} and the training trees of https://zenodo.org/records/13255198, unpack them "
        "so that root/train/00070.las exists, and pass root=."
    )
    folder = need_folder(root, "FOR-species20K", [_TREE_TABLE], steps)
    rows = _columns(folder / _TREE_TABLE, ("species", "data_type", "filename"))
    trees = [(name, file) for name, kind, file in rows if kind == "TLS" and name in FOR_SPECIES]
    files = [folder / file.lstrip("/") for _, file in trees]
    files, labels = take_each(files, [name for name, _ in trees], FOR_SPECIES, per_class)
    return read_files(files, labels, FOR_SPECIES, budget=budget)


def _intra(root: str | Path, budget: int, _: int | None) -> Dataset:
    """1,694 healthy vessel segments and 215 + 116 aneurysms, with the five folds of the source."""
    steps = (
        "IntrA is given out on request (github.com/intra3d2019/IntrA); unpack it so that "
        "root/generated/vessel/ad and root/generated/aneurysm/ad exist, and pass root=."
    )
    folder = need_folder(root, "IntrA", ["generated/vessel/ad", "generated/aneurysm/ad"], steps)
    healthy = sorted((folder / "generated/vessel/ad").glob("*.ad"))
    ill = sorted((folder / "generated/aneurysm/ad").glob("*.ad"))
    ill += sorted((folder / "annotated/ad").glob("*-_norm.ad"))
    labels = ["vessel"] * len(healthy) + ["aneurysm"] * len(ill)
    found = read_files([*healthy, *ill], labels, INTRA_CLASSES, budget=budget, dims=3)
    given = range(5) if (folder / "fileSplit/cls").is_dir() else ()
    folds = tuple(_fold(folder, k, found.files) for k in given)
    return Dataset(found.clouds, found.labels, found.classes, found.files, folds)


def _fold(folder: Path, k: int, files: tuple[str, ...]) -> np.ndarray:
    names: set[str] = set()
    for stem in ("ann_clsSplit", "negSplit"):
        path = folder / "fileSplit/cls" / f"{stem}_{k}.txt"
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ReadError(path, str(error)) from None
        names |= {line.strip().replace("\\", "/").rsplit("/", 1)[-1] for line in lines}
    return np.array([Path(file).name in names for file in files])


def _neuromorpho(root: str | Path, budget: int, per_class: int | None) -> Dataset:
    """Neurons of nine classes of NeuroMorpho.Org, points uniform by arc length; microns."""
    steps = (
        "Pass root= with one folder per class ('basket', ..., 'stellate') of .swc or .swc.gz files of "
        "https://neuromorpho.org."
    )
    folder = need_folder(root, "NeuroMorpho", NEUROMORPHO_CLASSES, steps)
    files, labels = [], []
    for name in NEUROMORPHO_CLASSES:
        found = sorted(f for f in (folder / name).iterdir() if f.name.lower().endswith((".swc", ".swc.gz")))
        files += found[:per_class]
        labels += [name] * len(found[:per_class])
    return read_files(files, labels, NEUROMORPHO_CLASSES, budget=budget)


def _scop(root: str | Path, budget: int, per_class: int | None) -> Dataset:
    """Alpha carbons of the 15 most populated folds, of SCOP by ProteinShake."""
    steps = f"Download {_SCOP_FILE} from https://zenodo.org/records/15259912 and pass its folder as root=."
    path = need_folder(root, "SCOP", [_SCOP_FILE], steps) / _SCOP_FILE
    proteins = _proteins(path)
    sizes = Counter(fold for _, fold, _ in proteins)
    classes = sorted(sizes, key=lambda fold: (-sizes[fold], fold))[:15]
    clouds, labels, names = [], [], []
    for label, fold in enumerate(classes):
        for name, _, points in sorted((p for p in proteins if p[1] == fold), key=lambda p: p[0])[:per_class]:
            if budget is not None:
                points = points[
                    random_rows(len(points), budget, np.random.default_rng(seed_from_name(name, 0)))
                ]
            clouds.append(points)
            labels.append(label)
            names.append(f"{path}#{name}")
    return Dataset(clouds, np.array(labels, dtype=np.int64), tuple(classes), tuple(names))


def _proteins(path: Path) -> list[tuple[str, str, np.ndarray]]:
    fastavro = need("fastavro", "SCOP by ProteinShake", verb="needs")
    found = []
    number = 0
    try:
        with gzip.open(path) as file:
            for number, entry in enumerate(fastavro.reader(file)):
                residue, protein = entry["residue"], entry["protein"]
                points = np.stack([np.asarray(residue[c], dtype=np.float64) for c in "xyz"], axis=1)
                if not np.isfinite(points).all():
                    problem = f"protein {protein['ID']} has coordinates that are not finite"
                    raise ReadError(path, problem, f"protein {number}")
                if protein.get("SCOP-CF") is not None:
                    found.append((str(protein["ID"]), str(protein["SCOP-CF"]), points))
    except ReadError:
        raise
    except Exception as error:  # fastavro raises many kinds of errors on a damaged record
        raise ReadError(path, f"damaged: {type(error).__name__} {error}", f"protein {number}") from None
    return found


def _columns(path: Path, names: Sequence[str]) -> list[list[str]]:
    """These columns of a table, of all rows that are whole."""
    rows = read_csv(path)
    head = [name.strip() for name in rows[0][1]] if rows else []
    missing = set(names) - set(head)
    if missing:
        raise ReadError(path, f"has no column {', '.join(sorted(missing))}", "line 1")
    return [[row[head.index(name)] for name in names] for _, row in rows[1:] if len(row) == len(head)]


# How each is read, with the benchmark's points per cloud and clouds per class.
_LOADERS: dict[str, tuple[Callable[..., Dataset], int, int | None]] = {
    "allen": (_allen, 1024, 1200),
    "atlas1": (_atlas1, 1024, None),
    "for_species20k": (_for_species20k, 1024, 229),
    "intra": (_intra, 1024, None),
    "neuromorpho": (_neuromorpho, 1024, None),
    "scop": (_scop, 128, 97),
}


def take_each(
    files: Sequence[Path], labels: Sequence[str], classes: Sequence[str], per_class: int | None
) -> tuple[list[Path], list[str]]:
    """The first ``per_class`` files of every class, by name: a choice that does not depend on the machine."""
    chosen: list[tuple[Path, str]] = []
    for name in classes:
        mine = sorted(f for f, label in zip(files, labels, strict=True) if label == name)
        chosen += [(f, name) for f in (mine if per_class is None else mine[:per_class])]
    return [f for f, _ in chosen], [label for _, label in chosen]


def need_folder(root: str | Path | None, what: str, holds: Sequence[str], steps: str) -> Path:
    """The user's folder, if it holds what it must; otherwise an error that lists the steps to get it."""
    folder = Path(root) if root is not None else None
    missing = [name for name in holds if folder is None or not (folder / name).exists()]
    if folder is None or not folder.is_dir() or missing:
        found = (
            "no folder was given"
            if folder is None
            else f"{str(folder)!r} has no {', '.join(missing) or 'such folder'}"
        )
        raise FileNotFoundError(f"{what}: {found}. {steps}")
    return folder
