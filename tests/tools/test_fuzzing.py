"""What the fuzzers share: limits, children that die, counts that go on, failures that are mended."""

import json
import random
import sys

import pytest

from tools import fuzz_readers
from tools.fuzzing import Fuzzer, damaged

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")


def known(number):
    return ["even" if number % 2 == 0 else "odd", {}]


@pytest.fixture
def fuzzer(tmp_path):
    return Fuzzer("tests.helpers.tiny_fuzzer", tmp_path / "result.json", 3, 2, 8 * 2**30)


def test_every_failure_is_counted_and_the_run_goes_on(fuzzer, monkeypatch):
    assert fuzzer.run(600.0, 4, known) == 1
    assert json.loads(fuzzer.result.read_text())["inputs"] == 4
    assert fuzzer.run(600.0, 8, known) == 1  # goes on with input 4
    found = json.loads(fuzzer.result.read_text())
    assert found["inputs"] == 12
    problems = {number: (sample, facts, problem) for number, sample, facts, problem in found["failures"]}
    assert set(problems) == {2, 5, 7, 8, 10}
    assert problems[2] == ("even", {"number": 2}, "KeyError('an error that is not documented')")
    assert problems[5] == ("odd", {"number": 5}, "not what is documented")
    assert problems[7] == ("odd", {}, "the process ended with 9")
    assert problems[8][2].endswith(" kB")
    assert problems[10][2] == "more than 1 s"
    assert found["samples"] == {"even": [4, 0], "odd": [0, 4]}  # 8 was read, but took too much
    assert (found["read"], found["refused"]) == (4, 4)
    assert found["limits"] == {"kilobytes": 300_000, "seconds of computing": 10}
    monkeypatch.setenv("MENDED", "1")
    assert fuzzer.run(600.0, 0, known) == 0
    mended = json.loads(fuzzer.result.read_text())
    assert mended["failures"] == []
    assert mended["fixed"] == found["failures"]


def test_a_child_that_cannot_start_is_no_failure_of_an_input(tmp_path):
    broken = Fuzzer("tests.helpers.no_such_fuzzer", tmp_path / "other.json", 3, 2, 8 * 2**30)
    with pytest.raises(SystemExit, match="the child cannot start"):
        broken.run(600.0, 3, known)
    assert not broken.result.exists()


def test_inputs_are_those_of_earlier_runs():
    """The numbers in result files mean the same inputs in every version."""
    assert damaged(b"1.5 2 3\n4 5 6\n", b"other", random.Random(3)) == b"4 5 6\n1.5 2 3\n"
    samples = [("a.xyz", b"1 2 3\n4 5 6\n"), ("b.csv", b"x,y\n1,2\n")]
    assert fuzz_readers.make(11, samples) == ("b.csv", "b.csv", b"x,y", {"soma": "drop"})
    content = b"1 2" + 20 * b"2 32" + b"2 3\n4 5 6\n"
    assert fuzz_readers.make(8, samples) == ("a.xyz", "a.xyz", content, {})
