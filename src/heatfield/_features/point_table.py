"""The features of many clouds in one table: computed once, kept on disk if asked, packed for training."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .._base.arrays import read_arrays
from .._base.check import Array, thread_count
from .._base.files import open_atomically
from .layout import SCHEMA
from .point_features import PointSettings, features_of
from .schedule import each_cloud, warn_of_empty
from .unit_ball import unit_ball

# Clouds whose mean and standard deviation set the unit in which single precision stores the features.
_PILOT = 64


@dataclass(frozen=True)
class PointTable:
    """Features of N clouds: the points of all, one cloud after the other.

    A feature x is stored as (x - shift) / unit in single precision. Shift and unit are about the mean
    and standard deviation of x, so that the digits that tell points apart are kept, however large x is.

    Attributes
    ----------
    rows : (P, F) float32
    starts : (N + 1,) int64
        Where each cloud begins.
    whole : (N, W) float64
        Features of the clouds as wholes, as they are.
    coordinates : (P, n) float32
        The points, each cloud centred and scaled to the unit ball.
    shift, unit : (F,)
    recipe : PointSettings
    """

    rows: NDArray[np.float32]
    starts: NDArray[np.int64]
    whole: Array
    coordinates: NDArray[np.float32]
    shift: Array
    unit: Array
    recipe: PointSettings

    def __len__(self) -> int:
        return len(self.starts) - 1

    def sizes(self) -> NDArray[np.int64]:
        """Points in each cloud."""
        return np.diff(self.starts)

    def take(self, clouds: NDArray) -> PointTable:
        """A table of some of the clouds, by index or as a mask."""
        chosen = np.flatnonzero(clouds) if np.asarray(clouds).dtype == bool else np.asarray(clouds)
        at, starts = packed(self.starts, chosen)
        return PointTable(
            self.rows[at],
            starts,
            self.whole[chosen],
            self.coordinates[at],
            self.shift,
            self.unit,
            self.recipe,
        )

    def with_blocks(self, blocks: Iterable[str]) -> PointTable:
        """A table of some of the blocks, as if only these had been asked for."""
        recipe = replace(self.recipe, blocks=tuple(b for b in self.recipe.blocks if b in set(blocks)))
        missing = set(blocks) - set(recipe.blocks)
        if missing:
            raise ValueError(f"the table has no block {', '.join(map(repr, sorted(missing)))}")
        at = [self.recipe.point_names.index(name) for name in recipe.point_names]
        whole = [self.recipe.whole_names.index(name) for name in recipe.whole_names]
        return PointTable(
            self.rows[:, at],
            self.starts,
            self.whole[:, whole],
            self.coordinates,
            self.shift[at],
            self.unit[at],
            recipe,
        )


def packed(starts: NDArray[np.int64], clouds: NDArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of some clouds, one cloud after the other, and where each begins among them."""
    sizes = np.diff(starts)[clouds]
    new = np.concatenate([[0], np.cumsum(sizes)])
    return np.arange(new[-1]) + np.repeat(starts[clouds] - new[:-1], sizes), new


def point_table(
    clouds: Sequence[Array],
    recipe: PointSettings,
    *,
    unit: tuple[Array, Array] | None = None,
    n_jobs: int | None = 1,
    cache: str | Path | None = None,
) -> PointTable:
    """Features of checked clouds; with ``cache``, a folder, taken from there if they were computed before.

    ``unit`` gives shift and unit; otherwise a sample of the clouds does.
    """
    place = None
    if cache is not None:
        Path(cache).mkdir(parents=True, exist_ok=True)
        place = Path(cache) / f"{_key(clouds, recipe, unit)}.npz"
        found = _load(place, recipe, clouds)
        if found is not None:
            return found
    starts = _starts(clouds)
    width = len(recipe.point_names)
    rows = np.empty((starts[-1], width), np.float32)
    whole = np.empty((len(clouds), len(recipe.whole_names)))
    coordinates = np.zeros((starts[-1], recipe.n_dims), np.float32)

    def write(i: int, table: Array, of_cloud: Array) -> None:
        whole[i] = of_cloud
        with np.errstate(over="ignore"):  # a cloud in another unit may be out of single precision
            rows[starts[i] : starts[i + 1]] = (table - shift) / scale
        if len(clouds[i]):
            coordinates[starts[i] : starts[i + 1]] = unit_ball(clouds[i])

    run = partial(each_cloud, clouds=clouds, method=recipe.method, n_threads=thread_count(n_jobs))
    rest = np.arange(len(clouds))
    if unit is None:  # known after the sample only, whose features wait for it
        pilots = np.unique(np.linspace(0, len(clouds) - 1, min(_PILOT, len(clouds))).astype(int))
        waiting: dict[int, tuple[Array, Array]] = {}

        def wait(i: int, threads: int) -> None:
            waiting[i] = features_of(clouds[i], recipe, threads)

        run(wait, chosen=pilots.tolist())
        unit = shift, scale = _pilot([waiting[i][0] for i in pilots.tolist()])
        for i in pilots.tolist():
            write(i, *waiting.pop(i))
        rest = np.setdiff1d(rest, pilots)
    shift, scale = unit
    run(lambda i, threads: write(i, *features_of(clouds[i], recipe, threads)), chosen=rest.tolist())
    made = PointTable(rows, starts, whole, coordinates, shift, scale, recipe)
    warn_of_empty(rows[starts[:-1]], "nothing is known of them")
    if place is not None:
        _store(place, made)
    return made


def _starts(clouds: Sequence[Array]) -> NDArray[np.int64]:
    """Where each cloud begins; one without points has a row all the same."""
    sizes = [max(1, len(cloud)) for cloud in clouds]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _pilot(tables: Sequence[Array]) -> tuple[Array, Array]:
    values = np.concatenate(tables)
    finite = values[np.isfinite(values).all(axis=1)]
    if len(finite) == 0:
        return np.zeros(values.shape[1]), np.ones(values.shape[1])
    deviation = finite.std(axis=0)
    return finite.mean(axis=0), np.where(deviation > 0.0, deviation, 1.0)


def _key(clouds: Sequence[Array], recipe: PointSettings, unit: tuple[Array, Array] | None) -> str:
    """A hash of all that the table depends on."""
    digest = hashlib.sha256(json.dumps([SCHEMA, recipe.identity()], sort_keys=True).encode())
    for part in unit or ():
        digest.update(part.tobytes())
    for cloud in clouds:
        digest.update(repr(cloud.shape).encode())
        digest.update(np.ascontiguousarray(cloud).tobytes())
    return digest.hexdigest()[:32]


_ARRAYS = ("rows", "starts", "whole", "coordinates", "shift", "unit")


def _store(place: Path, table: PointTable) -> None:
    """Uncompressed, and atomically."""
    with open_atomically(place) as file:
        np.savez(file, **{name: getattr(table, name) for name in _ARRAYS})


def _load(place: Path, recipe: PointSettings, clouds: Sequence[Array]) -> PointTable | None:
    """A stored table; None where there is none, or where it cannot be read: then it is computed again."""
    try:
        data = read_arrays(place, _ARRAYS)
    except (OSError, ValueError):
        return None
    table = PointTable(**data, recipe=recipe)
    return table if _fits(table, clouds) else None


def _fits(table: PointTable, clouds: Sequence[Array]) -> bool:
    """Whether a stored table is one of these clouds: shapes, types, and finite units."""
    width, starts = len(table.recipe.point_names), _starts(clouds)
    wanted = {
        "rows": ((starts[-1], width), np.float32),
        "starts": (starts.shape, np.int64),
        "whole": ((len(clouds), len(table.recipe.whole_names)), np.float64),
        "coordinates": ((starts[-1], table.recipe.n_dims), np.float32),
        "shift": ((width,), np.float64),
        "unit": ((width,), np.float64),
    }
    found = {
        name: (array.shape, array.dtype) for name, array in ((name, getattr(table, name)) for name in _ARRAYS)
    }
    return (
        found == wanted
        and np.array_equal(table.starts, starts)
        and bool(np.isfinite(table.shift).all() and (table.unit > 0).all() and np.isfinite(table.unit).all())
        and bool(np.isfinite(table.coordinates).all())
    )
