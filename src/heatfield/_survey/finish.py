"""Pass 3: the signatures of one tile, from its points, its halo and the fields of coarse scales."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .._base.check import Array
from .._base.progress import progress_bar
from .._signatures.signatures import HeatDimensionSpectrum, Signatures
from ..core.cloud import ArrangedCloud
from ..core.evaluate import read_off_scale
from ..core.moments import ROOT_SQUARE, ROOT_WEIGHT
from ..core.one_scale import scale_sums
from ..core.outputs import Outputs, fill_transition, heat_dimension_spectrum
from ..core.targets import Targets
from ..io import Cloud, write_signatures
from ..workflows.files import FileError
from .grid import TileField, coarse_sums, isolated_sums
from .plan import Plan
from .settings import Context, SurveySettings
from .summary import pack_result
from .tiles import ChangedError, Source, halo, load_tiles, points_of, read_source

# The number of the tile, its file, where it is written, and what it needs of the fields of coarse scales.
TileLoad = tuple[Context, Plan, int, Source, Path, dict[int, TileField]]


def finish_tile(load: TileLoad, n_threads: int) -> dict[str, Any]:
    """Compute and write one tile; what it adds to the whole is the result.

    A file that cannot be made of this tile is its problem alone; a disk that is full is everybody's.
    """
    context, plan, number, source, folder, _ = load
    settings, tile = context.settings, load_tiles(context)[number]
    seconds: dict[str, float] = {}
    note = _stopwatch(seconds)
    points = np.array(points_of(context, tile))
    out, totals, order, reports = _outputs(load, points, n_threads, note)
    rows = points_of(context, tile, "rows")[order]  # of the file, for each row of the outputs
    owned = np.sort(rows)
    if not out.exact:
        fill_transition(out, np.log(plan.whole.scales)[:, None], n_threads)
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
    except Exception as error:  # coordinates that the format cannot hold, for instance
        found = FileError.of(source.path, error)
        problem = (found.place, found.problem)
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
        targets = Targets.at_indices(cloud, order).places
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
            read_off_scale(table, np.array([unit]), np.array([t]), a, n, out, n_threads)
            del table
            note("signatures")
    return out, totals, order, reports


def _signatures(
    plan: Plan, out: Outputs, rows: np.ndarray, settings: SurveySettings, n_threads: int
) -> Signatures:
    """As `signatures` gives them, each point in its row; what belongs to the whole is NaN."""
    centers, sigma = settings.centers, settings.hds_sigma
    shares = heat_dimension_spectrum(
        out.density, out.dimension, np.array([rows.size]), centers, sigma, n_threads
    )
    out.turn_round(rows, n_threads)
    nan = np.full(len(plan.whole.scales), np.nan)
    hds = HeatDimensionSpectrum(shares[0][0].T, shares[1][0].T, centers, sigma)
    local = out.density, out.dimension, out.transition, out.spectrum
    return Signatures(plan.whole.scales, *local, nan, nan, nan, nan, hds)
