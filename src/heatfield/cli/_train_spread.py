"""A training over a cluster: features of points, and folds, as tasks; the model of all is fitted here."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array, OutOfRangeError
from .._base.progress import progress_bar
from .._base.threads import even_pieces
from .._classifier.cross_validation import cross_validate
from .._classifier.learned import point_recipe
from .._features.point_features import PointSettings
from .._features.point_table import PointTable, point_table
from ..cluster import Executor
from ..cluster._connect import executor_of
from ..core.costs import Costs, costs, fixed_costs
from ._train_options import LEARNED

# Clouds that set the unit of a table of points: as many as `point_table` takes, in the same places.
_PILOT = 64
_TOGETHER = 4e8  # pairs of points in a task


@contextmanager
def workers_of(cluster: str | None) -> Iterator[Executor | None]:
    """The executor of a cluster; None where there is none."""
    if cluster is None:
        yield None
        return
    with executor_of(cluster) as executor:
        yield executor


def spread_points(executor: Executor, model: Any, clouds: list[Array], quiet: bool) -> PointTable:
    """The table of points of a learned variant, with the bits of `HFSClassifier.point_table`."""
    recipe, prices = point_recipe(model, clouds[0].shape[1]), costs(measure=False)
    pilots = np.unique(np.linspace(0, len(clouds) - 1, min(_PILOT, len(clouds))).astype(int))
    first = point_table([clouds[i] for i in pilots], recipe, n_jobs=model.n_jobs)
    unit = first.shift, first.unit
    pieces = even_pieces([len(cloud) for cloud in clouds], _TOGETHER)
    tasks = [(clouds[begin:end], recipe, unit, prices) for begin, end in pieces]
    tables: list[PointTable | None] = [None] * len(pieces)
    with progress_bar(total=len(clouds), unit="clouds", quiet=quiet, keep=True) as bar:
        for number, found in executor.map(points_of_piece, tasks):
            begin, end = pieces[number]
            if isinstance(found, tuple):
                raise OutOfRangeError(found[0], begin + found[1])
            tables[number] = found
            bar.update(end - begin)
    return _joined([table for table in tables if table is not None])


def points_of_piece(
    task: tuple[list[Array], PointSettings, tuple[Array, Array], Costs], n_threads: int
) -> PointTable | tuple[str, int]:
    """In a worker: features of the points of some clouds; or what is wrong with one of them, and which."""
    clouds, recipe, unit, prices = task
    try:
        with fixed_costs(prices):
            return point_table(clouds, recipe, unit=unit, n_jobs=n_threads)
    except OutOfRangeError as error:
        return error.problem, error.cloud or 0


def _joined(tables: list[PointTable]) -> PointTable:
    sizes = np.concatenate([table.sizes() for table in tables])
    return replace(
        tables[0],
        rows=np.concatenate([table.rows for table in tables]),
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        whole=np.concatenate([table.whole for table in tables]),
        coordinates=np.concatenate([table.coordinates for table in tables]),
    )


def spread_folds(
    executor: Executor, model: Any, features: Any, labels: NDArray, *, n_dims: int, n_splits: int, count: int,
    random_state: int, skip: Container[int],
) -> Iterator[tuple[int, NDArray[np.int64], NDArray]]:  # fmt: skip
    """Folds as the workers finish them: number, positions of the clouds held out, and their labels."""
    todo = [number for number in range(count) if number not in skip]
    options = {"n_dims": n_dims, "n_splits": n_splits, "random_state": random_state}
    tasks = [(model, features, labels, options, number, count) for number in todo]
    for number, (test, predicted) in executor.map(one_fold, tasks) if tasks else ():
        yield todo[number], test, predicted


def one_fold(
    task: tuple[Any, Any, NDArray, dict[str, Any], int, int], n_threads: int
) -> tuple[NDArray[np.int64], NDArray]:
    """In a worker: one fold of the cross-validation."""
    model, features, labels, options, number, count = task
    model.set_params(n_jobs=n_threads, **({"progress": False} if model.variant in LEARNED else {}))
    others = set(range(count)) - {number}
    (fold,) = cross_validate(model, features, labels, **options, skip=others)
    return fold.test, fold.predicted
