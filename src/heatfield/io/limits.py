"""A file brought into memory under limits, before anything in it is believed.

What is unpacked from a file, and each array made of it, may not take more than `allowance` bytes
unless the caller allows more: reading a file of less than 10 MB stays below 300 MB. Every count in
a header is compared with the bytes that are really there.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._base.check import find_coordinates

FLOOR = 16 * 2**20
MOST_COLUMNS = 4096
_HEAD = 2**16  # bytes that tell what a file is
_PIECE = 2**18
_FIRST_PIECE = 2**9
_MOST_EMPTY = 1000  # gzip members without content, each of which costs time
_LONGEST_PROBLEM = 400
_COUNT = re.compile(r"\+?\d{1,18}")


class ReadError(OSError, ValueError):
    """A file that cannot be read: which file, where in it, and why.

    It is an OSError and a ValueError (as ``io.UnsupportedOperation`` is), so that code
    which guards against either catches it. Readers raise nothing else.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    path : path-like
        The file.
    problem : str
        What is wrong, in one sentence.
    place : str, optional
        Where in the file: ``"line 7"``, ``"byte 120"``, ``"element 'vertex'"``.

    Examples
    --------
    >>> import heatfield as hf
    >>> try:
    ...     hf.read_points("nowhere.ply")
    ... except hf.ReadError as error:
    ...     print(error.path, "|", error.problem)
    nowhere.ply | no such file or directory
    """

    def __init__(self, path: str | os.PathLike[str], problem: str, place: str = "") -> None:
        self.path = os.fspath(path)
        self.problem = problem
        self.place = place
        super().__init__(f"{self.path}: {place + ': ' if place else ''}{problem}")

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:  # args hold the message only; workers send errors by pickle
        return type(self), (self.path, self.problem, self.place)


@dataclass(frozen=True)
class Source:
    """The bytes of one file, unpacked if it was gzipped."""

    path: str
    data: bytes
    suffix: str  # lower case, without ".gz"
    allowance: int  # bytes that decoding may produce
    xyz: Sequence[str] | None = None  # names of columns that are to be the coordinates

    @property
    def head(self) -> bytes:
        """The bytes that tell what a file is."""
        return self.data[:_HEAD]

    def error(self, problem: str, place: str = "") -> ReadError:
        """A ReadError that names this file, in one line of bounded length."""
        line = " ".join(problem.split())
        if len(line) > _LONGEST_PROBLEM:
            line = line[: _LONGEST_PROBLEM - 3] + "..."
        return ReadError(self.path, line, place)

    def count(self, word: str, what: str, place: str) -> int:
        """A count as a header states it: digits alone, and not more of them than a file can mean."""
        if not _COUNT.fullmatch(word):
            shown = word if len(word) <= 40 else f"{word[:20]}... ({len(word)} characters)"
            raise self.error(f"the number of {what} must be an integer from 0 to 10^18, got {shown!r}", place)
        return int(word)

    def coordinates(self, names: Sequence[str]) -> list[int]:
        """Where the coordinates stand among names of columns; empty if they do not."""
        if self.xyz is None:
            return find_coordinates(names)
        return [names.index(name) for name in self.xyz] if set(self.xyz) <= set(names) else []

    def no_coordinates(self, names: Sequence[str], place: str) -> ReadError:
        """An error that lists the columns there are."""
        wanted = "x, y, z" if self.xyz is None else ", ".join(self.xyz)
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        way_out = "; xyz=('a', 'b', 'c') (--xyz a,b,c) names the coordinates" if names else ""
        return self.error(f"has no columns {wanted}; it has {shown or 'none'}{way_out}", place)

    def without(self, comment: bytes) -> Source:
        """The same text with comments, from ``comment`` to the end of a line, left out."""
        if comment not in self.data:
            return self
        return replace(self, data=re.sub(re.escape(comment) + rb"[^\r\n]*", b"", self.data))

    def check_count(self, count: int, least_bytes: int, start: int, what: str, place: str) -> None:
        """Compare a count from a header with the bytes that follow ``start``."""
        left = len(self.data) - start
        if count < 0 or count * least_bytes > left:
            raise self.error(
                f"claims {count} {what}, which need {count * least_bytes} bytes, but {max(left, 0)} follow",
                place,
            )

    def check_allowance(self, size: int, what: str, place: str) -> None:
        """Compare the size of something decompressed with the most that this file is allowed."""
        if size > self.allowance:
            raise self.error(
                f"{what} unpacks to {size} bytes, more than the {self.allowance} allowed for its size; "
                "pass max_bytes= if it can be trusted",
                place,
            )


@contextmanager
def damage(source: Source, what: str = "damaged", place: str = "") -> Iterator[None]:
    """Whatever a library raises, each of a kind of its own, as a ReadError of one line."""
    try:
        yield
    except (ReadError, ImportError):
        raise
    except MemoryError:
        raise source.error("does not fit in memory", place) from None
    except BaseException as error:
        # lazrs reports some damage as a Rust panic, which is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        lines = [] if isinstance(error, LookupError) else str(error).strip().splitlines()
        raise source.error(f"{what}: {lines[0][:200] if lines else repr(error)}", place) from None


@contextmanager
def open_zip(source: Source) -> Iterator[zipfile.ZipFile]:
    """A ZIP archive; the size of an entry is for the caller to check."""
    with damage(source, "damaged archive"), zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        for entry in archive.infolist():  # others take memory as they please
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                problem = f"is packed by method {entry.compress_type} of ZIP, which is not read"
                raise source.error(problem, f"entry {entry.filename[:40]!r}")
        yield archive


def as_source(name: str, data: bytes, max_bytes: int | None) -> Source:
    """The content of a file, gunzipped where it says so."""
    if not data:
        raise ReadError(name, "is empty (0 bytes)")
    suffixes = [s.lower() for s in Path(name).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    allowed = allowance(len(data), max_bytes)
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(name, data, allowed)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = _from_utf16(data)
    return Source(name, data, suffixes[-1] if suffixes else "", allowed)


def _from_utf16(data: bytes) -> bytes:
    """Text with the byte order mark of UTF-16 in UTF-8; other bytes as they are."""
    try:
        return data.decode("utf-16").encode("utf-8")
    except UnicodeError:
        return data


def local_bytes(name: str, max_bytes: int | None) -> bytes:
    """All bytes of a regular file."""
    try:
        status = os.stat(name)
    except (OSError, ValueError) as error:
        raise ReadError(name, _reason(error)) from None
    if stat.S_ISDIR(status.st_mode):
        if any(os.path.exists(os.path.join(name, mark)) for mark in ("zarr.json", ".zarray", ".zgroup")):
            raise ReadError(name, "is a zarr store, which is not read: save its points as NPY, NPZ or HDF5")
        raise ReadError(name, "is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise ReadError(name, "is not a regular file (a device, pipe or socket)")
    # A file of holes claims any size for free.
    stored = getattr(status, "st_blocks", 0) * 512
    try:
        with open(name, "rb") as file:
            if not stored and (status.st_size <= FLOOR or not _all_hole(file.fileno())):
                stored = status.st_size  # where blocks are not reported, the size stands
            if status.st_size > allowance(stored, max_bytes):
                raise ReadError(
                    name, f"is {status.st_size} bytes long but holds only {stored}: a sparse file"
                )
            return file.read(status.st_size)
    except ReadError:
        raise
    except MemoryError:
        raise ReadError(name, f"its {status.st_size} bytes do not fit in memory") from None
    except (OSError, ValueError) as error:
        raise ReadError(name, _reason(error)) from None


def allowance(size: int, max_bytes: int | None) -> int:
    """The maximum decompressed size, in bytes, of a file of this size.

    16 MiB for any file, up to 50 times its size as long as that is at most 64 MiB, 8 times its size at
    10 MB, and 24 bytes for each byte beyond: bytes that become float64 grow 8 times, LAZ packs 20 times.
    """
    if max_bytes is not None:
        return max_bytes
    return max(FLOOR, min(50 * size, 64 * 2**20), 8 * size) + 16 * max(0, size - 10_000_000)


def _all_hole(descriptor: int) -> bool:
    """Whether no byte of the file is stored, as far as the file system can tell."""
    if not hasattr(os, "SEEK_DATA"):
        return False
    try:
        os.lseek(descriptor, 0, os.SEEK_DATA)
    except OSError as error:
        return error.errno == errno.ENXIO
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)
    return False


def _gunzip(name: str, data: bytes, allowed: int) -> bytes:
    """All members of a gzip file, counted as they come: a bomb takes what is allowed and no more."""
    total = 0
    pieces = []
    for piece in _gunzip_pieces(name, data):
        total += len(piece)
        if total > allowed:
            raise ReadError(
                name,
                f"{len(data)} gzipped bytes unpack to more than the {allowed} allowed; "
                "pass max_bytes= if it can be trusted",
            )
        pieces.append(piece)
    if total == 0:
        raise ReadError(name, "is empty once unpacked (0 bytes)")
    unpacked = b"".join(pieces)
    if unpacked[:2] == b"\x1f\x8b":
        raise ReadError(name, "is gzipped twice")
    return unpacked


def _gunzip_pieces(name: str, data: bytes) -> Iterator[bytes]:
    view, position, empty = memoryview(data), 0, 0
    while position < len(data):
        if data[position : position + 2] != b"\x1f\x8b":
            if position and not data[position:].strip(b"\0"):
                return  # padding after the last member
            raise ReadError(name, "bytes after the end of the gzip stream", f"byte {position}")
        unpacker = zlib.decompressobj(wbits=31)
        got, step = 0, _FIRST_PIECE  # what follows a short member is copied, so the first steps are short
        while not unpacker.eof:
            piece: bytes | memoryview = view[position : position + step]
            if not piece:
                raise ReadError(name, "the gzip stream is cut off", f"byte {len(data)}")
            position += len(piece)
            step = min(2 * step, _PIECE)
            while True:
                try:
                    out = unpacker.decompress(piece, _PIECE)
                except zlib.error as error:
                    raise ReadError(
                        name, f"not a sound gzip stream ({error})", f"before byte {position}"
                    ) from None
                got += len(out)
                yield out
                piece = unpacker.unconsumed_tail
                if not piece or unpacker.eof:
                    break
        position -= len(unpacker.unused_data)
        empty += got == 0
        if empty > _MOST_EMPTY:
            raise ReadError(name, f"has more than {_MOST_EMPTY} empty gzip members", f"byte {position}")


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
