"""Files that are named by a URL (``s3://bucket/tile.laz``): read through fsspec, where it is installed."""

from __future__ import annotations

from typing import Any

from .._base.optional import need
from ._error import ReadError


def is_remote(name: str) -> bool:
    """Whether a name is a URL and not a path.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    name : str

    Returns
    -------
    bool

    Examples
    --------
    >>> from heatfield.io import is_remote
    >>> is_remote("s3://bucket/tile.laz"), is_remote("tiles/tile.laz")
    (True, False)
    """
    return "://" in name


def remote_bytes(name: str) -> bytes:
    """All bytes of a remote file; ReadError for everything that goes wrong."""
    fsspec = need("fsspec", "files named by a URL", "cluster")
    try:
        with fsspec.open(name, "rb") as file:
            return bytes(file.read())
    except MemoryError:
        raise ReadError(name, "does not fit in memory") from None
    except Exception as error:  # every file system raises errors of its own
        lines = str(error).splitlines()
        raise ReadError(name, f"cannot be fetched: {lines[0] if lines else type(error).__name__}") from None


def remote_status(name: str) -> tuple[Any, ...]:
    """Size of a remote file, and what its file system says of its version.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    name : str
        A URL.

    Returns
    -------
    status : tuple
        Size in bytes, and words by which a change is noticed.

    Examples
    --------
    >>> from heatfield.io import remote_status
    >>> remote_status("s3://bucket/tile.laz")  # doctest: +SKIP
    (1048576, 'd41d8cd98f00b204e9800998ecf8427e')
    """
    fsspec = need("fsspec", "files named by a URL", "cluster")
    try:
        system, path = fsspec.core.url_to_fs(name)
        info = system.info(path)
    except Exception as error:
        raise OSError(f"{name!r} cannot be found: {error}") from None
    known = [info.get(key) for key in ("ETag", "etag", "mtime", "LastModified", "created", "last_modified")]
    return info.get("size", -1), "|".join(str(word) for word in known if word is not None)
