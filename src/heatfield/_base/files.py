"""Files: written completely or not at all, read back without trust, assembled to one page."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
import secrets
import shutil
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

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
    """Write a file whole or not at all; see `open_atomically`."""
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


# --- arrays kept for ourselves, read back without trust --------------------------------


def read_arrays(path: str | Path, names: tuple[str, ...]) -> dict[str, NDArray]:
    """Arrays of an NPZ that `numpy.savez` wrote: numbers and words only, no larger than the file.

    Every size is compared with the file before anything is allocated, nothing is unpickled, and a pipe in
    the file's place is not waited for.

    Raises
    ------
    ValueError
        Where the file is not such a store, for whatever reason.
    OSError
        Where it cannot be opened.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            with zipfile.ZipFile(file) as store:
                for name in names:
                    _check(store, f"{name}.npy", size)
            file.seek(0)
            with np.load(file, allow_pickle=False) as data:
                return {name: data[name] for name in names}
        except OSError:
            raise
        except Exception as error:  # zlib, struct, tokenize, ...: a damaged file finds many ways
            raise ValueError(f"{str(path)!r} is damaged: {error or type(error).__name__}") from None


def write_array(path: str | Path, values: NDArray) -> None:
    """One array as an NPY file, whole or not at all; a full disk is an OSError that says so."""
    values = np.ascontiguousarray(values)
    with open_atomically(path) as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(values))
        file.write(values.data)  # np.save would count items instead of naming the problem


def open_regular(path: str | Path) -> BinaryIO:
    """A file to read, if it is one: a pipe, which nobody may ever write to, is an OSError."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{str(path)!r} is not a regular file")
    return os.fdopen(descriptor, "rb")


def _check(store: zipfile.ZipFile, name: str, size: int) -> None:
    member = store.getinfo(name)
    if member.compress_type != zipfile.ZIP_STORED or member.file_size > size:
        raise ValueError(f"{name} is not stored as it is written")
    with store.open(name) as file:
        _check_header(file, member.file_size)


def _check_header(file: IO[bytes], size: int) -> None:
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, dtype = read[version](file)
    if dtype.kind not in "biufU" or math.prod(shape) * dtype.itemsize > size or min(shape, default=0) < 0:
        raise ValueError(f"an array of {shape} of {dtype} is claimed in {size} bytes")


# --- pages of HTML that hold everything in one file and load nothing else ---------------


def assemble(package: str, page: str, scripts: tuple[str, ...], style: str, fields: dict[str, str]) -> str:
    """Fill the template ``page`` of a package with its scripts, its style and the given fields.

    The page's policy names script and style by their hash: nothing else runs, and nothing is loaded.
    """
    folder = resources.files(package) / "page"

    def text(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    look = text(style)
    bodies = "\n".join(text(script) for script in scripts)
    program = f'"use strict";\n(() => {{\n{bodies}\n}})();\n'
    policy = (
        f"default-src 'none'; script-src {_hash(program)}; style-src {_hash(look)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    every = {"POLICY": policy, "STYLE": look, "SCRIPT": program, **fields}
    pieces = text(page).split("@@")  # text, field, text, field, ...: no field is searched for another
    return "".join(every[piece] if k % 2 else piece for k, piece in enumerate(pieces))


def safe_json(value: Any) -> str:
    """JSON that no text in it can end: no ``<``, no ``&``, nothing but ASCII."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
