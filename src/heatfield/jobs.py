"""Long work in pieces, on any executor; what is finished is kept, so that the same call goes on after a stop.

A `Job` owns the folder ``NAME.parts`` beside its result, one process at a time. `Job.run` computes tasks; the
result of a task is a dictionary of plain arrays, kept under a name that is a hash of all it depends on. What
is found under the right name is right, and is not computed again. The folder goes when the result is written.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
import zipfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any, Self

import numpy as np

from . import __version__
from ._base.check import thread_count
from ._base.files import clear_unfinished, open_regular, read_arrays, remove_unfinished, write_atomically
from ._base.optional import need
from ._base.progress import progress_bar, show_progress, silence
from ._base.threads import stopping
from .options import Run

# work(load, threads) -> arrays: a function of a module, and values that can be pickled
Work = Callable[[Any, int], Mapping[str, Any]]

_LOCK = ".heatfield-lock"
_CONNECT = 20.0  # seconds in which a scheduler must answer
_PATIENCE = 15.0  # seconds without an answer after which it is given up
_SHARE = 0.7  # of a worker's memory, what its tasks may plan with


@dataclass(frozen=True)
class Task:
    """A piece of work: the key of its result, what its function is given, and how much of the whole it is."""

    key: str
    load: Any
    size: int = 1


def key_of(*parts: Any) -> str:
    """A hash of values: JSON, bytes and arrays; and of this version of the library."""
    digest = hashlib.sha256(__version__.encode())
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(repr((part.shape, part.dtype.str)).encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(part if isinstance(part, bytes) else json.dumps(part, sort_keys=True).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:32]


# --- results on disk -----------------------------------------------------------------


class Job:
    """Tasks whose results are kept beside ``out`` until the block ends without an error.

    Without ``out`` nothing is kept. A second process that asks for the same result gets a ValueError. What a
    killed process left while it was writing ``out``, or one of the files ``beside`` it, is removed.
    """

    def __init__(self, out: str | Path | None, *beside: Path, run: Run | None = None) -> None:
        self.out = None if out is None else Path(out)
        self.beside, self.options = beside, run or Run()
        self.resumed = 0  # how many units of work were found finished
        self._stack, self._hired = ExitStack(), ExitStack()
        self._workers: dict[str, Workers] = {}

    @property
    def folder(self) -> Path | None:
        """Where results are kept."""
        return None if self.out is None else self.out.with_name(self.out.name + ".parts")

    def __enter__(self) -> Self:
        if self.folder is not None and self.out is not None:
            self._stack.enter_context(lock(self.folder, self.out))
            for path in (self.out, *self.beside):
                clear_unfinished(path)
        self._stack.enter_context(show_progress(self.options.progress))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._dismiss()
            if kind is None:
                self._clear()
        finally:
            self._stack.close()

    def run(
        self,
        work: Work,
        tasks: Sequence[Task],
        *,
        unit: str,
        prefer: str = "threads",
        at_once: int | None = None,
        valid: Callable[[Task, dict[str, Any]], bool] = lambda _task, _result: True,
    ) -> list[dict[str, Any]]:
        """The results of all tasks, in their order; those that are kept are not computed again.

        ``prefer`` "processes" where most of the work holds Python's lock, such as reading many text files.
        ``at_once``: at most so many side by side on this machine, 1 where one task uses all of it. ``valid``:
        whether a result that is kept still counts, for work that also writes files of its own.
        """
        found: list[dict[str, Any] | None] = []
        for task in tasks:
            kept = self.load(task.key)
            found.append(kept if kept is not None and valid(task, kept) else None)
        todo = [k for k, result in enumerate(found) if result is None]
        total = sum(task.size for task in tasks)
        done = total - sum(tasks[k].size for k in todo)
        self.resumed += done
        loads, quiet = [tasks[k].load for k in todo], self.options.progress is False
        with (
            progress_bar(total=total, initial=done, unit=unit, quiet=quiet, keep=True) as bar,
            closing(self.each(work, loads, prefer=prefer, at_once=at_once)) as results,
        ):
            for number, result in results:
                task = tasks[todo[number]]
                found[todo[number]] = self.keep(task.key, result)
                bar.update(task.size)
        return [result for result in found if result is not None]

    def each(
        self, work: Work, loads: Sequence[Any], *, prefer: str = "threads", at_once: int | None = None
    ) -> Generator[tuple[int, Any], None, None]:
        """Position and result of every load as they are finished; nothing is kept."""
        if not loads:
            return
        try:
            yield from self.workers(len(loads), prefer).map(work, loads, at_once)
        except BaseException:
            self._dismiss()  # they may have been stopped in the middle
            raise

    def workers(self, tasks: int = 2, prefer: str = "threads") -> Workers:
        """Who does the work of so many tasks; the same workers until the block ends."""
        executor, n_jobs = self.options.executor, thread_count(self.options.n_jobs)
        if executor is None:
            executor = "threads" if n_jobs == 1 or tasks <= 1 else prefer
        name = executor if isinstance(executor, str) else "given"
        if name not in self._workers:
            self._workers[name] = self._hired.enter_context(workers_of(executor, n_jobs))
        return self._workers[name]

    def _dismiss(self) -> None:
        self._workers.clear()
        self._hired.close()

    def load(self, key: str) -> dict[str, Any] | None:
        """A result that is kept; None where there is none, or where it is damaged."""
        return None if self.folder is None else self._read(self.folder / f"{key}.npz")

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            with open_regular(path) as file, zipfile.ZipFile(file) as store:
                names = tuple(name.removesuffix(".npy") for name in store.namelist())
            return dict(read_arrays(path, names))
        except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, EOFError):
            return None

    def keep(self, key: str, result: Mapping[str, Any]) -> dict[str, Any]:
        """Keep a result; as it is read again."""
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in result.items()}
        if self.folder is not None:
            buffer = io.BytesIO()
            np.savez(buffer, **arrays)
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.folder / f"{key}.npz", buffer.getvalue())
        return arrays

    def file(self, key: str, suffix: str) -> Path | None:
        """A file of the folder that the work writes itself, such as the checkpoint of a training."""
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{key}.{suffix}"

    def _clear(self) -> None:
        if self.folder is not None and self.folder.is_dir():
            for path in self.folder.iterdir():
                if is_kept(path) and path.name != _LOCK:
                    path.unlink(missing_ok=True)


def is_kept(path: str | Path) -> bool:
    """Whether a file is what a job keeps until it is done: no cloud, whoever comes across it."""
    path = Path(path)
    if not path.parent.name.endswith(".parts"):
        return False
    stem = path.name.partition(".")[0]
    return path.name.startswith(".") or (len(stem) == 32 and not set(stem) - set("0123456789abcdef"))


@contextmanager
def lock(folder: Path, out: Path) -> Iterator[None]:
    """Hold a folder; a ValueError where another process holds it.

    The lock belongs to the process, so that none is left of one that was killed. Where the file system knows
    no locks, there are none. The folder is removed where nothing else is in it.
    """
    try:
        import fcntl
    except ImportError:  # not on Windows
        folder.mkdir(parents=True, exist_ok=True)
        yield
        return
    path, file = folder / _LOCK, -1
    while file < 0:
        with suppress(FileExistsError):  # it went between the try to make it and the look at what is there
            folder.mkdir(parents=True, exist_ok=True)
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                raise ValueError(
                    f"{str(out)!r} is being written by another process; wait for it, or give another name"
                ) from None
            except OSError:
                pass
            ours = os.path.samestat(os.fstat(file), os.stat(path))
        except FileNotFoundError:
            ours = False
        if not ours and file >= 0:  # its holder ended and removed it before we had the lock
            os.close(file)
            file = -1
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()  # stays where something is kept in it
        os.close(file)


# --- who does the work ---------------------------------------------------------------


@dataclass
class Workers:
    """An executor, how many tasks it takes at a time, what each of them may use, and how it is stopped.

    On this machine tasks share its cores and its memory; of a cluster each has a core and memory of its own.
    """

    executor: Executor
    slots: int
    memory: float  # bytes: of this machine for all tasks together, of a cluster for each
    shared: bool = True
    cancels: bool = (
        True  # not a pool of processes: when it breaks, Python's own thread trips over cancelled ones
    )
    stop: Callable[[], None] = lambda: None
    check: Callable[[], None] = lambda: None  # raises where no answer will ever come
    wrap: Callable[[Work], Work] = lambda work: work
    guard: Callable[[], AbstractContextManager[None]] = nullcontext  # around what may start processes
    explain: Callable[[Exception], Exception | None] = lambda _: None  # an error in the user's words

    def map(
        self, work: Work, loads: Sequence[Any], at_once: int | None = None
    ) -> Generator[tuple[int, Any], None, None]:
        """Position and result of every load, as they are finished; an error, or Ctrl-C, ends the others.

        On this machine at most ``at_once`` of them run side by side, and the cores are divided among them.
        """
        rest, running = iter(enumerate(loads)), dict[Future[Any], int]()
        wrapped, side, threads = self.wrap(work), self.slots, 1
        if self.shared:
            side = max(1, min(self.slots, len(loads), at_once or self.slots))
            threads = self.slots // side
        ahead = side if side < self.slots else 2 * side  # the next ones wait in the queue of the executor
        try:
            while True:
                with self.guard():
                    for number, load in islice(rest, max(0, ahead - len(running))):
                        running[self.executor.submit(wrapped, load, threads)] = number
                if not running:
                    return
                # With a time-out, Ctrl-C takes effect while others compute.
                done, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                if not done:
                    self.check()
                for future in sorted(done, key=_failed):  # what is finished is kept before an error ends all
                    yield running.pop(future), future.result()
        except Exception as error:
            plain = self.explain(error)
            if plain is None:
                raise
            raise plain from None
        finally:
            for future in running if self.cancels else ():
                future.cancel()
            if running:
                self.stop()


def _failed(future: Future[Any]) -> bool:
    return future.cancelled() or future.exception() is not None


@contextmanager
def workers_of(executor: Any, n_jobs: int) -> Iterator[Workers]:
    """Who works: see the option ``executor``; None is threads."""
    if isinstance(executor, Executor):
        yield Workers(executor, n_jobs, 0.5 * machine_memory())
        return
    if executor in (None, "threads"):
        chosen = _threads(n_jobs)
    else:
        chosen = _processes(n_jobs) if executor == "processes" else _dask(executor)
    with chosen as workers:
        yield workers


@contextmanager
def _threads(n_jobs: int) -> Iterator[Workers]:
    stop = threading.Event()
    with ThreadPoolExecutor(n_jobs, thread_name_prefix="heatfield-task") as pool:
        yield Workers(
            pool, n_jobs, 0.5 * machine_memory(), stop=stop.set, wrap=lambda work: stopping(work, stop)
        )


@contextmanager
def _processes(n_jobs: int) -> Iterator[Workers]:
    # Spawned, not forked: the libraries that read files keep threads of their own.
    context = multiprocessing.get_context("spawn")
    end, ours = context.Pipe(duplex=False)
    with safe_children():  # semaphores and queues start a process that keeps track of them
        pool = ProcessPoolExecutor(n_jobs, mp_context=context, initializer=exit_with_parent, initargs=(end,))
    try:
        yield Workers(
            pool,
            n_jobs,
            0.5 * machine_memory(),
            cancels=False,
            stop=ours.close,
            guard=_starting,
            explain=_died,
        )
    finally:
        if not ours.closed:
            pool.shutdown(wait=True, cancel_futures=True)
            ours.close()
        else:
            pool.shutdown(wait=False, cancel_futures=True)
        end.close()


def _died(error: Exception) -> Exception | None:
    if not isinstance(error, BrokenProcessPool):
        return None
    return OSError("a worker process died, possibly out of memory; run again with n_jobs=1")


def exit_with_parent(end: Connection) -> None:
    """In a worker: leave at once when the parent is killed or closes its end of the pipe.

    Ctrl-C on a terminal reaches the workers as well; that is for the parent to hear.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    silence()  # the parent shows how far all are
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait_for([end, parent.sentinel])
        remove_unfinished()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _starting() -> Iterator[None]:
    """Processes that are started in the block never see Ctrl-C, and do not run the user's script again."""
    script = sys.modules["__main__"]
    hidden = {name: getattr(script, name, None) for name in ("__file__", "__spec__")}
    main = threading.current_thread() is threading.main_thread()
    before = (
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        if main and hasattr(signal, "pthread_sigmask")
        else None
    )
    vars(script).update(dict.fromkeys(hidden))  # multiprocessing then has no script to import
    try:
        with safe_children():
            yield
    finally:
        vars(script).update(hidden)
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


_SAFE = "PYTHONSAFEPATH"
_safe = threading.Lock()
_blocks: list[str | None] = []  # for every block that is open, what the variable was before the first


@contextmanager
def safe_children() -> Iterator[None]:
    """Python processes that are started in the block find no modules in the current folder.

    ``python -c``, and so every process that `multiprocessing` spawns, puts that folder first on its path: a
    ``contextlib.py`` beside somebody's data would be run. After the last block the variable is the user's
    again.
    """
    with _safe:
        _blocks.append(_blocks[0] if _blocks else os.environ.get(_SAFE))
        os.environ[_SAFE] = "1"
    try:
        yield
    finally:
        with _safe:
            before = _blocks.pop()
            if not _blocks:
                os.environ.pop(_SAFE)
                os.environ.update({} if before is None else {_SAFE: before})


def machine_memory() -> float:
    """Bytes of memory of this machine; 8 GiB where it does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8.0 * 2**30


# --- Dask ----------------------------------------------------------------------------


@contextmanager
def _dask(client: Any) -> Iterator[Workers]:
    """The workers of a client, of the scheduler at an address, or of ``local[:N]`` processes."""
    distributed = need("distributed", "A cluster", "cluster", verb="needs")
    with ExitStack() as stack:
        if not isinstance(client, distributed.Client):
            client = stack.enter_context(_client(distributed, str(client)))
        address = str(getattr(client.scheduler, "address", "the scheduler"))
        try:
            client.wait_for_workers(1, timeout=_CONNECT)
        except TimeoutError:
            raise OSError(
                f"the scheduler at {address} has no workers; start some with 'dask worker {address}'"
            ) from None
        try:
            versions = client.run(_version)
        except ImportError as error:
            raise OSError(f"a worker cannot import heatfield: {error}; install it there as here") from None
        for worker, version in versions.items():
            if version != __version__:
                raise OSError(f"worker {worker} has heatfield {version}, this is {__version__}")
        infos = client.scheduler_info(n_workers=-1)["workers"].values()
        shares = [info["memory_limit"] / info["nthreads"] for info in infos if info["memory_limit"]]
        slots = max(1, sum(client.nthreads().values()))
        memory = _SHARE * min(shares) if shares else 8.0 * 2**30
        lost = [0.0]

        def check() -> None:
            if client.status == "running":
                lost[0] = 0.0
            elif not lost[0]:
                lost[0] = time.monotonic()
            elif time.monotonic() - lost[0] > _PATIENCE:
                raise _lost(address)

        def explain(error: Exception) -> Exception | None:
            names = {kind.__name__ for kind in type(error).__mro__}
            if "KilledWorker" in names:
                words = f"a task ended several workers, possibly out of memory: {error}"
                return OSError(f"{words}; give workers more memory")
            gone = names & {"CancelledError", "CommClosedError", "FutureCancelledError"}
            return _lost(address) if gone else None

        yield Workers(
            client.get_executor(pure=False), slots, memory, shared=False, check=check, explain=explain,
            wrap=lambda work: _InFolder(work, os.getcwd()), guard=_sending,
        )  # fmt: skip


@contextmanager
def _sending() -> Iterator[None]:
    """Values travel with their task, so that any worker can do it again; Dask would warn of large ones."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")
        yield


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """No tracebacks of Dask: what matters is raised as an error."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    loggers = [logging.getLogger(name) for name in {*names, "distributed", "asyncio", "tornado.application"}]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


@dataclass(frozen=True)
class _InFolder:
    """Work whose paths belong to the folder in which the call was made."""

    work: Work
    folder: str

    def __call__(self, load: Any, threads: int) -> Mapping[str, Any]:
        if os.getcwd() != self.folder:
            try:
                os.chdir(self.folder)
            except OSError as error:
                raise OSError(
                    f"a worker cannot enter {self.folder!r} ({error.strerror}): all workers must see "
                    "files and folders under the same names"
                ) from None
        return self.work(load, threads)


def _version() -> str:
    """Asked of every worker before the work."""
    return __version__


@contextmanager
def _client(distributed: Any, words: str) -> Iterator[Any]:
    kind, _, number = words.partition(":")
    if kind == "local":
        if number and not (number.isdigit() and int(number) > 0):
            raise ValueError(f"executor must be 'local:N' with a number of processes N, got {words!r}")
        count = int(number) if number else thread_count(-1)
        # Any free port: the usual one may be another cluster's, and only this machine is to see it.
        with (
            safe_children(),  # until the end: a worker that died is started again
            distributed.LocalCluster(
                n_workers=count, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            client.run(silence)
            yield client
        return
    if "://" not in words:
        raise ValueError(
            "executor must be 'threads', 'processes', 'local:N', an address such as 'tcp://host:8786', a "
            f"client of Dask or an executor of concurrent.futures, got {words!r}"
        )
    with _quiet_logs():
        try:
            client = distributed.Client(words, timeout=_CONNECT, set_as_default=False)
        except (OSError, TimeoutError):
            raise OSError(
                f"no scheduler answers at {words!r}; start one with 'dask scheduler', or use 'local'"
            ) from None
        try:
            yield client
        finally:
            client.close(timeout=2)


def _lost(address: str) -> OSError:
    return OSError(
        f"the connection to the scheduler at {address} was lost; what is finished is kept: run again when it "
        "is back"
    )
