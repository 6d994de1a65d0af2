"""Which files are meant, their classes and groups, the clouds in them, and what is written beside them."""

from __future__ import annotations

import csv
import glob
import io
import os
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array, as_points, quiet
from .._base.files import write_atomically
from .._base.summary import plural
from ..datasets._dataset import is_known, read_csv
from ..io import SUFFIXES, file_stamp, is_remote, read_cloud, remote_files
from ..jobs import is_kept
from ..options import Reading, check_options

PathLike = str | os.PathLike[str]
_MANY_BYTES = 64 << 20  # from which on processes read faster than threads


@dataclass(frozen=True)
class FileError:
    """A file that could not be used: where in it, and why.

    Guide: ``heatfield docs guide/describe``.

    Parameters
    ----------
    file : str
    place : str
        The line or byte, "" where it is not known.
    problem : str

    Examples
    --------
    >>> import heatfield as hf
    >>> print(hf.FileError("scan.csv", "line 3", "'three' is not a number"))
    scan.csv, line 3: 'three' is not a number
    >>> hf.FileError.of("scan.csv", OSError("the disk is full")).problem
    'the disk is full'
    """

    file: str
    place: str
    problem: str

    @classmethod
    def of(cls, file: str, error: Exception) -> FileError:
        """From whatever reading the file has raised.

        Parameters
        ----------
        file : str
        error : Exception

        Returns
        -------
        error : FileError
        """
        place, text = getattr(error, "place", ""), getattr(error, "problem", str(error))
        if not isinstance(error, (OSError, ValueError)):
            text = f"{type(error).__name__}: {text}" if text else type(error).__name__
        return cls(file, place, " ".join(text.split()) or type(error).__name__)

    @property
    def words(self) -> tuple[str, str]:
        """Place and problem, as results of tasks hold them; both empty where nothing failed."""
        return self.place, self.problem

    def __str__(self) -> str:
        where = f", {self.place}" if self.place else ""
        return shown(f"{self.file}{where}: {self.problem}")


def printable(name: str) -> str:
    """A file name that is not UTF-8, with a mark in place of what cannot be shown."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def shown(text: str) -> str:
    """Text for a terminal: names in it, of files and of classes, must not move the cursor."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in printable(text))


# --- which files ---------------------------------------------------------------------


@dataclass
class Files:
    """Files that were found, sorted, each once; with their classes and groups where there are some."""

    paths: list[str]
    labels: dict[str, str] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)

    def classes_of(self, files: Iterable[str]) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """The classes of some of the files, and their groups where there are any."""
        files = list(files)
        groups = np.array([self.groups[file] for file in files]) if self.groups else None
        return np.array([self.labels[file] for file in files]), groups


def find_files(
    paths: PathLike | Iterable[PathLike],
    *,
    labels: PathLike | Mapping[str, str] | None = None,
    groups: PathLike | Mapping[str, str] | None = None,
    leave_out: Iterable[Path | None] = (),
) -> Files:
    """The files of paths, folders, patterns and URLs, without those that lie in, or are, ``leave_out``.

    A file is taken as it is. A folder is searched to the bottom (links to folders are not followed) for names
    that end in a known suffix; hidden ones, and what a stopped job keeps, are left alone. Classes come from a
    table (columns file, label), a mapping, or the folders of one folder where there are several; groups from
    a table (columns file, group) or a mapping.
    """
    given = [os.fspath(p) for p in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    found = set().union(*map(_expand, given))
    if not found:
        raise ValueError(
            f"no point files in {', '.join(map(repr, given))}; "
            f"names end in {' '.join(SUFFIXES)} (or .gz after it)"
        )
    out = Files(_without(sorted(found), leave_out))
    if not out.paths:
        raise ValueError(f"there is nothing in {', '.join(map(repr, given))} but earlier results")
    root = given[0] if len(given) == 1 and (os.path.isdir(given[0]) or is_remote(given[0])) else None
    if labels is not None:
        out.labels = column_of_files(labels, "label", root, out.paths)
    elif root is not None and out.paths != [root]:
        out.labels = _from_folders(root, out.paths)
    if groups is not None:
        out.groups = column_of_files(groups, "group", root, out.paths)
        missing = next((file for file in out.labels or out.paths if file not in out.groups), None)
        if missing is not None:
            raise ValueError(f"groups names no group of {missing!r}; every file needs one")
    return out


def _without(files: list[str], leave_out: Iterable[Path | None]) -> list[str]:
    results = [os.path.realpath(path) for path in leave_out if path is not None]
    own = {*results, *(f"{path}.parts" for path in results)}
    real = [os.path.realpath(file) for file in files]
    return [
        f for f, r in zip(files, real, strict=True)
        if r not in own and own.isdisjoint(map(str, Path(r).parents))
    ]  # fmt: skip


def _expand(path: str) -> set[str]:
    """The files that a word means."""
    if is_remote(path):
        return _remote(path)
    if os.path.isdir(path):
        return _inside(path)
    if os.path.lexists(path):
        return {os.path.normpath(path)}
    if glob.has_magic(path):
        matches = {os.path.normpath(m) for m in glob.glob(path, recursive=True) if not os.path.isdir(m)}
        if not matches:
            raise ValueError(f"no file matches {path!r}; put patterns in quotes and check the folder")
        return matches
    raise ValueError(f"there is no file or folder {path!r}; check the spelling")


def _inside(folder: str) -> set[str]:
    found = set()
    for here, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith(".")]
        for name in files:
            file = os.path.normpath(os.path.join(here, name))
            if is_known(name) and not name.startswith(".") and not is_kept(file):
                found.add(file)
    return found


def _remote(url: str) -> set[str]:
    """What a URL means; of a folder, the files that `_inside` would take."""
    files = remote_files(url)
    if files == [url] or {"*", "["} & set(url):
        return set(files)
    return {
        file for file in files
        if is_known(file.rpartition("/")[2]) and not is_kept(file)
        and not any(part.startswith(".") for part in file[len(url) :].split("/"))
    }  # fmt: skip


def _from_folders(root: str, files: list[str]) -> dict[str, str]:
    """The first folder below the root, where every file lies in one and there are two of them."""
    if is_remote(root):
        parts = {file: tuple(file.removeprefix(root.rstrip("/") + "/").split("/")) for file in files}
    else:
        parts = {file: Path(file).relative_to(os.path.normpath(root)).parts for file in files}
    if any(len(part) < 2 for part in parts.values()) or len({part[0] for part in parts.values()}) < 2:
        return {}
    return {file: part[0] for file, part in parts.items()}


def column_of_files(
    table: PathLike | Mapping[str, str], column: str, root: str | None, files: list[str]
) -> dict[str, str]:
    """Words of files by their names, from a mapping or a table with the columns file and ``column``."""
    if isinstance(table, Mapping):
        rows = [(str(file), str(word)) for file, word in table.items()]
    else:
        rows = _read_pairs(table, column)
    base = "" if root is None else root
    known = {
        file if is_remote(file) else os.path.normpath(os.path.join(base, file)): word.strip()
        for file, word in rows
        if word.strip()
    }
    found = {file: known[file] for file in files if file in known}
    if not found:
        name = f"{column}s" if isinstance(table, Mapping) else repr(os.fspath(table))
        raise ValueError(
            f"{name} names none of the {plural(len(files), 'file')}; names are relative to {base or '.'!r}"
        )
    return found


def _read_pairs(table: PathLike, column: str) -> list[tuple[str, str]]:
    """File and word of each row; by the header where there is one, else the first two columns."""
    rows = [row for _, row in read_csv(Path(table)) if row]
    head = [cell.strip().lower() for cell in rows[0]] if rows else []
    if "file" in head:
        if column not in head:
            raise ValueError(f"{os.fspath(table)!r} has no column {column!r}, only {', '.join(head)}")
        first, second, rows = head.index("file"), head.index(column), rows[1:]
    else:
        first, second = 0, 1
    return [(row[first], row[second]) for row in rows if len(row) > max(first, second)]


# --- their clouds --------------------------------------------------------------------


def read_usable(file: str, reading: Reading) -> Array:
    """The points of a file; a ValueError where they are fewer than two distinct ones."""
    with quiet():
        points = as_points(read_cloud(file, **vars(reading)).points)
    if len(points) == 0:
        raise ValueError("it holds no points")
    if (points == points[0]).all():
        raise ValueError("it has fewer than two distinct points")
    return points


def saved_reading(notes: Mapping[str, Any], what: str = "the model") -> Reading:
    """How files are read, as a model or an index notes it; a ValueError where that is not an option."""
    try:
        reading = Reading(**notes.get("reading", {}))
        vars(reading).update(check_options(reading))
        return reading
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} does not say how files are read: {error}") from None


def stamps_of(files: Iterable[str]) -> list[list[Any]]:
    """Name, bytes and time of files."""
    return [[file, *file_stamp(file)] for file in files]


def check_unchanged(stamps: Sequence[list[Any]]) -> None:
    """A ValueError where files are not those of the stamps any more."""
    if stamps_of(stamp[0] for stamp in stamps) != stamps:
        raise ValueError("files changed while they were read; run again")


def who_reads(stamps: Iterable[Sequence[Any]]) -> str:
    """Whether processes or threads read files of these stamps (name, bytes, time) faster."""
    return "processes" if sum(max(0, stamp[1]) for stamp in stamps) > _MANY_BYTES else "threads"


def most_common(dims: Sequence[int]) -> int:
    """The dimension of most clouds, the smaller among equals; 3 where there is none."""
    return min(Counter(dims).items(), key=lambda item: (-item[1], item[0]))[0] if dims else 3


def other_dimension(found: int, expected: int, fixed: bool = False) -> str:
    """What is said of a file that does not fit the others; ``fixed``: a model or dims sets the number."""
    if fixed:
        return f"its points have {found} coordinates, {expected} are expected"
    return (
        f"its points have {found} coordinates where most files have {expected}; dims={found} takes it instead"
    )


def none_usable(files: Sequence[str], first: FileError) -> str:
    """What is said where every file is an error."""
    if len(files) == 1:
        return str(first)
    return f"none of the {len(files)} files can be used; {first}"


def skeleton_words(files: Sequence[str], reading: Reading) -> str:
    """How skeletons among the files are read, "" where there are none."""
    if not any(file.lower().removesuffix(".gz").endswith(".swc") for file in files):
        return ""
    if reading.nodes:
        return "skeletons: their nodes as they are"
    return (
        f"skeletons: {reading.budget or 1024} points each, even by arc length (nodes=True takes their nodes)"
    )


# --- what is written -----------------------------------------------------------------

# How our own tables of text begin; all else that we write holds the name of the library.
_HEADS = (
    b"file,points_in_file,points",
    b"file,place,problem",
    b"file,label,probability",
    b"column,block,scales",
    b"query,rank,name,label",
)
_LOOKED_AT = 1 << 22  # bytes at either end of a file


def check_overwrite(path: PathLike) -> None:
    """A ValueError where a file exists that this library did not write, or a folder of that name."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"cannot write {str(path)!r}: it is a folder")
    if not path.parent.is_dir():
        raise ValueError(f"cannot write {str(path)!r}: no such folder")
    if path.exists() and not is_ours(path):
        raise ValueError(
            f"cannot write {str(path)!r}: it exists and was not written by heatfield; give another name"
        )


PAGE = (".html", ".htm")


def check_out(path: PathLike, *suffixes: str, name: str = "out") -> Path:
    """The path of a file that can be written, or a ValueError."""
    if Path(path).suffix.lower() not in suffixes:
        raise ValueError(f"{name} must end in {', '.join(suffixes)}, got {str(path)!r}")
    check_overwrite(path)
    return Path(path)


def check_beside(target: Path | None, *endings: str, folder: bool = False) -> list[Path]:
    """Files NAME.ending beside a result that can be written, or a ValueError; none without a result."""
    if target is None:
        return []
    found = [target.with_name((target.name if folder else target.stem) + end) for end in endings]
    for path in found:
        check_overwrite(path)
    return found


def is_ours(path: Path) -> bool:
    """Whether a file is empty or carries our mark: the library's name, or the head of one of our tables."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        start = file.read(4096)
        if size == 0 or b"heatfield" in start or start.startswith(_HEADS):
            return True
        file.seek(max(0, size - _LOOKED_AT))
        return b"heatfield" in file.read()


POINTS_MARK = ".heatfield-points"


def check_folder(folder: Path, mark: str) -> None:
    """A ValueError where a folder holds something, and not the mark of an earlier result."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"cannot write to {str(folder)!r}: it is a file, not a folder")
    if folder.is_dir() and not (folder / mark).is_file() and any(folder.iterdir()):
        raise ValueError(
            f"cannot write to {str(folder)!r}: the folder exists and was not written by heatfield; "
            "give another name"
        )


def own_folder(folder: Path, mark: str = POINTS_MARK) -> None:
    """Make a folder for many files, with our mark; what a killed process left in it is removed."""
    check_folder(folder, mark)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / mark).touch()
    for file in folder.rglob(".*.part"):
        with suppress(OSError):
            file.unlink()


def target_names(paths: Sequence[str], suffix_of: Callable[[str], str]) -> list[str]:
    """Where each file goes in a folder: under its own name with another suffix, below folders of its own.

    The old suffix stays where two files would have one name. No name leads out of the folder.

    Examples
    --------
    >>> target_names(["/in/a.copc.laz", "/in/a.ply.gz", "file:///in/b/../../x/d.las"], lambda _: "csv")
    ['in/a.copc.laz.csv', 'in/a.ply.csv', 'x/d.csv']
    """
    whole = [posixpath.normpath("/" + _local(path).lstrip("/")) for path in paths]
    base = posixpath.commonpath([posixpath.dirname(path) for path in whole])
    full = [PurePosixPath(re.sub(r"(?i)\.gz$", "", posixpath.relpath(path, base))) for path in whole]
    bare = [re.sub(r"(?i)\.copc$", "", str(n.with_suffix("") if is_known(n.name) else n)) for n in full]
    count = Counter(name.casefold() for name in bare)  # some file systems do not tell A from a
    taken = {str(parent).casefold() for name in full for parent in name.parents}
    names = [""] * len(paths)
    # Files that can keep their name do so, whatever is made up for the others.
    for i in sorted(range(len(paths)), key=lambda i: count[bare[i].casefold()] > 1):
        name, suffix = bare[i] if count[bare[i].casefold()] == 1 else str(full[i]), suffix_of(paths[i])
        while f"{name}.{suffix}".casefold() in taken:
            name += "-"
        names[i] = f"{name}.{suffix}"
        taken.add(names[i].casefold())
    return names


def _local(path: str) -> str:
    """The path in a URL, without its query, or on this machine."""
    if is_remote(path):
        return path.partition("://")[2].partition("?")[0]
    return Path(os.path.abspath(path)).as_posix()


def remove_ours(path: Path) -> None:
    """Remove a result of an earlier time, if it is ours."""
    if path.is_file() and is_ours(path):
        path.unlink()


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table of text, whole or not at all; cells that a spreadsheet takes for formulas get a quote."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([[safe_cell(cell) for cell in row] for row in rows])
    write_atomically(path, out.getvalue().encode("utf-8", "surrogateescape"))


def safe_cell(value: Any) -> Any:
    """A cell of a CSV: nothing for NaN, and a quote before what a spreadsheet would take for a formula."""
    if isinstance(value, str):
        risky = value[:1] in ("\t", "\r") or value.lstrip()[:1] in ("=", "+", "-", "@")
        return f"'{value}" if risky else value
    return "" if value != value else repr(value)


def unsafe_cell(cell: str) -> str:
    """A cell as it was before `safe_cell`."""
    return cell[1:] if cell[:1] == "'" and safe_cell(cell[1:]) == cell else cell


def write_errors(path: Path, errors: Sequence[FileError]) -> None:
    """The list of failures: file, place, problem. Removed where nothing failed."""
    if errors:
        write_csv(path, ("file", "place", "problem"), [(e.file, e.place, e.problem) for e in errors])
    else:
        remove_ours(path)
