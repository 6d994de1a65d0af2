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

from .._base.check import Array, OutOfRangeError, as_points
from .._base.optional import need
from .._base.progress import progress_bar, show_progress
from .._base.warn import quiet
from ..io import Cloud, read_cloud
from ..models.classifier import HFSClassifier
from ..models.network import HFSNetworkClassifier
from ..models.saving import estimator_of
from ..options import Reading, Run, option, options, takes
from .files import (
    FileError,
    PathLike,
    check_overwrite,
    find_files,
    other_dimension,
    printable,
    write_csv,
    write_errors,
)

EACH = "each"  # what ``chain`` says for every chain as a cloud
_TOGETHER = 64  # files that are read and classified together
Model = HFSClassifier | HFSNetworkClassifier


@options
class Predicting:
    """What is predicted, and where."""

    chain: str | None = option(
        "Of molecules: one chain, or each for every chain as a cloud; by default as in the training.",
        default=None,
    )
    device: str = option("cpu, cuda, ...; auto is a GPU if there is one.", default="auto")


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
    Predictions of 1 clouds, 0 errors
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
        wide = [max((len(str(word)) for word in words), default=0) for words in (self.files, self.labels)]
        for file, label, shares, note in zip(*self._columns(), strict=True):
            text = f"{file.ljust(wide[0])}  {str(label).ljust(wide[1])}  {shares.max():.3f}"
            yield printable(text + (f"  ({note})" if note else ""))

    def _columns(self) -> tuple[Any, ...]:
        return self.files, self.labels, self.probabilities, self.notes

    def __repr__(self) -> str:
        head = f"Predictions of {len(self)} clouds, {len(self.errors)} errors"
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
            for file, label, shares, note in zip(*self._columns(), strict=True)
        ]
        return head, rows

    def write(self, path: str | Path) -> None:
        """Write the table to a .csv file, whole or not at all.

        Parameters
        ----------
        path : path-like
        """
        head, rows = self._table()
        numbers = slice(2, 3 + len(self.classes))
        for row in rows:
            row[numbers] = [_Digits(value) for value in row[numbers]]
        write_csv(Path(path), head, rows)


class _Digits(float):
    """A probability, written with six digits."""

    def __repr__(self) -> str:
        return f"{float(self):.6g}"


@takes(Predicting, Run)
def predict_files(
    model: PathLike | Model,
    paths: PathLike | Sequence[PathLike],
    out: PathLike | None = None,
    *,
    predicting: Predicting,
    run: Run,
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
    target = None if out is None else Path(out)
    beside = [] if target is None else [target.with_suffix(".errors.csv")]
    if target is not None:
        if target.suffix != ".csv":
            raise ValueError(f"out must end in .csv, got {str(target)!r}")
        for path in (target, *beside):
            check_overwrite(path)
    given = load_classifier(model, predicting.device) if isinstance(model, (str, os.PathLike)) else model
    fitted: Model = copy(given).set_params(n_jobs=run.n_jobs)
    reading = saved_reading(getattr(fitted, "notes_", {}))
    if predicting.chain is not None:
        reading.chain = None if predicting.chain == EACH else predicting.chain
    kept_out = [path for path in (target, *beside) if path is not None]
    files = find_files(paths, leave_out=kept_out).paths
    names: list[str] = []
    notes: list[str] = []
    shares: list[Array] = []
    errors: list[FileError] = []
    with (
        show_progress(run.progress),
        progress_bar(total=len(files), unit="files", quiet=run.progress is False, keep=True) as bar,
    ):
        for first in range(0, len(files), _TOGETHER):
            some = files[first : first + _TOGETHER]
            clouds, failed = _read(some, reading, fitted.n_dims_, predicting.chain == EACH)
            errors += failed
            known, failed = _classify(fitted, clouds)
            errors += failed
            for name, (row, note) in known.items():
                names.append(name)
                notes.append(note)
                shares.append(row)
            bar.update(len(some))
    proba = np.array(shares).reshape(-1, len(fitted.classes_))
    labels = fitted.classes_[proba.argmax(axis=1)]
    predictions = Predictions(names, labels, proba, fitted.classes_, notes, fitted.uncalibrated(), errors)
    if target is not None:
        predictions.write(target)
        write_errors(beside[0], errors)
    return predictions


def load_classifier(folder: PathLike, device: str = "auto") -> Model:
    """A saved classifier of either kind."""
    if estimator_of(os.fspath(folder)) == HFSNetworkClassifier.__name__:
        return HFSNetworkClassifier.load(os.fspath(folder), device=device)
    return HFSClassifier.load(os.fspath(folder))


def saved_reading(notes: dict[str, Any]) -> Reading:
    """How files are read, as a model or an index notes it, or a ValueError."""
    reading = notes.get("reading", {})
    try:
        return Reading(**reading)
    except TypeError:
        raise ValueError(f"the model says how to read files, but not as options: {reading!r}") from None


def _read(
    files: Sequence[str], reading: Reading, n_dims: int, each_chain: bool
) -> tuple[dict[str, Array], list[FileError]]:
    """Clouds by their names, and what cannot be used."""
    clouds: dict[str, Array] = {}
    errors: list[FileError] = []
    for file in files:
        try:
            cloud = read_cloud(file, **vars(reading))
            points = as_points(cloud.points)
            if points.shape[1] != n_dims:
                raise ValueError(other_dimension(points.shape[1], n_dims, fixed=True))
            parts = _chains(cloud) if each_chain else {"": slice(None)}
        except Exception as error:  # whatever a file does, it costs that file only
            errors.append(FileError.of(file, error))
            continue
        for name, rows in parts.items():
            own = points[rows]
            if len(own) < 2 or (own == own[0]).all():
                errors.append(FileError(f"{file}{name}", "", "it has fewer than two distinct points"))
            else:
                clouds[f"{file}{name}"] = own
    return clouds, errors


def _classify(model: Model, clouds: dict[str, Array]) -> tuple[dict[str, tuple[Array, str]], list[FileError]]:
    """Probabilities and note of each cloud; one that cannot be described costs itself only."""
    if not clouds:
        return {}, []
    points = list(clouds.values())
    try:
        odd = model.unlike(points)
        with quiet():  # said in the table, file by file
            shares = model.predict_proba(points)
    except (ValueError, MemoryError) as error:
        if len(clouds) == 1:
            own = ValueError(error.problem) if isinstance(error, OutOfRangeError) else error
            return {}, [FileError.of(next(iter(clouds)), own)]
        parts = [_classify(model, {name: cloud}) for name, cloud in clouds.items()]
        return {k: v for found, _ in parts for k, v in found.items()}, [e for _, some in parts for e in some]
    return {name: (shares[i], odd.get(i, "")) for i, name in enumerate(clouds)}, []


def _chains(cloud: Cloud) -> dict[str, Any]:
    """The rows of each chain; all of them where there are none."""
    chain = cloud.columns.get("chain")
    if chain is None:
        return {"": slice(None)}
    return {f":{name}": chain == name for name in dict.fromkeys(chain.tolist())}
