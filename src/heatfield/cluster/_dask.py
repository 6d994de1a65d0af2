"""Tasks over the workers of a Dask cluster."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from .. import __version__
from .._base.optional import need
from ._executor import Work

# Small tasks travel in groups of about so many seconds; a group lost with its worker is done again.
_GOAL = 45.0
# Seconds without an answer after which the scheduler is given up.
_PATIENCE = 15.0
CONNECT = 20.0
# Of the memory of a worker, what one of its tasks may plan with.
_SHARE = 0.7


def run_group(work: Work, tasks: Sequence[tuple[int, Any]]) -> tuple[list[tuple[int, Any]], float]:
    """In a worker: tasks one after the other, on one thread; positions and results, and the seconds."""
    started = time.perf_counter()
    return [(number, work(task, 1)) for number, task in tasks], time.perf_counter() - started


def worker_version() -> str:
    """Asked of every worker before the work."""
    return __version__


class DaskExecutor:
    """See `Executor`; tasks run on one thread each."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.address = str(getattr(client.scheduler, "address", "the scheduler"))
        try:
            client.wait_for_workers(1, timeout=CONNECT)
        except TimeoutError:
            raise OSError(
                f"the scheduler at {self.address} has no workers; "
                f"start some with 'dask worker {self.address}'"
            ) from None
        try:
            found = client.run(worker_version)
        except ImportError as error:
            raise OSError(f"a worker cannot import heatfield: {error}; install it there as here") from None
        for worker, version in found.items():
            if version != __version__:
                raise OSError(f"worker {worker} has heatfield {version}, this is {__version__}")

    def memory(self) -> float:
        """Of the smallest worker, divided among its threads."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        shares = [info["memory_limit"] / info["nthreads"] for info in workers if info["memory_limit"]]
        return _SHARE * min(shares) if shares else 8.0 * 2**30

    def map(self, work: Work, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """See `Executor`. A worker that dies costs the time of its tasks only: others do them again."""
        rest = deque(enumerate(tasks))
        running: dict[Any, int] = {}
        seconds, done = 0.0, 0
        slots = 2 * max(1, sum(self.client.nthreads().values()))
        try:
            while rest or running:
                while rest and len(running) < slots:
                    size = max(1, int(_GOAL * done / seconds)) if done and seconds > 0.0 else 1
                    size = min(size, max(1, len(rest) // slots))
                    group = [rest.popleft() for _ in range(size)]
                    running[self._submit(work, group)] = size
                for future in self._finished(running):
                    del running[future]
                    results, spent = self._result(future)
                    seconds, done = seconds + spent, done + len(results)
                    yield from results
        finally:
            if running and self.client.status == "running":
                self.client.cancel(list(running))

    def _submit(self, work: Work, group: list[tuple[int, Any]]) -> Any:
        """A group on its way; clouds travel with their task, so that any worker can do it again."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return self.client.submit(run_group, work, group, pure=False)

    def _finished(self, running: dict[Any, int]) -> list[Any]:
        """Futures that have ended; waits for one, and gives up where the scheduler is gone."""
        distributed = need("distributed", "A cluster", "cluster", verb="needs")
        lost: float | None = None
        while True:
            try:
                with self.client.as_current():
                    distributed.wait(list(running), timeout=1.0, return_when="FIRST_COMPLETED")
            except TimeoutError:
                pass
            except Exception as error:  # wait raises what became of a future that was cancelled
                if not self._gone(error):
                    raise
                raise self._lost() from None
            ended = [future for future in running if future.status != "pending"]
            if ended:
                return ended
            if self.client.status == "running":
                lost = None
            elif lost is None:
                lost = time.monotonic()
            elif time.monotonic() - lost > _PATIENCE:
                raise self._lost()

    def _result(self, future: Any) -> Any:
        if future.status in ("cancelled", "lost"):
            raise self._lost()
        try:
            return future.result(timeout=CONNECT)
        except Exception as error:
            if type(error).__name__ == "KilledWorker":
                raise OSError(
                    f"a task ended several workers, perhaps for want of memory: {error}; "
                    "give workers more memory, or use smaller tiles or shards"
                ) from None
            if self._gone(error):
                raise self._lost() from None
            raise

    @staticmethod
    def _gone(error: Exception) -> bool:
        names = {kind.__name__ for kind in type(error).__mro__}
        return bool(names & {"CancelledError", "CommClosedError", "FutureCancelledError", "TimeoutError"})

    def _lost(self) -> OSError:
        return OSError(
            f"the connection to the scheduler at {self.address} was lost; what is finished is kept: "
            "run the command again when it is back"
        )
