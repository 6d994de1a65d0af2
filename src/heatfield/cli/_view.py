"""``heatfield view``: one file of points in, one page to look at out."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from ._reading import add_reading, reading_options, skeleton_words
from ._scales import add_scales, scale_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("file", metavar="FILE", help="a file of points")
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=Path("view.html"),
        metavar="PAGE",
        help="default view.html",
    )
    add_scales(parser)
    parser.add_argument(
        "--most-points", type=int, default=200_000, metavar="M",
        help="draw at most M points, chosen at random, with their signatures in the whole (default 200000)",
    )  # fmt: skip
    add_reading(parser)
    parser.add_argument("--theme", choices=("auto", "dark", "light"), default="auto", help="at first")
    parser.add_argument("--jobs", type=int, default=-1, help="threads (default: all cores)")
    parser.add_argument("--quiet", action="store_true", help="say nothing")


def run(options: argparse.Namespace) -> int:
    """0: the page is written. 1: the file cannot be read. 2: nothing could start."""
    from .._base.check import check_count
    from .._base.files import write_atomically
    from ..io import ReadError, read_cloud
    from ..io._point_signatures import coordinate_unit
    from ..view import view_page
    from ._pages import check_page, page_size
    from ._reading import printable
    from ._words import in_command_words

    out = check_page(options.out, options.file)
    scales = scale_options(options)
    check_count(options.most_points, "--most-points", 1)
    reading = reading_options(options)

    def say(words: str) -> None:
        if not options.quiet:
            print(printable(words), flush=True)

    started = time.perf_counter()
    try:
        cloud = read_cloud(options.file, **reading)
    except ReadError as error:
        print(f"heatfield view: {printable(in_command_words(str(error)))}", file=sys.stderr)
        return 1
    m, n = cloud.points.shape
    if cloud.format == "swc":
        say(skeleton_words(["x.swc"], reading))
    count = len(scales["lengths"] or range(scales["n_scales"]))
    say(f"{options.file}: {m:,} points in {n} dimensions; computing signatures at {count} scales ...")
    page = view_page(
        cloud.points,
        name=printable(Path(options.file).name),
        columns=cloud.columns,
        **scales,
        most_points=options.most_points,
        unit=coordinate_unit(cloud),
        upright=cloud.format in ("las", "pcd"),
        theme=options.theme,
        n_jobs=options.jobs,
    )
    write_atomically(out, page.encode())
    if m > options.most_points:
        say(f"drawn are {options.most_points:,} points chosen at random, with their signatures in all {m:,}")
    say(f"{out}: {page_size(page)} after {time.perf_counter() - started:.1f} s; open it in a browser")
    return 0
