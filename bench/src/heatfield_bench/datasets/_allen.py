"""Allen Institute for Cell Science, ``other_punctate``: seven intracellular structures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heatfield.datasets._dataset import Dataset, need_folder, read_files, take_each
from heatfield.datasets._folder import read_csv
from heatfield.io import ReadError

from ._fetch import bare_name, fetch

ALLEN_STRUCTURES = ("CETN2", "HIST1H2BJ", "NUP153", "RAB5A", "SLC25A17", "SMC1A", "SON")
_SOURCE = (
    "https://allencell.s3.amazonaws.com/aics/morphology_appropriate_representation_learning/"
    "preprocessed_data/other_punctate"
)
_STEPS = "Pass root= with manifest.csv and <CellId>.ply of other_punctate, or download=True to fetch them."


def load_allen(
    root: str | Path,
    *,
    budget: int = 1024,
    per_class: int | None = 1200,
    download: bool = False,
    **options: Any,
) -> Dataset:
    """Interphase cells (cell_stage M0), ``per_class`` of each structure by CellId, ``budget`` points each.

    Seven intracellular structures of the Allen Institute for Cell Science, ``other_punctate``.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    root : path-like
        ``manifest.csv`` (pointcloud_path, CellId, structure_name, cell_stage, split) and the PLY files.
    download : bool
        Fetch what is missing from the institute's public bucket first.
    budget : int
        Points per cell.
    per_class : int, optional
        None for all.
    **options :
        Of `heatfield.read_cloud`.

    Returns
    -------
    dataset : Dataset
        Of seven structures.

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> clouds, labels = hb.datasets.load_allen("allen")  # doctest: +SKIP
    """
    if download:
        fetch(f"{_SOURCE}/manifest.csv", Path(root) / "manifest.csv")
    folder = need_folder(root, "Allen other_punctate", ["manifest.csv"], _STEPS)
    rows = read_csv(folder / "manifest.csv")
    head = [name.strip() for name in rows[0][1]] if rows else []
    missing = {"CellId", "structure_name", "cell_stage"} - set(head)
    if missing:
        raise ReadError(folder / "manifest.csv", f"has no column {', '.join(sorted(missing))}", "line 1")
    cell, structure, stage = (head.index(c) for c in ("CellId", "structure_name", "cell_stage"))
    chosen = [
        r
        for _, r in rows[1:]
        if len(r) == len(head) and r[stage] == "M0" and r[structure] in ALLEN_STRUCTURES
    ]
    files, labels = take_each(
        [folder / bare_name(f"{r[cell]}.ply") for r in chosen],
        [r[structure] for r in chosen],
        ALLEN_STRUCTURES,
        per_class,
    )
    if download:
        for file in files:
            fetch(f"{_SOURCE}/{file.name}", file)
    return read_files(files, labels, ALLEN_STRUCTURES, budget=budget, **options)
