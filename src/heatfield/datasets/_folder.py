"""Any labelled collection of files: one folder per class, or a list of files and labels."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from ..io import SUFFIXES, ReadError
from ._dataset import Dataset, read_files


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
    >>> import tempfile, numpy as np, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for name in ("cat", "dog"):
    ...         _ = hf.datasets._folder.Path(root, name).mkdir()
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
            if f.is_file() and _readable(f) and not _hidden(f.relative_to(folder)):
                found.setdefault(os.path.realpath(f), f)
    return list(found.values())


def _hidden(inside: Path) -> bool:
    """A copy that an editor or a notebook keeps is no class, and no member of one."""
    return any(part.startswith(".") for part in inside.parts)


def _readable(file: Path) -> bool:
    suffixes = [s.lower() for s in file.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return bool(suffixes) and suffixes[-1] in SUFFIXES


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
        raise ReadError(path, str(error)) from None
