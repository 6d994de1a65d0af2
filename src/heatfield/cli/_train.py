"""``heatfield train``: labelled files in, cross-validated figures and a model out."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._parts import clear_parts
from ._reading import add_reading, read_clouds, reading_options

if TYPE_CHECKING:
    import numpy as np

    from .._base.check import Array

_VARIANTS = ("simple", "desc", "joint", "full", "dgcnn")
# What a training keeps until it is done: features, and a checkpoint of every fold and of the final model.
_KEPT = re.compile(r"points-[0-9a-f]{32}\.npz|[0-9a-f]{16}\.(all|fold\d+)|\..*\.part")
# Settings that change no figure: a training goes on where they are others.
_HOW = ("device", "n_jobs", "progress")


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
        "--variant", choices=_VARIANTS, default="full", help="which classifier (default full)"
    )
    parser.add_argument(
        "--head",
        choices=("mlp", "lda", "svm", "auto"),
        default="mlp",
        help="read-out of simple, desc and joint",
    )
    parser.add_argument(
        "--folds", type=int, default=5, metavar="K", help="of the cross-validation; 0 for none (default 5)"
    )
    parser.add_argument(
        "--epochs", type=int, metavar="E", help="passes over the clouds (default: the variant's own)"
    )
    parser.add_argument("--batch", type=int, metavar="B", help="clouds a step (default 32)")
    parser.add_argument(
        "--train-points", type=int, metavar="M", help="draw M points of each cloud in every epoch"
    )
    parser.add_argument(
        "--whole-epochs", type=int, metavar="E", help="with --train-points: all points in the last E epochs"
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
    parser.add_argument(
        "--scales", type=int, default=8, metavar="T", help="number of diffusion times (default 8)"
    )
    parser.add_argument("--transition", choices=("difference", "exact"), help="default: the variant's own")
    parser.add_argument(
        "--blocks", metavar="A,B", help="only these blocks of features, such as hds,log_density"
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda, ... (default: a GPU if there is one)")
    add_reading(parser, seed="seed of the network, of the folds, and of the sampling of every file")
    parser.add_argument("--jobs", type=int, default=-1, help="threads for the features (default: all cores)")
    parser.add_argument("--quiet", action="store_true", help="no progress, no report")


def run(options: argparse.Namespace) -> int:
    """0: trained on all files. 1: some could not be read, see MODEL.errors.csv. 2: not trained."""
    parts = options.out.with_name(f"{options.out.name}.parts") if options.out.name else options.out
    try:
        return _run(options, parts)
    except KeyboardInterrupt:
        if not parts.is_dir():
            raise
        print("\nheatfield train: stopped; the same command goes on from here", file=sys.stderr)
        return 130


def _run(options: argparse.Namespace, parts: Path) -> int:
    import numpy as np

    from .._classifier.classifier import HFSClassifier
    from .._classifier.saving.folder import check_place
    from ..datasets import content_hash
    from ._features import write_errors

    out = check_place(options.out)
    settings = _settings(options)
    files, names = _labelled(options, parts)
    # All that may be wrong with the options is said before the work.
    HFSClassifier(**settings)._check_settings(names, n_dims=3)
    reading = reading_options(options)
    clouds, errors = read_clouds(files, reading, quiet=options.quiet)
    kept, labels = list(clouds.values()), np.array([names[i] for i in clouds])
    beside = write_errors(out.with_name(out.name + ".csv"), errors)
    if len(set(labels.tolist())) < 2:
        raise ValueError(
            f"{str(options.folder)!r} must hold at least two classes that can be read, "
            f"got {sorted(set(labels.tolist()))}" + (f"; see {beside}" if errors else "")
        )
    for lost in sorted({*names} - {*labels.tolist()}):
        print(f"heatfield train: class {lost!r} is left out, no file of it could be used", file=sys.stderr)
    # What is kept in parts lets a command that was stopped go on; the names say what it belongs to.
    content = content_hash(kept, labels)
    deciding = {name: value for name, value in settings.items() if name not in _HOW}
    text = json.dumps([content, deciding, options.folds], sort_keys=True)
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
    _fit(
        model,
        features,
        labels,
        kept,
        start.with_suffix(".all"),
        "" if options.quiet else "training on all clouds",
    )
    model.input_range_ = _range(kept)
    model.save(out, notes={"reading": reading})
    clear_parts(parts, _KEPT)
    if not options.quiet:
        print(f"model -> {out}")
    if errors:
        print(
            f"heatfield train: {len(errors)} of {len(files)} files could not be used, see {beside}",
            file=sys.stderr,
        )
    return 1 if errors else 0


def _labelled(options: argparse.Namespace, parts: Path) -> tuple[list[str], list[str]]:
    """Files and their labels: of at least two classes, and none that the training itself keeps."""
    from ..datasets._folder import labelled_files

    if not options.folder.is_dir():
        raise ValueError(f"there is no folder {str(options.folder)!r}; check the spelling")
    if options.folds != 0 and options.folds < 2:
        raise ValueError(f"--folds must be at least 2, or 0 for no cross-validation, got {options.folds}")
    found = zip(*labelled_files(options.folder, options.labels), strict=True)
    pairs = [(str(f), name) for f, name in found if parts.resolve() not in f.resolve().parents]
    files, names = [f for f, _ in pairs], [name for _, name in pairs]
    if len(set(names)) < 2:
        raise ValueError(
            f"{str(options.folder)!r} must hold at least two classes, got {sorted(set(names))}"
            + ("" if options.labels else "; each folder in it is a class")
        )
    return files, names


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


def _fit(
    model: Any, features: Any, labels: np.ndarray, clouds: list[Array], checkpoint: Path, title: str
) -> None:
    goes_on = checkpoint.exists()
    if title:
        print(title + (": goes on where it was stopped" if goes_on else ""), file=sys.stderr)
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

    from .._classifier.classifier import HFSClassifier
    from ._figures import figures

    classes, counts = np.unique(labels, return_counts=True)
    folds, rare = min(options.folds, int(counts.min())), classes.tolist()[counts.argmin()]
    if folds < 2:
        print(f"heatfield train: no cross-validation, class {rare!r} has one cloud only", file=sys.stderr)
        return None
    if folds < options.folds:
        why = f"class {rare!r} has {folds} clouds only"
        print(f"heatfield train: {folds} folds instead of {options.folds}, {why}", file=sys.stderr)
    learned = settings["variant"] in ("full", "dgcnn")
    predicted = np.empty_like(labels)
    fold_of = np.empty(len(labels), int)
    cut = StratifiedKFold(folds, shuffle=True, random_state=options.seed)
    splits = list(cut.split(labels, labels))
    for train, _ in splits:  # a share of too few clouds is said before the first fold is trained
        HFSClassifier(**settings)._check_settings(labels[train], clouds[0].shape[1])
    for k, (train, test) in enumerate(splits):
        model = HFSClassifier(**settings)
        part = features.take(train) if learned else features[train]
        title = "" if options.quiet else f"fold {k + 1} of {folds}"
        _fit(model, part, labels[train], clouds, start.with_suffix(f".fold{k}"), title)
        if learned:
            predicted[test] = model.classes_[model.learner_.logits(features.take(test)).argmax(axis=1)]
        else:
            predicted[test] = model.readout_.predict(features[test])
        fold_of[test] = k
    return figures(labels, predicted, fold_of)


def _range(clouds: list[Array]) -> Any:
    from .._classifier.input_range import InputRange

    return InputRange.of(clouds)


def _write_report(out: Path, report: dict[str, Any], quiet: bool) -> None:
    """MODEL.report.json, and a picture where matplotlib is at hand; none stays of an older training."""
    from .._base.files import write_atomically
    from ._figures import printed

    found = report.get("cross_validation")
    path, picture = (out.with_name(out.name + end) for end in (".report.json", ".confusion.png"))
    picture.unlink(missing_ok=True)
    if "cross_validation" not in report:
        path.unlink(missing_ok=True)
        return
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

    axes = confusion_matrix(found["confusion"], found["classes"])
    axes.figure.savefig(picture, dpi=120)
    if not quiet:
        print(f"confusion matrix -> {picture}")
