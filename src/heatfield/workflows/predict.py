"""`predict_files`: a model and files in, labels and probabilities out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array, as_points, quiet
from .._base.optional import need
from .._base.progress import progress_bar, show_progress
from .._base.summary import plural
from ..io import Cloud, chain_words, read_cloud
from ..models.classifier import HFSClassifier
from ..models.network import HFSNetworkClassifier
from ..models.saving import estimator_of
from ..options import Local, Prediction, Reading, takes
from .files import (
    FileError,
    PathLike,
    check_beside,
    check_out,
    find_files,
    other_dimension,
    printable,
    saved_reading,
    write_csv,
    write_errors,
)

EACH = "each"  # what ``chain`` says for every chain as a cloud
_TOGETHER = 64  # files that are read and classified together
Model = HFSClassifier | HFSNetworkClassifier


@dataclass(frozen=True)
class Predictions:
    """Labels and probabilities of files.

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    files : list of str
        A chain of a molecule is called ``file:chain``.
    labels : (N,) array
        The most probable class of each.
    probabilities : (N, classes) array
    classes : (classes,) array
    notes : list of str
        What is unlike the training set, "" where nothing is.
    uncalibrated : str
        Why the probabilities are no measure of confidence; "" where they are one.
    errors : list of FileError
        Files that could not be classified.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> classes = np.array(["cat", "dog"])
    >>> found = hf.Predictions(["a.ply"], classes[:1], np.array([[0.9, 0.1]]), classes, [""])
    >>> found
    Predictions of 1 cloud, 0 errors
    a.ply  cat  0.900
    >>> list(found.lines()), list(found.to_frame().columns)
    (['a.ply  cat  0.900'], ['file', 'label', 'probability', 'p_cat', 'p_dog', 'note'])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found.write(f"{folder}/table.csv")
    """

    files: list[str]
    labels: NDArray[Any]
    probabilities: Array
    classes: NDArray[Any]
    notes: list[str]
    uncalibrated: str = ""
    errors: list[FileError] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.files)

    def lines(self) -> Iterator[str]:
        """File, label and probability of every cloud, in columns.

        Yields
        ------
        line : str
        """
        rows = self._table()[1]
        wide = [max((len(row[k]) for row in rows), default=0) for k in (0, 1)]
        for file, label, share, *_, note in rows:
            text = f"{file.ljust(wide[0])}  {label.ljust(wide[1])}  {share:.3f}"
            yield printable(text + (f"  ({note})" if note else ""))

    def __repr__(self) -> str:
        head = f"Predictions of {plural(len(self), 'cloud')}, {plural(len(self.errors), 'error')}"
        shown = list(self.lines())
        return "\n".join([head, *shown[:5], *(["..."] if len(shown) > 5 else [])])

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame: file, label, probability, p_CLASS, note.

        Returns
        -------
        frame : pandas.DataFrame
        """
        head, rows = self._table()
        return need("pandas", "A data frame").DataFrame(rows, columns=head)

    def _table(self) -> tuple[list[str], list[list[Any]]]:
        head = ["file", "label", "probability", *(f"p_{name}" for name in self.classes), "note"]
        rows = [
            [file, str(label), float(shares.max()), *map(float, shares), note]
            for file, label, shares, note in zip(
                self.files, self.labels, self.probabilities, self.notes, strict=True
            )
        ]
        return head, rows

    def write(self, path: str | Path) -> None:
        """Write the table to a .csv file, whole or not at all.

        Parameters
        ----------
        path : path-like
        """
        head, rows = self._table()
        digits = [[float(f"{cell:.6g}") if isinstance(cell, float) else cell for cell in row] for row in rows]
        write_csv(Path(path), head, digits)


@takes(Prediction, Local)
def predict_files(
    model: PathLike | Model,
    paths: PathLike | Sequence[PathLike],
    out: PathLike | None = None,
    *,
    prediction: Prediction,
    local: Local,
) -> Predictions:
    """Classify files with a model that was trained before.

    Files are read as they were for the training.

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    model : path-like, HFSClassifier or HFSNetworkClassifier
        A folder that a model was saved to, or the model.
    paths : path-like, or a sequence of them
        Files, folders, patterns or URLs.
    out : path-like, optional
        A .csv file for the table; failures go to NAME.errors.csv.
    {options}

    Returns
    -------
    predictions : Predictions

    Examples
    --------
    >>> import tempfile, heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=6, n_points=60)
    >>> model = hf.HFSClassifier(head="lda").fit(clouds, labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.write_points(f"{folder}/a.csv", clouds[0])
    ...     hf.predict_files(model, f"{folder}/a.csv").probabilities.shape
    (1, 5)
    """
    target = None if out is None else check_out(out, ".csv")
    beside = check_beside(target, ".errors.csv")
    given = load_classifier(model, prediction.device) if isinstance(model, (str, os.PathLike)) else model
    fitted: Model = copy(given).set_params(n_jobs=local.n_jobs)
    reading = saved_reading(getattr(fitted, "notes_", {}))
    if prediction.chain is not None:
        reading.chain = None if prediction.chain == EACH else prediction.chain
    files = find_files(paths, leave_out=[target, *beside]).paths
    known: dict[str, tuple[Array, str]] = {}
    errors: list[FileError] = []
    with (
        show_progress(local.progress),
        progress_bar(total=len(files), unit="files", quiet=local.progress is False, keep=True) as bar,
    ):
        for first in range(0, len(files), _TOGETHER):
            some = files[first : first + _TOGETHER]
            clouds, notes = _read(some, reading, fitted.n_dims_, prediction.chain == EACH, errors)
            for name, (shares, note) in _classify(fitted, clouds, errors).items():
                known[name] = shares, "; ".join(filter(None, (note, notes.get(name, ""))))
            bar.update(len(some))
    proba = np.array([row for row, _ in known.values()]).reshape(-1, len(fitted.classes_))
    predictions = Predictions(
        files=list(known),
        labels=fitted.classes_[proba.argmax(axis=1)],
        probabilities=proba,
        classes=fitted.classes_,
        notes=[note for _, note in known.values()],
        uncalibrated=fitted.uncalibrated(),
        errors=errors,
    )
    if target is not None:
        predictions.write(target)
        write_errors(beside[0], errors)
    return predictions


def load_classifier(folder: PathLike, device: str = "auto") -> Model:
    """A saved classifier of either kind."""
    if estimator_of(os.fspath(folder)) == HFSNetworkClassifier.__name__:
        return HFSNetworkClassifier.load(os.fspath(folder), device=device)
    return HFSClassifier.load(os.fspath(folder))


def _read(
    files: Sequence[str], reading: Reading, n_dims: int, each_chain: bool, errors: list[FileError]
) -> tuple[dict[str, Array], dict[str, str]]:
    """Clouds by their names, and notes on files; what cannot be used is added to the errors."""
    clouds: dict[str, Array] = {}
    notes: dict[str, str] = {}
    for file in files:
        try:
            cloud = read_cloud(file, **vars(reading))
            points = as_points(cloud.points)
            if points.shape[1] != n_dims:
                raise ValueError(other_dimension(points.shape[1], n_dims, fixed=True))
            parts = _chains(cloud) if each_chain else {"": slice(None)}
            if not each_chain:
                notes[file] = chain_words(cloud)
        except Exception as error:  # whatever a file does, it costs that file only
            errors.append(FileError.of(file, error))
            continue
        for name, rows in parts.items():
            own = points[rows]
            if len(own) < 2 or (own == own[0]).all():
                errors.append(FileError(f"{file}{name}", "", "it has fewer than two distinct points"))
            else:
                clouds[f"{file}{name}"] = own
    return clouds, notes


def _classify(
    model: Model, clouds: dict[str, Array], errors: list[FileError]
) -> dict[str, tuple[Array, str]]:
    """Probabilities and note of each cloud; one that cannot be described costs itself only."""
    if not clouds:
        return {}
    points = list(clouds.values())
    try:
        odd = model.unlike(points)
        with quiet():  # said in the table, file by file
            shares = model.predict_proba(points)
    except (ValueError, MemoryError) as error:
        if len(clouds) == 1:
            errors.append(FileError.of(next(iter(clouds)), error))
            return {}
        alone = [_classify(model, {name: cloud}, errors) for name, cloud in clouds.items()]
        return {name: found for one in alone for name, found in one.items()}
    return {name: (shares[i], odd.get(i, "")) for i, name in enumerate(clouds)}


def _chains(cloud: Cloud) -> dict[str, Any]:
    """The rows of each chain; all of them where there are none."""
    chain = cloud.columns.get("chain")
    if chain is None:
        return {"": slice(None)}
    return {f":{name}": chain == name for name in dict.fromkeys(chain.tolist())}
