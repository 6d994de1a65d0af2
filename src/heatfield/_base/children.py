"""Python processes that this one starts find no modules in the current folder.

``python -c``, and with it every process that `multiprocessing` spawns, puts the current folder first on its
path: a ``contextlib.py`` that lies beside somebody's data would be run.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE = "PYTHONSAFEPATH"
_lock = threading.Lock()
_blocks = 0
_before: str | None = None


def python(*words: str) -> list[str]:
    """The command that starts this interpreter, without the current folder on its path."""
    return [sys.executable, "-P", *words]


@contextmanager
def safe_children() -> Iterator[None]:
    """Processes that libraries start in the block are without the current folder too.

    For those whose command line cannot be given. The variable is the user's again after the last block.
    """
    global _blocks, _before
    with _lock:
        if _blocks == 0:
            _before = os.environ.get(_VARIABLE)
        _blocks += 1
        os.environ[_VARIABLE] = "1"
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if _blocks == 0 and _before is None:
                os.environ.pop(_VARIABLE, None)
            elif _blocks == 0 and _before is not None:
                os.environ[_VARIABLE] = _before
