"""Settings and fixtures of all tests, those of the bench among them."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from heatfield._base import announce

# The tests keep their compiled code apart from the user's.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / "heatfield-tests"))
os.environ.setdefault("MPLBACKEND", "Agg")
announce.wanted = False  # whether a test has to compile must not show in what a command says


@pytest.fixture(autouse=True)
def closed_figures():
    """No figure stays open, or matplotlib warns of too many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


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
