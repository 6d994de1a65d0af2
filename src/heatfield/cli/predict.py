"""``heatfield predict``: see `predict_files`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..options import Local, Prediction
from .parsing import add_options, add_paths, add_quiet, failed_files, given, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("model", metavar="MODEL", help="a folder that 'heatfield train' wrote")
    add_paths(parser)
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="the table, a .csv (default: labels are printed)"
    )
    add_options(parser, Prediction, Local)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """0: all classified. 1: some files could not be read."""
    from ..workflows.predict import predict_files

    found = predict_files(options.model, options.paths, options.out, **given(options, Prediction, Local))
    files = len(found) + len(found.errors)
    if options.out is None:
        for line in found.lines():
            print(line)
        return failed_files("predict", found.errors, files)
    say(options, f"{len(found)} of {files} files -> {options.out}")
    if not options.quiet and found.uncalibrated:
        print(f"heatfield predict: {found.uncalibrated}", file=sys.stderr)
    odd = sum(bool(note) for note in found.notes)
    if odd:
        words = f"{odd} of {len(found)} clouds are unlike the training set, see the column note"
        print(f"heatfield predict: {words}", file=sys.stderr)
    return failed_files("predict", found.errors, files, options.out.with_suffix(".errors.csv"))
