"""Clouds and labels of a data set, as many of them as are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array
from ..datasets import Dataset
from ..datasets._dataset import read_files, take_each
from ..datasets._folder import labelled_files
from ..sampling import random_rows

Clouds = tuple[list[Array], NDArray, tuple[NDArray[np.bool_], ...]]


@dataclass(frozen=True)
class Size:
    """How much of a data set is taken: clouds per class and points per cloud; None for all."""

    clouds: int | None = None
    points: int | None = None


def made_clouds(make: Callable[..., tuple[list[Array], NDArray]], _: Path | None, size: Size) -> Clouds:
    """Of a generator."""
    clouds, labels = make(**({} if size.clouds is None else {"n_per_class": size.clouds}))
    return thinned(clouds, size), labels, ()


def read_clouds(loader: Callable[..., Dataset], folder: Path | None, size: Size) -> Clouds:
    """Of a loader of the package."""
    found = loader(folder)
    rows = first_rows(found.labels, size.clouds)
    clouds = [found.clouds[i] for i in rows]
    return thinned(clouds, size), found.labels[rows], found.folds if size.clouds is None else ()


def folder_clouds(budget: int | None, folder: Path | None, size: Size) -> Clouds:
    """Of any folder with one folder per class; at most ``budget`` points of each file."""
    files, names = labelled_files(folder or "")
    if size.clouds is not None:  # the other files are not even opened
        files, names = take_each(files, names, sorted(set(names)), size.clouds)
    found = read_files(files, names, budget=budget)
    return thinned(found.clouds, size), found.labels, ()


def first_rows(labels: NDArray, count: int | None) -> NDArray:
    """The first so many clouds of each class."""
    rows = [np.flatnonzero(labels == label)[:count] for label in np.unique(labels)]
    return np.sort(np.concatenate(rows))


def thinned(clouds: list[Array], size: Size) -> list[Array]:
    """Clouds of at most so many points."""
    if size.points is None:
        return clouds
    rng = np.random.default_rng(0)
    return [cloud[random_rows(len(cloud), size.points, rng)] for cloud in clouds]
