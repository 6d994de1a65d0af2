"""``heatfield train``: see `train_files`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..options import AnyVariant, Folds, Head, Reading, Run, Training
from .parsing import add_options, add_quiet, add_tables, failed_files, given, say

_GROUPS = (AnyVariant, Head, Training, Folds, Reading, Run)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("folder", metavar="FOLDER", help="a folder with one folder for each class")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="MODEL",
        help="the model, a new folder, or one that holds an older model",
    )  # fmt: skip
    add_tables(parser, "labels", "groups")
    add_options(parser, *_GROUPS)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """0: trained on all files. 1: some could not be read, see MODEL.errors.csv."""
    from ..workflows.files import skeleton_words
    from ..workflows.train import train_files

    model = train_files(
        options.folder,
        options.out,
        labels=options.labels,
        groups=options.groups,
        **given(options, *_GROUPS),
    )
    found = model.cross_validation_
    if found is not None:
        say(options, f"{found}\nfigures -> {options.out}.report.json, {options.out}.confusion.png")
    say(options, model.choice() if hasattr(model, "choice") else "")
    say(options, skeleton_words(model.files_, Reading(**model.notes_["reading"])))
    say(options, f"model -> {options.out}")
    if not options.quiet and model.uncalibrated():
        print(f"heatfield train: {model.uncalibrated()}", file=sys.stderr)
    files = model.n_clouds_ + len(model.errors_)
    return failed_files("train", model.errors_, files, f"{options.out}.errors.csv")
