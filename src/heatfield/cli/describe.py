"""``heatfield describe``: see `describe_files`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ..options import Features, PointFiles, Reading, Run
from .parsing import add_options, add_paths, add_quiet, add_tables, failed_files, given, say

_GROUPS = (Features, Reading, PointFiles, Run)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    from ..workflows.describe import POINT_SUFFIXES

    add_paths(parser)
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FILE", help="the table: .parquet, .csv or .npz"
    )
    add_tables(parser, "labels")
    parser.add_argument(
        "--per-point", choices=POINT_SUFFIXES, metavar="FORMAT",
        help=f"also write signatures at every point, one file per cloud: {', '.join(POINT_SUFFIXES)}",
    )  # fmt: skip
    add_options(parser, *_GROUPS)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """0: all described. 1: some files could not be, see NAME.errors.csv."""
    from ..workflows.describe import describe_files
    from ..workflows.files import skeleton_words

    started = time.perf_counter()
    table = describe_files(
        options.paths,
        options.out,
        labels=options.labels,
        per_point=options.per_point,
        **given(options, *_GROUPS),
    )
    seconds = time.perf_counter() - started
    files = len(table) + len(table.errors)
    say(options, f"{len(table)} of {files} clouds -> {options.out}" + (
        f"; {table.resumed} were done before" if table.resumed else ""
    ))  # fmt: skip
    say(options, f"{seconds:.1f} s, {(files - table.resumed) / seconds:.1f} clouds per second")
    say(options, skeleton_words(table.files, Reading(**table.settings["reading"])))
    if table.empty:
        say(options, f"{table.empty} clouds have fewer than two distinct points: their features are NaN")
    return failed_files("describe", table.errors, files, options.out.with_suffix(".errors.csv"))
