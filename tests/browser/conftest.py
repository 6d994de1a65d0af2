"""One browser for all tests of pages."""

import pytest
from chromium import Browser, find_chromium


@pytest.fixture(scope="session")
def shared_browser():
    if find_chromium() is None:
        pytest.skip("there is no Chromium: sh tests/browser/install_chromium.sh")
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(shared_browser):
    """The shared browser, in a window of the usual size."""
    shared_browser.resize(1100, 720)
    return shared_browser
