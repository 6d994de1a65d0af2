"""Which files are meant: files, folders and patterns on the command line."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from ..io import SUFFIXES, is_remote, remote_files
from ._ours import is_kept


def collect(paths: Iterable[str]) -> tuple[list[str], int]:
    """The files, sorted and each once, and how many files of other kinds were passed over.

    A file is taken as it is. A folder is searched to the bottom (links to folders are not followed)
    for names that end in a known suffix; hidden ones, and what a stopped command keeps, are left alone.
    A pattern that the shell did not expand (``"scans/**/*.laz"``) is expanded here. URLs, of files,
    folders and patterns, mean the same in their file systems.
    """
    found: set[str] = set()
    skipped = 0
    for path in paths:
        if is_remote(path):
            inside, others = _remote(path)
            found |= inside
            skipped += others
        elif os.path.isdir(path):
            inside, others = _walk(path)
            found |= inside
            skipped += others
        elif os.path.lexists(path):
            found.add(os.path.normpath(path))
        elif glob.has_magic(path):
            matches = [m for m in glob.glob(path, recursive=True) if not os.path.isdir(m)]
            if not matches:
                raise ValueError(f"no file matches {path!r}; put patterns in quotes and check the folder")
            found |= {os.path.normpath(m) for m in matches}
        else:
            raise ValueError(f"there is no file or folder {path!r}; check the spelling")
    if not found:
        raise ValueError(
            f"no point files in {', '.join(map(repr, paths))}; "
            f"names end in {' '.join(SUFFIXES)} (or .gz after it)"
        )
    return sorted(found), skipped


def check_folder(path: str | Path) -> None:
    """A ValueError where it is no folder."""
    if os.path.isfile(path):
        raise ValueError(f"{str(path)!r} is a file; a folder of files is expected")
    if not os.path.isdir(path):
        raise ValueError(f"there is no folder {str(path)!r}; check the spelling")


def _walk(folder: str) -> tuple[set[str], int]:
    found, skipped = set(), 0
    for place, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith(".")]
        for name in files:
            if name.startswith(".") or is_kept(os.path.join(place, name)):
                continue
            if _is_known(name):
                found.add(os.path.normpath(os.path.join(place, name)))
            else:
                skipped += 1
    return found, skipped


def _remote(url: str) -> tuple[set[str], int]:
    """What a URL means; of a folder, the files that `_walk` would take."""
    files = remote_files(url)
    if files == [url] or {"*", "["} & set(url):
        return set(files), 0
    seen = [
        file for file in files
        if not any(part.startswith(".") for part in file[len(url) :].split("/")) and not is_kept(file)
    ]  # fmt: skip
    found = {file for file in seen if _is_known(file.rpartition("/")[2])}
    return found, len(seen) - len(found)


def _is_known(name: str) -> bool:
    """Whether a name ends in the suffix of a format, or in one with .gz after it."""
    suffixes = [s.lower() for s in Path(name).suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return bool(suffixes) and suffixes[-1] in SUFFIXES
