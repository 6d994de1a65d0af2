"""One file: what is in it (`info`), and a page to look at it (`view_file`)."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._base.check import Array, HeatFieldWarning, as_points, check_range, thread_count
from .._base.files import write_atomically
from .._base.progress import show_progress
from .._base.summary import duration, plural
from ..core.clouds import without_isolated
from ..heat_signatures import expected_seconds
from ..io import Cloud, chain_words, read_cloud
from ..io.write import coordinate_unit
from ..options import Local, Reading, Scales, View, takes
from ..sampling import resample, seed_from_name
from ..scales import scale_schedule
from ..view import view_page
from .files import PAGE, PathLike, check_out, printable, shown

_LONG = 60  # seconds from which on it is said how to take less
_FEWER = 4096  # points


@dataclass(frozen=True)
class FileInfo:
    """What is in a file, and what describing it would cost; as text, a few lines.

    Guide: ``heatfield docs guide/describe``.

    Parameters
    ----------
    file : str
    cloud : Cloud
        All that the file holds: of skeletons and meshes their nodes.
    points : (m, n) array
        What would be described.
    isolated : int
        How many of them are isolated, see `isolated_points`: the rest of this is of the others.
    spacing, diameter : float
        Mean distance to the nearest other point, largest distance of two; NaN without two distinct points.
    lengths : (T,) array
        Lengths sqrt(t) of the scales.
    seconds : float
        What describing the points takes on one core.
    path : str
        By which path: "dense" or "fast".

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.write_points(f"{folder}/a.ply", np.random.default_rng(0).random((40, 3)))
    ...     found = hf.info(f"{folder}/a.ply")
    >>> found.cloud.format, found.points.shape, len(found.lengths), found.path
    ('ply', (40, 3), 8, 'dense')
    """

    file: str
    cloud: Cloud
    points: Array
    isolated: int
    spacing: float
    diameter: float
    lengths: Array
    seconds: float
    path: str

    def __repr__(self) -> str:
        return "\n  ".join(map(shown, [self.file, *(f"{key:11} {text}" for key, text in self._lines())]))

    def _lines(self) -> list[tuple[str, str]]:
        cloud, points = self.cloud, self.points
        m, n = cloud.points.shape
        lines = [("format", cloud.format), ("points", f"{m} in {plural(n, 'dimension')}")]
        if cloud.faces is not None:
            lines.append(("triangles", f"{len(cloud.faces)}"))
        if cloud.parents is not None:
            ends = np.flatnonzero(cloud.parents >= 0)
            steps = cloud.points[ends] - cloud.points[cloud.parents[ends]]
            length, roots = np.sqrt((steps**2).sum(axis=1)).sum(), m - len(ends)
            words = f"{plural(len(ends), 'segment')}, {length:.6g} long in all, {plural(roots, 'root')}"
            lines.append(("skeleton", words))
        if chain_words(cloud):
            lines.append(("chains", chain_words(cloud)))
        if cloud.columns:
            kinds = (f"{name} ({column.dtype.name})" for name, column in cloud.columns.items())
            lines.append(("columns", ", ".join(kinds)))
        if m == 0:
            return lines
        for axis, (low, high) in enumerate(zip(cloud.points.min(0), cloud.points.max(0), strict=True)):
            if axis < 8:
                name = "xyz"[axis] if n <= 3 else f"x{axis}"
                lines.append((name, f"{low:.10g} .. {high:.10g}  (extent {high - low:.6g})"))
        lines.append(("duplicates", f"{m - len(np.unique(cloud.points, axis=0))}"))
        if len(points) != m:
            lines.append(("described", plural(len(points), "point")))
        if np.isnan(self.spacing):
            return [*lines, ("scales", "none: two distinct points are needed")]
        if self.isolated:
            share = f"{100 * self.isolated / len(points):.2g} % of the points are isolated ({self.isolated})"
            lines.append(("isolated", f"{share}; joint, and all below, leave them out"))
        lines.append(("r_nn", f"{self.spacing:.6g}  (mean distance to the nearest other point)"))
        lines.append(("diameter", f"{self.diameter:.6g}"))
        named = (f"s{a} {length:.4g}" for a, length in enumerate(self.lengths))
        lines.append(("lengths √t", ", ".join(named)))
        words = f"about {duration(self.seconds)} on one core, by the {self.path} path"
        lines.append(("describing", f"{words}; this machine has {plural(thread_count(-1), 'core')}"))
        if self.seconds > _LONG and len(points) > _FEWER:
            some = points[np.random.default_rng(0).permutation(len(points))[:_FEWER]]
            less = expected_seconds(some, n_scales=len(self.lengths)).seconds
            lines.append(("", f"with budget={_FEWER} about {duration(less)}"))
        return lines


@takes(Scales, Reading)
def info(file: PathLike, *, scales: Scales, reading: Reading) -> FileInfo:
    """What is in a file, and what describing it would cost.

    Guide: ``heatfield docs guide/describe``.

    Parameters
    ----------
    file : path-like
    {options}

    Returns
    -------
    info : FileInfo
        Printed, a few lines.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.write_points(f"{folder}/a.xyz", np.eye(3))
    ...     print(str(hf.info(f"{folder}/a.xyz")).splitlines()[2])
      points      3 in 3 dimensions
    """
    whole = read_cloud(file, **{**vars(reading), "nodes": True, "budget": None})
    points = resample(whole, reading, seed_from_name(Path(file).name, reading.seed)).points
    low, high = check_range(scales.c_min, scales.c_max)
    nan = float("nan")
    spacing, diameter, lengths, seconds, path = nan, nan, np.empty(0), nan, ""
    described = without_isolated(points)
    if len(points):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeatFieldWarning)
            times = scale_schedule(described, scales.n_scales, c_min=low, c_max=high)
        spacing, diameter = float(np.sqrt(times[0] / low)), float(np.sqrt(times[-1] / high))
        lengths = np.sqrt(times) if scales.lengths is None else np.array(scales.lengths)
    if not np.isnan(spacing):
        forecast = expected_seconds(described, lengths**2)
        seconds, path = forecast.seconds, forecast.path
    isolated = len(points) - len(described)
    return FileInfo(os.fspath(file), whole, points, isolated, spacing, diameter, lengths, seconds, path)


@takes(Scales, View, Reading, Local)
def view_file(
    file: PathLike,
    out: PathLike = "view.html",
    *,
    scales: Scales,
    view: View,
    reading: Reading,
    local: Local,
) -> Path:
    """A page to look at one file: turn it, colour it by its signatures and columns, step through the scales.

    Guide: ``heatfield docs guide/view``.

    Parameters
    ----------
    file : path-like
    out : path-like
        The page, a file .html.
    {options}

    Returns
    -------
    page : Path

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.write_points(f"{folder}/a.ply", np.random.default_rng(0).random((40, 3)))
    ...     hf.view_file(f"{folder}/a.ply", f"{folder}/a.html").stat().st_size > 10_000
    True
    """
    page = check_out(out, *PAGE)
    with show_progress(local.progress):
        cloud = read_cloud(file, **vars(reading))
        text = view_page(
            as_points(cloud.points),
            name=printable(Path(file).name),
            columns=cloud.columns,
            unit=coordinate_unit(cloud),
            upright=cloud.format in ("las", "pcd"),
            n_jobs=local.n_jobs,
            **vars(scales),
            **vars(view),
        )
    write_atomically(page, text.encode())
    return page
