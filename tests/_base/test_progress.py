"""The one progress bar."""

import io
import sys
import time

import pytest

from heatfield._base import progress
from heatfield._base.progress import progress_bar
from tests.helpers.process import Terminal


@pytest.mark.parametrize("quiet", [False, True])
def test_none_without_a_terminal_or_when_quiet(monkeypatch, quiet):
    monkeypatch.setattr(sys, "stderr", Terminal() if quiet else io.StringIO())
    bar = progress_bar(range(3), unit="files", quiet=quiet, keep=True)
    assert list(bar) == [0, 1, 2]
    assert bar.disable
    assert sys.stderr.getvalue() == ""


def test_a_kept_bar_shows_at_once_and_stays(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar(total=3, initial=1, unit="clouds", keep=True) as bar:
        bar.update(2)
    assert "3/3" in sys.stderr.getvalue()
    assert " clouds/s" in sys.stderr.getvalue()
    assert sys.stderr.getvalue().endswith("\n")


def test_another_bar_waits_two_seconds(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar(range(3), unit="sums") as bar:
        assert (bar.delay, bar.leave) == (2, False)
        assert list(bar) == [0, 1, 2]
    assert "sums" not in sys.stderr.getvalue()


def test_a_bar_that_stays_counts_the_seconds_of_one_long_item(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "_EVERY", 0.01)
    with progress_bar(total=1, unit="clouds", keep=True) as bar:
        first = screen.getvalue()
        assert "0/1" in first  # from the first moment
        deadline = time.monotonic() + 60
        while screen.getvalue() == first and time.monotonic() < deadline:
            time.sleep(0.01)  # one long item: nothing is counted
        assert len(screen.getvalue()) > len(first)
        bar.update(1)
    ended = screen.getvalue()
    time.sleep(0.05)
    assert screen.getvalue() == ended
