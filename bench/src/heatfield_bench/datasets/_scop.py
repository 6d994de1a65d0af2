"""SCOP by ProteinShake: protein domains, labelled by fold."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import numpy as np

from heatfield.datasets._dataset import Dataset, need_folder
from heatfield.io import ReadError, need
from heatfield.sampling import random_rows, seed_from_name

from ._fetch import fetch_zenodo

_RECORD = 15259912
_FILE = "SCOPDataset.residue.avro.gz"
_STEPS = (
    f"Download {_FILE} from https://zenodo.org/records/{_RECORD} and pass its folder as root=, "
    "or pass download=True."
)


def load_scop(
    root: str | Path,
    *,
    budget: int | None = 128,
    n_classes: int = 15,
    per_class: int | None = 97,
    seed: int = 0,
    download: bool = False,
) -> Dataset:
    """Alpha carbons of the 15 most populated folds, 97 proteins each by identifier.

    Long chains are subsampled to ``budget`` without replacement; short ones stay as they are.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    root : path-like
        The folder of ``SCOPDataset.residue.avro.gz``.
    download : bool
        Fetch it from Zenodo record 15259912 first, with the checksum stated there.
    budget : int, optional
        Most points per protein; None for all.
    n_classes, per_class : int
        How many of the most populated folds, and proteins of each.
    seed : int
        Of the choice of points.

    Returns
    -------
    dataset : Dataset
        Of ``n_classes`` folds.

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> clouds, labels = hb.datasets.load_scop("scop")  # doctest: +SKIP
    """
    if download and not (Path(root) / _FILE).exists():
        fetch_zenodo(_RECORD, (_FILE,), Path(root))
    path = need_folder(root, "SCOP", [_FILE], _STEPS) / _FILE
    proteins = _proteins(path)
    sizes = Counter(fold for _, fold, _ in proteins)
    classes = sorted(sizes, key=lambda fold: (-sizes[fold], fold))[:n_classes]
    clouds, labels, names = [], [], []
    for label, fold in enumerate(classes):
        for name, _, points in sorted((p for p in proteins if p[1] == fold), key=lambda p: p[0])[:per_class]:
            if budget is not None:
                rng = np.random.default_rng(seed_from_name(name, seed))
                points = points[random_rows(len(points), budget, rng)]
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
                    raise ReadError(
                        path,
                        f"protein {protein['ID']} has coordinates that are not finite",
                        f"protein {number}",
                    )
                if protein.get("SCOP-CF") is not None:
                    found.append((str(protein["ID"]), str(protein["SCOP-CF"]), points))
    except ReadError:
        raise
    except Exception as error:  # fastavro raises many kinds of errors on a damaged record
        raise ReadError(path, f"damaged: {type(error).__name__} {error}", f"protein {number}") from None
    return found
