"""The one error that reading a file can raise."""

from __future__ import annotations

import os
from typing import Any


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
