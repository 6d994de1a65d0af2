"""Ctrl-C that is obeyed within two seconds, whatever the command is computing."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Time in which the command may end in order, seconds.
_PATIENCE = 1.5


@contextmanager
def prompt_stop() -> Iterator[None]:
    """End the process where Ctrl-C was pressed and the block is not left within a second and a half.

    Python hears Ctrl-C between two of its own steps, so one long call into compiled code (support vectors,
    a decomposition, a transform) would be worked off first. Such a process is ended at once; results appear
    under their names whole or not at all, so nothing half done is left but files that the next run clears.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return
    hears, told = socket.socketpair()
    told.setblocking(False)
    left = threading.Event()

    def watch() -> None:
        while True:
            try:
                word = hears.recv(1)
            except OSError:
                return
            if not word:
                return
            if word[0] == signal.SIGINT and not left.wait(_PATIENCE):
                from .._base.files import remove_unfinished

                remove_unfinished()
                print("\nheatfield: stopped", file=sys.stderr, flush=True)
                os._exit(130)

    before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=watch, name="heatfield-stop", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        left.set()
        signal.set_wakeup_fd(before)
        told.close()
        watcher.join()
        hears.close()
