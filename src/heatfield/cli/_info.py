"""``heatfield info``: what is in a file, and what describing it would cost."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..io import Cloud

# Seconds a pair of points at eight scales on one core: 12 ms for 1,024 points.
_SECONDS_A_PAIR = 1.2e-8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="files of points")
    parser.add_argument(
        "--scales", type=int, default=8, metavar="T", help="number of diffusion times (default 8)"
    )
    parser.add_argument("--atoms", default="CA", help="of molecules: CA, all, or names such as N,CA,C")
    parser.add_argument(
        "--drop-invalid", action="store_true", help="leave out points that are NaN or infinite"
    )
    parser.add_argument(
        "--max-bytes", type=int, metavar="N", help="the most a file may unpack to (default: by its size)"
    )


def run(options: argparse.Namespace) -> int:
    """Print one paragraph a file; 1 if one of them cannot be read."""
    import sys

    from ..io import ReadError, read_cloud
    from ._reading import in_command_words, printable

    failed = False
    for file in options.files:
        try:
            atoms = options.atoms.split(",") if "," in options.atoms else options.atoms
            cloud = read_cloud(
                file,
                atoms=atoms,
                invalid="drop" if options.drop_invalid else "raise",
                max_bytes=options.max_bytes,
            )
            print(printable(file), *_facts(cloud, options.scales), sep="\n  ")
        except ReadError as error:
            print(f"heatfield info: {printable(in_command_words(str(error)))}", file=sys.stderr)
            failed = True
    return int(failed)


def _facts(cloud: Cloud, n_scales: int) -> list[str]:
    """The paragraph, line by line."""
    import numpy as np

    from .._check import HeatFieldWarning
    from .._scales import scale_schedule

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
        scales = scale_schedule(points, n_scales)
    if np.isnan(scales).any():
        return [*lines, "scales      none: two distinct points are needed"]
    lines.append(f"r_nn        {np.sqrt(scales[0] / 0.05):.6g}  (mean distance to the nearest other point)")
    lines.append(f"diameter    {np.sqrt(scales[-1] / 0.25):.6g}")
    lines.append("scales t    " + "  ".join(f"{t:.4g}" for t in scales))
    seconds = _SECONDS_A_PAIR * m * m * n_scales / 8
    lines.append(f"describing  about {_duration(seconds)} on one core")
    if seconds > 30:
        lines.append(
            "slow        the time grows with the square of the points; --budget 4096 takes about 0.2 s"
        )
    return lines


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{max(1, round(1000 * seconds))} ms"
    return (
        f"{seconds:.0f} s"
        if seconds < 120
        else (f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h")
    )
