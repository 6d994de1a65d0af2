"""A scheduler with workers as processes that a test can kill, and work for them and for `heatfield.jobs`.

Functions of a module, so that processes and workers find them.
"""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from heatfield._base.threads import stop_if_asked
from heatfield.jobs import Job, Task, key_of
from heatfield.options import Run
from tests.helpers.process import environment


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def start(*words):
    # Workers without a nanny: what is killed stays dead. Compiled code is cached, one thread each.
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *words],
        env=environment(OMP_NUM_THREADS="1"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


class Cluster:
    """``dask scheduler`` and ``dask worker`` processes."""

    def __init__(self, workers=2):
        port = free_port()
        self.address = f"tcp://127.0.0.1:{port}"
        self.scheduler = start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        self.workers = [
            start(
                "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host",
                "127.0.0.1", "--memory-limit", "4GiB", "--death-timeout", "60",
            )
            for _ in range(workers)
        ]  # fmt: skip

    def close(self):
        for process in [*self.workers, self.scheduler]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, 9)
            process.wait()


def command(*words):
    """``heatfield`` in a process of its own."""
    code = "import sys; from heatfield.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        env=environment(OMP_NUM_THREADS="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def end_of(process):
    """Exit code of a command, and what it said."""
    said = process.communicate()[0]
    return process.returncode, said


def wait_for(condition, process, seconds=300):
    """Until the condition holds; False where the process ended first."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.02)
    raise TimeoutError("nothing happened")


def counted(load, _threads):
    """Arrays that follow from the number alone; files say that it began and that it was computed."""
    number, folder, seconds = load
    Path(folder, f"begun-{number}-{time.monotonic_ns()}").touch()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        stop_if_asked()
        time.sleep(min(0.02, seconds))
    Path(folder, f"done-{number}-{time.monotonic_ns()}").touch()
    return {"values": np.sqrt(np.arange(10.0 * number)), "name": np.array(f"task {number}"), "count": number}


def told_threads(_load, threads):
    """How many threads it was given."""
    return {"threads": threads}


def size_of(load, threads):
    """The number of values in a large load."""
    return {"size": load.size, "threads": threads}


def fails(load, _threads):
    """An error in the middle of others."""
    if load[0] == 2:
        raise ValueError("number 2 cannot be done")
    return counted(load, 1)


def dies(_load, _threads):
    """As where the memory ends."""
    os._exit(9)


def folder_of(_load, _threads):
    """Where a worker works."""
    return {"folder": np.array(os.getcwd())}


def tasks_of(folder, count=8, seconds=0.0):
    return [Task(key_of("counted", k), (k, str(folder), seconds)) for k in range(1, count + 1)]


class KeepError(Exception):
    """Raised at the end of a block, so that what it kept stays."""


def kept_by(out, folder, count=8, seconds=0.0, keep=True, **options):
    """The results of a job, and the bytes that it kept by name."""
    kept = {}
    try:
        with Job(out, run=Run(progress=False, **options)) as job:
            results = job.run(counted, tasks_of(folder, count, seconds), unit="tasks")
            kept = {path.name: path.read_bytes() for path in job.folder.glob("*.npz")}
            if keep:
                raise KeepError
    except KeepError:
        pass
    return results, kept


def slow_work(load, _threads):
    """As `describe_some`, but only time passes; interrupts do not shorten it."""
    folder, name = Path(os.environ["SLOW_WORK_FOLDER"]), Path(load[0][0]).stem
    (folder / f"begun-{name}").touch()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            stop_if_asked()  # between two files, as work in a thread does
            time.sleep(0.1)
        except KeyboardInterrupt:
            continue
    (folder / f"done-{name}").touch()
    return {}
