"""``heatfield train``: labelled files in, cross-validated scores and a model out."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._base.progress import trainings_to_come
from .._classifier.auto_words import AUTO_WORDS
from ._collect import check_folder
from ._ours import is_kept
from ._parts import clear_parts, parts_of
from ._reading import read_clouds, reading_options, skeleton_words
from ._train_options import LEARNED, add_arguments, classifier_settings

if TYPE_CHECKING:
    import numpy as np

    from .._base.check import Array
    from ..cluster import Executor

__all__ = ["add_arguments", "run"]

# Settings that change no score: a training goes on where they are others.
_HOW = ("device", "n_jobs", "progress")


def run(options: argparse.Namespace) -> int:
    """0: trained on all files. 1: some could not be read, see MODEL.errors.csv. 2: not trained."""
    from .._classifier.saving.folder import check_place
    from ._lock import alone
    from ._ours import is_errors, may_replace
    from ._scores import beside, check_scores
    from ._train_spread import workers_of

    parts = parts_of(options.out) if options.out.name else options.out
    try:
        check_place(options.out)
        check_scores(options.out)
        failures = options.out.with_name(options.out.name + ".errors.csv")
        may_replace(failures, is_errors, "a list of failed files")
        with (
            alone(parts, options.out, failures, *beside(options.out)),
            workers_of(options.cluster) as workers,
        ):
            return _run(options, parts, workers)
    except KeyboardInterrupt:
        if not parts.is_dir():
            raise
        print("\nheatfield train: stopped; the same command goes on from here", file=sys.stderr)
        return 130


def _run(options: argparse.Namespace, parts: Path, executor: Executor | None) -> int:
    import numpy as np

    from .._base.check import OutOfRangeError
    from .._classifier.classifier import HFSClassifier
    from .._classifier.heads import uncalibrated
    from .._classifier.input_range import InputRange
    from .._classifier.saving.folder import check_place
    from ..core.costs import fixed_costs
    from ..core.moments import MEASURE
    from ..datasets import content_hash
    from ._features import write_errors
    from ._prices import prices_of_task
    from ._scores import write_scores

    out = check_place(options.out)
    settings = classifier_settings(options)
    files, names = _labelled(options, parts)
    # All that may be wrong with the options is said before the work.
    HFSClassifier(**settings)._check_settings(names, n_dims=3)
    reading = reading_options(options)
    clouds, errors = read_clouds(files, reading, quiet=options.quiet, keep=True)
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
    prices = prices_of_task(parts, max(map(len, kept)) > MEASURE)
    text = json.dumps([content, deciding, options.folds, asdict(prices)], sort_keys=True)
    start = parts / hashlib.sha256(text.encode()).hexdigest()[:16]
    model = HFSClassifier(**settings)
    if not options.quiet:
        print(f"{len(kept)} clouds of {len(set(labels.tolist()))} classes, variant {model.variant}")
        for words in (skeleton_words(files, reading), *_forecast(model, kept, options)):
            if words:
                print(words, flush=True)
    try:
        with fixed_costs(prices):
            features, n_dims = _features(model, kept, parts, options.quiet, executor), kept[0].shape[1]
    except OutOfRangeError as error:
        file = files[list(clouds)[error.cloud or 0]]
        raise ValueError(f"{file!r}: {error.problem}") from None
    report: dict[str, Any] = {
        "settings": settings,
        "reading": reading,
        "clouds": len(kept),
        "content": content,
    }
    if options.folds:
        report["cross_validation"] = _cross_validate(
            model, features, labels, options, start, n_dims=n_dims, executor=executor
        )
    write_scores(out, report, options.quiet)
    trainings_to_come.set(0)
    _prepare(model, start.with_suffix(".all"), "" if options.quiet else "training on all clouds")
    model.fit_features(features, labels, n_dims=n_dims)
    model.input_range_ = InputRange.of(kept)
    model.save(out, notes={"reading": reading})
    clear_parts(parts)
    if not options.quiet and uncalibrated(model):
        print(f"heatfield train: {uncalibrated(model)}", file=sys.stderr)
    if not options.quiet:
        if model.variant not in LEARNED and model.head == "auto":
            tried = ", ".join(f"{h} {100 * v:.1f} %" for h, v in model.head_scores_.items())
            print(f"read-out {model.head_}, the best by mean accuracy over classes ({tried})")
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

    check_folder(options.folder)
    if options.folds != 0 and options.folds < 2:
        raise ValueError(f"--folds must be at least 2, or 0 for no cross-validation, got {options.folds}")
    found = zip(*labelled_files(options.folder, options.labels), strict=True)
    pairs = [
        (str(f), name) for f, name in found if parts.resolve() not in f.resolve().parents and not is_kept(f)
    ]
    files, names = [f for f, _ in pairs], [name for _, name in pairs]
    if len(set(names)) < 2:
        raise ValueError(
            f"{str(options.folder)!r} must hold at least two classes, got {sorted(set(names))}"
            + ("" if options.labels else "; each folder in it is a class")
        )
    return files, names


def _forecast(model: Any, clouds: list[Array], options: argparse.Namespace) -> list[str]:
    """What was chosen where the user did not choose, and how long its features take."""
    from .._base.check import thread_count
    from .._signatures.forecast import expected_seconds

    if model.variant in LEARNED:
        return []
    sizes = sorted(range(len(clouds)), key=lambda i: len(clouds[i]))
    middle = clouds[sizes[len(sizes) // 2]]
    lengths = model.lengths
    scales = None if lengths is None else [length**2 for length in lengths]
    once = expected_seconds(middle, scales, n_scales=model.n_scales, method=model.method).seconds
    # The second layer of "joint" and its pooling take about four times the signatures.
    seconds = once * len(clouds) * (5 if model.variant == "joint" else 1.5) / thread_count(model.n_jobs)
    out = [] if options.variant else [
        f"no --variant given: {model.variant}, in closed form; --variant full learns the pooling instead"
    ]  # fmt: skip
    out.append(f"features: about {max(1, round(seconds))} s")
    if model.head == "auto":
        when = "in every fold" if options.folds else "on all clouds"
        out.append(f"read-out: chosen {when}; {AUTO_WORDS}")
    return out


def _features(model: Any, clouds: list[Array], parts: Path, quiet: bool, executor: Executor | None) -> Any:
    """Computed once for all folds and the final model."""
    if model.variant in LEARNED and executor is not None:
        from ._train_spread import spread_points

        return spread_points(executor, model, clouds, quiet)
    if model.variant in LEARNED:
        return model.point_table(clouds, cache=parts)
    from ._train_kept import kept_features

    return kept_features(model, clouds, parts, quiet, executor)


def _prepare(model: Any, checkpoint: Path, title: str, left: str = "") -> None:
    """Say what is trained now, and let a learned variant go on from its checkpoint."""
    if title:
        goes_on = ": goes on where it was stopped" if checkpoint.exists() else ""
        print(f"{title}{goes_on}{left}", file=sys.stderr)
    if model.variant in LEARNED:
        model.set_params(checkpoint=checkpoint)


def _cross_validate(
    model: Any, features: Any, labels: np.ndarray, options: argparse.Namespace, start: Path, *, n_dims: int,
    executor: Executor | None,
) -> dict[str, Any] | None:  # fmt: skip
    """The scores of a cross-validation, or None where a class is too rare for one."""
    import numpy as np

    from .._classifier.cross_validation import cross_validate
    from .._classifier.labels import rarest_class
    from ._scores import scores, time_left
    from ._train_kept import keep_fold, kept_fold

    rare, count = rarest_class(labels)
    if count < 2:
        print(f"heatfield train: no cross-validation, class {rare!r} has one cloud only", file=sys.stderr)
        return None
    if count < options.folds:
        why = f"class {rare!r} has {count} clouds only"
        print(f"heatfield train: {count} folds instead of {options.folds}, {why}", file=sys.stderr)
    predicted, fold_of = np.empty_like(labels), np.empty(len(labels), int)
    done = set()
    # A learned variant has its checkpoints; of a closed-form one, and of a cluster, finished folds are kept.
    kind = "done" if model.variant in LEARNED else "fold"
    folds = min(count, options.folds)
    for number in range(folds):
        found = kept_fold(start.with_suffix(f".{kind}{number}"), labels)
        if found is not None:
            predicted[found[0]], fold_of[found[0]] = found[1], number
            done.add(number)
    if done and not options.quiet:
        print(f"{len(done)} of {folds} folds were finished before", file=sys.stderr)
    started, fresh = time.perf_counter(), 0
    if executor is not None:
        from ._train_spread import spread_folds

        for number, test, labels_said in spread_folds(
            executor, model, features, labels, n_dims=n_dims, n_splits=options.folds, count=folds,
            random_state=options.seed, skip=done,
        ):  # fmt: skip
            predicted[test], fold_of[test] = labels_said, number
            keep_fold(start.with_suffix(f".{kind}{number}"), test, labels_said)
            fresh += 1
            if not options.quiet:
                left = time_left(time.perf_counter() - started, fresh, folds - len(done))
                print(f"fold {number + 1} of {folds} finished{left}", file=sys.stderr)
        return scores(labels, predicted, fold_of)

    def prepare(fold: Any, number: int, folds: int) -> None:
        title = "" if options.quiet else f"fold {number + 1} of {folds}"
        left = time_left(time.perf_counter() - started, fresh, folds - len(done))
        trainings_to_come.set(folds - number)  # those of the other folds, and the one on all clouds
        _prepare(fold, start.with_suffix(f".fold{number}"), title, left)

    for fold in cross_validate(
        model, features, labels,
        n_dims=n_dims, n_splits=options.folds, random_state=options.seed, prepare=prepare, skip=done,
    ):  # fmt: skip
        predicted[fold.test], fold_of[fold.test] = fold.predicted, fold.number
        if model.variant not in LEARNED:
            keep_fold(start.with_suffix(f".fold{fold.number}"), fold.test, fold.predicted)
        fresh += 1
    return scores(labels, predicted, fold_of)
