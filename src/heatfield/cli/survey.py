"""``heatfield survey``: see `heatfield.survey`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..options import Features, PointFiles, Run, Spectrum, Tiling
from .parsing import add_options, add_paths, add_quiet, failed_files, given, say

_GROUPS = (Features, Spectrum, Tiling, PointFiles, Run)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    from .._survey.tiles import LEFT_OUT

    add_paths(parser, "tiles")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FOLDER", help="where tiles with signatures go"
    )
    add_options(parser, *_GROUPS, leave_out=LEFT_OUT)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """0: all tiles written. 1: some could not be read or written, see survey.errors.csv in the folder."""
    from .._survey import ERRORS, survey

    found = survey(options.tiles, options.out, **given(options, *_GROUPS))
    tiles = len(found.tiles)
    say(options, f"{found.points:,} points of {tiles - len(found.errors)} of {tiles} tiles -> {options.out}")
    for entry in found.plan:
        say(options, f"scale {entry['scale']} (sqrt(t) = {entry['length']:.4g}): {entry['reason']}")
    return failed_files("survey", found.errors, tiles, options.out / ERRORS)
