"""`survey`: one cloud from many tiles, larger than memory, in three passes."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._connect import executor_of
from ._run import Run
from ._settings import CHANNELS, Job, SurveySettings, make_job
from ._summary import Survey
from ._third_pass import is_finished
from ._work_folder import WORK, absolute, clear_work, dimension_of, fixed_costs, own_folder, tiles_in


def survey(
    tiles: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    client: Any = None,
    *,
    scales: ArrayLike | None = None,
    n_scales: int = 8,
    c_min: float = 0.05,
    c_max: float = 0.25,
    transition: str = "difference",
    hds_centers: ArrayLike | None = None,
    hds_sigma: float = 0.5,
    tol: float = 1e-4,
    overlap: str = "keep",
    invalid: str = "raise",
    max_bytes: int | None = None,
    channels: Sequence[str] = CHANNELS,
    point_dtype: str = "float32",
    format: str | None = None,
    memory: float | None = None,
    n_jobs: int | None = 1,
    at_once: int = 1,
    quiet: bool = True,
) -> Survey:
    """Signatures of one cloud that lies in many files and need not fit into memory.

    Every tile is written again to ``out`` with its signatures as further columns, and ``survey.json`` with
    those of the whole. Stopped at any time, the next call with the same arguments goes on.

    Guide: ``heatfield docs guide/cluster``.

    Parameters
    ----------
    tiles : sequence of path-like
        LAS, LAZ, COPC, Parquet or any other file of points; URLs are read through fsspec.
    out : path-like
        A folder, which all workers must see under the same name. It may not hold anything else.
    client : distributed.Client, Executor or str, optional
        Who does the work: None is this process; see `describe`.
    scales : array_like (T,), optional
        Absolute diffusion times; the default is the schedule of the whole cloud, as of `scale_schedule`.
    n_scales, c_min, c_max, transition, hds_centers, hds_sigma
        As of `signatures`.
    tol : float, default 1e-4
        What is promised at every point, as of `signatures`: the density to ``tol`` relative to itself,
        dimension to 4 tol, spectrum and closed-form transition to 16 tol absolute.
    overlap : "keep" or "drop"
        Keep: every point of every file counts, as in the concatenation of all tiles. Drop: where tiles
        overlap, a point belongs to the one whose centre is nearest; points of a tile that belong to another
        are left out.
    invalid, max_bytes
        As of `read_cloud`.
    channels : sequence of str
        Which of density, dimension, transition and spectrum to write. Without the spectrum the work is less.
    point_dtype : "float32" or "float64"
        Of the columns that are written.
    format : "las", "laz" or "parquet", optional
        Of the tiles that are written; by default that of the tile, Parquet for other formats.
    memory : float, optional
        Bytes that one task may take; by default what the workers have. A survey that does not fit is an
        error before the work that says what to change.
    n_jobs, at_once : int
        Without a client: threads, and tiles at a time.
    quiet : bool
        No progress bars.

    Returns
    -------
    Survey

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> points = np.random.default_rng(0).random((3000, 3)) * [2, 1, 0.1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.write_points(f"{folder}/west.parquet", points[points[:, 0] < 1])
    ...     hf.write_points(f"{folder}/east.parquet", points[points[:, 0] >= 1])
    ...     s = hf.cluster.survey([f"{folder}/west.parquet", f"{folder}/east.parquet"], f"{folder}/out")
    ...     columns = hf.read_cloud(f"{folder}/out/west.parquet").columns
    >>> s.points, len(columns), bool(np.allclose(s.scales, hf.scale_schedule(points)))
    (3000, 48, True)
    """
    started = time.perf_counter()
    folder = Path(out)
    paths = [absolute(tile) for tile in tiles]
    chosen = tiles_in(folder, paths, format)
    n_dims = dimension_of(paths, max_bytes)
    own_folder(folder)
    settings = SurveySettings(
        n_dims,
        scales=None if scales is None else tuple(np.asarray(scales, dtype=float).tolist()),
        n_scales=n_scales,
        c_min=c_min,
        c_max=c_max,
        tol=tol,
        transition=transition,
        hds_centers=hds_centers,  # type: ignore[arg-type]  # checked there, as are all options
        hds_sigma=hds_sigma,
        overlap=overlap,
        invalid=invalid,
        max_bytes=max_bytes,
        channels=tuple(channels),
        point_dtype=point_dtype,
        format=format,
        costs=fixed_costs(folder),
    )
    job = make_job(settings, chosen, str((folder / WORK).absolute()))
    done = Survey.read(folder)
    if done is not None and done.digest == job.digest and _all_there(job, done):
        return done
    clear_work(job, finished=False)
    with executor_of(client, n_jobs, at_once) as executor:
        found = Run(job, executor, quiet, memory).everything()
    found.seconds["all"] = time.perf_counter() - started
    found.write(folder)
    clear_work(job, finished=True)
    return found


def _all_there(job: Job, done: Survey) -> bool:
    """Whether every tile that could be read was written and is still there; a full disk may have gone."""
    counts = {entry["target"]: entry["points"] for entry in done.tiles}
    return all(is_finished(job, tile.number) for tile in job.tiles if counts.get(tile.target))
