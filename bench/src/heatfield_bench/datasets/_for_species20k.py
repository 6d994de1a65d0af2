"""FOR-species20K: single trees from terrestrial laser scans, 15 species."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from heatfield.datasets._dataset import Dataset, need_folder, read_files, take_each
from heatfield.datasets._folder import read_csv
from heatfield.io import ReadError

from ._fetch import fetch_zenodo

FOR_SPECIES = (
    "Pinus_sylvestris", "Fagus_sylvatica", "Acer_campestre", "Carpinus_betulus", "Quercus_faginea",
    "Picea_abies", "Acer_pseudoplatanus", "Pinus_nigra", "Tilia_cordata", "Pseudotsuga_menziesii",
    "Pinus_contorta", "Quercus_ilex", "Eucalyptus_miniata", "Ulmus_laevis", "Crataegus_monogyna",
)  # fmt: skip
_RECORD = 13255198
_TABLE = "tree_metadata_dev.csv"
_STEPS = (
    f"Download {_TABLE} and the training trees of https://zenodo.org/records/{_RECORD}, unpack them so that "
    "root/train/00070.las exists, and pass root=; or pass download=True to do that into root."
)


def load_for_species20k(
    root: str | Path,
    *,
    budget: int = 1024,
    per_class: int | None = 229,
    download: bool = False,
    **options: Any,
) -> Dataset:
    """Terrestrial scans (data_type TLS) of 15 species, the first 229 trees of each by file name.

    Single trees of FOR-species20K.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    root : path-like
        ``tree_metadata_dev.csv`` and the files it names, such as ``train/00070.las``.
    download : bool
        Fetch and unpack Zenodo record 13255198 first, with the checksums stated there.
    budget : int
        Most points per tree.
    per_class : int, optional
        None for all trees.
    **options :
        Of `heatfield.read_cloud`.

    Returns
    -------
    dataset : Dataset
        Of 15 species.

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> clouds, labels = hb.datasets.load_for_species20k("for_species20k")  # doctest: +SKIP
    """
    if download and not (Path(root) / _TABLE).exists():
        fetch_zenodo(_RECORD, (_TABLE, ".zip"), Path(root))
        for archive in Path(root).glob("*.zip"):
            with zipfile.ZipFile(archive) as file:  # extractall keeps every member inside root
                file.extractall(root)
    folder = need_folder(root, "FOR-species20K", [_TABLE], _STEPS)
    rows = read_csv(folder / _TABLE)
    head = [name.strip() for name in rows[0][1]] if rows else []
    missing = {"species", "data_type", "filename"} - set(head)
    if missing:
        raise ReadError(folder / _TABLE, f"has no column {', '.join(sorted(missing))}", "line 1")
    species, kind, name = (head.index(c) for c in ("species", "data_type", "filename"))
    trees = [r for _, r in rows[1:] if len(r) == len(head) and r[kind] == "TLS" and r[species] in FOR_SPECIES]
    files, labels = take_each(
        [folder / r[name].lstrip("/") for r in trees], [r[species] for r in trees], FOR_SPECIES, per_class
    )
    return read_files(files, labels, FOR_SPECIES, budget=budget, **options)
