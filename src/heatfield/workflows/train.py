"""`train_files`: labelled files in, a cross-validated model out; stopped at any time, it goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from .._base.check import Array, OutOfRangeError, warn_caller
from .._base.files import write_atomically
from .._base.progress import progress_bar, remaining_fits
from .._base.summary import plural
from ..features.describe import own_ends, shared_lengths
from ..features.descriptor import HFSDescriptor
from ..jobs import Job, Task, key_of
from ..models.classifier import HFSClassifier
from ..models.network import HFSNetworkClassifier
from ..models.read_out import InputRange, diameters_of, mean_recall, rarest_class, split_folds
from ..models.saving import check_place
from ..options import AnyVariant, Folds, Head, Learned, Reading, Run, Training, choices_of, takes
from .describe import describe_usable, plain_options, plain_settings
from .files import (
    FileError,
    Files,
    PathLike,
    check_beside,
    find_files,
    most_common,
    none_usable,
    other_dimension,
    read_usable,
    remove_ours,
    write_errors,
)

Model = HFSClassifier | HFSNetworkClassifier
_FEW = 500  # clouds, up to which a learned variant is compared with the closed form


@dataclass(frozen=True)
class CrossValidation:
    """What a classifier predicts of clouds that it was not fitted on, fold by fold.

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    labels, predicted : (N,) arrays
    folds : (N,) int array
        In which fold each cloud was held out.
    closed_form : float, optional
        Of a learned variant and at most 500 clouds: mACC of variant joint with head lda on these folds.

    Attributes
    ----------
    scores : dict
        Mean, std and values by fold of "accuracy", "mACC" (mean accuracy over classes) and "macro_F1".
    confusion : (classes, classes) int array
    recall : dict of class to float

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> found = hf.CrossValidation(np.array(list("aabb")), np.array(list("aaba")), np.array([0, 1, 0, 1]))
    >>> found.scores["accuracy"]["mean"], found.confusion.tolist(), found.recall["b"]
    (0.75, [[2, 0], [1, 1]], 0.5)
    >>> found.report()["accuracy"]["by_fold"]
    [1.0, 0.5]
    >>> print(found)
    2 folds: accuracy 75.0 ± 25.0 %, mACC 75.0 ± 25.0 %, macro F1 66.7 ± 33.3 %
    hardest classes: b (50 % found)
    """

    labels: NDArray[Any]
    predicted: NDArray[Any]
    folds: NDArray[np.int64]
    closed_form: float | None = None

    @property
    def classes(self) -> NDArray[Any]:
        """The labels there are."""
        return np.unique(self.labels)

    @property
    def scores(self) -> dict[str, dict[str, Any]]:
        """Accuracy, mean accuracy over classes and macro F1: mean, std, and by fold."""
        from sklearn.metrics import accuracy_score, f1_score

        kinds = {
            "accuracy": accuracy_score,
            "mACC": mean_recall,
            "macro_F1": lambda true, found: f1_score(true, found, average="macro", zero_division=0.0),
        }
        out, chosen = {}, [self.folds == k for k in range(int(self.folds.max()) + 1)]
        for name, score in kinds.items():
            values = [float(score(self.labels[rows], self.predicted[rows])) for rows in chosen]
            out[name] = {"mean": float(np.mean(values)), "std": float(np.std(values)), "by_fold": values}
        return out

    @property
    def confusion(self) -> NDArray[np.int64]:
        """How many clouds of each class (row) were predicted as each class (column)."""
        from sklearn.metrics import confusion_matrix

        return confusion_matrix(self.labels, self.predicted, labels=self.classes)

    @property
    def recall(self) -> dict[Any, float]:
        """The share of each class that was found."""
        matrix = self.confusion
        shares = matrix.diagonal() / matrix.sum(axis=1)
        return dict(zip(self.classes.tolist(), shares.tolist(), strict=True))

    def __str__(self) -> str:
        words = [
            f"{name.replace('_', ' ')} {100 * found['mean']:.1f} ± {100 * found['std']:.1f} %"
            for name, found in self.scores.items()
        ]
        worst = sorted((item for item in self.recall.items() if item[1] < 1.0), key=lambda item: item[1])[:3]
        hardest = ", ".join(f"{name} ({100 * share:.0f} % found)" for name, share in worst)
        text = f"{int(self.folds.max()) + 1} folds: " + ", ".join(words)
        if self.closed_form is not None and self.closed_form > self.scores["mACC"]["mean"]:
            text += (
                f"\nthe closed form is better with so few clouds: mACC {100 * self.closed_form:.1f} % "
                "on the same folds (variant joint, head lda)"
            )
        return text + (f"\nhardest classes: {hardest}" if worst else "")

    def report(self) -> dict[str, Any]:
        """All figures as JSON holds them.

        Returns
        -------
        report : dict
        """
        return {
            "folds": int(self.folds.max()) + 1,
            "classes": self.classes.tolist(),
            **self.scores,
            "confusion": self.confusion.tolist(),
            "recall": {str(name): value for name, value in self.recall.items()},
            **({} if self.closed_form is None else {"closed_form_mACC": self.closed_form}),
        }


@takes(AnyVariant, Head, Training, Folds, Reading, Run)
def train_files(
    folder: PathLike,
    out: PathLike | None = None,
    *,
    labels: PathLike | Mapping[str, str] | None = None,
    groups: PathLike | Mapping[str, str] | None = None,
    anyvariant: AnyVariant,
    head: Head,
    training: Training,
    folds: Folds,
    reading: Reading,
    run: Run,
) -> Model:
    """Learn to classify files, with cross-validation.

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    folder : path-like
        A folder with one folder for each class.
    out : path-like, optional
        Where the model is saved, a new folder or one that holds an older model. What is finished is kept
        beside it until all is done: stopped at any time, the same call goes on. Scores go to
        NAME.report.json and NAME.confusion.png, failures to NAME.errors.csv.
    labels : path-like or mapping, optional
        Instead: a table with the columns file (in the folder) and label.
    groups : path-like or mapping, optional
        A table with the columns file and group: laboratories, animals, sites, families. Files of one group
        are never on both sides of a split.
    {options}

    Returns
    -------
    model : HFSClassifier or HFSNetworkClassifier
        With ``files_``, ``cross_validation_`` (a `CrossValidation` of these files, or None) and ``errors_``,
        the files that could not be used.

    Examples
    --------
    >>> import tempfile, heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=6, n_points=60)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i, (cloud, label) in enumerate(zip(clouds, labels)):
    ...         hf.write_points(f"{folder}/{i}.csv", cloud)
    ...     table = {f"{i}.csv": f"r{label}" for i, label in enumerate(labels)}
    ...     model = hf.train_files(folder, labels=table, head="lda", folds=3)
    >>> model.head_, model.cross_validation_.predicted.shape, model.errors_
    ('lda', (30,), [])
    """
    target = None if out is None else check_place(out)
    beside = check_beside(target, ".errors.csv", ".report.json", ".confusion.png", folder=True)
    count = folds.folds
    model = _new_model(anyvariant, head, training, run)
    found = find_files(folder, labels=labels, groups=groups, leave_out=[target, *beside])
    found.paths = [file for file in found.paths if file in found.labels]
    names = sorted({*found.labels.values()})
    if len(names) < 2:
        raise ValueError(
            f"{str(folder)!r} must hold at least two classes, got {', '.join(names) or 'none'}"
            + ("" if labels is not None else "; each folder in it is a class")
        )
    given, grouped = found.classes_of(found.paths)
    _check(model, given, grouped, 3, _splits(model, given, grouped, count))
    with Job(target, *beside, run=run) as job:
        data = _prepare(job, model, found, reading)
        if len({*data.labels.tolist()}) < 2:
            first = f"; {data.errors[0]}" if data.errors else ""
            raise ValueError(f"{str(folder)!r} must hold at least two classes that can be read{first}")
        for lost in sorted({*names} - {*data.labels.tolist()}):
            warn_caller(f"class {lost!r} is left out, no file of it could be used")
        scores = _cross_validate(job, model, data, count) if count else None
        _fit(job, model, data)
        model.cross_validation_, model.files_ = scores, data.files
        model.errors_, model.notes_ = data.errors, {"reading": plain_options(vars(reading))}
        if target is not None:
            model.save(target, notes=model.notes_)
            _write_beside(beside, model)
    return model


def _new_model(chosen: AnyVariant, head: Head, training: Training, run: Run) -> Model:
    """The classifier of the variant; options of the other kind are an error."""
    learned = chosen.variant in choices_of(Learned, "variant")
    group, given = (Head, head) if learned else (Training, training)
    shared = {entry.name for entry in fields(Head)} & {entry.name for entry in fields(Training)}
    for entry in fields(group):
        if entry.name not in shared and getattr(given, entry.name) != entry.default:
            kind = "closed form" if learned else "learned variants, full and dgcnn"
            raise ValueError(
                f"{entry.name}={getattr(given, entry.name)!r} is an option of the {kind}, "
                f"got variant={chosen.variant!r}"
            )
    if learned:
        return HFSNetworkClassifier(
            **vars(chosen), **vars(training), n_jobs=run.n_jobs, progress=run.progress
        )
    return HFSClassifier(**vars(chosen), **vars(head), n_jobs=run.n_jobs)


# --- features ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Data:
    """Features and labels of the clouds that can be used, and the files that cannot."""

    files: list[str]
    features: Any  # (N, columns), or a PointTable
    labels: NDArray[Any]
    groups: NDArray[Any] | None
    n_dims: int
    range: InputRange
    errors: list[FileError]
    key: str  # what the features depend on
    closed: Array | None = None  # of a learned variant and few clouds: descriptors to compare with


def _prepare(job: Job, model: Model, found: Files, reading: Reading) -> _Data:
    if isinstance(model, HFSNetworkClassifier):
        return _point_features(job, model, found, reading)
    features = model.descriptor_options() | {"lengths": model.lengths}
    settings = plain_settings(features, reading)
    table = describe_usable(job, found, settings, thumbnails=False).table
    model.set_params(lengths=table.settings["features"]["lengths"])  # learnt by now
    return _Data(
        table.files,
        table.features,
        *found.classes_of(table.files),
        table.n_dims,
        InputRange.of(table.diameter, table.points),
        table.errors,
        key_of(settings, table.features),
    )


def _point_features(job: Job, model: HFSNetworkClassifier, found: Files, reading: Reading) -> _Data:
    """Features of every point: the clouds are read here, and described in pieces."""
    clouds: dict[str, Array] = {}
    errors: list[FileError] = []
    for file in progress_bar(found.paths, unit="files", quiet=job.options.progress is False):
        try:
            clouds[file] = read_usable(file, reading)
        except Exception as error:  # whatever a file does, it costs that file only
            errors.append(FileError.of(file, error))
    n = reading.dims or most_common([cloud.shape[1] for cloud in clouds.values()])
    for file in [file for file, cloud in clouds.items() if cloud.shape[1] != n]:
        text = other_dimension(clouds.pop(file).shape[1], n, fixed=bool(reading.dims))
        errors.append(FileError(file, "", text))
    if model.lengths == "shared":
        scales = model._scales(n)
        ends = own_ends(list(clouds.values()), scales, scales.n_threads)
        model.set_params(lengths=list(shared_lengths(ends, scales.n_scales)))
    table = None
    while table is None:
        files, kept = list(clouds), list(clouds.values())
        if not kept:
            raise ValueError(none_usable(found.paths, errors[0]))
        try:
            table = model.point_table(kept, cache=job.folder)
        except OutOfRangeError as error:  # that file does without
            if error.cloud is None:
                raise
            errors.append(FileError(files[error.cloud], "", error.problem))
            del clouds[files[error.cloud]]
    return _Data(
        files,
        table,
        *found.classes_of(files),
        n,
        InputRange.of(diameters_of(kept, drop=table.recipe.drops_isolated), [len(cloud) for cloud in kept]),
        sorted(errors, key=lambda error: error.file),
        key_of(table.recipe.identity(), *kept),
        HFSDescriptor("joint")._fit_dims(n)._compute(kept) if len(kept) <= _FEW else None,
    )


# --- folds and the final fit ---------------------------------------------------------


def _deciding(model: Model) -> dict[str, Any]:
    """The options that a fit depends on."""
    where = ("device", "n_jobs", "progress", "checkpoint", "cache")
    found = {name: value for name, value in model.get_params(deep=False).items() if name not in where}
    return json.loads(json.dumps(found, default=repr))


def _splits(
    model: Model, labels: NDArray[Any], groups: NDArray[Any] | None, folds: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows to learn from and rows held out; none without folds, or where a class is too rare."""
    if not folds or rarest_class(labels)[1] < 2:
        return []
    return split_folds(labels, folds, groups, model.random_state)


def _check(
    model: Model, labels: NDArray[Any], groups: NDArray[Any] | None, n_dims: int,
    splits: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> None:  # fmt: skip
    """A ValueError before the long work, where the model cannot be fitted on all clouds or without a fold."""
    model._check_settings(labels, n_dims, groups)
    for number, (train, _) in enumerate(splits, 1):
        try:
            model._check_settings(labels[train], n_dims, None if groups is None else groups[train])
        except ValueError as error:
            raise ValueError(f"without fold {number} of {len(splits)}: {error}") from None


def _cross_validate(job: Job, model: Model, data: _Data, folds: int) -> CrossValidation | None:
    """Every cloud predicted by a model that was not fitted on it; None where a class is too rare."""
    rare, count = rarest_class(data.labels)
    splits = _splits(model, data.labels, data.groups, folds)
    _check(model, data.labels, data.groups, data.n_dims, splits)
    if not splits:
        warn_caller(f"no cross-validation, class {rare!r} has one cloud only")
        return None
    if len(splits) < folds:
        why = (
            f"class {rare!r} has {plural(count, 'cloud')}" if data.groups is None else "groups stay together"
        )
        warn_caller(f"{len(splits)} folds instead of {folds}: {why}")
    learned = isinstance(model, HFSNetworkClassifier)
    tasks = []
    for number, (train, test) in enumerate(splits):
        key = key_of("fold", _deciding(model), data.key, data.labels.astype(str).tolist(), train, test)
        checkpoint = job.file(key, "checkpoint") if learned else None
        load = (model, data.features, data.labels, data.groups, data.n_dims, train, test, checkpoint)
        tasks.append(Task(key, (*load, len(splits) - number)))
    results = job.run(fit_fold, tasks, unit="folds", at_once=1 if learned else None)
    predicted, numbers = np.empty_like(data.labels), np.empty(len(data.labels), np.int64)
    for number, ((_, test), found) in enumerate(zip(splits, results, strict=True)):
        predicted[test], numbers[test] = found["predicted"], number
    closed = None if data.closed is None else _closed_form_score(data, splits)
    return CrossValidation(data.labels, predicted, numbers, closed)


def _closed_form_score(data: _Data, splits: list[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> float:
    """Mean accuracy over classes of the closed form on the folds of a learned variant."""
    assert data.closed is not None
    own = HFSClassifier("joint", head="lda")
    scores = []
    for train, test in splits:
        own.fit_features(data.closed[train], data.labels[train], n_dims=data.n_dims)
        scores.append(mean_recall(data.labels[test], own.predict_features(data.closed[test])))
    return float(np.mean(scores))


def fit_fold(load: tuple[Any, ...], n_threads: int) -> dict[str, Any]:
    """The labels of the clouds of one fold, by a model that is fitted on all others."""
    from sklearn.base import clone

    model, features, labels, groups, n_dims, train, test, checkpoint, left = load
    own = clone(model)
    remaining_fits.set(left)
    if checkpoint is not None:
        own.set_params(checkpoint=checkpoint)
    _fit_rows(own.set_params(n_jobs=n_threads), features, labels, groups, n_dims, train)
    return {"predicted": own.predict_features(_rows(features, test))}


def _fit(job: Job, model: Model, data: _Data) -> None:
    if isinstance(model, HFSNetworkClassifier):
        key = key_of("all", _deciding(model), data.key, data.labels.astype(str).tolist())
        remaining_fits.set(0)
        model.set_params(checkpoint=job.file(key, "checkpoint"))
    everything = np.arange(len(data.labels))
    own = isinstance(model, HFSNetworkClassifier)  # shows its epochs
    quiet = own or job.options.progress is False
    with progress_bar(total=1, unit="fits", quiet=quiet, keep=True) as bar:
        _fit_rows(model, data.features, data.labels, data.groups, data.n_dims, everything)
        bar.update(1)
    if isinstance(model, HFSNetworkClassifier):
        model.set_params(checkpoint=None)
    model.input_range_ = data.range


def _fit_rows(
    model: Model, features: Any, labels: NDArray[Any], groups: NDArray[Any] | None, n_dims: int,
    rows: NDArray[np.int64],
) -> None:  # fmt: skip
    own = None if groups is None else groups[rows].tolist()
    model.fit_features(_rows(features, rows), labels[rows], n_dims=n_dims, groups=own)


def _rows(features: Any, clouds: NDArray[np.int64]) -> Any:
    return features[clouds] if isinstance(features, np.ndarray) else features.take(clouds)


def _write_beside(beside: list[Path], model: Model) -> None:
    """Failures, scores and the confusion matrix; none stays of an older training."""
    errors, report, picture = beside
    write_errors(errors, model.errors_)
    for path in (report, picture):
        remove_ours(path)
    found = model.cross_validation_
    if found is None:
        return
    text = {
        "heatfield": __version__,
        "settings": _deciding(model),
        **model.notes_,
        "clouds": len(found.labels),
        "choice": model.choice() if isinstance(model, HFSClassifier) else "",
        "cross_validation": found.report(),
    }
    write_atomically(report, (json.dumps(text, indent=1) + "\n").encode())
    if find_spec("matplotlib") is not None:
        from ..plot import confusion_matrix
        from ..plot._style import as_image

        write_atomically(picture, as_image(confusion_matrix(found.confusion, found.classes), "png", 120))
