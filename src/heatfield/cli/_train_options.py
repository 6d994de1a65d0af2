"""Options of ``heatfield train``, and the classifier that they describe."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ._reading import add_reading
from ._scales import add_scales, scale_options
from ._survey import add_cluster

_CLOSED_FORM = ("simple", "desc", "joint")
LEARNED = ("full", "dgcnn")
# Without --variant: closed-form features, read out by the best of the fast heads.
OWN_VARIANT = "joint"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a folder with one folder for each class")
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="CSV",
        help="instead: a table with the columns file (in FOLDER) and label",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        required=True,
        metavar="MODEL",
        help="the model, a new folder, or one that holds an older model",
    )
    parser.add_argument(
        "--variant",
        choices=(*_CLOSED_FORM, *LEARNED),
        help="which classifier (default joint, in closed form; full learns the pooling, which takes longer)",
    )
    parser.add_argument(
        "--head",
        choices=("mlp", "lda", "svm", "auto"),
        help="read-out of simple, desc and joint (default mlp; auto where no variant is given)",
    )
    parser.add_argument(
        "--folds", type=int, default=5, metavar="K", help="of the cross-validation; 0 for none (default 5)"
    )
    parser.add_argument(
        "--epochs", type=int, metavar="E", help="passes over the clouds (default: the variant's own)"
    )
    parser.add_argument("--batch", type=int, metavar="B", help="clouds per step (default 32)")
    parser.add_argument(
        "--train-points", type=int, metavar="M", help="draw M points of each cloud in every epoch"
    )
    parser.add_argument(
        "--whole-epochs",
        type=int,
        metavar="E",
        help="with --train-points: all points in the last E epochs (default 15 of 100, 0 for none)",
    )
    parser.add_argument(
        "--label-smoothing", type=float, metavar="S", help="what all wrong classes together are aimed at"
    )
    parser.add_argument(
        "--class-weight", choices=("balanced",), help="rare classes count as much as frequent ones"
    )
    parser.add_argument(
        "--validation",
        type=float,
        metavar="SHARE",
        help="share of the clouds that is not learnt from, but watched",
    )
    parser.add_argument(
        "--patience", type=int, metavar="E", help="with --validation: stop E epochs after the best one"
    )
    add_scales(parser)
    parser.add_argument("--transition", choices=("difference", "exact"), help="default: the variant's own")
    parser.add_argument(
        "--blocks", metavar="A,B", help="only these blocks of features, such as hds,log_density"
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda, ... (default: a GPU if there is one)")
    add_reading(parser, seed="seed of the network, of the folds, and of the sampling of every file")
    parser.add_argument("--jobs", type=int, default=-1, help="threads for the features (default: all cores)")
    add_cluster(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress, no report")


def classifier_settings(options: argparse.Namespace) -> dict[str, Any]:
    """As arguments of `HFSClassifier`."""
    variant = options.variant or OWN_VARIANT
    settings = {
        "variant": variant,
        "head": options.head or ("mlp" if options.variant else "auto"),
        "epochs": options.epochs,
        "batch_size": options.batch,
        "train_points": options.train_points,
        "whole_epochs": options.whole_epochs,
        "label_smoothing": options.label_smoothing,
        "class_weight": options.class_weight,
        "validation": options.validation,
        "patience": options.patience,
        **scale_options(options),
        "transition": options.transition,
        "blocks": [b.strip() for b in options.blocks.split(",")] if options.blocks else None,
        "random_state": options.seed,
        "device": options.device,
        "n_jobs": options.jobs,
    }
    return {**settings, "progress": False} if options.quiet and variant in LEARNED else settings
