"""Features of every point and of each cloud as a whole, for learned pooling, and tables of many clouds.

A table is computed once, kept on disk if asked, and packed for training.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array, OutOfRangeError, thread_count
from .._base.files import open_atomically, read_arrays
from .._base.threads import even_pieces, run_pieces
from ..channels import block_columns, block_values, computed, learned_blocks
from ..core.clouds import ArrangedCloud, without_isolated
from ..core.evaluate import Evaluation, evaluate, heat_dimension_spectrum
from ..core.planner import always_dense
from ..options import names
from .blocks import registry
from .blocks.neighbourhood import deviation_at_points, pairs_of_scales
from .blocks.whole import global_block
from .describe import warn_of_empty
from .layout import PAPER_BLOCKS, SCHEMA, FeatureSettings

# Which blocks describe the whole cloud and which each point, in their order.
WHOLE_BLOCKS = ("global", "log_global", "hds")
POINT_BLOCKS = (*learned_blocks(), "neighbourhood")

# Beginnings of the names of point features that are differences of numbers of order one, whose round-off is
# that of 1; see `layout.ROUND_OFF`.
_ORDER_ONE_FEATURES = ("log_", *(block.name for block in registry().values() if block.order_one))


@dataclass(frozen=True)
class PointSettings(FeatureSettings):
    """All that decides the numbers: `features_of` depends on nothing else but the points."""

    def _checked_blocks(self, blocks: Any) -> tuple[str, ...]:
        known = (*WHOLE_BLOCKS, *POINT_BLOCKS)
        chosen = PAPER_BLOCKS if blocks is None else names(blocks, "blocks")
        if any(b not in known for b in chosen) or not any(b in POINT_BLOCKS for b in chosen):
            raise ValueError(
                f"blocks must be some of {', '.join(map(repr, known))}, "
                f"with at least one of {', '.join(map(repr, POINT_BLOCKS))}, got {chosen!r}"
            )
        return tuple(b for b in known if b in chosen)

    def identity(self) -> dict[str, Any]:
        """See `SignatureSettings`."""
        found = super().identity()
        # Gradient lengths of version 1 had half of the digits: features cached then are computed again.
        return {**found, "gradient": 2} if "gradient" in self.point_blocks else found

    @property
    def point_blocks(self) -> tuple[str, ...]:
        """Of the chosen blocks, those that describe a point."""
        return tuple(b for b in POINT_BLOCKS if b in self.blocks)

    @property
    def whole_blocks(self) -> tuple[str, ...]:
        """Of the chosen blocks, those that describe the cloud."""
        return tuple(b for b in WHOLE_BLOCKS if b in self.blocks)

    @property
    def point_names(self) -> tuple[str, ...]:
        """Names of the features of a point: scale by scale, then the second layer by pairs of scales."""
        return tuple(self._point_names())

    def _point_names(self) -> Iterator[str]:
        n, steps = self.n_dims, self.n_scales
        blocks = [block for block in self.point_blocks if block != "neighbourhood"]
        for a in range(steps):
            for block in blocks:
                yield from (f"{name}_s{a}" for name in block_columns(block, n))
        if "neighbourhood" in self.point_blocks:
            for field in chain(("log_density", "dimension"), block_columns("spectrum", n)):
                yield from (f"neighbourhood_{field}_s{a}_s{b}" for a, b in pairs_of_scales(steps))

    @property
    def whole_names(self) -> tuple[str, ...]:
        """Names of the features of the whole cloud, as in the descriptor."""
        return tuple(self._whole_names())

    def _whole_names(self) -> Iterator[str]:
        for block in self.whole_blocks:
            yield from self.names_of(block.removeprefix("log_"), joint=block.startswith("log_"))

    @property
    def column_names(self) -> Iterator[str]:
        """See `FeatureSettings`."""
        return chain(self._point_names(), self._whole_names())

    def magnitudes(self) -> tuple[Array, Array]:
        """Least magnitude of each feature, of points and of whole clouds, to which round-off is relative."""
        points = [float(name.startswith(_ORDER_ONE_FEATURES)) for name in self.point_names]
        whole = [float(name.startswith(("hds", "global_log"))) for name in self.whole_names]
        return np.array(points), np.array(whole)


def features_of(points: Array, settings: PointSettings, n_threads: int = 1) -> tuple[Array, Array]:
    """Features of every point (m, F) and of the cloud (W,); NaN where there is no scale schedule."""
    if len(points) == 0 or (points == points[0]).all():  # nothing is known: one row of NaN
        rows = np.full((max(1, len(points)), len(settings.point_names)), np.nan)
        return rows, np.full(len(settings.whole_names), np.nan)
    cloud = ArrangedCloud.of(points, n_threads)
    scales = settings.times(cloud)
    # The energy always: the plan of the fast path, and so its last digits, depend on it.
    asked = computed(with_spectrum=settings.with_spectrum, asked=settings.point_blocks)
    request = settings.request(asked, energy=True, n_threads=n_threads)
    found = evaluate(cloud, None, scales, request)
    out = found.local
    second = None
    if "neighbourhood" in settings.point_blocks:
        second = np.empty((len(points), len(pairs_of_scales(settings.n_scales)) * (2 + settings.n_dims)))
        second[cloud.order] = deviation_at_points(cloud, scales, found, request).T
    whole = [_whole_block(found, block, scales[0], settings) for block in settings.whole_blocks]
    out.turn_round(found.rows, n_threads)
    channels = [block_values(block, out) for block in settings.point_blocks if block != "neighbourhood"]
    parts = [np.concatenate(channels, axis=2).reshape(len(points), -1)] if channels else []
    if second is not None:
        parts.append(second)
    return np.concatenate(parts, axis=1), np.concatenate(whole) if whole else np.empty(0)


def _whole_block(found: Evaluation, block: str, times: Array, settings: PointSettings) -> Array:
    if block == "hds":
        out = found.local
        shares = heat_dimension_spectrum(
            out.density, out.dimension, np.array([found.rows.size]), settings.centers, settings.hds_sigma
        )
        return np.concatenate([part.ravel() for part in shares])
    return global_block(found.energy, found.response, times, log=block == "log_global").ravel()


# --- tables of many clouds ------------------------------------------------------------

# Clouds whose mean and standard deviation set the unit in which single precision stores the features.
_PILOT = 64


def unit_ball(points: Array) -> Array:
    """Centred, and scaled so that the farthest point has length 1."""
    centred = points - points.mean(axis=0)
    radius = np.sqrt((centred**2).sum(axis=1).max())
    return centred / radius if radius > 0.0 else centred


def each_cloud(
    work: Callable[[int, int], object],
    clouds: Sequence[Array],
    *,
    method: str,
    n_threads: int,
    chosen: Iterable[int] | None = None,
) -> None:
    """Call ``work(i, threads)`` for every cloud, or for the chosen ones.

    Small clouds are distributed over the threads. Those that may take the fast path get all threads, one
    after the other: their memory is O(m T).
    """

    def named(i: int, threads: int) -> None:
        try:
            work(i, threads)
        except OutOfRangeError as error:
            raise OutOfRangeError(error.problem, i) from None

    indices = range(len(clouds)) if chosen is None else list(chosen)
    if not indices:
        return
    small = [i for i in indices if always_dense(method, *clouds[i].shape)]
    large = sorted(set(indices) - set(small))

    def piece(first: int, last: int) -> None:
        for i in small[first:last]:
            named(i, 1)

    run_pieces(piece, even_pieces([len(clouds[i]) for i in small]), n_threads, progress="clouds")
    for i in large:
        named(i, n_threads)


@dataclass(frozen=True)
class PointTable:
    """Features of N clouds: the points of all, one cloud after the other; by ``model.point_table(clouds)``.

    Guide: ``heatfield docs guide/learning``.

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
        Which features they are.

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, _ = hf.datasets.make_orbit5k(n_per_class=1, n_points=40)
    >>> table = hf.HFSNetworkClassifier("full", n_scales=4).point_table(clouds)
    >>> len(table), table.sizes().tolist(), len(table.take([0]))
    (5, [40, 40, 40, 40, 40], 1)
    >>> table.with_blocks(["dimension"]).rows.shape
    (200, 4)
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
        """Points in each cloud.

        Returns
        -------
        sizes : (N,) int64
        """
        return np.diff(self.starts)

    def take(self, clouds: NDArray) -> PointTable:
        """A table of some of the clouds.

        Parameters
        ----------
        clouds : array_like
            Indices, or a mask.

        Returns
        -------
        table : PointTable
        """
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
        """A table of some of the blocks, as if only these had been asked for.

        Parameters
        ----------
        blocks : iterable of str

        Returns
        -------
        table : PointTable
        """
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
    if recipe.drops_isolated:
        clouds = [without_isolated(cloud, thread_count(n_jobs)) for cloud in clouds]
    place = None
    if cache is not None:
        Path(cache).mkdir(parents=True, exist_ok=True)
        place = Path(cache) / f"{_key(clouds, recipe, unit)}.npz"
        found = _load(place, recipe, clouds)
        if found is not None:
            return found
    made = _blank(clouds, recipe)
    starts = made.starts

    def write(i: int, table: Array, of_cloud: Array) -> None:
        made.whole[i] = of_cloud
        with np.errstate(over="ignore"):  # a cloud in another unit may be out of single precision
            made.rows[starts[i] : starts[i + 1]] = (table - shift) / scale
        if len(clouds[i]):
            made.coordinates[starts[i] : starts[i + 1]] = unit_ball(clouds[i])

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
    made = replace(made, shift=shift, unit=scale)
    warn_of_empty(made.rows[starts[:-1]], "nothing is known of them")
    if place is not None:
        _store(place, made)
    return made


def _blank(clouds: Sequence[Array], recipe: PointSettings) -> PointTable:
    """A table to be filled; a cloud without points has a row all the same."""
    sizes = [max(1, len(cloud)) for cloud in clouds]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    width = len(recipe.point_names)
    return PointTable(
        np.empty((starts[-1], width), np.float32),
        starts,
        np.empty((len(clouds), len(recipe.whole_names))),
        np.zeros((starts[-1], recipe.n_dims), np.float32),
        np.zeros(width),
        np.ones(width),
        recipe,
    )


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
    blank = _blank(clouds, table.recipe)
    pairs = [(getattr(table, name), getattr(blank, name)) for name in _ARRAYS]
    return (
        all((one.shape, one.dtype) == (other.shape, other.dtype) for one, other in pairs)
        and np.array_equal(table.starts, blank.starts)
        and bool(np.isfinite(table.shift).all() and (table.unit > 0).all() and np.isfinite(table.unit).all())
        and bool(np.isfinite(table.coordinates).all())
    )
