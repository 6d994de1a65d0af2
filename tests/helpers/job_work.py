"""Work for the tests of `heatfield.jobs`: functions of a module, so that processes and workers find them."""

import os
import time
from pathlib import Path

import numpy as np

from heatfield._base.threads import stop_if_asked
from heatfield.jobs import Job, Task, key_of
from heatfield.options import Run


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
