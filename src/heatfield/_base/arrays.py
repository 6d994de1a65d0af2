"""Arrays kept on disk for ourselves, read back without trust: what is wrong with the file is a ValueError."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .files import open_atomically


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
    count = 1
    for length in shape:
        count *= int(length)
    if dtype.kind not in "biufU" or count < 0 or count * dtype.itemsize > size or min(shape, default=0) < 0:
        raise ValueError(f"an array of {shape} of {dtype} is claimed in {size} bytes")
