"""``heatfield view``: see `view_file`."""

from __future__ import annotations

import argparse
import time

from ..options import Local, Reading, Scales, View
from .parsing import add_options, add_quiet, file_size, given, say

_GROUPS = (Scales, View, Reading, Local)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("file", metavar="FILE", help="a file of points")
    parser.add_argument("-o", "--out", default="view.html", metavar="PAGE", help="default view.html")
    add_options(parser, *_GROUPS)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """0: the page is written."""
    from ..workflows.files import shown, skeleton_words
    from ..workflows.one_file import view_file

    started = time.perf_counter()
    page = view_file(options.file, options.out, **given(options, *_GROUPS))
    seconds = time.perf_counter() - started
    say(options, skeleton_words([options.file], Reading(**given(options, Reading))))
    say(options, shown(f"{options.file} -> {page}: {file_size(page)} after {seconds:.1f} s"))
    return 0
