"""How tasks are run: here, in threads, or (`_dask`) by the workers of a cluster.

A task is a picklable value, its work a function of a module. Large results go to files of the work
folder, so that a task which is run twice, because its worker was killed, writes the same file twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Protocol

from .._base.check import check_count, thread_count

# work(task, threads) -> small result
Work = Callable[[Any, int], Any]


class Executor(Protocol):
    """One interface for all ways to run tasks.

    Guide: ``heatfield docs guide/cluster``.

    Examples
    --------
    >>> from heatfield.cluster import Executor, InProcess
    >>> here: Executor = InProcess(1)
    >>> list(here.map(lambda task, threads: task * 2, [3])), here.memory() > 0
    ([(0, 6)], True)
    """

    def map(self, work: Work, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Run ``work(task, threads)`` for every task; position and result as tasks are finished.

        Parameters
        ----------
        work : callable
            ``work(task, threads)``, a function of a module, gives a small result.
        tasks : sequence
            Values that can be pickled.

        Returns
        -------
        results : iterator of (int, result)
        """
        ...

    def memory(self) -> float:
        """Bytes that one task may take.

        Returns
        -------
        float
        """
        ...


class InProcess:
    """Tasks in this process: ``at_once`` of them side by side, the threads divided among them.

    Guide: ``heatfield docs guide/cluster``.

    Parameters
    ----------
    n_jobs : int
        Threads in all; -1 for all cores.
    at_once : int
        Tasks at a time. One takes the least memory; two overlap reading with computing.

    Examples
    --------
    >>> sorted(InProcess(1).map(lambda task, threads: task + threads, [10, 20]))
    [(0, 11), (1, 21)]
    >>> InProcess(2, at_once=2).memory() < InProcess(2).memory()
    True
    """

    def __init__(self, n_jobs: int | None = 1, at_once: int = 1) -> None:
        self.at_once = check_count(at_once, "at_once", 1)
        self.threads = max(1, thread_count(n_jobs) // self.at_once)

    def map(self, work: Work, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """See `Executor`.

        Parameters
        ----------
        work, tasks :
            As of `Executor.map`.

        Returns
        -------
        results : iterator of (int, result)
        """
        if self.at_once == 1:
            for number, task in enumerate(tasks):
                yield number, work(task, self.threads)
            return
        with ThreadPoolExecutor(self.at_once, thread_name_prefix="heatfield-task") as pool:
            running: dict[Future[Any], int] = {}
            rest = iter(enumerate(tasks))
            try:
                while True:
                    while len(running) < self.at_once:
                        following = next(rest, None)
                        if following is None:
                            break
                        running[pool.submit(work, following[1], self.threads)] = following[0]
                    if not running:
                        return
                    # With a time-out, Ctrl-C takes effect while the threads compute.
                    done, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield running.pop(future), future.result()
            finally:
                for future in running:
                    future.cancel()

    def memory(self) -> float:
        """Half of what the machine has, divided among the tasks at a time.

        Returns
        -------
        float
        """
        return 0.5 * machine_memory() / self.at_once


def machine_memory() -> float:
    """Bytes of memory of this machine; 8 GiB where it does not tell."""
    import os

    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8.0 * 2**30
