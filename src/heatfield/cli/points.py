"""``heatfield points train`` and ``predict``: see `train_points` and `predict_points`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ..options import PointTraining, PointValidation, Reading, Run
from .parsing import add_options, add_paths, add_quiet, add_tables, failed_files, given, say

_GROUPS = (PointTraining, PointValidation, Reading, Run)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of both sub-verbs."""
    jobs = parser.add_subparsers(dest="job", metavar="JOB", required=True, title="jobs")
    train = jobs.add_parser("train", help="learn from files whose points have labels")
    add_paths(train)
    train.add_argument(
        "-o", "--out", type=Path, required=True, metavar="MODEL",
        help="the model, a new folder, or one that holds an older model",
    )  # fmt: skip
    train.add_argument(
        "--label", metavar="COLUMN", help="column of the labels (default classification, else label)"
    )
    train.add_argument(
        "--ignore", metavar="A,B", type=lambda text: text.split(","), default=(),
        help="label values to ignore, such as 0,1 (unclassified) in LAS",
    )  # fmt: skip
    add_tables(train, "groups")
    add_options(train, *_GROUPS, leave_out=["nodes"])
    add_quiet(train)
    predict = jobs.add_parser("predict", help="label every point of other files")
    predict.add_argument("model", type=Path, metavar="MODEL", help="a folder that points train wrote")
    add_paths(predict)
    predict.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FOLDER", help="a folder for the labelled files"
    )
    predict.add_argument(
        "--format", metavar="FORMAT",
        help="las, laz, ply, parquet, csv or npz (default: as the file, laz for other kinds)",
    )  # fmt: skip
    add_options(predict, Run)
    add_quiet(predict)


def run(options: argparse.Namespace) -> int:
    """0: done. 1: some files could not be used, see the .errors.csv."""
    return _train(options) if options.job == "train" else _predict(options)


def _train(options: argparse.Namespace) -> int:
    from ..models.points import scores_as_text
    from ..workflows.points import train_points

    model = train_points(
        options.paths, options.out, label=options.label, ignore=options.ignore, groups=options.groups,
        **given(options, *_GROUPS),
    )  # fmt: skip
    notes, settings = model.notes_, model.settings_
    classes = ", ".join(map(str, model.classes_.tolist()))
    say(options, f"{notes['files']} files, {notes['points']:,} points, classes {classes}")
    unit = f", {notes['unit']}" if notes["unit"] else ""
    lengths = ", ".join(f"s{a} {length:g}" for a, length in enumerate(settings.lengths))
    say(options, f"lengths √t{unit}: {lengths}; {len(settings.names)} features per point")
    if model.validation_ is not None:
        say(options, scores_as_text(model.validation_))
    elif getattr(options, "folds", PointValidation.folds):
        say(options, "no validation: it needs at least two files or groups")
    say(options, f"model -> {options.out}")
    failures = options.out.with_name(options.out.name + ".errors.csv")
    return failed_files("points", model.errors, notes["files"] + len(model.errors), failures)


def _predict(options: argparse.Namespace) -> int:
    from ..workflows.points import predict_points

    started = time.perf_counter()
    files = predict_points(
        options.model, options.paths, options.out, format=options.format, **given(options, Run)
    )
    seconds = time.perf_counter() - started
    count = len(files) + len(files.errors)
    say(options, f"{len(files)} of {count} files -> {options.out}" + (
        f"; {files.resumed} were done before" if files.resumed else ""
    ))  # fmt: skip
    say(options, f"{files.points:,} points, {seconds:.1f} s")
    return failed_files("points", files.errors, count, options.out / "predict.errors.csv")
