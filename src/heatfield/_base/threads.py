"""Work cut into pieces and distributed over threads.

The compiled functions run without the GIL, so ordinary Python threads use all cores:
no thread outlives the call, forked and spawned workers are safe, and two callers never
share a pool. Every piece writes to its own part of the result, which therefore does
not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from threading import Event, local
from typing import TypeVar

from .progress import progress_bar

Item = TypeVar("Item")
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


def as_finished(
    work: Callable[[Item], Found], items: Iterable[Item], n_threads: int
) -> Iterator[tuple[Item, Found]]:
    """``(item, work(item))`` for every item, as threads finish them; items are taken when a thread is free.

    After an error, Ctrl-C, or where the caller asks for no more, `stop_if_asked` ends what is under way.
    """
    stop, rest = Event(), iter(items)

    def begin(item: Item) -> Found:
        _asked.stop = stop
        return work(item)

    with ThreadPoolExecutor(n_threads, thread_name_prefix="heatfield") as pool:
        running = {pool.submit(begin, item): item for item in islice(rest, n_threads)}
        try:
            while running:
                done, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    item, found = running.pop(future), future.result()
                    running |= {pool.submit(begin, after): after for after in islice(rest, 1)}
                    yield item, found
        except BaseException:
            stop.set()
            raise


def run_alone(work: Callable[[], object]) -> None:
    """Call one long piece of work in its own thread, so that Ctrl-C takes effect while it computes.

    What it does in pieces then ends after those under way.
    """
    stop = Event()

    def begin() -> None:
        _asked.stop = stop
        work()

    with ThreadPoolExecutor(1, thread_name_prefix="heatfield") as pool:
        future = pool.submit(begin)
        try:
            while not wait([future], timeout=0.5).done:
                pass
        except BaseException:
            stop.set()
            raise
        future.result()
