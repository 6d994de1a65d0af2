"""One line on standard error when the first call has to compile, so that nobody takes it for a hang."""

from __future__ import annotations

import multiprocessing
import sys
from functools import cache
from typing import Any

_WORDS = (
    "heatfield: compiling for this machine; the first call takes up to a minute, later ones use what is kept"
)
# Whether this process says it. Of worker processes one at most does: the command that starts them chooses it.
wanted: bool | None = None
_said = False


def compiling() -> None:
    """Say it, once per process."""
    global _said
    speaks = multiprocessing.parent_process() is None if wanted is None else wanted
    if speaks and not _said and sys.stderr is not None:
        print(_WORDS, file=sys.stderr, flush=True)
    _said = True


@cache
def listen() -> None:
    """Have numba tell when it compiles a function of this package, not when it loads one that was kept."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, happening: Any) -> None:
            function = getattr(happening.data.get("dispatcher"), "py_func", None)
            if str(getattr(function, "__module__", "")).partition(".")[0] == "heatfield":
                compiling()

        def on_end(self, happening: Any) -> None:
            pass

    event.register("numba:compile", Listener())
