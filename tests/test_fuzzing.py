"""What the fuzzers share: limits, children that die, counts that go on, failures that are mended.

``python -m tests.test_fuzzing`` is a fuzzer of twelve inputs, each of which ends in another way.
"""

import json
import os
import random
import sys

import pytest

from tools import fuzz_readers, fuzzing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")


def ready(number):
    """Even ones are accepted, odd ones refused, but for some; all are accepted where MENDED is set."""

    def read():
        if "MENDED" in os.environ:
            return True
        if number == 2:
            raise KeyError("an error that is not documented")
        if number == 5:
            raise fuzzing.UndocumentedError("not what is documented")
        if number == 7:
            os._exit(9)
        if number == 8:
            return len(b"x" * (1024 * fuzzing.MEMORY + 2**24)) > 0
        if number == 10:
            while True:
                pass
        return number % 2 == 0

    return fuzzing.Input("even" if number % 2 == 0 else "odd", [{"number": number}], read)


def test_failures_are_counted_and_runs_go_on(tmp_path, monkeypatch):
    def known(number):
        return ["even" if number % 2 == 0 else "odd", {}]

    fuzzer = fuzzing.Fuzzer(__name__, tmp_path / "result.json", 3, 2, 8 * 2**30)
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
    monkeypatch.setenv("MENDED", "1")
    assert fuzzer.run(600.0, 0, known) == 0
    mended = json.loads(fuzzer.result.read_text())
    assert (mended["failures"], mended["fixed"]) == ([], found["failures"])


def test_inputs_are_those_of_earlier_runs():
    """The numbers in result files mean the same inputs in every version."""
    assert fuzzing.damaged(b"1.5 2 3\n4 5 6\n", b"other", random.Random(3)) == b"4 5 6\n1.5 2 3\n"
    samples = [("a.xyz", b"1 2 3\n4 5 6\n"), ("b.csv", b"x,y\n1,2\n")]
    assert fuzz_readers.make(11, samples) == ("b.csv", "b.csv", b"x,y", {"soma": "drop"})
    content = b"1 2" + 20 * b"2 32" + b"2 3\n4 5 6\n"
    assert fuzz_readers.make(8, samples) == ("a.xyz", "a.xyz", content, {})


if __name__ == "__main__":
    fuzzing.SECONDS = 1
    fuzzing.read_inputs(int(sys.argv[2]), int(sys.argv[3]), 3, ready)
