"""Files and folders that are written completely or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

# What is being written now, under names that only the end of the writing gives up.
_unfinished: set[Path] = set()


def remove_unfinished() -> None:
    """Remove what is being written; for a process that ends without ending its work."""
    for part in list(_unfinished):
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


@contextmanager
def open_atomically(target: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file to write to, which gets the name ``target`` when the block ends without an error.

    It is written beside the target and renamed, so a reader sees the old file or the new one, never
    a part, also after a power failure. On any error, Ctrl-C included, the old file stays and nothing is
    left behind. A link is replaced by the file, and the permissions are those of a new file.

    Raises
    ------
    OSError
        Of the same kind as the one met, with the name of the target instead of that of the temporary file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_atomically(f"{folder}/a.txt") as file:
    ...         _ = file.write(b"whole")
    ...     Path(folder, "a.txt").read_text(), len(list(Path(folder).iterdir()))
    ('whole', 1)
    """
    path = Path(target)
    part = _beside(path, "part")
    _unfinished.add(part)
    try:
        with open(part, "wb") as file:
            yield file
            _to_disk(file)
        os.replace(part, path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(part)):
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise
    finally:
        _unfinished.discard(part)


def write_atomically(target: str | os.PathLike[str], data: bytes) -> None:
    """Write a file whole or not at all; see `open_atomically`.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    target : path-like
    data : bytes

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/a.txt", b"all of it")
    ...     Path(folder, "a.txt").read_text()
    'all of it'
    """
    with open_atomically(target) as file:
        file.write(data)


def write_folder_atomically(target: str | os.PathLike[str], files: Mapping[str, bytes]) -> None:
    """Write a folder of these files; a folder of that name is replaced, or stays where this fails."""
    path = Path(target)
    part, old = _beside(path, "part"), _beside(path, "old")
    _unfinished.add(part)
    try:
        part.mkdir()
        for name, data in files.items():
            with open(part / name, "wb") as file:
                file.write(data)
                _to_disk(file)
        if os.path.lexists(path):
            path.rename(old)  # a folder that is not empty cannot be replaced in one step
        part.rename(path)
    except OSError as error:
        if error.errno is not None and (
            error.filename is None or Path(error.filename).parent in (part, path.parent)
        ):
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise
    finally:
        # The new folder was not written: the old one stays.
        if os.path.lexists(old) and not os.path.lexists(path):
            old.rename(path)
        shutil.rmtree(part, ignore_errors=True)
        if old.is_symlink():
            old.unlink()  # a link is replaced by the folder; what it points to stays
        shutil.rmtree(old, ignore_errors=True)
        _unfinished.discard(part)


def clear_unfinished(target: str | os.PathLike[str]) -> None:
    """Remove what a killed process left while it was writing ``target``; nobody else may be writing it now.

    A folder that had been moved aside, and whose successor never came, gets its name back.
    """
    path = Path(target)
    ours = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.(part|old)")
    try:
        found = [file for file in path.parent.iterdir() if ours.fullmatch(file.name)]
    except OSError:  # no such folder: nothing was left
        return
    for file in found:
        if file.suffix == ".old" and not os.path.lexists(path):
            file.rename(path)
        elif file.is_dir() and not file.is_symlink():
            shutil.rmtree(file, ignore_errors=True)
        else:
            file.unlink(missing_ok=True)


def _beside(path: Path, ending: str) -> Path:
    """A name that no other process uses. Commands remove files called ``.*.part``."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{ending}")


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
