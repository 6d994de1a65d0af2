"""All shards of a command: planned, and run one after the other or in processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._base.children import safe_children
from .._base.progress import progress_bar
from .._base.threads import as_finished
from ..io import SUFFIXES
from ._shards import (
    Settings,
    Shard,
    conditions,
    leave_with_parent,
    load_shard,
    run_shard,
    run_under_conditions,
)

# Up to this much threads are tried before processes: reading that takes long then stops soon.
_FEW_BYTES = 64 * 2**20
# What it takes a process to start and to load its libraries.
_START_SECONDS = 3.0


def plan(
    files: list[str], settings: Settings, parts: Path, size: int, per_point: str | None, out: Path
) -> list[Shard]:
    """Shards of ``size`` files. Per-point files keep the folders of their sources below the common one."""
    targets: list[str] = []
    if per_point:
        folder = out.with_name(out.stem + "_points")
        base = os.path.commonpath([os.path.dirname(os.path.abspath(f)) for f in files])
        targets = _point_targets(
            [os.path.relpath(os.path.abspath(f), base) for f in files], folder, per_point
        )
    return [
        Shard(
            number,
            tuple(files[first : first + size]),
            settings,
            str(parts),
            tuple(targets[first : first + size]),
        )
        for number, first in enumerate(range(0, len(files), size))
    ]


def _point_targets(files: list[str], folder: Path, suffix: str) -> list[str]:
    """``tile.las`` for tile.las or tile.laz.gz; the old suffix stays where two files would have one name."""
    bare = []
    for file in files:
        path = Path(file).with_suffix("") if Path(file).suffix.lower() == ".gz" else Path(file)
        bare.append(str(path.with_suffix("")) if path.suffix.lower() in SUFFIXES else str(path))
    count = Counter(name.casefold() for name in bare)  # some file systems do not tell A from a
    names = [name if count[name.casefold()] == 1 else file for name, file in zip(bare, files, strict=True)]
    return [str(folder / f"{name}.{suffix}") for name in names]


def run_all(shards: list[Shard], workers: int, quiet: bool, cluster: Any = None) -> tuple[float, float, int]:
    """Run what is not done yet, with a bar; seconds of reading and of describing, and how many files."""
    todo = [shard for shard in shards if load_shard(shard.path, len(shard.files)) is None]
    total = sum(len(shard.files) for shard in shards)
    fresh = sum(len(shard.files) for shard in todo)
    reading = describing = 0.0
    with progress_bar(total=total, initial=total - fresh, unit="clouds", quiet=quiet, keep=True) as bar:
        finished = _finished(todo, workers) if cluster is None else _by_cluster(todo, cluster)
        for shard, (read, described) in finished:
            reading += read
            describing += described
            bar.update(len(shard.files))
    return reading, describing, fresh


def _by_cluster(todo: list[Shard], cluster: Any) -> Iterator[tuple[Shard, tuple[float, float]]]:
    """Shards as a cluster finishes them: an address, ``local[:N]``, or a client of Dask."""
    if not todo:
        return
    from ..cluster._connect import executor_of

    with executor_of(cluster) as executor:
        for number, seconds in executor.map(run_shard_in, [(os.getcwd(), shard) for shard in todo]):
            yield todo[number], seconds


def run_shard_in(task: tuple[str, Shard], n_threads: int) -> tuple[float, float]:  # noqa: ARG001
    """In a worker: a shard whose paths belong to the folder in which the command was called."""
    folder, shard = task
    if os.getcwd() != folder:
        try:
            os.chdir(folder)
        except OSError as error:
            raise OSError(
                f"a worker cannot enter {folder!r} ({error.strerror}): all workers must see the files and "
                "the folder of the command under the same names"
            ) from None
    return run_shard(shard)


def _finished(todo: list[Shard], workers: int) -> Iterator[tuple[Shard, tuple[float, float]]]:
    """Shards as they are finished, with their seconds."""
    if workers == 1 or len(todo) <= 1:
        for shard in todo:
            yield shard, run_shard(shard)
        return
    if sum(shard.bytes for shard in todo) <= _FEW_BYTES:
        rest = deque(todo)
        yield from _in_threads(rest, workers)
        todo = list(rest)
    if todo:
        yield from _in_processes(todo, workers)


def _in_threads(rest: deque[Shard], workers: int) -> Iterator[tuple[Shard, tuple[float, float]]]:
    """Shards in threads of this process, until what is left would be done sooner by processes.

    Small files are described before another process has loaded its libraries.
    """
    started, finished = time.perf_counter(), 0

    def next_ones() -> Iterator[Shard]:
        while rest:
            seconds = time.perf_counter() - started
            if seconds > _START_SECONDS and seconds * len(rest) > 2 * _START_SECONDS * finished:
                return
            yield rest.popleft()

    with conditions(rest[0].settings):
        for shard, seconds in as_finished(run_under_conditions, next_ones(), workers):
            finished += 1
            yield shard, seconds


def _in_processes(todo: list[Shard], workers: int) -> Iterator[tuple[Shard, tuple[float, float]]]:
    # Spawned, not forked: the libraries that read files keep threads of their own.
    context = multiprocessing.get_context("spawn")
    stop, ours = context.Pipe(duplex=False)
    with safe_children():  # semaphores and queues start a process that keeps track of them
        pool = ProcessPoolExecutor(
            min(workers, len(todo)),
            mp_context=context,
            initializer=leave_with_parent,
            initargs=(stop,),
        )
    try:
        with safe_children(), _deaf_to_interrupts():
            futures = {pool.submit(run_shard, shard): shard for shard in todo}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenProcessPool:
        raise OSError("a worker process died, perhaps for want of memory; run again with --jobs 1") from None
    except BaseException:
        ours.close()  # the workers leave what they are at, rather than work off the queue
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        ours.close()
        stop.close()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that are started in the block never see Ctrl-C, not even before they run our code."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
