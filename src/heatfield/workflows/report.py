"""`report_files`: a folder of clouds in, one page about them out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .._base.files import write_atomically
from .._base.progress import progress_bar
from .._base.summary import plural
from ..io import is_remote
from ..jobs import Job
from ..options import Features, Head, Reading, Report, Run, takes
from ..plot._style import pyplot
from ..report._collection import Collection, Separation, separate
from ..report._page import FIGURES, report_page
from .describe import FeatureTable, describe_usable, plain_settings
from .files import PAGE, FileError, PathLike, check_out, check_overwrite, find_files, printable, remove_ours


@dataclass(frozen=True)
class ReportResult:
    """A page about a folder, and what it says.

    Guide: ``heatfield docs guide/report``.

    Parameters
    ----------
    path : Path
        The page.
    table : FeatureTable
        The clouds that it shows.
    scores : Separation
        How well the classes are told apart; ``scores.reason`` says why there are none.
    errors : list of FileError
        Files that could not be used.
    figures : list of Path
        Figures that were written beside the page.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(4):
    ...         hf.write_points(f"{folder}/{i}.pcd", np.random.default_rng(i).random((40, 3)))
    ...     result = hf.report_files(folder, f"{folder}/report.html", variant="simple", embedding="pca")
    >>> len(result.table), result.errors, result.scores.reason[:20]
    (4, [], 'The files carry no l')
    """

    path: Path
    table: FeatureTable
    scores: Separation
    errors: list[FileError] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)

    def __repr__(self) -> str:
        clouds, errors = plural(len(self.table), "cloud"), plural(len(self.errors), "error")
        return f"ReportResult: {self.path}, {clouds}, {errors}"


@takes(Features, Head, Report, Reading, Run)
def report_files(
    folder: PathLike,
    out: PathLike = "report.html",
    *,
    labels: PathLike | Mapping[str, str] | None = None,
    groups: PathLike | Mapping[str, str] | None = None,
    figures: PathLike | None = None,
    features: Features,
    head: Head,
    report: Report,
    reading: Reading,
    run: Run,
) -> ReportResult:
    """A page about a folder of clouds: map, spectra, classes, neighbours, outliers, files that failed.

    Guide: ``heatfield docs guide/report``.

    Parameters
    ----------
    folder : path-like
        Clouds; where they lie in folders below it, these are the classes.
    out : path-like
        The page, a file .html. What is described is kept beside it until the page is written: stopped at any
        time, the same call goes on.
    labels : path-like or mapping, optional
        The class of each file: a table with the columns file and label. Files without one are left out.
    groups : path-like or mapping, optional
        The group of each file, such as a patient or a site: a table with the columns file and group. No group
        is split between the folds of the cross-validation.
    figures : path-like, optional
        A folder for the figures, each also as figure-NAME.svg: map, spectra, confusion, blocks, scales.
    {options}

    Returns
    -------
    result : ReportResult
        With ``errors`` for the files that could not be used.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(12):
    ...         points = np.random.default_rng(i).random((40, 3)) * [1, 1, i % 2]
    ...         hf.write_points(f"{folder}/{i}.ply", points)
    ...     labels = {f"{i}.ply": ("flat", "full")[i % 2] for i in range(12)}
    ...     result = hf.report_files(folder, f"{folder}/report.html", labels=labels, n_scales=3, head="lda")
    >>> result.scores.classes, round(result.scores.accuracy, 1)
    (('flat', 'full'), 1.0)
    """
    page = check_out(out, *PAGE)
    root = os.fspath(folder)
    if not is_remote(root) and not os.path.isdir(root):
        if os.path.isfile(root):
            raise ValueError(f"{root!r} is a file; a folder of files is expected")
        raise ValueError(f"there is no folder {root!r}; check the spelling")
    drawn_to = None if figures is None else Path(figures)
    if drawn_to is not None:
        _check_figures(drawn_to)
    if features.blocks is not None and "hds" not in features.blocks:
        raise ValueError(f"blocks must hold 'hds', which a report draws, got {features.blocks!r}")
    pyplot()  # without matplotlib this says how to install it
    found = find_files(folder, labels=labels, groups=groups, leave_out=[page, drawn_to])
    if labels is not None:
        found.paths = [file for file in found.paths if file in found.labels]
    with Job(page, run=run) as job:
        described = describe_usable(job, found, plain_settings(vars(features), reading))
        table = described.table
        collection = Collection(
            name=printable(Path(root if is_remote(root) else os.path.abspath(root)).name),
            files=[_below(root, file) for file in table.files],
            points=table.points,
            features=table.features,
            descriptor=table.descriptor,
            dims=table.n_dims,
            labels=table.labels,
            sketches=described.sketches,
            broken=[(_below(root, error.file), error.place, error.problem) for error in table.errors],
            lengths=table.lengths,
            unit=described.unit,
            groups=[found.groups[file] for file in table.files] if found.groups else None,
        )
        with progress_bar(total=report.folds, unit="folds", keep=True) as bar:

            def tick(_: int, folds: int) -> None:
                bar.total = folds  # fewer where a class has fewer clouds
                bar.update()

            scores = separate(collection, folds=report.folds, tick=tick, **vars(head))
        drawn: dict[str, bytes] = {}
        text = report_page(
            collection,
            scores,
            save_figure=None if drawn_to is None else drawn.__setitem__,
            random_state=head.random_state,
            **vars(report),
        )
        written = [] if drawn_to is None else _write_figures(drawn_to, drawn)
        write_atomically(page, text.encode())
    return ReportResult(page, table, scores, table.errors, written)


def _below(root: str, file: str) -> str:
    """A file's name inside the folder."""
    if is_remote(file):
        return file.removeprefix(root.rstrip("/") + "/")
    return printable(os.path.relpath(file, root))


def _check_figures(folder: Path) -> None:
    """A ValueError where a figure cannot be written, before the work."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"cannot write figures to {str(folder)!r}: it is not a folder")
    if not folder.parent.is_dir():
        raise ValueError(f"cannot write figures to {str(folder)!r}: no such folder {str(folder.parent)!r}")
    for name in FIGURES if folder.exists() else ():
        check_overwrite(folder / f"figure-{name}.svg")


def _write_figures(folder: Path, drawn: Mapping[str, bytes]) -> list[Path]:
    """Every figure as a file; one of an earlier call that is not drawn any more is removed."""
    folder.mkdir(exist_ok=True)
    for name in FIGURES:
        path = folder / f"figure-{name}.svg"
        if name in drawn:
            write_atomically(path, drawn[name])
        else:
            remove_ours(path)
    return [folder / f"figure-{name}.svg" for name in FIGURES if name in drawn]
