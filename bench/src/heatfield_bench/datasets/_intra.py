"""IntrA: segments of blood vessels, healthy or with an aneurysm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from heatfield.datasets._dataset import Dataset, need_folder, read_files
from heatfield.io import ReadError

INTRA_CLASSES = ("vessel", "aneurysm")
_STEPS = (
    "IntrA is given out on request (github.com/intra3d2019/IntrA); unpack it so that "
    "root/generated/vessel/ad and root/generated/aneurysm/ad exist, and pass root=."
)


def load_intra(root: str | Path, *, budget: int | None = 1024, **options: Any) -> Dataset:
    """1,694 healthy vessel segments and 215 + 116 aneurysms, with the five folds of the source.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    root : path-like
        ``generated/vessel/ad/*.ad``, ``generated/aneurysm/ad/*.ad``, ``annotated/ad/*-_norm.ad`` and
        ``fileSplit/cls/{ann_clsSplit,negSplit}_{0..4}.txt``; the last two where present.
    budget : int, optional
        Most points per segment.
    **options :
        Of `heatfield.read_cloud`.

    Returns
    -------
    dataset : Dataset
        With the ``folds`` of the source.

    Notes
    -----
    An ``.ad`` file is text: x y z nx ny nz label. ``folds[k]`` marks the files that split k names.

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> clouds, labels = hb.datasets.load_intra("IntrA")  # doctest: +SKIP
    """
    folder = need_folder(root, "IntrA", ["generated/vessel/ad", "generated/aneurysm/ad"], _STEPS)
    healthy = sorted((folder / "generated/vessel/ad").glob("*.ad"))
    ill = sorted((folder / "generated/aneurysm/ad").glob("*.ad")) + sorted(
        (folder / "annotated/ad").glob("*-_norm.ad")
    )
    labels = ["vessel"] * len(healthy) + ["aneurysm"] * len(ill)
    dataset = read_files([*healthy, *ill], labels, INTRA_CLASSES, budget=budget, dims=3, **options)
    folds = (
        tuple(_fold(folder, k, dataset.files) for k in range(5))
        if (folder / "fileSplit/cls").is_dir()
        else ()
    )
    return Dataset(dataset.clouds, dataset.labels, dataset.classes, dataset.files, folds)


def _fold(folder: Path, k: int, files: tuple[str, ...]) -> np.ndarray:
    names: set[str] = set()
    for stem in ("ann_clsSplit", "negSplit"):
        path = folder / "fileSplit/cls" / f"{stem}_{k}.txt"
        try:
            names |= {
                line.strip().replace("\\", "/").rsplit("/", 1)[-1]
                for line in path.read_text("utf-8").splitlines()
            }
        except (OSError, UnicodeDecodeError) as error:
            raise ReadError(path, str(error)) from None
    return np.array([Path(file).name in names for file in files])
