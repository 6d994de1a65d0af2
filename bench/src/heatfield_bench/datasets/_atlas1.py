"""ATLAS-1: no public address is known, so a folder is read as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heatfield.datasets._dataset import Dataset, need_folder
from heatfield.datasets._folder import load_folder

_STEPS = "No public address is known: ask its authors, arrange one folder per class, and pass root=."


def load_atlas1(root: str | Path, *, budget: int | None = 1024, **options: Any) -> Dataset:
    """One folder per class, as `load_folder` reads it, with the benchmark's budget of points.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    root : path-like
    budget : int, optional
        Most points per cloud.
    **options :
        Of `load_folder`.

    Returns
    -------
    dataset : Dataset
        One class per folder.

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> clouds, labels = hb.datasets.load_atlas1("atlas1")  # doctest: +SKIP
    """
    return load_folder(need_folder(root, "ATLAS-1", [], _STEPS), budget=budget, **options)
