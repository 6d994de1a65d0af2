"""A labelled set of clouds, folders that hold one, and splits that its content fixes once."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._base.check import Array, check_count, check_number
from .._base.progress import progress_bar
from .._base.summary import plain, plural, shortened, shown
from ..io import SUFFIXES, ReadError, read_cloud


@dataclass(frozen=True, repr=False)
class Dataset:
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

    def __repr__(self) -> str:
        sizes = [len(cloud) for cloud in self.clouds] or [0]
        dims = shown(map(str, sorted({cloud.shape[1] for cloud in self.clouds})))
        counts = [int((np.asarray(self.labels) == k).sum()) for k in range(len(self.classes))]
        named = [f"{shortened(name)} ({count:,})" for name, count in zip(self.classes, counts, strict=True)]
        points = f"{min(sizes):,} to {max(sizes):,} points each, {dims or 'no'} dimensions"
        return plain(f"Dataset of {plural(len(self), 'cloud')}, {points}, classes: {shown(named) or 'none'}")


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


# --- folders -------------------------------------------------------------------------


def load_folder(root: str | Path, *, labels: str | Path | None = None, **options: Any) -> Dataset:
    """Read labelled clouds from a folder.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    root : path-like
        One folder per class with files in any readable format (searched to the bottom); or, with
        ``labels``, the folder that the file names in it refer to.
    labels : path-like, optional
        A CSV with the columns ``file`` and ``label`` (or, without a header, these two in this order).
    **options
        As of `heatfield.read_cloud`: ``budget, sampling, seed, atoms, soma, ...``

    Returns
    -------
    Dataset
        ``clouds, labels, classes, files``.

    Examples
    --------
    >>> import os, tempfile, numpy as np, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for name in ("cat", "dog"):
    ...         os.mkdir(f"{root}/{name}")
    ...         hf.write_points(f"{root}/{name}/1.ply", np.eye(3))
    ...     dataset = hf.datasets.load_folder(root)
    >>> dataset.classes, dataset.labels.tolist()
    (('cat', 'dog'), [0, 1])
    """
    files, names = labelled_files(root, labels)
    return read_files(files, names, **options)


def labelled_files(root: str | Path, labels: str | Path | None = None) -> tuple[list[Path], list[str]]:
    """The files of a labelled folder and their labels, as `load_folder` understands them."""
    folder = Path(root)
    if not folder.is_dir():
        raise FileNotFoundError(f"root must be a folder, got {str(root)!r}")
    if labels is not None:
        files, names = _listed(folder, Path(labels))
    else:
        files = sorted(_each_once(folder))
        names = [f.relative_to(folder).parts[0] for f in files]
    if not files:
        raise FileNotFoundError(
            f"{str(root)!r} holds no folders with point files: one folder per class is expected"
        )
    return files, names


def _each_once(folder: Path) -> list[Path]:
    """The files of all classes. A folder may be a link, but no file is taken twice; links come last."""
    classes = sorted((d for d in folder.iterdir() if d.is_dir()), key=lambda d: (d.is_symlink(), d))
    found: dict[str, Path] = {}
    for d in classes:
        for f in sorted(d.rglob("*"), key=lambda f: (f.is_symlink(), f)):
            # A copy that an editor or a notebook keeps is no class, and no member of one.
            hidden = any(part.startswith(".") for part in f.relative_to(folder).parts)
            if f.is_file() and is_known(f.name) and not hidden:
                found.setdefault(os.path.realpath(f), f)
    return list(found.values())


def is_known(name: str) -> bool:
    """Whether a file of this name may hold points, perhaps packed by gzip."""
    return Path(name.lower().removesuffix(".gz")).suffix in SUFFIXES


def _listed(folder: Path, path: Path) -> tuple[list[Path], list[str]]:
    files, names = [], []
    for number, row in read_csv(path):
        if number == 1 and [c.strip().lower() for c in row[:2]] == ["file", "label"]:
            continue
        if len(row) < 2:
            raise ReadError(path, f"a file and a label are expected, got {row}", f"line {number}")
        if not row[1].strip():
            raise ReadError(path, f"the file {row[0]!r} has no label", f"line {number}")
        if not (folder / row[0]).is_file():
            raise ReadError(path, f"there is no file {str(folder / row[0])!r}", f"line {number}")
        files.append(folder / row[0])
        names.append(row[1].strip())
    return files, names


def read_csv(path: Path) -> list[tuple[int, list[str]]]:
    """Rows that are not empty, with their line; UTF-8, with or without a mark at the start."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            return [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReadError(path, getattr(error, "strerror", None) or str(error)) from None


# --- splits --------------------------------------------------------------------------


def content_hash(clouds: Sequence[ArrayLike], labels: ArrayLike) -> str:
    """A hash of all coordinates and labels, in their order.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    clouds : sequence of array_like (m_i, n)
    labels : array_like (N,)

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> one = hf.datasets.content_hash([np.eye(2)], [0])
    >>> one == hf.datasets.content_hash([np.eye(2)], [0]), one == hf.datasets.content_hash([np.eye(2)], [1])
    (True, False)
    """
    digest = hashlib.sha256()
    for cloud in clouds:
        points: Array = np.ascontiguousarray(cloud, dtype="<f8")
        digest.update(f"{points.shape}".encode())
        digest.update(points.tobytes())
    digest.update("\n".join(map(str, np.asarray(labels).tolist())).encode())
    return digest.hexdigest()


def make_folds(clouds: Sequence[ArrayLike], labels: ArrayLike, n_folds: int = 5) -> np.ndarray:
    """The fold 0..n_folds-1 of each cloud, stratified by label.

    Each class is shuffled by a seed from the content hash and its clouds assigned to the folds in turn, so
    that the same data always give the same folds.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    clouds : sequence of array_like (m_i, n)
    labels : array_like (N,)
    n_folds : int

    Returns
    -------
    folds : (N,) int

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=10, n_points=20)
    >>> folds = hf.datasets.make_folds(clouds, labels)
    >>> np.bincount(folds).tolist(), np.bincount(labels[folds == 0]).tolist()
    ([10, 10, 10, 10, 10], [2, 2, 2, 2, 2])
    """
    count, known = check_count(n_folds, "n_folds", 2), np.asarray(labels)
    folds = np.empty(len(known), np.int64)
    start = 0
    for rows in _shuffled(known, _seeded(clouds, known)):
        folds[rows] = (start + np.arange(len(rows))) % count
        start += len(rows)  # the next class goes on where the last one stopped: equal folds
    return folds


def make_splits(
    clouds: Sequence[ArrayLike], labels: ArrayLike, n_splits: int = 20, *, test_share: float = 0.3
) -> np.ndarray:
    """``n_splits`` stratified random splits, (n_splits, N): True where a cloud is tested.

    The same data always give the same splits.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    clouds, labels :
        As of `make_folds`.
    n_splits : int
    test_share : float
        Part of every class that is tested.

    Returns
    -------
    splits : (n_splits, N) bool

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=10, n_points=20)
    >>> hf.datasets.make_splits(clouds, labels, 4).sum(axis=1).tolist()
    [15, 15, 15, 15]
    """
    count = check_count(n_splits, "n_splits", 1)
    check_number(test_share, "test_share", above=0, below=1)
    known = np.asarray(labels)
    rng, splits = _seeded(clouds, known), np.zeros((count, len(known)), bool)
    for split in splits:
        for rows in _shuffled(known, rng):
            split[rows[: round(test_share * len(rows))]] = True
    return splits


def _seeded(clouds: Sequence[ArrayLike], labels: np.ndarray) -> np.random.Generator:
    return np.random.default_rng(int(content_hash(clouds, labels)[:16], 16))


def _shuffled(labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """The rows of each class in any order."""
    for label in np.unique(labels):
        yield rng.permutation(np.flatnonzero(labels == label))
