"""A labelled set of clouds, and how files become one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._base.check import Array
from .._base.drawing import bars
from .._base.progress import progress_bar
from .._base.summary import Summarised, Summary, plural, shortened, shown
from ..io import ReadError, read_cloud


@dataclass(frozen=True, repr=False)
class Dataset(Summarised):
    """Clouds with labels. ``clouds, labels = dataset`` works too.

    Guide: ``heatfield docs guide/datasets``.

    Attributes
    ----------
    clouds : list of (m_i, n) arrays
    labels : (N,) int array
        Positions in ``classes``.
    classes : tuple of str
    files : tuple of str
        Where each cloud came from.
    folds : tuple of (N,) bool arrays
        Test sets that the source itself prescribes; empty where it has none.

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> found = hf.datasets.Dataset([np.zeros((5, 3))], np.array([0]), ("cell",), ("cell/a.swc",))
    >>> clouds, labels = found
    >>> found.classes[labels[0]], len(clouds)
    ('cell', 1)
    """

    clouds: list[Array]
    labels: np.ndarray
    classes: tuple[str, ...]
    files: tuple[str, ...]
    folds: tuple[np.ndarray, ...] = ()

    def __iter__(self) -> Iterator[Any]:
        return iter((self.clouds, self.labels))

    def __len__(self) -> int:
        return len(self.clouds)

    def _summary(self) -> Summary:
        sizes = np.array([len(cloud) for cloud in self.clouds])
        dims = sorted({cloud.shape[1] for cloud in self.clouds})
        space = f" in {shown(map(str, dims))} dimensions" if dims else ""
        counts = [int((np.asarray(self.labels) == k).sum()) for k in range(len(self.classes))]
        lines: list[tuple[str, str | list[str]]] = []
        if sizes.size:
            span = f"{sizes.min():,} to {sizes.max():,} per cloud, median {int(np.median(sizes)):,}"
            lines.append(("points", f"{span}, {sizes.sum():,} in all"))
        named = [f"{shortened(name)} ({count:,})" for name, count in zip(self.classes, counts, strict=True)]
        lines.append(("classes", f"{len(named):,}: {shown(named)}" if named else "none"))
        if self.files:
            lines.append(("files", f"{len(self.files):,}, the first {shortened(self.files[0], 60)}"))
        lines.append(("folds", f"{len(self.folds)} that the source prescribes" if self.folds else "none"))
        lines.append(("fields", "clouds, labels, classes, files, folds; clouds, labels = dataset"))
        picture = bars(self.classes, counts, "clouds per class")
        return Summary(f"Dataset of {plural(len(self.clouds), 'cloud')}{space}", lines, [picture])


def read_files(
    files: Sequence[Path], labels: Sequence[str], classes: Sequence[str] | None = None, **options: Any
) -> Dataset:
    """Read labelled files, in their order. The first that cannot be read raises its ReadError."""
    names = tuple(sorted(set(labels))) if classes is None else tuple(classes)
    position = {name: i for i, name in enumerate(names)}
    clouds = [read_cloud(file, **options).points for file in progress_bar(files, unit="files")]
    dims = {cloud.shape[1] for cloud in clouds}
    if len(dims) > 1:
        odd = next(f for f, c in zip(files, clouds, strict=True) if c.shape[1] != clouds[0].shape[1])
        raise ReadError(odd, f"its points have another dimension than those of {files[0]}")
    return Dataset(clouds, np.array([position[label] for label in labels]), names, tuple(map(str, files)))


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
