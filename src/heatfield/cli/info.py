"""``heatfield info``: see `info`."""

from __future__ import annotations

import argparse
import sys

from ..options import Reading, Scales
from .parsing import add_options, given


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="files of points")
    add_options(parser, Scales, Reading)


def run(options: argparse.Namespace) -> int:
    """0: printed. 1: some files cannot be read."""
    from ..io import ReadError
    from ..workflows.files import shown
    from ..workflows.one_file import info

    failed = 0
    for file in options.files:
        try:
            print(info(file, **given(options, Scales, Reading)))
        except ReadError as error:
            print(shown(f"heatfield info: {error}"), file=sys.stderr)
            failed = 1
    return failed
