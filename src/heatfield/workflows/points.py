"""`train_points` and `predict_points`: labels of points learnt from files, and given to other files."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._base.check import as_points, check_choice
from .._base.progress import progress_bar
from .._base.summary import plural
from ..io import Cloud, Record, read_cloud, write_points
from ..io.write import coordinate_unit, holdable_columns
from ..jobs import Job, Task, key_of
from ..models.features_at_lengths import SCHEMA, Features, PointFeatureSettings, features_at_lengths
from ..models.points import (
    HFSPointClassifier,
    balanced_rows,
    confusion,
    extent_of,
    groups_of,
    importance,
    known,
    propose_lengths,
    scores_of,
)
from ..models.saving import check_place
from ..options import PointTraining, PointValidation, Reading, Run, takes
from .describe import plain_options
from .files import (
    FileError,
    PathLike,
    check_beside,
    check_unchanged,
    find_files,
    most_common,
    other_dimension,
    own_folder,
    saved_reading,
    stamps_of,
    target_names,
    who_reads,
    write_errors,
)

FORMATS = ("las", "laz", "ply", "parquet", "csv", "npz")
_LABELS = ("classification", "label", "labels", "class")  # names of the column of labels, the first of a file
_SHUFFLED = 20_000  # points of held-out files on which groups of features are shuffled


# --- training ------------------------------------------------------------------------


@takes(PointTraining, PointValidation, Reading, Run, leave_out=("nodes",))
def train_points(
    paths: PathLike | Sequence[PathLike],
    out: PathLike | None = None,
    *,
    label: str | None = None,
    ignore: Iterable[Any] = (),
    groups: PathLike | Mapping[str, str] | None = None,
    pointtraining: PointTraining,
    pointvalidation: PointValidation,
    reading: Reading,
    run: Run,
) -> HFSPointClassifier:
    """Learn the labels of points from files.

    Guide: ``heatfield docs guide/points``.

    Files are read with ``nodes=True``: labels belong to the nodes of skeletons and the vertices of meshes.
    The executor reads files and computes features; trees are grown in this process.

    Parameters
    ----------
    paths : path-like, or a sequence of them
        Files, folders, patterns or URLs.
    out : path-like, optional
        Where the model is saved as well: a new folder, or one that holds an older model. Features of files
        and results of folds are kept beside it until all is done: stopped at any time, the same call goes
        on. Failures go to NAME.errors.csv.
    label : str, optional
        Column of the labels; by default classification, label, labels or class, the first that there is.
    ignore : sequence of labels
        Label values to ignore in training and validation, such as 0 and 1 (unclassified) in LAS.
    groups : path-like or mapping, optional
        Files that belong together, such as tiles of one site: a table with the columns file and group. Files
        of one group are never on both sides of the validation.
    {options}

    Returns
    -------
    fitted : HFSPointClassifier
        Fitted on all files. ``validation_`` has the scores on files that were held out: accuracy, mean_IoU,
        IoU, recall and precision by class, confusion, and the mean IoU that is lost where the features of a
        block or a length are shuffled; None without folds, or with fewer than two files or groups.
        ``errors`` has the files that could not be used.

    Examples
    --------
    >>> import tempfile, heatfield as hf
    >>> clouds, labels = hf.datasets.make_forest(3, n_points=1000)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(3):
    ...         hf.write_points(f"{folder}/{i}.ply", clouds[i], {"label": labels[i]})
    ...     model = hf.train_points(folder, folds=3, lengths=[0.3, 1.0], iterations=10)
    >>> model.validation_["points"], model.validation_["mean_IoU"] > 0.3, model.errors
    (3000, True, [])
    """
    target = None if out is None else check_place(out)
    beside = check_beside(target, ".errors.csv", folder=True)
    seed = pointtraining.random_state
    seed = secrets.randbelow(2**32) if seed is None else seed
    model = HFSPointClassifier(**(vars(pointtraining) | {"random_state": seed}), n_jobs=run.n_jobs)
    _settings(model, model.lengths or (1.0, 2.0), 3)  # complains of wrong options before the work
    how = plain_options(vars(reading) | {"nodes": True})
    found = find_files(paths, groups=groups, leave_out=[target, *beside])
    with Job(target, *beside, run=run) as job:
        stamps = {stamp[0]: stamp for stamp in stamps_of(found.paths)}
        files, errors = _read_labels(job, stamps, how, label, model)
        if beside:
            write_errors(beside[0], errors)
        if not files:
            problem, count = Counter(error.problem for error in errors).most_common(1)[0]
            files_at = f"{count} of {plural(len(found.paths), 'file')}"
            raise ValueError(f"no file has labelled points; {files_at}: {problem}")
        labels = [file.labels for file in files]
        ignored = _ignored(ignore, labels[0])
        classes = np.unique(np.concatenate([own[known(own, ignored)] for own in labels]))
        if len(classes) < 2:
            raise ValueError(f"the points must be of at least two classes, got {classes.tolist()}")
        lengths = model.lengths or propose_lengths([file.extent for file in files])
        settings = _settings(model, lengths, files[0].n_dims)
        parts = parts_of_files(
            [found.groups.get(file.path, file.path) for file in files], pointvalidation.folds, seed
        )
        learn = balanced_rows(labels, classes, model.points_per_class, seed)
        most = pointvalidation.test_points if parts else 0
        test = [_some(known(own, ignored), most, seed + i) for i, own in enumerate(labels)]
        tables = _feature_tables(job, stamps, files, how, settings, learn, test)
        check_unchanged([*stamps.values()])
        notes: dict[str, Any] = {
            "reading": how,
            "label": files[0].label,
            "ignore": list(ignored),
            "unit": files[0].unit,
            "files": len(files),
            "points": sum(len(own) for own in labels),
            "training_points": {
                str(name): int(sum((table.labels[table.learn] == name).sum() for table in tables))
                for name in classes
            },
        }
        with progress_bar(total=len(parts) + 1, unit="fits", keep=True) as bar:
            if parts:
                notes["validation"] = _validate(job, model, tables, parts, settings, classes, bar.update)
            _fit(model, tables, settings)
            bar.update(1)
        model.notes_, model.errors_ = notes, errors
        if target is not None:
            model.save(target)
    return model


def _settings(model: HFSPointClassifier, lengths: Sequence[float], n_dims: int) -> PointFeatureSettings:
    return clone(model).set_params(lengths=lengths).settings_for([np.empty((0, n_dims))])


@dataclass(frozen=True)
class _LabelledFile:
    """What the training must know of a file before features are computed."""

    path: str
    labels: NDArray
    label: str  # their column
    extent: tuple[float, float]
    n_dims: int
    unit: str


def _read_labels(
    job: Job,
    stamps: Mapping[str, list[Any]],
    how: dict[str, Any],
    label: str | None,
    model: HFSPointClassifier,
) -> tuple[list[_LabelledFile], list[FileError]]:
    """The labels of all files; files that do not fit the others are errors."""
    asked = (how, label, list(model.columns or ()), model.lengths is None)
    tasks = [Task(key_of(SCHEMA, stamp, *asked), (file, *asked)) for file, stamp in stamps.items()]
    results = job.run(read_labels, tasks, unit="files", prefer=who_reads(stamps.values()))
    errors, files = [], list[_LabelledFile]()
    expected = how["dims"] or most_common([int(r["n_dims"]) for r in results if "n_dims" in r])
    for file, result in zip(stamps, results, strict=True):
        place, problem = map(str, result["problem"])
        if not problem:
            own = _LabelledFile(
                file, result["labels"], str(result["label"]), tuple(result["extent"].tolist()),
                int(result["n_dims"]), str(result["unit"]),
            )  # fmt: skip
            first = files[0] if files else own
            if own.n_dims != expected:
                problem = other_dimension(own.n_dims, expected, fixed=bool(how["dims"]))
            elif own.label != first.label:
                problem = f"its labels are in the column {own.label!r}, those of others in {first.label!r}"
            elif (own.labels.dtype.kind == "U") != (first.labels.dtype.kind == "U"):
                held, others = own.labels.dtype, first.labels.dtype
                problem = f"its column {own.label!r} holds {held}, that of others {others}"
            else:
                files.append(own)
        if problem:
            errors.append(FileError(file, place, problem))
    return files, errors


def read_labels(
    load: tuple[str, dict[str, Any], str | None, list[str], bool], n_threads: int
) -> dict[str, Any]:
    """The labels of one file, and its spacing and diameter where lengths are not given; or its problem."""
    file, how, label, columns, with_extent = load
    try:
        cloud = read_cloud(file, **how)
        points = as_points(cloud.points)
        chosen = label or next((name for name in _LABELS if name in cloud.columns), "")
        for name in (chosen, *columns):
            if name not in cloud.columns:
                has = ", ".join(cloud.columns) or "none"
                what = f" {name!r}" if name else f" of labels ({', '.join(_LABELS)})"
                raise ValueError(f"it has no column{what}; its columns: {has}")
        labels = np.asarray(cloud.columns[chosen])
        labels = labels.astype(str) if labels.dtype.kind == "O" else labels
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            row = int(np.argmin(np.isfinite(labels)))
            raise ValueError(f"its column {chosen!r} has {labels[row]} in row {row}")
        return {
            "problem": ("", ""),
            "labels": labels,
            "label": chosen,
            "extent": extent_of(points, n_threads) if with_extent else (np.nan, np.nan),
            "n_dims": points.shape[1],
            "unit": coordinate_unit(cloud),
        }
    except Exception as error:  # whatever a file does, it costs that file only
        return {"problem": FileError.of(file, error).words}


def _ignored(ignore: Iterable[Any], like: NDArray) -> tuple[Any, ...]:
    """Labels to ignore in the type of the labels; words from a command line may be numbers."""
    kind = {"U": str, "f": float}.get(like.dtype.kind, int)
    out: list[Any] = []
    for value in [ignore] if isinstance(ignore, str) else ignore:
        try:
            out.append(kind(value))
        except (TypeError, ValueError):
            raise ValueError(
                f"ignore must be labels of the files, which are numbers, got {value!r}"
            ) from None
    return tuple(out)


@dataclass(frozen=True)
class _FeatureTable:
    """Features of those points of a file that are learnt from or tested on."""

    key: str
    features: Features
    labels: NDArray
    learn: NDArray[np.bool_]
    test: NDArray[np.bool_]


def _feature_tables(
    job: Job,
    stamps: Mapping[str, list[Any]],
    files: Sequence[_LabelledFile],
    how: dict[str, Any],
    settings: PointFeatureSettings,
    learn: Sequence[NDArray[np.int64]],
    test: Sequence[NDArray[np.int64]],
) -> list[_FeatureTable]:
    """The features of those points of all files that are learnt from or tested on."""
    rows = [np.union1d(*both) for both in zip(learn, test, strict=True)]
    tasks = [
        Task(
            key_of(SCHEMA, stamps[file.path], how, settings.metadata(), own), (file.path, how, settings, own)
        )
        for file, own in zip(files, rows, strict=True)
    ]
    results = job.run(file_features, tasks, unit="files")
    return [
        _FeatureTable(task.key, result["features"], file.labels[own], np.isin(own, a), np.isin(own, b))
        for task, result, file, own, a, b in zip(tasks, results, files, rows, learn, test, strict=True)
    ]


def _some(known: NDArray[np.bool_], most: int, seed: int) -> NDArray[np.int64]:
    """At most so many of the points that have a label, each with the same chance, sorted."""
    rows = np.flatnonzero(known)
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    return rows


def file_features(
    load: tuple[str, dict[str, Any], PointFeatureSettings, NDArray[np.int64]], n_threads: int
) -> dict[str, Any]:
    """The features of some points of one file."""
    file, how, settings, rows = load
    cloud = read_cloud(file, **how)
    found = features_at_lengths(as_points(cloud.points), settings, cloud.columns, rows, n_threads)
    return {"features": found}


def _fit(
    model: HFSPointClassifier, tables: Sequence[_FeatureTable], settings: PointFeatureSettings
) -> HFSPointClassifier:
    """Learn from the chosen points of all files."""
    features = np.concatenate([table.features[table.learn] for table in tables])
    labels = np.concatenate([table.labels[table.learn] for table in tables])
    return model.fit_features(features, labels, settings)


# --- validation on whole files -------------------------------------------------------


def parts_of_files(groups: Sequence[str], folds: int, seed: int) -> list[NDArray[np.int64]]:
    """The files that each fold holds out: groups are shuffled, every file is held out once.

    None where no folds are asked for, or where there are no two groups.

    Examples
    --------
    >>> [part.tolist() for part in parts_of_files(["a", "b", "a", "c"], 2, 0)]
    [[0, 2, 3], [1]]
    """
    names, own = np.unique(groups, return_inverse=True)
    if folds == 0 or len(names) < 2:
        return []
    order = np.random.default_rng(seed).permutation(len(names))
    return [np.flatnonzero(np.isin(own, part)) for part in np.array_split(order, min(folds, len(names)))]


def _validate(
    job: Job,
    model: HFSPointClassifier,
    tables: Sequence[_FeatureTable],
    parts: Sequence[NDArray[np.int64]],
    settings: PointFeatureSettings,
    classes: NDArray,
    advance: Callable[[int], object],
) -> dict[str, Any]:
    """Scores on whole files that were held out, and what blocks and lengths are worth."""
    groups = groups_of(model.feature_groups(settings), settings.lengths)
    options = repr((model.iterations, model.class_weight, model.random_state))
    chosen = [np.searchsorted(classes, t.labels) + len(classes) * (t.learn + 2 * t.test) for t in tables]
    results = []
    for held in parts:
        key = key_of(SCHEMA, [t.key for t in tables], *chosen, options, classes.tolist(), held)
        results.append(job.load(key) or job.keep(key, _fold(model, tables, held, settings, classes, groups)))
        advance(1)
    found = scores_of(np.sum([result["confusion"] for result in results], axis=0), classes)
    lost = np.mean([result["lost"] for result in results if result["confusion"].any()], axis=0)
    for kind in ("block", "length"):
        found[f"importance_by_{kind}"] = {
            name: float(value) for (own, name), value in zip(groups, lost, strict=True) if own == kind
        }
    return {"folds": len(parts), **found}


def _fold(
    model: HFSPointClassifier,
    tables: Sequence[_FeatureTable],
    held: NDArray[np.int64],
    settings: PointFeatureSettings,
    classes: NDArray,
    groups: Mapping[tuple[str, str], NDArray[np.int64]],
) -> dict[str, Any]:
    """Fit on all files but some, test on these.

    A class that only the held-out files have cannot be learnt: it counts as not found.
    """
    rest = [table for i, table in enumerate(tables) if i not in held]
    fitted = _fit(clone(model), rest, settings)

    def predict(features: Features) -> NDArray:
        return fitted.classes_[fitted.predict_proba_features(features).argmax(axis=1)]

    X = np.concatenate([tables[i].features[tables[i].test] for i in held])
    y = np.concatenate([tables[i].labels[tables[i].test] for i in held])
    if not len(X):
        return {"confusion": np.zeros((len(classes),) * 2, np.int64), "lost": np.zeros(len(groups))}
    seed = int(model.random_state or 0)
    some = np.random.default_rng(seed).permutation(len(X))[:_SHUFFLED]
    lost = importance(predict, X[some], y[some], groups, classes=classes, seed=seed)
    return {"confusion": confusion(y, predict(X), classes), "lost": np.array(list(lost.values()))}


# --- prediction ----------------------------------------------------------------------


class LabelledFiles(list[Path]):
    """The files that `predict_points` wrote.

    Guide: ``heatfield docs guide/points``.

    Parameters
    ----------
    paths : iterable of Path
    errors : list of FileError
        Files that could not be labelled.
    points : int
        How many points have a label.
    resumed : int
        How many files an earlier call had finished.

    Examples
    --------
    >>> import heatfield as hf
    >>> hf.LabelledFiles(["out/a.las"], [], 1000, 0).points
    1000
    """

    def __init__(self, paths: Iterable[Path], errors: list[FileError], points: int, resumed: int) -> None:
        super().__init__(paths)
        self.errors, self.points, self.resumed = errors, points, resumed


@takes(Run)
def predict_points(
    model: PathLike | HFSPointClassifier,
    paths: PathLike | Sequence[PathLike],
    out: PathLike,
    *,
    format: str | None = None,
    run: Run,
) -> LabelledFiles:
    """Label every point of files, and write them again with their labels.

    Guide: ``heatfield docs guide/points``.

    Parameters
    ----------
    model : path-like or HFSPointClassifier
        A folder that `train_points` wrote, or a fitted classifier. Files are read as those of the training.
    paths : path-like, or a sequence of them
        Files, folders, patterns or URLs.
    out : path-like
        A folder for the labelled files: with all their columns, ``classification``, and ``confidence``, the
        probability of the class. What is finished is kept: stopped at any time, the same call goes on.
        Failures go to predict.errors.csv in it.
    format : str, optional
        Of the labelled files: "las", "laz", "ply", "parquet", "csv" or "npz"; by default as the file, laz for
        other kinds.
    {options}

    Returns
    -------
    files : LabelledFiles
        A list of paths, with ``errors`` for the files that could not be labelled.

    Examples
    --------
    >>> import tempfile, heatfield as hf
    >>> clouds, labels = hf.datasets.make_forest(2, n_points=1000)
    >>> model = hf.HFSPointClassifier(lengths=[0.3, 1.0], iterations=10).fit(clouds[:1], labels[:1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.write_points(f"{folder}/new.ply", clouds[1])
    ...     files = hf.predict_points(model, f"{folder}/new.ply", f"{folder}/labelled")
    ...     sorted(hf.read_cloud(files[0]).columns), files.errors
    (['classification', 'confidence'], [])
    """
    fitted = model if isinstance(model, HFSPointClassifier) else HFSPointClassifier.load(Path(model))
    check_is_fitted(fitted, "classes_")
    if format is not None:
        check_choice(format, "format", FORMATS)
    how = plain_options(vars(saved_reading({"reading": {"nodes": True}} | fitted.notes_)))
    folder = Path(out)
    files = find_files(paths, leave_out=[folder]).paths
    own_folder(folder)
    (failures,) = check_beside(folder / "predict", ".errors.csv")
    names = target_names(files, lambda file: format or _own_format(file))
    targets = [str(folder / name) for name in names]
    mark = _mark(fitted)
    with Job(folder / "predict", failures, run=run) as job:
        tasks = [
            Task(key_of(mark, how, stamp, target), (fitted, stamp[0], target, how))
            for stamp, target in zip(stamps_of(files), targets, strict=True)
        ]
        results = job.run(label_file, tasks, unit="files")
        errors, written = [], []
        for file, target, result in zip(files, targets, results, strict=True):
            place, problem = map(str, result["problem"])
            if not problem and not os.path.isfile(target):
                problem = f"{target!r} was removed before all files were labelled; run again"
            if problem:
                errors.append(FileError(file, place, problem))
            else:
                written.append(Path(target))
        write_errors(failures, errors)
    return LabelledFiles(written, errors, sum(int(result["points"]) for result in results), job.resumed)


def _own_format(file: str) -> str:
    suffix = Path(file.lower().removesuffix(".gz")).suffix[1:]
    return suffix if suffix in FORMATS else "laz"


def _mark(model: HFSPointClassifier) -> str:
    """A hash of what the labels depend on; of an unknown reader always another one."""
    if not hasattr(model, "trees_"):
        return secrets.token_hex()
    return key_of(
        SCHEMA, model.settings_.metadata(), model.classes_.tolist(), *model.trees_.tensors().values()
    )


def label_file(load: tuple[HFSPointClassifier, str, str, dict[str, Any]], n_threads: int) -> dict[str, Any]:
    """Label the points of one file, and write them with all their columns; or say its problem."""
    model, file, target, how = load
    try:
        cloud = read_cloud(file, **how)
        shares = copy(model).set_params(n_jobs=n_threads).predict_proba([cloud])[0]
        best = shares.argmax(axis=1) if len(shares) else np.empty(0, np.int64)
        confidence = (shares.max(axis=1) if len(shares) else np.empty(0)).astype(np.float32)
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        _write_labelled(Path(target), cloud, model.classes_, best, confidence)
        return {"points": len(shares), "problem": ("", "")}
    except Exception as error:  # whatever a file does, it costs that file only
        return {"points": 0, "problem": FileError.of(file, error).words}


def _write_labelled(
    target: Path, cloud: Cloud, classes: NDArray, best: NDArray[np.int64], confidence: NDArray[np.float32]
) -> None:
    """Points with ``classification`` and ``confidence``; words become codes where the format has none."""
    suffix = target.suffix
    codes = _codes(classes)
    made: dict[str, Any] = {
        "classification": codes[best] if suffix in (".las", ".laz", ".ply") else classes[best],
        "confidence": confidence,
    }
    meaning = ", ".join(f"{code} {name}" for code, name in zip(codes.tolist(), classes.tolist(), strict=True))
    notes = dict(cloud.notes)
    if suffix in (".las", ".laz"):
        others = [record for record in notes.get("vlrs", []) if record.user != "heatfield"]
        text = f"classification: {meaning}".encode()[:65_000]
        notes["vlrs"] = [*others, Record("heatfield", 2, "classes of the points", text)]
    kept = {name: c for name, c in holdable_columns(cloud.columns, suffix).items() if name not in made}
    descriptions = {"confidence": "probability of the class", "classification": meaning}
    write_points(target, cloud.points, {**kept, **made}, notes=notes, descriptions=descriptions)


def _codes(classes: NDArray) -> NDArray[Any]:
    """Numbers of the classes: their own where they fit a byte, else from 0 on in their order."""
    if classes.dtype.kind in "iub" and classes.min() >= 0 and classes.max() <= 255:
        return classes.astype(np.uint8)
    return np.arange(len(classes), dtype=np.uint8 if len(classes) <= 256 else np.int32)
