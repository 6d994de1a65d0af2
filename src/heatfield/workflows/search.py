"""An index of files, and which of them are most like others: build, add, remove, query."""

from __future__ import annotations

import difflib
import glob
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from .._base.check import check_count
from .._base.files import write_atomically
from .._base.summary import plural
from ..jobs import Job
from ..models.index import HFSIndex, sketch
from ..models.retrieval import Hits
from ..models.saving import check_place
from ..options import Features, Reading, Retrieval, Run, Spectrum, takes, values_of
from .describe import Described, FeatureTable, describe_usable, is_table, plain_settings
from .files import (
    PAGE,
    FileError,
    PathLike,
    check_beside,
    check_out,
    column_of_files,
    find_files,
    printable,
    read_usable,
    saved_reading,
    write_csv,
    write_errors,
)

_COLUMNS = ("query", "rank", "name", "label", "distance", "most_alike")
_MOST_SHOWN = 200  # queries on a page
# Options of reading that change no point.
_HARMLESS = ("dims", "max_bytes")


@dataclass(frozen=True)
class IndexResult:
    """An index that was built or changed.

    Guide: ``heatfield docs guide/search``.

    Parameters
    ----------
    index : HFSIndex
    names : list of str
        Of the clouds that were added, or removed.
    errors : list of FileError
        Files that could not be used.
    resumed : int
        Files that an earlier call had described.

    Examples
    --------
    >>> import tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i, cloud in enumerate(hf.datasets.make_orbit5k(n_per_class=1, n_points=40)[0]):
    ...         hf.write_points(f"{folder}/{i}.csv", cloud)
    ...     hf.build_index(folder, variant="simple")
    IndexResult: 5 clouds, 0 errors
    """

    index: HFSIndex
    names: list[str]
    errors: list[FileError] = field(default_factory=list)
    resumed: int = 0

    def __repr__(self) -> str:
        return f"IndexResult: {plural(len(self.names), 'cloud')}, {plural(len(self.errors), 'error')}"


@dataclass(frozen=True)
class QueryResult:
    """The clouds of an index that are most like files.

    Guide: ``heatfield docs guide/search``.

    Parameters
    ----------
    files : list of str
    hits : Hits
        Names, labels, distances and differences by block, one row per file.
    errors : list of FileError
        Files that could not be used.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> rng, names = np.random.default_rng(0), "abcd"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in names:
    ...         hf.write_points(f"{folder}/{name}.xyz", rng.random((40, 3)))
    ...     index = hf.build_index(folder, variant="simple").index
    ...     found = hf.query_index(index, f"{folder}/b.xyz", k=2)
    ...     found.write(f"{folder}/hits.csv")
    >>> found, found.rows()[0]["rank"], found.rows()[0]["distance"]
    (QueryResult: 1 file, 2 hits each, 0 errors, 1, 0.0)
    """

    files: list[str]
    hits: Hits
    errors: list[FileError] = field(default_factory=list)

    def __repr__(self) -> str:
        files, hits = plural(len(self.files), "file"), plural(self.hits.rows.shape[1], "hit")
        return f"QueryResult: {files}, {hits} each, {plural(len(self.errors), 'error')}"

    def __str__(self) -> str:
        lines: list[str] = []
        for row in self.rows():
            if row["rank"] == 1:
                lines.append(str(row["query"]))
            label = "" if row["label"] is None else f"  [{row['label']}]"
            which = f"{row['rank']:>3}  {row['distance']:<8.4g} {row['name']}{label}"
            lines.append(f"  {which}  alike: {row['most_alike']}")
        return "\n".join(lines)

    def rows(self) -> list[dict[str, Any]]:
        """One row per hit: query, rank, name, label, distance, most_alike.

        Returns
        -------
        rows : list of dict
        """
        return self.hits.table(self.files)

    def write(self, path: PathLike) -> None:
        """Write the rows as a table of text, whole or not at all.

        Parameters
        ----------
        path : path-like
        """
        rows = self.rows()
        for row in rows:
            row["label"] = "" if row["label"] is None else str(row["label"])
            row["distance"] = float(f"{row['distance']:.6g}")
        write_csv(Path(path), _COLUMNS, [[*row.values()] for row in rows])


# --- build and change ----------------------------------------------------------------


@takes(Features, Retrieval, Reading, Run)
def build_index(
    paths: PathLike | Sequence[PathLike] | FeatureTable,
    out: PathLike | None = None,
    *,
    labels: PathLike | Mapping[str, str] | None = None,
    features: Features,
    retrieval: Retrieval,
    reading: Reading,
    run: Run,
) -> IndexResult:
    """An index of files by their features.

    Guide: ``heatfield docs guide/search``.

    Parameters
    ----------
    paths : path-like, a sequence of them, or FeatureTable
        Files, folders, patterns or URLs; or a table of features, which says itself how files were described.
    out : path-like, optional
        The folder to which the index is saved. What is described is kept beside it until all is done: stopped
        at any time, the same call goes on. Failures go to NAME.errors.csv.
    labels : path-like or mapping, optional
        The class of each file: a table with the columns file and label. By default the folders of one folder
        are its classes, where there are several.
    {options}

    Returns
    -------
    result : IndexResult
        With ``index`` and ``errors``.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(4):
    ...         hf.write_points(f"{folder}/{i}.ply", np.random.default_rng(i).random((40, 3)))
    ...     result = hf.build_index(folder, f"{folder}/index", variant="simple")
    ...     len(hf.HFSIndex.load(f"{folder}/index")), result.errors
    (4, [])
    """
    folder = None if out is None else check_place(out)
    settings = plain_settings(vars(features), reading)
    if _table_of(paths) is not None:
        for given, plain in ((features, Features()), (reading, Reading())):
            other = [name for name, value in vars(plain).items() if getattr(given, name) != value]
            if other:
                raise ValueError(f"{other[0]} belongs to files: a table says itself how they were described")
    with _job(folder, run) as job:
        found = _described(paths, labels, settings, job)
        table = found.table
        known = _known_labels(table)
        if retrieval.metric == "learned" and (known is None or None in known):
            raise ValueError(
                "metric='learned' needs a class for every file: a folder per class, or a table of labels"
            )
        index = HFSIndex(table.descriptor, **vars(retrieval))
        index.build_features(
            table.features,
            n_dims=table.n_dims,
            labels=known,
            names=table.files,
            sketches=found.sketches or None,
        )
        index.notes_ = {"reading": table.settings["reading"]}
        if folder is not None:
            index.save(folder)
            write_errors(job.beside[0], table.errors)
    return IndexResult(index, table.files, table.errors, table.resumed)


@takes(Run)
def add_to_index(
    index: PathLike,
    paths: PathLike | Sequence[PathLike] | FeatureTable,
    *,
    labels: PathLike | Mapping[str, str] | None = None,
    label: str | None = None,
    run: Run,
) -> IndexResult:
    """Add files to a saved index: they are read, described and standardised as those that it was built from.

    Guide: ``heatfield docs guide/search``.

    Parameters
    ----------
    index : path-like
        The folder of the index. It is replaced when all is done.
    paths : path-like, a sequence of them, or FeatureTable
        Files whose names are not in the index; or a table of features that was computed with its options.
    labels : path-like or mapping, optional
        See `build_index`.
    label : str, optional
        One class for all that is added.
    {options}

    Returns
    -------
    result : IndexResult
        With the index and the names of what was added.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(5):
    ...         hf.write_points(f"{folder}/{i}.ply", np.random.default_rng(i).random((40, 3)))
    ...     _ = hf.build_index(f"{folder}/[0-3].ply", f"{folder}/index", variant="simple")
    ...     len(hf.add_to_index(f"{folder}/index", f"{folder}/4.ply", label="box").index)
    5
    """
    if label is not None and labels is not None:
        raise ValueError("label gives one class to all files, labels a table of them: give one only")
    folder = _folder_of(index)
    with _job(folder, run) as job:
        old = HFSIndex.load(folder)
        settings = _settings_of(old, folder)
        found = _described(paths, labels, settings, job, old)
        table = found.table
        _check_same(table, settings, old.descriptor_.n_dims_, bool(old.notes_.get("reading")))
        words = [label] * len(table) if label is not None else _known_labels(table)
        same = {str(known): known for known in old.labels if known is not None}
        known = None if words is None else [None if word is None else same.get(word, word) for word in words]
        old.add_features(
            table.features, labels=known, names=table.files, sketches=found.sketches or None
        ).save(folder)
        write_errors(job.beside[0], table.errors)
    return IndexResult(old, table.files, table.errors, table.resumed)


def remove_from_index(index: PathLike, names: str | Sequence[str]) -> IndexResult:
    """Remove clouds from a saved index by their names, which are those that a query shows.

    Guide: ``heatfield docs guide/search``.

    Parameters
    ----------
    index : path-like
        The folder of the index.
    names : str, or a sequence of them
        Names, or patterns of names.

    Returns
    -------
    result : IndexResult
        With the index and the names of what was removed.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> shapes = {"line": [1, 0, 0], "sheet": [1, 1, 0], "box": [1, 1, 1]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, axes in shapes.items():
    ...         hf.write_points(f"{folder}/{name}.xyz", np.random.default_rng(0).random((40, 3)) * axes)
    ...     _ = hf.build_index(folder, f"{folder}/index", variant="simple")
    ...     len(hf.remove_from_index(f"{folder}/index", "*/bo?.xyz").index)
    2
    """
    folder = _folder_of(index)
    with _job(folder, Run()):
        old = HFSIndex.load(folder)
        gone = _matching([names] if isinstance(names, str) else names, old.names)
        old.remove(gone).save(folder)
    return IndexResult(old, gone)


# --- query ---------------------------------------------------------------------------


@takes(Run)
def query_index(
    index: PathLike | HFSIndex,
    paths: PathLike | Sequence[PathLike],
    out: PathLike | None = None,
    *,
    k: int = 10,
    page: PathLike | None = None,
    run: Run,
) -> QueryResult:
    """The clouds of an index that are most like files.

    Guide: ``heatfield docs guide/search``.

    Parameters
    ----------
    index : path-like or HFSIndex
    paths : path-like, or a sequence of them
        Files, folders, patterns or URLs. They are read as those of the index.
    out : path-like, optional
        Where the hits are written as well, a file .csv. Failures go to NAME.errors.csv.
    k : int
        Hits per file.
    page : path-like, optional
        Also a page with thumbnails, a file .html.
    {options}

    Returns
    -------
    result : QueryResult
        With ``hits`` and ``errors``.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for seed in range(4):
    ...         np.save(f"{folder}/{seed}.npy", np.random.default_rng(seed).random((40, 2)))
    ...     index = hf.build_index(folder, metric="cosine").index
    ...     [name[-5:] for name in hf.query_index(index, f"{folder}/3.npy", k=1).hits.names[0]]
    ['3.npy']
    """
    check_count(k, "k", 1)
    target = None if out is None else check_out(out, ".csv")
    beside = check_beside(target, ".errors.csv")
    shown = None if page is None else check_out(page, *PAGE, name="page")
    folder = None if isinstance(index, HFSIndex) else Path(index)
    old = index if isinstance(index, HFSIndex) else HFSIndex.load(Path(index))
    settings = _settings_of(old, folder)
    found = find_files(paths, leave_out=[target, *beside, shown])
    with Job(target, *beside, run=run) as job:
        dims = old.descriptor_.n_dims_
        described = describe_usable(job, found, settings, dims=dims, thumbnails=shown is not None)
        table = described.table
        result = QueryResult(table.files, old.query_features(table.features, k), table.errors)
        if target is not None:
            result.write(target)
            write_errors(beside[0], result.errors)
        if shown is not None:
            name = "index" if folder is None else folder.resolve().name
            reading = Reading(**settings["reading"] | {"budget": 160})
            _write_page(shown, name, old, result, described, reading)
    return result


def _write_page(
    path: Path, name: str, index: HFSIndex, result: QueryResult, described: Described, reading: Reading
) -> None:
    """The first queries with their hits as thumbnails."""
    from ..report._page import hits_page

    hits, count = result.hits, min(len(result.files), _MOST_SHOWN)
    parts = ("rows", "names", "labels", "distances", "differences")
    shown = replace(hits, **{name: getattr(hits, name)[:count] for name in parts})
    drawn = {row: _thumbnail(index, row, reading) for row in np.unique(shown.rows).tolist()}
    rest = f", the first {count} are shown" if count < len(result.files) else ""
    width = index.rows_.shape[1]
    page = hits_page(
        name,
        [printable(file) for file in result.files[:count]],
        shown,
        query_sketches=described.sketches[:count],
        hit_sketches={row: one for row, one in drawn.items() if one is not None},
        facts=[
            ("index", f"{plural(len(index), 'cloud')}, {index.descriptor_.variant}, {width} numbers each"),
            ("metric", index.metric),
            ("queries", f"{len(result.files):,}{rest}"),
        ],
    )
    write_atomically(path, page.encode("utf-8", "replace"))


def _thumbnail(index: HFSIndex, row: int, reading: Reading) -> Any:
    """The thumbnail that the index holds, or one of its file where that can still be read."""
    drawn = index.sketch_of(row)
    with suppress(OSError, ValueError):
        return sketch(read_usable(index.names[row], reading)) if drawn is None else drawn


# --- what they share -----------------------------------------------------------------


def _job(folder: Path | None, run: Run) -> Job:
    """Alone with an index, with what is described kept beside it."""
    return Job(folder, *check_beside(folder, ".errors.csv", folder=True), run=run)


def _folder_of(index: PathLike) -> Path:
    """The folder of a saved index; where there is none, a ValueError before a lock makes one beside it."""
    if not Path(index).is_dir():
        HFSIndex.load(Path(index))
    return Path(index)


def _table_of(paths: Any) -> FeatureTable | None:
    """The table of features that is given, or that the only path is; None where files are meant."""
    if isinstance(paths, FeatureTable):
        return paths
    words = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    return FeatureTable.read(words[0]) if len(words) == 1 and is_table(words[0]) else None


def _described(
    paths: Any, labels: Any, settings: dict[str, Any], job: Job, into: HFSIndex | None = None
) -> Described:
    """Clouds with features, from files or from a table; ``into``: the index to which they are added."""
    table = _table_of(paths)
    if table is None:
        found = find_files(paths, labels=labels, leave_out=[job.out, *job.beside])
        if into is not None:
            into.members_.check_new(found.paths)  # before the work
        dims = None if into is None else into.descriptor_.n_dims_
        return describe_usable(job, found, settings, dims=dims)
    table = table.usable()
    if len(table) == 0:
        raise ValueError("the table holds no row with features")
    if labels is not None:
        own = column_of_files(labels, "label", None, table.files)
        table = replace(table, labels=[own.get(file, "") for file in table.files])
    return Described(table, [], "")


def _known_labels(table: FeatureTable) -> list[str | None] | None:
    """The class of each cloud; None where there is no class at all."""
    return [label or None for label in table.labels] if table.labels and any(table.labels) else None


def _settings_of(index: HFSIndex, folder: Path | None) -> dict[str, Any]:
    """How the clouds of an index were described and read."""
    reading = saved_reading(index.notes_, repr(str(folder)))
    return plain_settings(values_of(index.descriptor_, Features, Spectrum), reading)


def _check_same(table: FeatureTable, settings: dict[str, Any], dims: int, reading: bool) -> None:
    """A ValueError where the features of a table are not what the index would have computed."""
    if table.n_dims != dims:
        raise ValueError(
            f"the table describes points of {table.n_dims} coordinates, the index those of {dims}"
        )
    for part, how in (("features", "described"), ("reading", "read")):
        default = {entry.name: entry.default for entry in fields(Spectrum)} if part == "features" else {}
        theirs = default | table.settings[part]
        for name, value in settings[part].items():
            skipped = part == "reading" and (not reading or name in _HARMLESS)
            if not skipped and json.dumps(theirs.get(name)) != json.dumps(value):
                raise ValueError(
                    f"the table was {how} with {name}={theirs.get(name)!r}, the index with {name}={value!r}; "
                    "describe the files again, or add them instead of the table"
                )


def _matching(words: Sequence[str], names: list[str]) -> list[str]:
    """Names of the index that are asked for: exact, as a path, or by a pattern."""
    known, gone = {*names}, dict[str, None]()
    for word in words:
        plain = os.path.normpath(word)
        if word in known or plain in known:
            gone[word if word in known else plain] = None
            continue
        matches = [name for name in names if fnmatchcase(name, word)] if glob.has_magic(word) else []
        if not matches:
            near = difflib.get_close_matches(word, names, n=1, cutoff=0.3)
            hint = f" (the nearest name is {near[0]!r})" if near else ""
            raise ValueError(f"{word!r} is not in the index; nothing was removed{hint}")
        gone |= dict.fromkeys(matches)
    return list(gone)
