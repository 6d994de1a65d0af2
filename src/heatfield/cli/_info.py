"""``heatfield info``: what is in a file, and what describing it would cost."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, Any

from ._reading import add_reading, reading_options
from ._scales import add_scales, scale_options, words

if TYPE_CHECKING:
    from ..io import Cloud

# Seconds from which the paragraph says how to take less.
_LONG = 60
_BUDGET = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="files of points")
    add_scales(parser, ends=False)
    add_reading(parser)


def run(options: argparse.Namespace) -> int:
    """Print one paragraph a file; 1 if one of them cannot be read."""
    import sys

    from ..io import ReadError, read_cloud
    from ._reading import printable
    from ._words import in_command_words

    failed = False
    # What is in the file: of a skeleton its nodes, unless a budget asks for points.
    reading, scales = reading_options(options), scale_options(options)
    reading["skeleton"] = "nodes" if options.nodes else None
    for file in options.files:
        try:
            print(printable(file), *_facts(read_cloud(file, **reading), scales), sep="\n  ")
        except ReadError as error:
            print(f"heatfield info: {printable(in_command_words(str(error)))}", file=sys.stderr)
            failed = True
    return int(failed)


def _facts(cloud: Cloud, asked: dict[str, Any]) -> list[str]:
    """The paragraph, line by line."""
    import numpy as np

    from .._base.check import HeatFieldWarning, thread_count
    from .._signatures.forecast import expected_seconds
    from .._signatures.scales import scale_schedule

    points = cloud.points
    m, n = points.shape
    lines = [f"format      {cloud.format}", f"points      {m} in {n} dimensions"]
    if cloud.faces is not None:
        lines.append(f"triangles   {len(cloud.faces)}")
    if cloud.parents is not None:
        roots = int((cloud.parents < 0).sum())
        ends = np.flatnonzero(cloud.parents >= 0)
        length = float(np.sqrt(((points[ends] - points[cloud.parents[ends]]) ** 2).sum(axis=1)).sum())
        lines.append(
            f"skeleton    {len(ends)} segments, {length:.6g} long in all, {roots} root{'s' * (roots != 1)}"
        )
    if cloud.columns:
        lines.append(
            "columns     " + ", ".join(f"{name} ({c.dtype.name})" for name, c in cloud.columns.items())
        )
    if m == 0:
        return lines
    low, high = points.min(axis=0), points.max(axis=0)
    for axis in range(min(n, 8)):
        name = "xyz"[axis] if n <= 3 else f"x{axis}"
        lines.append(
            f"{name:11s} {low[axis]:.10g} .. {high[axis]:.10g}  (extent {high[axis] - low[axis]:.6g})"
        )
    distinct = len(np.unique(points, axis=0))
    lines.append(f"duplicates  {m - distinct}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeatFieldWarning)
        own = scale_schedule(points, asked["n_scales"])
    if np.isnan(own).any():
        return [*lines, "scales      none: two distinct points are needed"]
    lines.append(f"r_nn        {np.sqrt(own[0] / 0.05):.6g}  (mean distance to the nearest other point)")
    lines.append(f"diameter    {np.sqrt(own[-1] / 0.25):.6g}")
    scales = own if asked["lengths"] is None else np.square(asked["lengths"])
    lines.append("lengths √t  " + words(np.sqrt(scales).tolist()))
    lines.append("scales t    " + "  ".join(f"{t:.4g}" for t in scales))
    forecast = expected_seconds(points, scales)
    cores = thread_count(-1)
    lines.append(
        f"describing  about {_duration(forecast.seconds)} on one core, by the {forecast.path} path; "
        f"this machine has {cores} core{'s' * (cores > 1)}"
    )
    if forecast.seconds > _LONG and m > _BUDGET:
        some = points[np.random.default_rng(0).permutation(m)[:_BUDGET]]
        less = expected_seconds(
            some, None if asked["lengths"] is None else scales, n_scales=len(scales)
        ).seconds
        lines.append(f"            with --budget {_BUDGET} about {_duration(less)}")
    return lines


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{max(1, round(1000 * seconds))} ms"
    return (
        f"{seconds:.0f} s"
        if seconds < 120
        else (f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h")
    )
