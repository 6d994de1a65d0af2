"""A stop (Ctrl-C) that falls into the loading of compiled code waits until the code is loaded.

LLVM asks Python for the kept machine code through a C callback. An exception cannot leave such a callback:
Python prints and drops it, LLVM goes on with no code, and the process ends with a segmentation fault. So
while numba compiles or loads, a handler stands before the one of the process: inside that callback it keeps
the stop in mind, anywhere else it passes it on at once.
"""

from __future__ import annotations

import signal
import threading
from functools import cache
from types import FrameType
from typing import Any

_CALLBACKS = ("_raw_object_cache_getbuffer", "_raw_object_cache_notify")


def _in_callback(frame: FrameType | None) -> bool:
    """Whether a function that LLVM called is running."""
    while frame is not None:
        if frame.f_code.co_name in _CALLBACKS:
            return True
        frame = frame.f_back
    return False


class Guard:
    """Stands before the handler of one signal, from :meth:`start` to the :meth:`end` that belongs to it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._depth = 0
        self._late = False
        self._before: Any = None

    def start(self) -> None:
        """Take the place of the handler; calls may be nested."""
        present = signal.getsignal(self.number)
        if present != self._handle:  # the first, or somebody has set a handler since
            # Ignored, left to the system, or set by C code: nothing is raised there, nothing has to wait.
            if not callable(present):
                return
            self._before, self._depth = present, 0
            signal.signal(self.number, self._handle)
        self._depth += 1

    def end(self) -> None:
        """Give the place back."""
        if signal.getsignal(self.number) == self._handle:
            self._depth -= 1
            if self._depth <= 0:
                signal.signal(self.number, self._before)

    def pass_on(self) -> None:
        """Do now what came too early."""
        late, self._late = self._late, False
        if late:
            self._before(self.number, None)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if _in_callback(frame):
            self._late = True
        else:
            self._before(number, frame)


@cache
def guard_loading() -> None:
    """Have numba start and end the guards whenever the thread that gets the signals compiles or loads."""
    from numba.core import event as events

    guards = [Guard(signal.SIGINT), Guard(signal.SIGTERM)]

    class Listener(events.Listener):
        def on_start(self, event: Any) -> None:  # noqa: ARG002
            if threading.current_thread() is threading.main_thread():
                for guard in guards:
                    guard.start()

        def on_end(self, event: Any) -> None:  # noqa: ARG002
            if threading.current_thread() is threading.main_thread():
                for guard in guards:
                    guard.end()
                for guard in guards:
                    guard.pass_on()

    events.register("numba:compiler_lock", Listener())
