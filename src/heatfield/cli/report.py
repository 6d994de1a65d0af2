"""``heatfield report``: see `report_files`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ..options import Features, Head, Reading, Report, Run
from .parsing import add_options, add_quiet, add_tables, failed_files, file_size, given, say

_GROUPS = (Features, Head, Report, Reading, Run)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument(
        "folder", metavar="FOLDER", help="clouds; where they lie in folders below it, these are the classes"
    )
    parser.add_argument("-o", "--out", default="report.html", metavar="PAGE", help="default report.html")
    add_tables(parser, "labels", "groups")
    parser.add_argument(
        "--figures", type=Path, metavar="FOLDER",
        help="also each figure as figure-NAME.svg: map, spectra, confusion, blocks, scales",
    )  # fmt: skip
    add_options(parser, *_GROUPS)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """0: the page is written. 1: written, but some files could not be used."""
    from ..workflows.files import skeleton_words
    from ..workflows.report import report_files

    started = time.perf_counter()
    result = report_files(
        options.folder,
        options.out,
        labels=options.labels,
        groups=options.groups,
        figures=options.figures,
        **given(options, *_GROUPS),
    )
    table, errors = result.table, result.errors
    done = f"; {table.resumed} were done before" if table.resumed else ""
    say(options, f"{len(table)} of {len(table) + len(errors)} clouds{done}")
    say(options, skeleton_words(table.files, Reading(**table.settings["reading"])))
    say(options, f"{result.path}: {file_size(result.path)} after {time.perf_counter() - started:.1f} s")
    if options.figures is not None:
        say(options, f"{len(result.figures)} figures -> {options.figures}")
    return failed_files("report", errors, len(table) + len(errors), f"the end of {result.path}")
