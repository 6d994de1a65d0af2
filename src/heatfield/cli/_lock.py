"""One command at a time for one output."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .._base.files import clear_unfinished
from ._ours import PRICES

_NAME = ".heatfield-lock"


@contextmanager
def alone(parts: Path, out: Path, *beside: Path) -> Iterator[None]:
    """Hold the folder of parts; a ValueError where another process holds it.

    The lock belongs to the process, so that none is left of one that was killed. Where the file system
    knows no locks, there are none. What a killed process left while it was writing ``out``, or one of the
    files ``beside`` it, is removed.
    """
    fcntl = _fcntl()
    if fcntl is None:
        _clear(out, *beside)
        yield
        return
    parts.mkdir(parents=True, exist_ok=True)
    place = parts / _NAME
    file = os.open(place, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"another command is writing {str(out)!r}; wait for it, or give another name"
            ) from None
        except OSError:
            pass
        try:
            _clear(out, *beside)
            yield
        finally:
            if {file.name for file in parts.glob("*")} <= {_NAME, PRICES}:
                (parts / PRICES).unlink(missing_ok=True)  # nothing was computed with them
            place.unlink(missing_ok=True)
            with suppress(OSError):
                parts.rmdir()  # stays where something is kept in it
    finally:
        os.close(file)


def _clear(*targets: Path) -> None:
    for target in targets:
        clear_unfinished(target)


def _fcntl() -> Any:
    try:
        import fcntl
    except ImportError:  # not on Windows
        return None
    return fcntl
