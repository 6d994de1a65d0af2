"""Settings and fixtures of all tests, those of the bench among them."""

import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest

# One process per core runs tests. Threads of BLAS and OpenMP beside them wait for a core by asking again and
# again: a report took 16 s of the processor instead of 2. Set before NumPy is loaded, inherited by processes.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# What the bench compiles is kept apart from the user's.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / "heatfield-tests"))
os.environ.setdefault("MPLBACKEND", "Agg")

# A shell starts background jobs with Ctrl-C ignored, and the commands that tests stop would inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def closed_figures():
    """No figure stays open, or matplotlib warns of too many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def command(capsys):
    """``command("info", path)``: the exit code of a verb, and all that it said."""
    from heatfield.cli import main

    def run(*words):
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as end:  # the parser's own
            code = end.code
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


@pytest.fixture(scope="session")
def shared_browser():
    """One browser for all tests of pages."""
    from tests.helpers.chromium import Browser, find_chromium

    if find_chromium() is None:
        pytest.skip("there is no Chromium: sh tools/install_chromium.sh")
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(shared_browser):
    """The shared browser, in a window of the usual size."""
    shared_browser.resize(1100, 720)
    return shared_browser


@pytest.fixture(scope="session")
def shared_cluster():
    """A scheduler and two workers for all tests that leave them alive: starting them takes ten seconds."""
    yield from _cluster()


@pytest.fixture
def cluster():
    """A scheduler and two workers to kill."""
    yield from _cluster()


def _cluster():
    from tests.helpers.workers import Cluster

    pytest.importorskip("distributed")
    found = Cluster()
    yield found
    found.close()
