"""Progress of long work: a bar on a terminal, elsewhere a line now and then for who asked for the work."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import tqdm

from .summary import duration

__all__ = ["Bar", "progress_bar", "remaining_fits", "show_progress", "silence"]

# How many trainings of the same length follow the one that is running: the time left is that of all.
remaining_fits: ContextVar[int] = ContextVar("remaining_fits", default=0)
_EVERY = 1.0  # seconds after which a bar is drawn again
_LINE_EVERY = 30.0  # seconds between lines where there is no terminal
_DELAY = 2.0  # work that is done before shows nothing

# What is shown in this process: None is bars on a terminal, True also lines elsewhere, False nothing.
_shown: bool | None = None
_lines: list[Lines] = []  # what is under way, outermost first, where standard error is no terminal


@contextmanager
def show_progress(shown: bool | None = None) -> Iterator[None]:
    """In the block, long work says how far it is, also where standard error is not a terminal."""
    global _shown
    before, _shown = _shown, shown is not False
    ended = threading.Event()
    speaker = threading.Thread(target=_say_often, args=(ended,), name="heatfield-progress", daemon=True)
    if _shown and not before and not _terminal():
        speaker.start()
    try:
        yield
    finally:
        ended.set()
        _shown = before


def silence() -> None:
    """Show nothing in this process, which works for another one."""
    global _shown
    _shown = False


def _say_often(ended: threading.Event) -> None:
    while not ended.wait(_LINE_EVERY):
        late = time.monotonic() - _LINE_EVERY / 2
        words = [line.words() for line in list(_lines) if line.started < late]
        if words:
            print("heatfield: " + "; ".join([words[0], *words[1:][-1:]]), file=sys.stderr, flush=True)


class Bar(tqdm.tqdm):
    """A bar on a terminal."""


class Lines(Bar):
    """A bar of which a line says how far it is, every 30 seconds."""

    def __init__(self, items: Iterable[Any] | None, **options: Any) -> None:
        super().__init__(items, **{**options, "disable": True})
        self.what, self.all = options["unit"].strip(), options.get("total") or _length(items)
        self.first = self.count = options.get("initial", 0)
        self.started = time.monotonic()
        _lines.append(self)

    def words(self) -> str:
        """The share that is done, and the time that is left."""
        seconds, done = time.monotonic() - self.started, self.count - self.first
        if not self.all:
            return f"{self.count:,.0f} {self.what}, {duration(seconds)} so far"
        text = f"{self.count / self.all:.0%} of {self.all:,.0f} {self.what}"
        if not done:
            return f"{text}, {duration(seconds)} so far"
        return f"{text}, about {duration(seconds / done * (self.all - self.count))} left"

    def update(self, n: float | None = 1) -> None:
        """Count."""
        self.count += n or 0

    def __iter__(self) -> Iterator[Any]:
        try:
            for item in self.iterable:
                yield item
                self.update(1)
        finally:
            self.close()

    def close(self) -> None:
        """Say no more."""
        _lines[:] = [line for line in _lines if line is not self]  # bars of tqdm are equal to each other
        super().close()


def progress_bar(
    items: Iterable[Any] | None = None,
    *,
    unit: str,
    total: int | None = None,
    quiet: bool = False,
    keep: bool = False,
    **more: Any,
) -> Bar:
    """A bar over ``items``, or one that ``update`` advances.

    It appears after two seconds and is removed when the work is done, unless ``keep``: the bar of a command's
    main work appears at once, stays, and counts the seconds also while one item takes long. Where standard
    error is not a terminal there are lines inside `show_progress`, else nothing. `unit` is what is counted,
    `total` how many there are where `items` has no length; `more` are further arguments of `tqdm.tqdm`.
    """
    options = {"total": total, "unit": unit if unit == "B" else f" {unit}", **more}
    if _shown and not quiet and not _terminal():
        return Lines(items, **options)
    nothing = quiet or _shown is False or not _terminal()
    bar = Bar(items, delay=0 if keep else _DELAY, leave=keep, disable=nothing, **options)
    if keep and not bar.disable:
        _count_seconds(bar)
    return bar


def _terminal() -> bool:
    return bool(getattr(sys.stderr, "isatty", lambda: False)())


def _length(items: Any) -> int:
    return len(items) if hasattr(items, "__len__") else 0


def _count_seconds(bar: Bar) -> None:
    """Draw the bar again every second until it is closed, so that one long item is not taken for a hang."""
    done, close = threading.Event(), bar.close

    def draw() -> None:
        while not done.wait(_EVERY):
            bar.refresh()

    def close_and_end() -> None:
        done.set()
        drawer.join()  # nothing is drawn after the end
        close()

    bar.close = close_and_end
    drawer = threading.Thread(target=draw, name="heatfield-progress", daemon=True)
    drawer.start()
