"""Splits that are fixed once by the content of a dataset, and shared by every method."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from .._base.check import Array, check_count
from .._base.files import write_atomically


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


def make_folds(
    clouds: Sequence[ArrayLike], labels: ArrayLike, n_folds: int = 5, *, store: str | Path | None = None
) -> np.ndarray:
    """The fold 0..n_folds-1 of each cloud, stratified by label.

    Each class is shuffled by a seed from the content hash and its clouds assigned to the folds in turn, so
    that the same data always give the same folds. With ``store`` (a folder) they are also written to
    ``<hash>-folds<n>.json``, and read back from there if the file exists.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    clouds : sequence of array_like (m_i, n)
    labels : array_like (N,)
    n_folds : int
    store : path-like, optional

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
    count = check_count(n_folds, "n_folds", 2)
    return _kept(content_hash(clouds, labels), f"folds{count}", store, np.asarray(labels), _deal, count)


def make_splits(
    clouds: Sequence[ArrayLike],
    labels: ArrayLike,
    n_splits: int = 20,
    *,
    test_share: float = 0.3,
    store: str | Path | None = None,
) -> np.ndarray:
    """``n_splits`` stratified random splits, (n_splits, N): True where a cloud is tested.

    Kept as `make_folds` does.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    clouds, labels :
        As of `make_folds`.
    n_splits : int
    test_share : float
        Part of every class that is tested.
    store : path-like, optional

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
    if not 0.0 < test_share < 1.0:
        raise ValueError(f"test_share must lie between 0 and 1, got {test_share!r}")
    name = f"splits{count}-{test_share:g}"
    return _kept(
        content_hash(clouds, labels), name, store, np.asarray(labels), _draw, count, test_share
    ).astype(bool)


def _deal(labels: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
    folds = np.empty(len(labels), np.int64)
    start = 0
    for label in np.unique(labels):  # the next class goes on where the last one stopped: equal folds
        rows = rng.permutation(np.flatnonzero(labels == label))
        folds[rows] = (start + np.arange(len(rows))) % count
        start += len(rows)
    return folds


def _draw(labels: np.ndarray, rng: np.random.Generator, count: int, share: float) -> np.ndarray:
    splits = np.zeros((count, len(labels)), np.int64)
    for split in splits:
        for label in np.unique(labels):
            rows = rng.permutation(np.flatnonzero(labels == label))
            split[rows[: round(share * len(rows))]] = 1
    return splits


def _kept(
    digest: str,
    name: str,
    store: str | Path | None,
    labels: np.ndarray,
    make: Callable[..., np.ndarray],
    *arguments: float,
) -> np.ndarray:
    path = Path(store) / f"{digest[:24]}-{name}.json" if store is not None else None
    if path is not None and path.exists():
        kept = json.loads(path.read_text("utf-8"))
        if kept["content"] != digest:
            raise ValueError(f"{path} belongs to other data (content {kept['content'][:12]}...)")
        return np.array(kept["rows"], dtype=np.int64)
    made = make(labels, np.random.default_rng(int(digest[:16], 16)), *arguments)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({"content": digest, "rows": made.tolist()}).encode())
    return made
