"""``heatfield survey``: many tiles that are one cloud; stopped at any time, it goes on where it was."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ._ours import is_errors, may_replace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "tiles",
        nargs="+",
        metavar="TILE",
        help="files, folders, patterns in quotes, or URLs",
    )
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FOLDER", help="where tiles with signatures go"
    )
    add_cluster(parser)
    parser.add_argument(
        "--scales", type=int, default=8, metavar="T", help="number of diffusion times (default 8)"
    )
    parser.add_argument(
        "--times", metavar="A,B", help="absolute diffusion times instead, in units of length squared"
    )
    parser.add_argument(
        "--c-min", type=float, default=0.05, metavar="C", help="finest time over r_nn² (default 0.05)"
    )
    parser.add_argument(
        "--c-max", type=float, default=0.25, metavar="C", help="coarsest time over diam² (default 0.25)"
    )
    parser.add_argument("--transition", choices=("difference", "exact"), default="difference")
    parser.add_argument("--tol", type=float, default=1e-4, help="promised at every point (default 1e-4)")
    parser.add_argument(
        "--overlap", choices=("keep", "drop"), default="keep",
        help="drop: of points in overlapping tiles, only those of the tile whose centre is nearest",
    )  # fmt: skip
    parser.add_argument(
        "--point-channels", metavar="A,B", default="density,dimension,transition,spectrum",
        help="what to write: some of density,dimension,transition,spectrum (default: all)",
    )  # fmt: skip
    parser.add_argument("--point-dtype", choices=("float64", "float32"), default="float32")
    parser.add_argument(
        "--format", choices=("las", "laz", "parquet"), help="of the tiles written (default: as read)"
    )
    parser.add_argument("--memory", type=float, metavar="GIB", help="for one task (default: by worker)")
    parser.add_argument("--jobs", type=int, default=-1, help="threads without a cluster (default: all cores)")
    parser.add_argument(
        "--at-once", type=int, default=1, metavar="K", help="tiles at a time without a cluster (default 1)"
    )
    parser.add_argument(
        "--drop-invalid", action="store_true", help="leave out points that are NaN or infinite"
    )
    parser.add_argument("--max-bytes", type=int, metavar="N", help="the most a tile may unpack to")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """The option of all verbs that a cluster can work for."""
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="a Dask scheduler (tcp://host:8786), or local[:N] processes"
    )


def run(options: argparse.Namespace) -> int:
    """0: all tiles written. 1: some could not be, see errors.csv in the folder. 2: nothing could start."""
    from ..cluster import survey
    from ..cluster._work_folder import WORK, own_folder
    from ._features import write_errors
    from ._lock import alone

    out: Path = options.out
    tiles = _tiles(options.tiles, out)
    own_folder(out)
    may_replace(out / "survey.errors.csv", is_errors, "a list of failed files")
    memory = None if options.memory is None else options.memory * 2**30
    with alone(out / WORK, out):
        found = survey(
            tiles,
            out,
            options.cluster,
            scales=_times(options.times),
            n_scales=options.scales,
            c_min=options.c_min,
            c_max=options.c_max,
            transition=options.transition,
            tol=options.tol,
            overlap=options.overlap,
            channels=[word.strip() for word in options.point_channels.split(",")],
            point_dtype=options.point_dtype,
            format=options.format,
            memory=memory,
            n_jobs=options.jobs,
            at_once=options.at_once,
            invalid="drop" if options.drop_invalid else "raise",
            max_bytes=options.max_bytes,
            quiet=options.quiet,
        )
        path = write_errors(out / "survey", found.errors)
    if not options.quiet:
        print(f"{found.points:,} points of {len(found.tiles) - len(found.errors)} tiles -> {out}")
        for entry in found.plan:
            print(f"scale {entry['scale']} (sqrt(t) = {entry['t'] ** 0.5:.4g}): {entry['reason']}")
    if found.errors:
        print(
            f"heatfield survey: {len(found.errors)} of {len(found.tiles)} tiles failed: {path}",
            file=sys.stderr,
        )
        for file, _, problem in found.errors[:10]:
            print(f"  {file}: {problem}", file=sys.stderr)
    return 1 if found.errors else 0


def _tiles(words: list[str], out: Path) -> list[str]:
    """The tiles, sorted, without what an earlier survey wrote to the folder."""
    from ..io import is_remote
    from ._collect import collect

    inside = os.path.realpath(out) + os.sep
    files = collect(words)[0]
    kept = [file for file in files if is_remote(file) or not os.path.realpath(file).startswith(inside)]
    if not kept:
        raise ValueError(f"there are no tiles but those in {str(out)!r} itself")
    return kept


def _times(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(f"--times must be numbers with commas between, got {text!r}") from None
