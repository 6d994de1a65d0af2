"""A real scheduler and real workers on loopback, as processes that a test can kill."""

import contextlib
import os
import socket
import subprocess
import sys
import time

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
