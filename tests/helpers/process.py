"""Fresh interpreters that import the same source as the test, Ctrl-C in the middle of work, and a screen."""

import io
import os
import subprocess
import sys
from pathlib import Path

import heatfield as hf

SOURCE = Path(hf.__file__).parent
ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench" / "src" / "heatfield_bench"  # not there in a source distribution of the library


def environment(**changes):
    """The environment of this process, with the paths of `heatfield`, `heatfield_bench` and `tests`."""
    places = [SOURCE.parent, BENCH.parent, ROOT]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places)), **changes}


def run_python(code, *words, **changes):
    """What the code prints; its error output is shown where it fails."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        env=environment(**changes),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def interrupted_at(call, function, calls=None):
    """The function, but Ctrl-C at one of its calls; every call adds an entry to ``calls``."""
    calls = [] if calls is None else calls

    def wrapped(*words, **more):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return function(*words, **more)

    return wrapped


class Terminal(io.StringIO):
    """Text that says of itself that it is a terminal, so that bars are drawn."""

    def isatty(self):
        return True
