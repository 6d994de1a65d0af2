"""``heatfield points``: learn the labels of points, and give them to the points of other files."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._reading import add_reading


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb: two jobs, each with its own."""
    jobs = parser.add_subparsers(dest="job", metavar="JOB", required=True, title="jobs")
    train = jobs.add_parser("train", help="learn from files whose points have labels")
    predict = jobs.add_parser("predict", help="label every point of other files")
    _train_arguments(train)
    _predict_arguments(predict)


def _train_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, or patterns in quotes")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="MODEL",
        help="the model, a new folder, or one that holds an older model",
    )  # fmt: skip
    parser.add_argument(
        "--label", metavar="COLUMN", help="column of the labels (default: classification, else label)"
    )
    parser.add_argument(
        "--ignore", metavar="A,B", help="labels that stand for none, such as 0,1 of LAS (default: none)"
    )
    parser.add_argument(
        "--lengths", metavar="A,B,..",
        help="lengths √t in the unit of the data (default: six, from the spacing of the training files on)",
    )  # fmt: skip
    parser.add_argument("--columns", metavar="A,B", help="columns to learn from too, such as intensity")
    parser.add_argument("--blocks", metavar="A,B", help="only these blocks; see docs/guide/points.md")
    parser.add_argument(
        "--cell", type=float, metavar="L", help="side of the cells of height (default: 4 largest lengths)"
    )
    parser.add_argument(
        "--per-class", type=int, default=50_000, metavar="N", help="training points per class (default 50000)"
    )
    parser.add_argument(
        "--test-points", type=int, default=200_000, metavar="N",
        help="points of each file on which the validation counts (default 200000)",
    )  # fmt: skip
    parser.add_argument(
        "--class-weight", choices=("balanced", "none"), default="balanced", help="default balanced"
    )
    parser.add_argument(
        "--iterations", type=int, default=150, metavar="K", help="trees per class (default 150)"
    )
    parser.add_argument(
        "--folds", type=int, default=5, metavar="K",
        help="validation on whole files, in K parts; 0 for none (default 5, or as many as files)",
    )  # fmt: skip
    parser.add_argument("--tol", type=float, default=1e-4, help="what the sums promise (default 1e-4)")
    add_reading(parser, seed="of the choice of points, of the folds and of the trees")
    parser.add_argument("--jobs", type=int, default=-1, help="threads (default: all cores)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no report")


def _predict_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="a folder that 'heatfield points train' wrote"
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, or patterns in quotes")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FOLDER", help="a folder for the labelled files"
    )
    parser.add_argument(
        "--format", choices=("las", "laz", "ply", "parquet", "csv", "npz"),
        help="of the labelled files (default: as the file, laz for other kinds)",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, default=-1, help="threads (default: all cores)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")


def run(options: argparse.Namespace) -> int:
    """0: done. 1: some files could not be used, see the .errors.csv. 2: nothing could start."""
    if options.job == "train":
        from ._points_train import run_train

        return run_train(options)
    from ._points_predict import run_predict

    return run_predict(options)
