"""Work cut into pieces and distributed over threads.

The compiled functions run without the GIL, so ordinary Python threads use all cores:
no thread outlives the call, forked and spawned workers are safe, and two callers never
share a pool. Every piece writes to its own part of the result, which therefore does
not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event, Lock, local
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from .progress import progress_bar

Found = TypeVar("Found")

# Pairs that one piece of many clouds holds: about a tenth of a second, so that the bar moves and Ctrl-C
# takes effect soon.
_EVEN_LOAD = 4e6
# Set for a thread that works for another one: the event that is set to stop it.
_asked = local()


class Stopped(BaseException):
    """Raised in a thread whose caller was interrupted; it never reaches the user."""


def stop_if_asked() -> None:
    """Raise `Stopped` where the caller was interrupted; for long work that has no pieces."""
    outer: Event | None = getattr(_asked, "stop", None)
    if outer is not None and outer.is_set():
        raise Stopped


def pieces(count: int, size: int) -> list[tuple[int, int]]:
    """The ranges (0, size), (size, 2 size), ... up to count."""
    return [(start, min(count, start + size)) for start in range(0, count, size)]


def even_pieces(sizes: Iterable[int], load_each: float = _EVEN_LOAD) -> list[tuple[int, int]]:
    """Runs of clouds of about equal work, which grows with the square of a cloud's points.

    Examples
    --------
    >>> even_pieces([1000, 1000, 1000, 1000, 3000, 10])
    [(0, 4), (4, 5), (5, 6)]
    """
    ranges, start, load, count = [], 0, 0.0, 0
    for count, m in enumerate(sizes, 1):
        load += float(m) ** 2
        if load >= load_each:
            ranges.append((start, count))
            start, load = count, 0.0
    if start < count:
        ranges.append((start, count))
    return ranges


def run_pieces(
    work: Callable[[int, int], object],
    ranges: Iterable[tuple[int, int]],
    n_threads: int,
    progress: str | None = None,
) -> None:
    """Call ``work(first, last)`` for every range.

    ``progress`` names what is counted; the bar appears on a terminal when the work
    takes longer than two seconds. An error or Ctrl-C stops the work after the pieces
    that are under way.
    """
    todo = list(ranges)
    outer: Event | None = getattr(_asked, "stop", None)
    if len(todo) == 1:  # without a bar: making one takes longer than a small cloud
        stop_if_asked()
        work(*todo[0])
        return
    total = sum(last - first for first, last in todo)
    with progress_bar(total=total, unit=progress or "", quiet=progress is None) as bar:
        if n_threads == 1:
            for first, last in todo:
                if outer is not None and outer.is_set():
                    raise Stopped
                work(first, last)
                bar.update(last - first)
            return
        rest = iter(todo)
        stop = Event()

        def take_pieces() -> None:
            # Each thread takes the next piece itself: submitting thousands of futures costs more
            # than computing them. The iterator of a list may be shared, the GIL guards it.
            for first, last in rest:
                if stop.is_set() or (outer is not None and outer.is_set()):
                    raise Stopped
                work(first, last)
                bar.update(last - first)

        with ThreadPoolExecutor(n_threads, thread_name_prefix="heatfield") as pool:
            running = {pool.submit(take_pieces) for _ in range(min(n_threads, len(todo)))}
            try:
                while running:
                    # With a time-out, Ctrl-C takes effect while the threads compute.
                    done, running = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
            except BaseException:
                stop.set()
                raise


def stopping(work: Callable[..., Found], stop: Event) -> Callable[..., Found]:
    """The same work for another thread; once ``stop`` is set, it ends after the pieces under way."""

    def begin(*arguments: Any) -> Found:
        _asked.stop = stop
        return work(*arguments)

    return begin


def run_alone(work: Callable[[], object]) -> None:
    """Call one long piece of work in its own thread, so that Ctrl-C takes effect while it computes.

    What it does in pieces then ends after those under way.
    """
    stop = Event()
    with ThreadPoolExecutor(1, thread_name_prefix="heatfield") as pool:
        future = pool.submit(stopping(work, stop))
        try:
            while not wait([future], timeout=0.5).done:
                pass
        except BaseException:
            stop.set()
            raise
        future.result()


_inside: list[Any] = []  # one entry for each thread in `one_algebra_thread`: the limit of the first
_entering = Lock()


@contextmanager
def one_algebra_thread() -> Iterator[None]:
    """Linear algebra on one thread, whose sums have the same bits on every machine.

    The limit is the whole process's: it is set by the first thread that comes, and ends with the last.
    """
    with _entering:
        _inside.append(_inside[0] if _inside else threadpool_limits(1))
    try:
        yield
    finally:
        with _entering:
            limit = _inside.pop()
            if not _inside:
                limit.restore_original_limits()
