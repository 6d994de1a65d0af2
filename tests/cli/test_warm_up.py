"""``heatfield warm-up``: every part runs, what fails is said, and later calls compile nothing."""

import subprocess
import sys

import pytest

from heatfield.cli import _warm_up, main
from tests.helpers.process import SOURCE


def test_parts_that_run_and_one_that_fails(monkeypatch, capsys):
    monkeypatch.setattr(_warm_up, "find_spec", lambda _: None)
    monkeypatch.setattr(
        _warm_up, "PARTS", {"good": "print(hf.__version__)", "bad": "raise OSError('no disk')"}
    )
    assert main(["warm-up", "--jobs", "1"]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("Compiling for this machine; kept in ")
    assert "good ready after" in said.out
    assert said.err == "heatfield warm-up: bad failed: OSError: no disk\n"


def test_quiet_prints_nothing(monkeypatch, capsys):
    monkeypatch.setattr(_warm_up, "find_spec", lambda _: None)
    monkeypatch.setattr(_warm_up, "PARTS", {"good": "pass"})
    assert main(["warm-up", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("part", [*_warm_up.PARTS, "learned variants"])
def test_every_part_runs(part):
    """With the warnings that the command hides."""
    call = _warm_up.PARTS.get(part, _warm_up.LEARNED)
    words = [sys.executable, "-c", _warm_up.PROGRAM.format(call), str(SOURCE.parent)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_where_nothing_can_be_kept(monkeypatch, capsys):
    class Nothing:
        stats = type("Stats", (), {"cache_path": None})

    monkeypatch.setattr(_warm_up, "arrange", Nothing)
    assert main(["warm-up"]) == 2
    assert "set NUMBA_CACHE_DIR" in capsys.readouterr().err
