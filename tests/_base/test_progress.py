"""The one progress bar."""

import io
import sys

import pytest

from heatfield._base.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


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
