"""`describe_files`: files in, a table of features out; stopped at any time, the same call goes on."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from .. import channels as registry
from .._base.check import Array, as_points, check_count, quiet
from .._base.files import write_atomically
from .._base.optional import need
from .._base.summary import plural
from .._base.threads import stop_if_asked
from ..features.blocks import registry as blocks
from ..features.describe import describe_clouds, own_ends, shared_lengths
from ..features.layout import SCHEMA, DescriptorSettings
from ..heat_signatures import signatures
from ..io import Cloud, channel_names, read_cloud, write_signatures
from ..io.write import coordinate_unit
from ..jobs import Job, Task, key_of
from ..options import Features, PointFiles, Reading, Run, takes
from ..scales import geometric
from .files import (
    FileError,
    Files,
    PathLike,
    check_beside,
    check_out,
    check_unchanged,
    find_files,
    most_common,
    none_usable,
    other_dimension,
    own_folder,
    printable,
    stamps_of,
    target_names,
    unsafe_cell,
    who_reads,
    write_csv,
    write_errors,
)

if TYPE_CHECKING:
    from ..features.descriptor import HFSDescriptor

TABLES = (".parquet", ".csv", ".npz")
POINT_SUFFIXES = ("ply", "las", "laz", "parquet", "csv", "npz", "pcd")
_TOGETHER, _BYTES_TOGETHER = 32, 4 << 20  # files whose result is kept together, and bytes of them
_LEADING = ("file", "points_in_file", "points")  # columns before all others
# Columns of a table of `describe` that are not features.
BESIDE = {
    "file": "where the cloud came from",
    "points_in_file": "points in the file; nodes of a skeleton, vertices of a mesh",
    "points": "points of the cloud",
    "label": "class, from the folder or from --labels",
    "isolated": "points that were left out because they are far from all others",
    "r_nn": "mean distance to the nearest other point, in the unit of the data, of the points that are left",
    "diameter": "largest distance between two of these points, in the unit of the data",
}
BESIDE_LENGTH = "sqrt(t) of this scale, in the unit of the data"  # length_s0, length_s1, ...
_OF_SIGNATURES = ("n_scales", "c_min", "c_max", "lengths", "transition", "method", "tol")


@dataclass(frozen=True)
class FeatureTable:
    """The features of files, one row per cloud, and what could not be described.

    Guide: ``heatfield docs guide/describe``.

    Parameters
    ----------
    files : list of str
    features : (N, columns) array
    names : tuple of str
        Of the columns.
    labels : list of str or None
        The class of each file; "" for none.
    n_dims : int
        Dimension of the points.
    points_in_file, points : (N,) arrays
        How many points each file holds, and how many of them are the cloud.
    isolated : (N,) array
        How many of these were left out because they are isolated.
    spacing, diameter : (N,) arrays
        Mean distance to the nearest other point, and largest distance of two, of those that are left.
    lengths : (N, T) array
        Lengths sqrt(t) of the scales of each cloud.
    settings : dict
        Options of the features and of reading.
    errors : list of FileError
        Files that could not be described: ``file``, ``place`` and ``problem``.
    resumed : int
        Files that an earlier call had finished.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(3):
    ...         hf.write_points(f"{folder}/{i}.ply", np.random.default_rng(i).random((40, 3)))
    ...     table = hf.describe_files(folder)
    ...     table.write(f"{folder}/table.npz")
    ...     again = hf.FeatureTable.read(f"{folder}/table.npz")
    >>> table.features.shape, len(again), table.errors
    ((3, 744), 3, [])
    >>> list(table.columns())[:4], table.to_frame().shape, len(table.usable())
    (['file', 'points_in_file', 'points', 'isolated'], (3, 758), 3)
    >>> table
    FeatureTable of 3 clouds: 744 columns, points in 3 dimensions, 0 errors
    """

    files: list[str]
    features: Array
    names: tuple[str, ...]
    labels: list[str] | None
    n_dims: int
    points_in_file: NDArray[np.int64]
    points: NDArray[np.int64]
    isolated: NDArray[np.int64]
    spacing: Array
    diameter: Array
    lengths: Array
    settings: dict[str, Any]
    errors: list[FileError] = field(default_factory=list)
    resumed: int = 0

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        rows, columns = self.features.shape
        where = f"points in {plural(self.n_dims, 'dimension')}, {plural(len(self.errors), 'error')}"
        return f"FeatureTable of {plural(rows, 'cloud')}: {plural(columns, 'column')}, {where}"

    @property
    def empty(self) -> int:
        """How many clouds have fewer than two distinct points: their features are NaN."""
        return int(np.isnan(self.features).all(axis=1).sum()) if self.features.size else 0

    @property
    def descriptor(self) -> HFSDescriptor:
        """What computed the features."""
        from ..features.descriptor import HFSDescriptor

        return HFSDescriptor(**self.settings["features"], n_dims=self.n_dims)._fit_dims(self.n_dims)

    def usable(self) -> FeatureTable:
        """The table without clouds of fewer than two distinct points, which are errors then.

        Returns
        -------
        table : FeatureTable
        """
        known = np.asarray(np.isfinite(self.features).any(axis=1))
        problem = "it has fewer than two distinct points"
        empty = [FileError(self.files[i], "", problem) for i in np.flatnonzero(~known)]
        rows: dict[str, Any] = {
            name: [value for value, keep in zip(getattr(self, name), known, strict=True) if keep]
            for name in ("files", *([] if self.labels is None else ["labels"]))
        }
        for name in ("features", "points_in_file", "points", "isolated", "spacing", "diameter", "lengths"):
            rows[name] = getattr(self, name)[known]
        errors = sorted([*self.errors, *empty], key=lambda error: error.file)
        return replace(self, **rows, errors=errors)

    def columns(self) -> dict[str, Any]:
        """All columns of the table by name: file, counts, label, spacing and lengths, then the features.

        Returns
        -------
        columns : dict of str to (N,) array or list
        """
        found: dict[str, Any] = {
            "file": self.files, "points_in_file": self.points_in_file, "points": self.points,
        }  # fmt: skip
        found |= self._metadata_columns()
        return found | {name: self.features[:, c] for c, name in enumerate(self.names)}

    def _metadata_columns(self) -> dict[str, Any]:
        found: dict[str, Any] = {} if self.labels is None else {"label": self.labels}
        found |= {"isolated": self.isolated, "r_nn": self.spacing, "diameter": self.diameter}
        return found | {f"length_s{a}": self.lengths[:, a] for a in range(self.lengths.shape[1])}

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame.

        Returns
        -------
        frame : pandas.DataFrame
        """
        return need("pandas", "A data frame").DataFrame(self.columns())

    def write(self, path: PathLike) -> None:
        """Write the table to a .parquet, .csv or .npz file, whole or not at all, with a dictionary beside it.

        The settings go into the file; for CSV, which has no place for them, into NAME.meta.json.

        Parameters
        ----------
        path : path-like
        """
        target = Path(path)
        if target.suffix not in TABLES:
            raise ValueError(f"path must end in {', '.join(TABLES)}, got {str(target)!r}")
        beside = self._metadata_columns()
        origin = {"heatfield": __version__, "schema": SCHEMA, "n_dims": self.n_dims, "beside": list(beside)}
        text = json.dumps({**self.settings, **origin}, sort_keys=True)
        if target.suffix == ".csv":
            columns = self.columns()
            cells = [column if isinstance(column, list) else column.tolist() for column in columns.values()]
            write_csv(target, list(columns), zip(*cells, strict=True))
            write_atomically(target.with_suffix(".meta.json"), (text + "\n").encode())
        else:
            buffer = io.BytesIO()
            if target.suffix == ".npz":
                arrays: dict[str, Any] = {"files": np.array(self.files, dtype=str), "features": self.features}
                arrays |= {"names": np.array(self.names, dtype=str), "heatfield": np.array(text)}
                arrays |= {"points_in_file": self.points_in_file, "points": self.points}
                arrays |= {name: np.array(column) for name, column in beside.items()}
                np.savez_compressed(buffer, **arrays)
            else:
                pa, pq = need("pyarrow", "Parquet tables"), need("pyarrow.parquet", "Parquet tables")
                columns = self.columns() | {"file": [printable(file) for file in self.files]}
                table = pa.table({name: pa.array(column) for name, column in columns.items()})
                pq.write_table(table.replace_schema_metadata({"heatfield": text}), buffer)
            write_atomically(target, buffer.getvalue())
        self._write_dictionary(target.with_suffix(".columns.csv"))

    def _write_dictionary(self, path: Path) -> None:
        """Every column, its block, its scales and what it means."""
        rows: list[tuple[str, str, str, str]] = []
        for name in (*_LEADING, *self._metadata_columns()):
            length = re.fullmatch(r"length_s(\d+)", name)
            rows.append((name, "", length[1] if length else "", BESIDE_LENGTH if length else BESIDE[name]))
        layout = _settings(self.settings["features"], self.n_dims).columns
        for block, here in layout.columns.items():
            for name in layout.names[here]:
                rows.append((name, block, " ".join(re.findall(r"_s(\d+)", name)), blocks()[block].words))
        write_csv(path, ("column", "block", "scales", "meaning"), rows)

    @classmethod
    def read(cls, path: PathLike) -> Self:
        """A table that `write` wrote; a ValueError where it is not one, or not of this version's columns.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        table : FeatureTable
        """
        path = Path(path)
        try:
            columns, text = _read_columns(path)
            settings = json.loads(text)
            n_dims, schema = check_count(settings.pop("n_dims"), "n_dims", 1), settings.pop("schema")
            names = _settings(settings["features"], n_dims).columns.names
            others = settings.pop("beside")
            lengths = [name for name in others if name.startswith("length_s")]
            table = cls(
                files=list(columns["file"]),
                features=np.stack([np.asarray(columns[name], float) for name in names], axis=1),
                names=names,
                labels=list(columns["label"]) if "label" in columns else None,
                n_dims=n_dims,
                points_in_file=np.asarray(columns["points_in_file"], np.int64),
                points=np.asarray(columns["points"], np.int64),
                isolated=np.asarray(columns["isolated"], np.int64),
                spacing=np.asarray(columns["r_nn"], float),
                diameter=np.asarray(columns["diameter"], float),
                lengths=np.stack([np.asarray(columns[name], float) for name in lengths], axis=1),
                settings=settings,
            )
        except (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{str(path)!r} is not a table of features: {error}") from None
        if schema != SCHEMA:
            raise ValueError(
                f"{str(path)!r} holds features of schema {schema!r}, this library computes schema {SCHEMA}; "
                "describe the files again"
            )
        if len(table) == 0:
            raise ValueError(f"{str(path)!r} holds no row")
        return table


def _read_columns(path: Path) -> tuple[dict[str, Any], str]:
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as data:
            columns = {name: data[name] for name in data.files if data[name].ndim == 1}
            columns |= {str(name): data["features"][:, c] for c, name in enumerate(data["names"])}
            return columns | {"file": data["files"].tolist()}, str(data["heatfield"])
    if path.suffix == ".parquet":
        table = need("pyarrow.parquet", "Parquet tables").read_table(path)
        text = (table.schema.metadata or {})[b"heatfield"].decode()
        return {name: table.column(name).to_pylist() for name in table.column_names}, text
    import csv

    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        head, *rows = csv.reader(file)
    text = path.with_suffix(".meta.json").read_text()
    found: dict[str, Any] = (
        dict(zip(head, zip(*rows, strict=True), strict=False)) if rows else dict.fromkeys(head, ())
    )
    for name, cells in found.items():
        words = name in ("file", "label")
        found[name] = [unsafe_cell(cell) if words else float(cell or "nan") for cell in cells]
    return found, text


def is_table(path: PathLike) -> bool:
    """Whether a file is a table of features, not a cloud."""
    path = Path(path)
    if path.suffix not in TABLES or not path.is_file():
        return False
    try:
        if path.suffix == ".parquet":
            return b"heatfield" in (
                need("pyarrow.parquet", "Parquet tables").read_schema(path).metadata or {}
            )
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as store:
                return {"features.npy", "heatfield.npy"} <= set(store.namelist())
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return False
    with open(path, "rb") as file:
        return file.read(32).startswith(",".join(_LEADING).encode())


# --- the workflow --------------------------------------------------------------------


@takes(Features, Reading, PointFiles, Run)
def describe_files(
    paths: PathLike | Sequence[PathLike],
    out: PathLike | None = None,
    *,
    labels: PathLike | Mapping[str, str] | None = None,
    per_point: str | None = None,
    features: Features,
    reading: Reading,
    pointfiles: PointFiles,
    run: Run,
) -> FeatureTable:
    """The features of files, one row per cloud.

    Guide: ``heatfield docs guide/describe``.

    Parameters
    ----------
    paths : path-like, or a sequence of them
        Files, folders, patterns or URLs.
    out : path-like, optional
        Where the table is written as well: .parquet, .csv or .npz. What is finished is kept beside it until
        all is done: stopped at any time, the same call goes on. Failures go to NAME.errors.csv.
    labels : path-like or mapping, optional
        The class of each file: a table with the columns file and label. By default the folders of one folder
        are its classes, where there are several.
    per_point : str, optional
        Also write signatures at every point, one file per cloud into the folder NAME_points: "ply", "las",
        "laz", "parquet", "csv", "npz" or "pcd".
    {options}

    Returns
    -------
    table : FeatureTable
        With ``errors`` for the files that could not be described.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.write_points(f"{folder}/a.ply", np.random.default_rng(0).random((40, 3)))
    ...     hf.describe_files(folder, variant="desc").features.shape
    (1, 336)
    """
    target = None if out is None else check_out(out, *TABLES)
    if target is not None and target.suffix == ".parquet":
        need("pyarrow", "Parquet tables")
    csv = target is not None and target.suffix == ".csv"
    beside = check_beside(target, ".errors.csv", ".columns.csv", *([".meta.json"] if csv else []))
    asked, folder = _asked_points(target, per_point, pointfiles)
    _settings(vars(features), 3)  # complains of wrong blocks and scales before the work
    found = find_files(paths, labels=labels, leave_out=[target, *beside, folder])
    targets: list[str] = []
    if folder is not None:
        targets = [str(folder / name) for name in target_names(found.paths, lambda _: str(per_point))]
    settings = plain_settings(vars(features), reading)
    with Job(target, *beside, run=run) as job:
        settings = _with_learnt_lengths(job, found.paths, settings)
        results = _described(job, found.paths, settings, asked, targets)
        table = _table(found, results, settings, job.resumed)
        if target is not None:
            table.write(target)
            write_errors(beside[0], table.errors)
    return table


def plain_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Options as JSON holds them."""
    return json.loads(json.dumps(values, default=lambda value: np.asarray(value).tolist()))


def plain_settings(features: Mapping[str, Any], reading: Reading) -> dict[str, Any]:
    """How files are described and read, as JSON holds it."""
    return {"features": plain_options(features), "reading": plain_options(vars(reading))}


@dataclass(frozen=True)
class Described:
    """A table of files that all have features, thumbnails of their clouds, and the unit of all of them."""

    table: FeatureTable
    sketches: list[NDArray[Any]]
    unit: str


def describe_usable(
    job: Job, found: Files, settings: dict[str, Any], *, dims: int | None = None, thumbnails: bool = True
) -> Described:
    """Describe files for a page or an index, with what is finished kept by the job.

    Files without features are errors; none that has any is a ValueError. ``dims`` is the dimension that the
    points must have.
    """
    files = found.paths
    settings = _with_learnt_lengths(job, files, settings)
    results = _described(job, files, settings, thumbnails=thumbnails)
    table = _table(found, results, settings, job.resumed, dims).usable()
    if len(table) == 0:
        first = table.errors[0]
        raise ValueError(none_usable(files, first))
    if not thumbnails:
        return Described(table, [], "")
    parts = [part for one in results for part in np.split(one["drawn"], np.cumsum(one["draws"])[:-1])]
    drawn = dict(zip(files, parts, strict=True))
    units = dict(zip(files, (str(unit) for one in results for unit in one["units"]), strict=True))
    own = {units[file] for file in table.files}
    return Described(table, [drawn[file] for file in table.files], own.pop() if len(own) == 1 else "")


def _described(
    job: Job,
    files: list[str],
    settings: dict[str, Any],
    asked: dict[str, Any] | None = None,
    targets: Sequence[str] = (),
    thumbnails: bool = False,
) -> list[dict[str, Any]]:
    """What `describe_some` finds of all files."""
    targets = targets or [""] * len(files)
    stamps = stamps_of(files)
    tasks = []
    for here in _runs([max(0, stamp[1]) for stamp in stamps]):
        key = key_of(SCHEMA, settings, asked, thumbnails, stamps[here], targets[here])
        load = (files[here], settings, asked, targets[here], thumbnails)
        tasks.append(Task(key, load, len(files[here])))
    results = job.run(describe_some, tasks, unit="clouds", prefer=who_reads(stamps))
    check_unchanged(stamps)
    return results


def _with_learnt_lengths(job: Job, files: list[str], settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with the lengths that these files share, where they are to be learnt."""
    features = settings["features"]
    if features["lengths"] != "shared":
        return settings
    ends = np.concatenate([one["values"].reshape(-1, 2) for one in _described(job, files, settings)])
    lengths = shared_lengths(ends, features["n_scales"])
    return settings | {"features": features | {"lengths": list(lengths)}}


def _runs(sizes: Sequence[int]) -> list[slice]:
    """Files in a row that are described together: some, or one that is large."""
    found, first, held = [], 0, 0
    for i, size in enumerate(sizes):
        if i > first and (i - first == _TOGETHER or held + size > _BYTES_TOGETHER):
            found.append(slice(first, i))
            first, held = i, 0
        held += size
    return [*found, slice(first, len(sizes))]


def _settings(features: Mapping[str, Any], n_dims: int) -> DescriptorSettings:
    known = features["lengths"] if features["lengths"] != "shared" else None
    return DescriptorSettings(n_dims, n_jobs=1, **{**features, "lengths": known})


def describe_some(
    load: tuple[list[str], dict[str, Any], dict[str, Any] | None, list[str], bool], n_threads: int
) -> dict[str, Any]:
    """Read and describe some files: features where that is possible, a problem where it is not.

    Where lengths are still to be learnt, the values are the ends of each cloud's own schedule.

    counts (k, 3): points in the file, points described, dimension (-1 where it cannot be read); widths and
    values of the rows; problems (k, 2): place and problem; extents (k, 3): as of `describe_clouds`. With
    thumbnails: draws and drawn, the number of their points and these; units of the coordinates.
    """
    files, settings, asked, targets, thumbnails = load
    k = len(files)
    counts, extents = np.full((k, 3), -1, np.int64), np.full((k, 3), np.nan)
    rows, problems, clouds = [np.empty(0)] * k, [("", "")] * k, dict[int, Cloud]()

    with quiet():  # rows of NaN are counted at the end
        for i, file in enumerate(files):
            stop_if_asked()
            try:
                cloud = read_cloud(file, **settings["reading"])
                as_points(cloud.points)
                clouds[i] = cloud
                in_file = cloud.notes.get("points_in_file", len(cloud.points))
                counts[i] = in_file, len(cloud.points), cloud.points.shape[1]
            except Exception as error:  # whatever a file does, it costs that file only
                problems[i] = FileError.of(file, error).words
        for n in sorted({cloud.points.shape[1] for cloud in clouds.values()}):
            own = [i for i, cloud in clouds.items() if cloud.points.shape[1] == n]
            how = _settings(settings["features"], n)
            learning = settings["features"]["lengths"] == "shared"
            failed = _describe_rows(own, clouds, how, n_threads, rows, extents, learning=learning)
            problems = [failed.get(i, words) for i, words in enumerate(problems)]
        for i, cloud in clouds.items() if asked is not None else ():
            try:
                _write_points(cloud, targets[i], settings["features"], asked or {}, n_threads)
            except (ValueError, OSError) as error:
                problems[i] = "per-point file", FileError.of(files[i], error).problem
    return {
        **(_thumbnails(clouds, k) if thumbnails else {}),
        "counts": counts,
        "widths": np.array([len(row) for row in rows]),
        "values": np.concatenate(rows) if rows else np.empty(0),
        "problems": np.array(problems, dtype=str).reshape(-1, 2),
        "extents": extents,
    }


def _thumbnails(clouds: Mapping[int, Cloud], count: int) -> dict[str, Any]:
    """A few points of each cloud in the plane, and the units of the coordinates."""
    from ..models.index import in_bytes, sketch

    drawn = [np.empty((0, 2), np.uint8)] * count
    units = [""] * count
    for i, cloud in clouds.items():
        units[i] = coordinate_unit(cloud)
        if len(cloud.points):
            drawn[i] = in_bytes(sketch(as_points(cloud.points)))
    return {
        "drawn": np.concatenate(drawn),
        "draws": np.array([len(one) for one in drawn]),
        "units": np.array(units, dtype=str),
    }


def _describe_rows(
    own: list[int], clouds: dict[int, Cloud], settings: DescriptorSettings, n_threads: int, rows: list[Array],
    extents: Array, *, learning: bool,
) -> dict[int, tuple[str, str]]:  # fmt: skip
    """Features of some clouds of one dimension; what cannot be described costs that cloud only."""
    found = np.full((len(own), 3), np.nan)
    try:
        points = [as_points(clouds[i].points) for i in own]
        if learning:
            table = own_ends(points, settings, n_threads)
        else:
            table = describe_clouds(points, settings, found, n_threads=n_threads)
    except (ValueError, MemoryError) as error:
        if len(own) == 1:
            return {own[0]: FileError.of("", error).words}
        alone = [
            _describe_rows([i], clouds, settings, n_threads, rows, extents, learning=learning) for i in own
        ]
        return {i: words for one in alone for i, words in one.items()}
    for i, row in zip(own, table, strict=True):
        rows[i] = row
    extents[own] = found
    return {}


def _table(
    found: Files,
    results: list[dict[str, Any]],
    settings: dict[str, Any],
    resumed: int,
    dims: int | None = None,
) -> FeatureTable:
    """One table of the dimension of most files, or of ``dims``; the others are errors."""
    files = found.paths
    counts, problems, extents = (
        np.concatenate([result[name] for result in results]) for name in ("counts", "problems", "extents")
    )
    rows = [row for result in results for row in np.split(result["values"], np.cumsum(result["widths"])[:-1])]
    dims = dims or settings["reading"]["dims"]
    expected = dims or most_common([int(n) for n in counts[:, 2] if n >= 0])
    errors, good = [], []
    for i, file in enumerate(files):
        place, problem = map(str, problems[i])
        if not problem and counts[i, 2] != expected:
            place, problem = "", other_dimension(int(counts[i, 2]), expected, fixed=bool(dims))
        if problem:
            errors.append(FileError(file, place, problem))
        else:
            good.append(i)
    checked, extents = _settings(settings["features"], expected), extents[good]
    if checked.lengths is not None:
        lengths = np.tile(checked.lengths, (len(good), 1))
    else:
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = checked.c_min * extents[:, :1] ** 2, checked.c_max * extents[:, 1:2] ** 2
            lengths = np.sqrt(geometric(low, high, checked.n_scales)).reshape(len(good), checked.n_scales)
    return FeatureTable(
        files=[files[i] for i in good],
        features=np.array([rows[i] for i in good]).reshape(len(good), len(checked.columns.names)),
        names=checked.columns.names,
        labels=[found.labels.get(files[i], "") for i in good] if found.labels else None,
        n_dims=expected,
        points_in_file=counts[good, 0],
        points=counts[good, 1],
        isolated=extents[:, 2].astype(np.int64),
        spacing=extents[:, 0],
        diameter=extents[:, 1],
        lengths=lengths,
        settings=settings,
        errors=errors,
        resumed=resumed,
    )


# --- signatures at every point -------------------------------------------------------


def _asked_points(
    out: Path | None, per_point: str | None, given: PointFiles
) -> tuple[dict[str, Any] | None, Path | None]:
    """What is written at every point, and the folder for it."""
    if per_point is None:
        return None, None
    if out is None:
        raise ValueError("per_point needs out: the files go to a folder beside the table")
    if per_point not in POINT_SUFFIXES:
        raise ValueError(f"per_point must be one of {', '.join(POINT_SUFFIXES)}, got {per_point!r}")
    chosen = given.point_channels
    for name in chosen or ():
        if name not in channel_names():
            raise ValueError(f"point_channels must be some of {', '.join(channel_names())}, got {name!r}")
    channels = None if chosen is None else [name for name in channel_names() if name in chosen]
    folder = out.with_name(out.stem + "_points")
    own_folder(folder)
    return {"suffix": per_point, "channels": channels, "dtype": given.point_dtype}, folder


def _write_points(
    cloud: Cloud, target: str, features: Mapping[str, Any], asked: Mapping[str, Any], n_threads: int
) -> None:
    """Compute and write the signatures of one cloud: see `write_signatures`."""
    channels = asked["channels"]
    needs = [c for c in registry.CHANNELS if channels is None or c.name in channels]
    settings = _settings(features, cloud.points.shape[1])
    found = signatures(
        cloud.points,
        **{name: getattr(settings, name) for name in _OF_SIGNATURES},
        with_spectrum=channels is None or any(c.with_spectrum for c in needs) or "local_type" in channels,
        with_directions=channels is not None and any(c.with_directions for c in needs),
        n_jobs=n_threads,
    )
    write_signatures(target, cloud, found, channels=channels, dtype=asked["dtype"])
