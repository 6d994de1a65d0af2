"""One line on standard error when the first call has to compile, so that nobody takes it for a hang."""

from __future__ import annotations

import multiprocessing
import sys
from functools import cache
from typing import Any

from . import ahead

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


def _own(happening: Any) -> Any:
    """The function of this package that is being compiled, None for any other."""
    function = getattr(happening.data.get("dispatcher"), "py_func", None)
    return function if str(getattr(function, "__module__", "")).partition(".")[0] == "heatfield" else None


@cache
def listen() -> None:
    """Have numba tell when it compiles a function of this package, not when it loads one that was kept.

    The user is told, and what follows is compiled beside it: see `ahead`.
    """
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, happening: Any) -> None:
            function = _own(happening)
            if function is not None:
                compiling()
                ahead.begins(function)

        def on_end(self, happening: Any) -> None:
            if _own(happening) is not None:
                ahead.ends()

    event.register("numba:compile", Listener())
