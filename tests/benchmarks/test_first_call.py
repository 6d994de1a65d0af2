"""The benchmark of the first call: one case runs, and one that fails or complains is an error."""

import pytest

from benchmarks import first_call


def test_one_case(monkeypatch):
    monkeypatch.setitem(first_call.CASES, "tiny", "assert hf.__version__")
    assert 0.0 < first_call.measure("tiny", rounds=1)["seconds"] < 60.0


@pytest.mark.parametrize("statement", ["1 / 0", "import sys; print('compiling', file=sys.stderr)"])
def test_a_case_that_fails_or_says_something(statement, monkeypatch):
    monkeypatch.setitem(first_call.CASES, "broken", statement)
    with pytest.raises(SystemExit, match="failed: "):
        first_call.measure("broken", rounds=1)
