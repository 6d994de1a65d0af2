"""``heatfield points train``: files with labelled points in, validated scores and a model out."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import check_count
from .._base.files import write_atomically
from .._base.progress import progress_bar
from .._classifier.saving.folder import check_place
from .._points.classifier import HFSPointClassifier
from .._points.input import known
from .._points.scores import scores_of
from .._points.settings import PointFeatureSettings
from .._points.validation import FileTable, chosen_rows, fit_tables, folds_of_files, validate_files
from ..io._point_signatures import coordinate_unit
from ._collect import collect
from ._features import write_errors
from ._lock import alone
from ._ours import is_errors, is_scores, may_replace
from ._parts import clear_parts, parts_of
from ._points_kept import KeptFolds, kept_table
from ._points_read import ignored, read_labelled, split_words
from ._reading import reading_options
from ._scales import parse_lengths, words
from ._scores import time_left


def run_train(options: argparse.Namespace) -> int:
    """0: trained on all files. 1: some could not be used. 2: not trained."""
    out = check_place(options.out)
    report, errors = (out.with_name(f"{out.name}.{end}") for end in ("report.json", "errors.csv"))
    may_replace(report, is_scores, "the report of a training")
    may_replace(errors, is_errors, "a list of failed files")
    if options.folds != 0 and options.folds < 2:
        raise ValueError(f"--folds must be at least 2, or 0 for no validation, got {options.folds}")
    check_count(options.per_class, "--per-class", 1)
    check_count(options.test_points, "--test-points", 1)
    check_count(options.iterations, "--iterations", 1)
    parts = parts_of(out)
    try:
        with alone(parts, out):
            return _run(options, out, parts, report)
    except KeyboardInterrupt:
        print("\nheatfield points: stopped; the same command goes on from here", file=sys.stderr)
        return 130


def _run(options: argparse.Namespace, out: Path, parts: Path, report_path: Path) -> int:
    model = HFSPointClassifier(
        lengths=parse_lengths(options.lengths),
        blocks=split_words(options.blocks) or None,
        columns=split_words(options.columns),
        cell=options.cell,
        iterations=options.iterations,
        class_weight=None if options.class_weight == "none" else "balanced",
        points_per_class=options.per_class,
        tol=options.tol,
        random_state=check_count(options.seed, "--seed", 0),
        n_jobs=options.jobs,
    )
    if model.lengths is not None:
        PointFeatureSettings(3, model.lengths, model.blocks, model.columns, model.cell, model.tol)  # type: ignore[arg-type]
    reading = {**reading_options(options), "skeleton": "nodes"}
    files, _ = collect(options.paths)
    clouds, labels, errors, label_name = read_labelled(files, reading, options)
    beside = write_errors(out.with_name(out.name + ".csv"), errors)
    if not clouds:
        problem, count = Counter(row[2] for row in errors).most_common(1)[0]
        raise ValueError(f"no file has labelled points, {count} of {len(files)}: {problem}; see {beside}")
    ignore = ignored(options.ignore, labels[0])
    classes = np.unique(np.concatenate([own[known(own, ignore)] for own in labels]))
    if len(classes) < 2:
        raise ValueError(f"the points must be of at least two classes, got {classes.tolist()}")
    settings = model.settings_for([cloud.points for cloud in clouds])
    if not options.quiet:
        total = sum(len(cloud.points) for cloud in clouds)
        print(f"{len(clouds)} files, {total:,} points, classes {', '.join(map(str, classes.tolist()))}")
        unit = coordinate_unit(clouds[0])
        print(
            f"lengths √t{f', {unit}' if unit else ''}: {words(settings.lengths)}; "
            f"{len(settings.names)} features per point",
            flush=True,
        )
    rows = chosen_rows(
        labels, classes, per_class=options.per_class, test_points=options.test_points, seed=options.seed,
        ignore=ignore,
    )  # fmt: skip
    tables = []
    for i in progress_bar(range(len(clouds)), unit="files", quiet=options.quiet, keep=True):
        tables.append(kept_table(model, settings, clouds[i], labels[i], rows[i], parts))
    report: dict[str, Any] = {
        "settings": {**settings.facts(), "label": label_name, "ignore": list(ignore)},
        "reading": reading,
        "clouds": len(clouds),
        "content": [list(cloud.points.shape) for cloud in clouds],
        "training_points": {
            str(k): int(sum((t.labels[t.learn] == k).sum() for t in tables)) for k in classes
        },
    }
    if options.folds and len(tables) < 2:
        print("heatfield points: no validation, it needs at least two files", file=sys.stderr)
    elif options.folds:
        report["validation"] = _validate(model, tables, settings, classes, options, parts)
    if not options.quiet:
        print("training on all files ...", flush=True)
    fit_tables(model, tables, settings)
    model.save(out, notes={"reading": reading, "label": label_name, "ignore": list(ignore)})
    write_atomically(report_path, (json.dumps(report, indent=1) + "\n").encode())
    clear_parts(parts)
    if not options.quiet:
        print(f"model -> {out}, figures -> {report_path}")
    if errors:
        print(
            f"heatfield points: {len(errors)} of {len(files)} files could not be used, see {beside}",
            file=sys.stderr,
        )
    return 1 if errors else 0


def _validate(
    model: HFSPointClassifier,
    tables: list[FileTable],
    settings: PointFeatureSettings,
    classes: NDArray,
    options: argparse.Namespace,
    parts: Path,
) -> dict[str, Any]:
    """Scores of whole files that were held out, and what blocks and lengths are worth."""
    count = len(folds_of_files(len(tables), options.folds, options.seed))
    kept = KeptFolds(parts, model, settings, tables, classes, options.folds, options.seed)
    done = kept.found(count)
    if done and not options.quiet:
        print(f"{len(done)} of {count} folds were finished before", file=sys.stderr)
    finished, started, before = dict(done), time.perf_counter(), len(done)

    def prepare(number: int, count: int) -> None:
        if not options.quiet:
            fresh = len(finished) - before
            left = time_left(time.perf_counter() - started, fresh, count - before)
            print(f"validation on whole files, part {number + 1} of {count}{left}", file=sys.stderr)

    for fold in validate_files(
        model, tables, settings, classes,
        n_splits=options.folds, seed=options.seed, skip=done, prepare=prepare,
    ):  # fmt: skip
        kept.keep(fold)
        finished[fold.number] = fold
    matrix = np.sum([fold.confusion for fold in finished.values()], axis=0)
    lost: dict[tuple[str, str], list[float]] = {}
    for number in range(count):  # in their order: the same digits, whatever was kept
        for key, value in finished[number].importance.items():
            lost.setdefault(key, []).append(value)
    found = scores_of(matrix, classes)
    for kind in ("block", "length"):
        found[f"importance_by_{kind}"] = {
            name: float(np.mean(v)) for (k, name), v in lost.items() if k == kind
        }
    if not options.quiet:
        print(printed(found))
    return found


def printed(found: dict[str, Any]) -> str:
    """The scores as a table in text: confusion matrix, IoU, and the groups of features worth most."""
    names = found["classes"]
    width = max(9, *(len(name) + 1 for name in names))
    lines = [
        f"mean IoU {100 * found['mean_IoU']:.1f} %, accuracy {100 * found['accuracy']:.1f} % "
        f"of {found['points']:,} points of files that were held out",
        "true \\ found".ljust(14) + "".join(name[: width - 1].rjust(width) for name in names) + "     IoU",
    ]
    for name, row in zip(names, found["confusion"], strict=True):
        share = found["IoU"][name]
        lines.append(
            name[:13].ljust(14) + "".join(str(v).rjust(width) for v in row)
            + ("       -" if share is None else f"{100 * share:7.1f}%")
        )  # fmt: skip
    for kind in ("block", "length"):
        best = sorted(found[f"importance_by_{kind}"].items(), key=lambda item: -item[1])[:4]
        worth = ", ".join(f"{name} {100 * v:.1f}" for name, v in best)
        lines.append(f"mean IoU lost where a {kind} is shuffled: {worth}")
    return "\n".join(lines)
