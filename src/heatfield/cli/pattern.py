"""``heatfield pattern``: see `pattern_test`."""

from __future__ import annotations

import argparse

from ..options import Local, Pattern, Reading
from .parsing import add_options, add_quiet, given, listed, say

_GROUPS = (Pattern, Reading, Local)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("file", metavar="FILE", help="a file of points in the plane or in space")
    window = parser.add_mutually_exclusive_group()
    window.add_argument(
        "--window", type=lambda text: listed(text, float), metavar="X0,Y0,X1,Y1",
        help="corners of the rectangle or box in which it was observed (default: the bounding box)",
    )  # fmt: skip
    window.add_argument("--polygon", metavar="FILE", help="vertices of a polygon instead, a file of points")
    parser.add_argument(
        "--intensity", metavar="FILE",
        help="test against this density: a table x,y,value, of which the nearest row counts",
    )  # fmt: skip
    parser.add_argument("-o", "--out", metavar="FILE", help="the result, a .json")
    parser.add_argument("--plot", metavar="PICTURE", help="the curves, a .png or .svg")
    add_options(parser, *_GROUPS)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """0: tested."""
    from ..workflows.pattern import pattern_test

    result = pattern_test(
        options.file,
        options.window or options.polygon,
        intensity=options.intensity,
        out=options.out,
        plot=options.plot,
        **given(options, *_GROUPS),
    )
    say(options, str(result))
    if result.ranges:
        say(options, "a distance is 2√t, twice a length")
    for path in (options.out, options.plot):
        say(options, f"-> {path}" if path else "")
    return 0
