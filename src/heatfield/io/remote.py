"""Files that are named by a URL (``s3://bucket/tile.laz``): listed and read through fsspec, where installed.

What is a URL is decided here alone. `read_cloud` and all that reads by it, `survey`, and the commands that
take files, folders and patterns ask here; downloads of data sets have rules of their own (`datasets`).
"""

from __future__ import annotations

import os
import re
import time
from typing import Any

from .._base.optional import need
from .limits import ReadError

# What a server may send: the bytes of a file unless max_bytes is given, and the files of a folder.
MOST_BYTES = 4 * 2**30
MOST_ENTRIES, MOST_DEPTH, MOST_SECONDS = 10**6, 32, 600
_PIECE = 2**18
# At least two letters before the colon: C:/ is a drive. "simplecache::s3://..." is a chain of fsspec.
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]+::)*[A-Za-z][A-Za-z0-9+.-]+://")
# A question mark begins the query of a URL.
_MAGIC = re.compile(r"[*\[]")


def is_remote(name: str) -> bool:
    """Whether a name is a URL and not a path.

    Examples
    --------
    >>> [is_remote(name) for name in ("s3://bucket/a.laz", "file:///a.ply", "C://a.ply", "a/b.ply")]
    [True, True, False, False]
    """
    return _URL.match(name) is not None


def _fsspec() -> Any:
    return need("fsspec", "files named by a URL", "cluster")


def _line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines and lines[0].strip() else type(error).__name__


def remote_bytes(name: str, max_bytes: int | None) -> bytes:
    """All bytes of a remote file; ReadError for everything that goes wrong, and where there is no end."""
    try:
        system, path = _fsspec().core.url_to_fs(name)
        kind = system.info(path).get("type", "file")
        if kind == "file":
            with system.open(path, "rb") as file:
                return _bounded(name, file, MOST_BYTES if max_bytes is None else max_bytes)
    except (ReadError, MemoryError) as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError(name, "does not fit in memory") from None
    except ImportError as error:
        raise ReadError(name, str(error)) from None
    except Exception as error:  # every file system raises errors of its own
        raise ReadError(name, f"cannot be fetched: {_line(error)}") from None
    raise ReadError(name, "is a folder, not a file" if kind == "directory" else "is not a regular file")


def _bounded(name: str, file: Any, most: int) -> bytes:
    """The bytes of an open file, piece by piece."""
    pieces, total, begun = [], 0, time.monotonic()
    while piece := file.read(min(_PIECE, most + 1 - total)):
        pieces.append(piece)
        total += len(piece)
        if total > most:
            raise ReadError(name, f"is longer than the {most} bytes allowed; pass max_bytes= for more")
        if time.monotonic() - begun > MOST_SECONDS:
            raise ReadError(name, f"took more than {MOST_SECONDS} s; {total} bytes had come")
    return b"".join(pieces)


def _listed(system: Any, top: str) -> list[str]:
    """All files below a folder; ValueError where it does not end."""
    found: list[str] = []
    folders, begun = [(top, 0)], time.monotonic()
    while folders:
        folder, depth = folders.pop()
        if depth > MOST_DEPTH:
            raise ValueError(f"folders are nested more than {MOST_DEPTH} deep; does one contain itself?")
        for entry in system.ls(folder, detail=True):
            if entry["type"] != "directory":
                found.append(entry["name"])
            elif entry["name"].rstrip("/") != folder.rstrip("/"):
                folders.append((entry["name"], depth + 1))
        if len(found) + len(folders) > MOST_ENTRIES:
            raise ValueError(f"more than {MOST_ENTRIES} files and folders")
        if time.monotonic() - begun > MOST_SECONDS:
            raise ValueError(f"listing took more than {MOST_SECONDS} s; {len(found)} files were found")
    return found


def remote_files(name: str) -> list[str]:
    """The files that a URL means: itself, all in a folder to the bottom, or those that match a pattern.

    They are named as the URL is: what it begins with stays. ValueError where there is nothing.
    """
    fsspec = _fsspec()
    magic = _MAGIC.search(name)
    # The part that is not a pattern, and the same as its file system calls it.
    base = name[: name.rindex("/", 0, magic.start())] if magic else name.rstrip("/")
    try:
        system, top = fsspec.core.url_to_fs(base)
        path = fsspec.core.url_to_fs(name)[1]
        if magic:
            matched = system.glob(path, maxdepth=MOST_DEPTH, detail=True)
            found = [place for place, entry in matched.items() if entry["type"] != "directory"]
        elif system.isdir(path):
            found = _listed(system, path)
        elif system.exists(path):
            return [name]
        else:
            found = []
    except Exception as error:  # every file system raises errors of its own
        raise ValueError(f"{name!r} cannot be listed: {_line(error)}") from None
    if not found:
        raise ValueError(
            f"no file matches {name!r}; check the folder" if magic else
            f"there is no file or folder {name!r}; check the spelling"
        )  # fmt: skip
    top = top.rstrip("/")
    for place in found:  # a listing may name anything
        if not place.startswith(top) or ".." in place[len(top) :].split("/"):
            raise ValueError(f"{name!r} lists {place!r}, which is outside of it")
    return sorted(base + place[len(top) :] for place in found)


def remote_status(name: str) -> tuple[Any, ...]:
    """Size of a remote file, and what its file system says of its version."""
    fsspec = _fsspec()
    try:
        system, path = fsspec.core.url_to_fs(name)
        info = system.info(path)
    except Exception as error:
        raise OSError(f"{name!r} cannot be found: {error}") from None
    known = [info.get(key) for key in ("ETag", "etag", "mtime", "LastModified", "created", "last_modified")]
    size = info.get("size")  # a server need not tell
    return -1 if size is None else size, "|".join(str(word) for word in known if word is not None)


def file_stamp(name: str) -> tuple[Any, ...]:
    """Size and time of a file or URL, which change where its content does; (-1, -1) where there is none."""
    try:
        if is_remote(name):
            return remote_status(name)
        status = os.stat(name)
    except (OSError, ValueError):
        return -1, -1
    return status.st_size, status.st_mtime_ns
