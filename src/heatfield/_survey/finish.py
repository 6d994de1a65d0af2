"""Pass 3: the signatures of one tile, and what all tiles are together: statistics that merge, and `Survey`.

Counts, sums, means and standard deviations merge exactly but for rounding. Percentiles come from a fixed
histogram whose bins are the numbers that agree in sign, exponent and the first `BITS` bits of the mantissa:
counts add up in any order, and a percentile errs by at most `PERCENTILE_ERROR` of itself.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._base.check import Array
from .._base.files import write_atomically
from .._base.progress import progress_bar
from .._base.summary import plural, shown
from ..core import formulas
from ..core.clouds import ArrangedCloud, Targets
from ..core.evaluate import Outputs, fill_differences, heat_dimension_spectrum, signatures_of_scale
from ..core.moments import ROOT_SQUARE, ROOT_WEIGHT
from ..core.sums import scale_sums
from ..features.layout import PAPER_BLOCKS, layout
from ..heat_signatures import HeatDimensionSpectrum, Signatures
from ..io import Cloud, write_signatures
from ..workflows.files import FileError
from .grid import TileField, coarse_sums, isolated_sums
from .plan import SurveyPlan
from .tiles import (
    ChangedError,
    Context,
    Source,
    SurveySettings,
    halo,
    load_tiles,
    points_of,
    read_source,
)

NAME = "survey.json"
BITS = 12
PERCENTILE_ERROR = 2.0**-BITS
_SHIFT = 52 - BITS
_FEW_BINS = 1 << 20  # 256 powers of two
_FRACTIONS = (0.1, 0.5, 0.9)
_GLOBAL = ("energy", "response", "roughness", "relative_roughness")


# The number of the tile, its file, where it is written, and what it needs of the fields of coarse scales.
TileLoad = tuple[Context, SurveyPlan, int, Source, Path, dict[int, TileField]]


def finish_tile(load: TileLoad, n_threads: int) -> dict[str, Any]:
    """Compute and write one tile; what it adds to the whole is the result."""
    context, plan, number, source, folder, _ = load
    settings, tile = context.settings, load_tiles(context)[number]
    seconds: dict[str, float] = {}
    note = _stopwatch(seconds)
    points = np.array(points_of(context, tile))
    out, totals, order, reports = _outputs(load, points, n_threads, note)
    rows = points_of(context, tile, "rows")[order]  # of the file, for each row of the outputs
    owned = np.sort(rows)
    fill_differences(out, np.log(plan.whole.scales)[:, None], n_threads)
    s = _signatures(plan, out, np.searchsorted(owned, rows), settings, n_threads)
    note("signatures")
    packed = pack_result(s, totals, reports, settings)
    del out
    note("statistics")
    target, problem = folder / source.target, ("", "")
    try:
        cloud = read_source(source, settings)
        if len(cloud.points) != tile.in_file or (cloud.points[rows] != points[order]).any():
            raise ChangedError(source.path)
        cloud = cloud.take(owned) if owned.size < len(cloud.points) else cloud
        target.parent.mkdir(parents=True, exist_ok=True)
        write_signatures(
            str(target), Cloud(cloud.points, cloud.columns, cloud.format, notes=cloud.notes),
            s, channels=settings.channels, dtype=settings.point_dtype,
            note=f"\nconfiguration: {context.digest}",
        )  # fmt: skip
    except (ChangedError, OSError, MemoryError):
        raise
    except Exception as error:  # what the format cannot hold costs this tile; a full disk is everybody's
        problem = FileError.of(source.path, error).words
    note("writing")
    return packed | {
        "size": os.stat(target).st_size if not problem[1] else -1,
        "problem": np.array(problem, dtype=str),
        "steps": np.array(list(seconds), dtype=str),
        "seconds": np.array(list(seconds.values())),
    }


def is_written(folder: Path, target: str, size: int) -> bool:
    """Whether a tile is where it was written, or could not be written."""
    try:
        return size < 0 or os.stat(folder / target).st_size == size
    except OSError:
        return False


def _stopwatch(seconds: dict[str, float]) -> Callable[[str], None]:
    """A function that adds the seconds since its last call to the step that ended."""
    last = time.perf_counter()

    def note(step: str) -> None:
        nonlocal last
        now = time.perf_counter()
        seconds[step] = seconds.get(step, 0.0) + now - last
        last = now

    return note


def _outputs(
    load: TileLoad, points: Array, n_threads: int, note: Callable[[str], None]
) -> tuple[Outputs, Array, np.ndarray, list[str]]:
    """Local outputs at all scales, totals of g and g D**2 over local scales, the row of each output."""
    context, plan, number, _, _, fields = load
    m, n, steps = len(points), points.shape[1], len(plan.whole.scales)
    request = context.settings.sums(n_threads, energy=True)
    out = Outputs.empty(n, steps, m, request)
    totals, reports = np.zeros((steps, 2)), [""] * steps
    order = np.arange(m)
    if plan.local:
        tiles = load_tiles(context)
        reach = float(plan.halos[plan.local].max())
        around = halo(context, tiles, number, tiles[number].low, tiles[number].high, reach)
        cloud = ArrangedCloud.of(np.concatenate([points, around]), n_threads)
        targets = Targets.at_indices(cloud, order).cloud
        order = targets.order
    places = plan.places(points[order]) if plan.coarse else np.empty((n, 0))
    note("halo")
    with progress_bar(total=m * steps, unit="sums", unit_scale=True) as bar:
        for a, t in enumerate(plan.whole.scales):
            if a in plan.coarse:
                unit = plan.unit(a)
                table = coarse_sums(context, plan, a, fields[a][0], places, n_threads)
                if fields[a][-1]:
                    rows, sums = isolated_sums(context, a, fields[a], number)
                    column = np.empty(m, np.int64)
                    column[order] = np.arange(m)
                    table[column[rows]] = sums
                bar.update(m)
                note("coarse")
            else:
                unit = float(np.ldexp(t, -2 * cloud.exponent))
                table, report = scale_sums(targets, cloud, np.array([unit]), request, advance=bar.update)
                reports[a] = report.method
                square = np.ldexp(table[:, ROOT_SQUARE].sum(), 2 * cloud.exponent)
                totals[a] = table[:, ROOT_WEIGHT].sum(), square
                note(report.method)
            signatures_of_scale(table, np.array([unit]), np.array([t]), a, n, out, n_threads)
            del table
            note("signatures")
    return out, totals, order, reports


def _signatures(
    plan: SurveyPlan, out: Outputs, rows: np.ndarray, settings: SurveySettings, n_threads: int
) -> Signatures:
    """As `signatures` gives them, each point in its row; what belongs to the whole is NaN."""
    centers, sigma = settings.centers, settings.hds_sigma
    shares = heat_dimension_spectrum(
        out.density, out.dimension, np.array([rows.size]), centers, sigma, n_threads
    )
    out.turn_round(rows, n_threads)
    nan = np.full(len(plan.whole.scales), np.nan)
    hds = HeatDimensionSpectrum(shares[0][0].T, shares[1][0].T, centers, sigma)
    return Signatures(plan.whole.scales, dict(out), nan, nan, nan, nan, hds)


# --- statistics that merge -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pooled:
    """One number per point at one scale, pooled over some points."""

    count: int
    mean: float
    std: float
    keys: np.ndarray  # bins that hold any points, increasing
    counts: np.ndarray

    @classmethod
    def of(cls, values: Array) -> Pooled:
        """Of the values at some points."""
        column = np.ascontiguousarray(values)
        unit = float(np.abs(column).max()) or 1.0  # a density can be 1e200, its square not
        mean, std = float(column.mean()), unit * float((column / unit).std())
        keys, counts = _counted(_ordered(column) >> _SHIFT)
        return cls(len(column), mean, std, keys, counts)


def _counted(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As `np.unique` with counts; numbers of one sign mostly lie so close together that none are sorted."""
    if keys.min() < 0 <= keys.max():
        (low, few), (high, many) = _counted(keys[keys < 0]), _counted(keys[keys >= 0])
        return np.concatenate([low, high]), np.concatenate([few, many])
    first = int(keys.min())
    if int(keys.max()) - first > max(_FEW_BINS, 16 * keys.size):
        return np.unique(keys, return_counts=True)
    counts = np.bincount(keys - first)
    found = np.flatnonzero(counts)
    return found + first, counts[found]


def _ordered(values: Array) -> np.ndarray:
    """Integers in the order of the numbers."""
    bits = (values + 0.0).view(np.int64)  # -0 becomes 0
    return bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))


def _edges(keys: np.ndarray) -> tuple[Array, Array]:
    """The smallest and the largest number of bins."""
    low = keys << _SHIFT
    both = np.stack([low, low | np.int64((1 << _SHIFT) - 1)])
    values = (both ^ ((both >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))).view(np.float64)
    return values[0], values[1]


def merge(parts: Sequence[Pooled]) -> Pooled:
    """The same numbers of all points, from those of the parts, in their order."""
    counts = np.array([part.count for part in parts], dtype=float)
    total = int(counts.sum())
    means, stds = np.array([part.mean for part in parts]), np.array([part.std for part in parts])
    mean = float((counts * means).sum() / total)
    # In units of the largest deviation: a density can be 1e200, its square not.
    apart = means - mean
    unit = float(max(np.abs(apart).max(), stds.max()))
    square = (counts * ((stds / unit) ** 2 + (apart / unit) ** 2)).sum() / total if unit else 0.0
    keys, place = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    sums = np.zeros(keys.size, np.int64)
    np.add.at(sums, place, np.concatenate([part.counts for part in parts]))
    return Pooled(total, mean, unit * float(np.sqrt(square)), keys.astype(np.int64), sums)


def statistics(part: Pooled) -> list[float]:
    """Mean, standard deviation, and the 10th, 50th and 90th percentile, as `pooling.pool` orders them."""
    return [part.mean, part.std, *(_percentile(part, fraction) for fraction in _FRACTIONS)]


def _percentile(part: Pooled, fraction: float) -> float:
    """With linear interpolation between ranks, each rank taken from the middle of its share of the bin."""
    position = fraction * (part.count - 1)
    ranks = np.minimum(np.floor(position) + np.arange(2.0), part.count - 1)
    ends = np.cumsum(part.counts)
    bins = np.searchsorted(ends, ranks, side="right")
    (low, high), counts = _edges(part.keys[bins]), part.counts[bins]
    below, above = low + (high - low) * ((ranks - (ends[bins] - counts) + 0.5) / counts)
    return float(below + (above - below) * (position - np.floor(position)))


# --- from tiles to the whole ---------------------------------------------------------


def pack_result(s: Signatures, totals: Array, reports: list[str], settings: SurveySettings) -> dict[str, Any]:
    """All that a tile adds to the whole, as arrays."""
    m, density = len(s.density), s.density.sum(axis=0)
    tables = [s.density, s.dimension, s.transition]
    if settings.with_spectrum:
        tables += [s.spectrum[:, :, k] for k in range(s.spectrum.shape[2])]
    # In the order of the descriptor: channel by channel, scale by scale.
    parts = [Pooled.of(table[:, a]) for table in tables for a in range(table.shape[1])]
    return {
        "count": m,
        "totals": totals,
        "density": density,
        "shares": s.hds.composition * m,
        "weighted": (s.hds.contrast + s.hds.composition) * density[:, None],
        "moments": np.array([[part.mean, part.std] for part in parts]),
        "widths": np.array([part.keys.size for part in parts]),
        "keys": np.concatenate([part.keys for part in parts]).astype(np.int32),  # 24 bits
        "counts": np.concatenate([part.counts for part in parts]),
        "methods": np.array(reports, dtype=str),
    }


def whole_result(
    settings: SurveySettings,
    plan: SurveyPlan,
    results: Sequence[dict[str, Array]],
    fields: Mapping[int, Any],
) -> dict[str, Any]:
    """Global signatures, heat dimension spectrum and pooled descriptor of the whole cloud."""
    n, scales = settings.n_dims, plan.whole.scales
    totals = np.sum([result["totals"] for result in results], axis=0)
    for a, coarse in fields.items():
        totals[a] = coarse.totals[0], np.ldexp(coarse.totals[1], 2 * plan.frame[1])
    energy = formulas.energy(totals[:, 0], formulas.heat_factor(2.0 * scales, n))
    response = formulas.response(totals[:, 0], totals[:, 1], scales, n)
    roughness = formulas.roughness(energy, response, scales)
    relative = formulas.relative_roughness(energy, roughness)
    count = sum(int(result["count"]) for result in results)
    composition = np.sum([result["shares"] for result in results], axis=0) / count
    density = np.sum([result["density"] for result in results], axis=0)
    contrast = np.sum([result["weighted"] for result in results], axis=0) / density[:, None] - composition
    pooled = np.array([statistics(merge(parts)) for parts in _parts_of(results)])
    pooled = pooled.reshape(-1, len(scales), 5).transpose(0, 2, 1)  # channel, statistic, scale
    blocks = tuple(block for block in PAPER_BLOCKS if settings.with_spectrum or block != "spectrum")
    columns = layout("desc", blocks, n, len(scales), tuple(settings.centers.tolist()))
    values = np.concatenate(
        [energy, response, roughness, relative, composition.T.ravel(), contrast.T.ravel(), pooled.ravel()]
    )
    return {
        "points": count,
        **dict(zip(_GLOBAL, (energy, response, roughness, relative), strict=True)),
        "hds": {
            "centers": settings.centers, "sigma": settings.hds_sigma, "composition": composition,
            "contrast": contrast,
        },
        "descriptor": dict(zip(columns.names, values.tolist(), strict=True)),
    }  # fmt: skip


def _parts_of(results: Sequence[dict[str, Array]]) -> list[list[Pooled]]:
    """For every channel and scale its parts, one per tile."""
    out: list[list[Pooled]] = [[] for _ in results[0]["widths"]]
    for result in results:
        ends = np.cumsum(result["widths"])[:-1]
        both = zip(np.split(result["keys"], ends), np.split(result["counts"], ends), strict=True)
        for own, (mean, std), (keys, counts) in zip(out, result["moments"], both, strict=True):
            own.append(Pooled(int(result["count"]), mean, std, keys, counts))
    return out


# --- the result ----------------------------------------------------------------------


@dataclass(repr=False)
class Survey:
    """One cloud made of tiles: its global signatures, its descriptor, and how it was computed.

    Guide: ``heatfield docs guide/survey``.

    Attributes
    ----------
    points : int
        In all tiles; those of tiles that could not be read are missing.
    scales : (T,)
        Absolute diffusion times, the same for all tiles.
    spacing, diameter : float
        r_nn and the exact largest distance. The spacing is NaN where lengths were given.
    energy, response, roughness, relative_roughness : (T,)
    hds : dict
        ``composition`` and ``contrast`` (T, K), ``centers``, ``sigma``.
    descriptor : dict of str to float
        The descriptor "desc" of the whole; percentiles err by at most ``percentile_error`` of themselves.
    plan : list of dict
        For every scale: how it was computed, its halo or grid, and how many points were summed directly.
    tiles : list of dict
        ``path``, ``target`` (below the folder), ``points`` (owned), ``in_file`` and ``size`` (bytes written)
        of every tile.
    errors : list of FileError
        Tiles that could not be read or written: ``file``, ``place`` and ``problem``.
    settings : dict
        Options of the survey.
    digest, version : str
        Of options and tiles; of the library.
    percentile_error : float
    seconds : dict of str to float
        By pass.
    steps : dict of str to float
        Of the last pass by step, added up over tiles: halo, the ways of summing, signatures (read off the
        sums, in the order of the file), statistics, writing.

    Examples
    --------
    >>> import tempfile, heatfield as hf
    >>> points, _ = hf.datasets.make_mixed_shape()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, part in (("a", points[:200]), ("b", points[200:400])):
    ...         hf.write_points(f"{folder}/{name}.parquet", part)
    ...     s = hf.survey(folder, f"{folder}/out", lengths=[0.1, 0.2])
    ...     again = hf.Survey.read(f"{folder}/out")
    >>> again.points, again.energy.shape, again.errors
    (400, (2,), [])
    >>> again
    Survey of 400 points in 2 tiles: 2 scales, sqrt(t) = 0.1, 0.2, 0 errors
    """

    points: int
    scales: Array
    spacing: float
    diameter: float
    energy: Array
    response: Array
    roughness: Array
    relative_roughness: Array
    hds: dict[str, Any]
    descriptor: dict[str, float]
    plan: list[dict[str, Any]]
    tiles: list[dict[str, Any]]
    errors: list[FileError]
    settings: dict[str, Any]
    digest: str
    version: str
    percentile_error: float = PERCENTILE_ERROR
    seconds: dict[str, float] = field(default_factory=dict)
    steps: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        lengths = shown(f"{length:.4g}" for length in np.sqrt(self.scales))
        where = f"{plural(self.points, 'point')} in {plural(len(self.tiles), 'tile')}"
        return (
            f"Survey of {where}: {len(self.scales)} scales, sqrt(t) = {lengths}, "
            f"{plural(len(self.errors), 'error')}"
        )

    @classmethod
    def read(cls, folder: str | Path) -> Survey:
        """What `survey` wrote to its folder; a ValueError where there is nothing, or something else.

        Parameters
        ----------
        folder : path-like

        Returns
        -------
        survey : Survey
        """
        path = Path(folder) / NAME
        try:
            found = json.loads(path.read_bytes())
            for name in ("scales", *_GLOBAL):
                found[name] = np.array(found[name], dtype=float)
            found["errors"] = [FileError(*map(str, words)) for words in found["errors"]]
            found["hds"] = {k: v if k == "sigma" else np.array(v, float) for k, v in found["hds"].items()}
            return cls(**found)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(f"{str(path)!r} is not the result of a survey: {error}") from None


def write_survey(found: Survey, folder: Path) -> None:
    """``survey.json``, in one step."""
    text = json.dumps(vars(found), default=_plain, indent=1, sort_keys=True)
    write_atomically(folder / NAME, (text + "\n").encode())


def _plain(value: Any) -> Any:
    if isinstance(value, FileError):
        return [value.file, value.place, value.problem]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
