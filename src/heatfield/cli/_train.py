"""``heatfield train``: labelled files in, cross-validated figures and a model out."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._reading import add_reading, read_clouds, reading_options

if TYPE_CHECKING:
    import numpy as np

    from .._check import Array

_VARIANTS = ("simple", "desc", "joint", "full", "dgcnn")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="one folder a class in it")
    parser.add_argument(
        "--labels", type=Path, metavar="CSV", help="or: columns file and label, files in FOLDER"
    )
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="MODEL", help="the folder of the model"
    )
    parser.add_argument(
        "--variant", choices=_VARIANTS, default="full", help="which classifier (default full)"
    )
    parser.add_argument(
        "--head",
        choices=("mlp", "lda", "svm", "auto"),
        default="mlp",
        help="read-out of simple, desc and joint",
    )
    parser.add_argument(
        "--folds", type=int, default=5, help="of the cross-validation; 0 for none (default 5)"
    )
    parser.add_argument("--epochs", type=int, help="passes over the clouds (default: the variant's own)")
    parser.add_argument("--batch", type=int, metavar="B", help="clouds a step (default 32)")
    parser.add_argument(
        "--train-points", type=int, metavar="M", help="draw M points of each cloud in every epoch"
    )
    parser.add_argument("--whole-epochs", type=int, metavar="E", help="but all points in the last E epochs")
    parser.add_argument("--label-smoothing", type=float, metavar="S", help="share of the wrong classes")
    parser.add_argument(
        "--class-weight", choices=("balanced",), help="rare classes count as much as frequent ones"
    )
    parser.add_argument(
        "--validation", type=float, metavar="SHARE", help="share of the clouds that only watches"
    )
    parser.add_argument("--patience", type=int, metavar="E", help="stop E epochs after the best one")
    parser.add_argument(
        "--scales", type=int, default=8, metavar="T", help="number of diffusion times (default 8)"
    )
    parser.add_argument("--transition", choices=("difference", "exact"), help="default: the variant's own")
    parser.add_argument(
        "--blocks", metavar="A,B", help="only these blocks of features, such as hds,log_density"
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda, ... (default: a GPU if there is one)")
    add_reading(parser)
    parser.add_argument("--jobs", type=int, default=-1, help="threads for the features (default: all cores)")
    parser.add_argument("--quiet", action="store_true", help="no progress, no report")


def run(options: argparse.Namespace) -> int:
    """0: trained on all files. 1: some could not be read, see MODEL.errors.csv. 2: not trained."""
    import numpy as np

    from .._classifier import HFSClassifier
    from ..datasets import content_hash
    from ..datasets._folder import labelled_files
    from ._features import write_errors

    out: Path = options.out
    if not out.parent.is_dir():
        raise ValueError(f"cannot write {str(out)!r}: no such folder")
    settings = _settings(options)
    HFSClassifier(**settings)._is_learned()  # complains of options that do not go together
    files, names = labelled_files(options.folder, options.labels)
    reading = reading_options(options)
    clouds, errors = read_clouds([str(f) for f in files], reading, quiet=options.quiet)
    kept, labels = list(clouds.values()), np.array([names[i] for i in clouds])
    beside = write_errors(out.with_name(out.name + ".csv"), errors)
    if len(set(labels.tolist())) < 2:
        raise ValueError(
            f"{str(options.folder)!r} must hold at least two classes that can be read, "
            f"got {sorted(set(labels.tolist()))}"
        )
    # What is kept here lets a command that was stopped go on; the names say what it belongs to.
    parts = out.with_name(f"{out.name}.parts")
    content = content_hash(kept, labels)
    text = json.dumps([content, settings, options.folds], sort_keys=True)
    start = parts / hashlib.sha256(text.encode()).hexdigest()[:16]
    model = HFSClassifier(**settings)
    features = _features(model, kept, parts)
    if not options.quiet:
        print(f"{len(kept)} clouds of {len(set(labels.tolist()))} classes, variant {options.variant}")
    report: dict[str, Any] = {
        "settings": settings,
        "reading": reading,
        "clouds": len(kept),
        "content": content,
    }
    if options.folds:
        report["cross_validation"] = _validate(settings, features, kept, labels, options, start)
        _write_report(out, report, options.quiet)
    _fit(model, features, labels, kept, start.with_suffix(".all"))
    model.input_range_ = _range(kept)
    model.save(out, notes={"reading": reading})
    shutil.rmtree(parts, ignore_errors=True)
    if not options.quiet:
        print(f"model -> {out}")
    if errors:
        print(
            f"heatfield train: {len(errors)} of {len(files)} files could not be used, see {beside}",
            file=sys.stderr,
        )
    return 1 if errors else 0


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    settings = {
        "variant": options.variant,
        "head": options.head,
        "epochs": options.epochs,
        "batch_size": options.batch,
        "train_points": options.train_points,
        "whole_epochs": options.whole_epochs,
        "label_smoothing": options.label_smoothing,
        "class_weight": options.class_weight,
        "validation": options.validation,
        "patience": options.patience,
        "n_scales": options.scales,
        "transition": options.transition,
        "blocks": [b.strip() for b in options.blocks.split(",")] if options.blocks else None,
        "random_state": options.seed,
        "device": options.device,
        "n_jobs": options.jobs,
    }
    return (
        {**settings, "progress": False}
        if options.quiet and options.variant in ("full", "dgcnn")
        else settings
    )


def _features(model: Any, clouds: list[Array], parts: Path) -> Any:
    """Computed once for all folds and the final model."""
    if model.variant in ("full", "dgcnn"):
        return model.point_table(clouds, cache=parts)
    return model._descriptor().fit_transform(clouds)


def _fit(model: Any, features: Any, labels: np.ndarray, clouds: list[Array], checkpoint: Path) -> None:
    if model.variant in ("full", "dgcnn"):
        model.set_params(checkpoint=checkpoint)
    model.fit_features(features, labels, n_dims=clouds[0].shape[1])


def _validate(
    settings: dict[str, Any],
    features: Any,
    clouds: list[Array],
    labels: np.ndarray,
    options: argparse.Namespace,
    start: Path,
) -> dict[str, Any] | None:
    """Every cloud predicted once, by a model that has not seen it."""
    import numpy as np
    from sklearn.model_selection import StratifiedKFold

    from .._check import check_count
    from .._classifier import HFSClassifier
    from ._figures import figures

    classes, counts = np.unique(labels, return_counts=True)
    folds = min(check_count(options.folds, "--folds", 2), int(counts.min()))
    if folds < 2:
        rare = classes[counts.argmin()]
        print(f"heatfield train: no cross-validation, class {rare!r} has one cloud only", file=sys.stderr)
        return None
    learned = settings["variant"] in ("full", "dgcnn")
    predicted = np.empty_like(labels)
    fold_of = np.empty(len(labels), int)
    splits = StratifiedKFold(folds, shuffle=True, random_state=options.seed).split(labels, labels)
    for k, (train, test) in enumerate(splits):
        if not options.quiet:
            print(f"fold {k + 1} of {folds}", file=sys.stderr)
        model = HFSClassifier(**settings)
        part = features.take(train) if learned else features[train]
        _fit(model, part, labels[train], clouds, start.with_suffix(f".fold{k}"))
        if learned:
            predicted[test] = model.classes_[model.learner_.logits(features.take(test)).argmax(axis=1)]
        else:
            predicted[test] = model.readout_.predict(features[test])
        fold_of[test] = k
    return figures(labels, predicted, fold_of)


def _range(clouds: list[Array]) -> Any:
    from .._input_range import InputRange

    return InputRange.of(clouds)


def _write_report(out: Path, report: dict[str, Any], quiet: bool) -> None:
    """MODEL.report.json, and a picture where matplotlib is at hand."""
    from ..io import write_atomically
    from ._figures import printed

    found = report["cross_validation"]
    path = out.with_name(out.name + ".report.json")
    write_atomically(path, (json.dumps(report, indent=1) + "\n").encode())
    if found is None:
        return
    if not quiet:
        print(printed(found), f"figures -> {path}", sep="\n")
    try:
        import matplotlib as mpl
    except ImportError:
        return
    mpl.use("Agg")
    from ..plot import confusion_matrix

    picture = out.with_name(out.name + ".confusion.png")
    axes = confusion_matrix(found["confusion"], found["classes"])
    axes.figure.savefig(picture, dpi=120)
    if not quiet:
        print(f"confusion matrix -> {picture}")
