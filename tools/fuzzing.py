"""What the fuzzers share: damaged bytes, the limits of one input, child processes, counts, the result file.

Input number k is made from the seed k alone, so a run goes on where the last one ended and any input can be
made again. Inputs are read in child processes. Each may use 300 MB more than the child had and 10 s of
computing; more, an error that is not documented, and a child that dies are failures. Failures of earlier runs
are tried again at the start of a run, and go to "fixed" where they are none any more.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.lib.machine import now, processor

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "tools" / "results"

MEMORY = 300_000  # kilobytes
SECONDS = 10
NUMBERS = [
    b"-1", b"0", b"1e308", b"nan", b"inf", b"1_0", b"99999999999999999999", b"9" * 400, b"-0", b"1e-400",
    b"x",
]  # fmt: skip
EDGES = [
    0, 1, 2, 3, 7, 8, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1,
]  # fmt: skip


def damaged(content: bytes, other: bytes, rng: random.Random) -> bytes:
    """One to six small changes."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        i = rng.randrange(len(data) + 1)
        what = rng.randrange(10)
        if what == 0 and data:
            data[min(i, len(data) - 1)] = rng.randrange(256)
        elif what == 1 and data:
            data[min(i, len(data) - 1)] ^= 1 << rng.randrange(8)
        elif what == 2:
            del data[i : i + rng.choice((1, 2, 4, 8, 64, 512))]
        elif what == 3:
            data[i:i] = data[i : i + rng.choice((1, 4, 16, 256))] * rng.choice((1, 1, 2, 20))
        elif what == 4:
            size = rng.choice((1, 2, 4, 8))
            value = rng.choice(EDGES) & (2 ** (8 * size) - 1)
            data[i : i + size] = value.to_bytes(size, rng.choice(("little", "big")))
        elif what == 5:
            places = list(re.finditer(rb"[-+]?\d+(\.\d+)?", bytes(data[:20_000])))
            if places:
                place = rng.choice(places)
                data[place.start() : place.end()] = rng.choice(NUMBERS)
        elif what == 6:
            j = rng.randrange(len(other) + 1)
            data[i:i] = other[j : j + rng.choice((4, 32, 256))]
        elif what == 7:
            data[i:i] = rng.choice(
                (b"\n", b" ", b"\0", b"#", b'"', b"\r", b"\\\n", b";", b"\xff", b"\t")
            ) * rng.choice((1, 9))
        elif what == 8:
            lines = bytes(data).split(b"\n")
            a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[a], lines[b] = lines[b], lines[a]
            data = bytearray(b"\n".join(lines))
        else:
            del data[i:]
    return bytes(data)


# --- in a child ----------------------------------------------------------------------


class TooLong(BaseException):
    """More than SECONDS of computing."""


class UndocumentedError(Exception):
    """What came back, or was raised, is not what is documented; its text says in what way."""


@dataclass(frozen=True)
class Input:
    """One input, ready to be read."""

    sample: str  # which sound sample it was made from
    facts: list[Any]  # what else a failure records
    read: Callable[[], bool]  # True: accepted, False: refused as documented; anything raised is a failure


def read_inputs(first: int, last: int, together: int, make: Callable[[int], Input]) -> None:
    """Read inputs and report: lines "at k" before, "bad [...]" and now and then "done [k, counts]"."""

    def too_long(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGPROF, too_long)
    counts: dict[str, list[int]] = {}
    for number in range(first, last):
        print(f"at {number}", flush=True)
        one = make(number)
        tally = counts.setdefault(one.sample, [0, 0])
        accepted, problem = _under_limits(one.read)
        if accepted is not None:
            tally[0 if accepted else 1] += 1
        if problem:
            print(f"bad {json.dumps([number, one.sample, *one.facts, problem[:400]])}", flush=True)
        if (number + 1 - first) % together == 0 or number + 1 == last:
            print(f"done {json.dumps([number + 1, counts])}", flush=True)
            counts = {}


def _under_limits(read: Callable[[], bool]) -> tuple[bool | None, str]:
    """Whether the input was accepted (None: neither accepted nor refused), and what was wrong."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts anew
    before = _memory("VmRSS")
    accepted, problem = None, ""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime)
    resource.setrlimit(resource.RLIMIT_CPU, (spent + 3 * SECONDS, -1))  # where no signal is heard
    try:
        accepted = read()
    except UndocumentedError as error:
        problem = str(error)
    except TooLong:
        problem = f"more than {SECONDS} s"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        problem = repr(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = _memory("VmHWM") - before
    return accepted, f"{grown} kB" if grown > MEMORY else problem


def _memory(key: str) -> int:
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith(key)).split()[1])


def work_folder() -> Path:
    """A new folder for the files of a child, in memory where there is such a place."""
    return Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))


# --- the parent ----------------------------------------------------------------------


@dataclass(frozen=True)
class Fuzzer:
    """One fuzzer: ``python -m MODULE --child FIRST LAST [WORDS]`` reads inputs, see `read_inputs`."""

    module: str
    result: Path
    together: int  # inputs between two reports of a child
    reports: int  # of one child: what libraries leak ends with it
    space: int  # bytes of a child's address space, so that a fault harms nobody else

    def start(self, first: int, last: int, words: Sequence[str] = ()) -> subprocess.Popen[str]:
        """A child that reads inputs ``first`` to ``last``."""

        def bound() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (self.space, self.space))

        command = [sys.executable, "-P", "-m", self.module, "--child", str(first), str(last), *words]
        paths = os.pathsep.join(str(ROOT / place) for place in ("src", "bench/src", "."))
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "RUST_BACKTRACE": "0", "PYTHONPATH": paths}
        return subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            preexec_fn=bound, env=environment,
        )  # fmt: skip

    def load(self) -> dict[str, Any]:
        """What earlier runs found."""
        found: dict[str, Any] = {
            "inputs": 0, "read": 0, "refused": 0, "failures": [], "fixed": [], "samples": {}, "seconds": 0.0,
        }  # fmt: skip
        return found | json.loads(self.result.read_text()) if self.result.exists() else found

    def save(self, result: dict[str, Any]) -> None:
        """In one step."""
        result["date"] = now()
        result["machine"] = machine()
        result["limits"] = {"kilobytes": MEMORY, "seconds of computing": SECONDS}
        self.result.parent.mkdir(parents=True, exist_ok=True)
        part = self.result.with_suffix(".part")
        part.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
        os.replace(part, self.result)

    def run(
        self, seconds: float, inputs: int, known: Callable[[int], list[Any]], words: Sequence[str] = ()
    ) -> int:
        """Go on from the last input that was counted; 1 where there are failures.

        ``known`` gives sample and facts of an input at which a child died; ``words`` follow --child.
        """
        result = self.load()
        begun, before = time.monotonic(), float(result["seconds"])
        self._retry(result, words)
        target = result["inputs"] + inputs
        process = None
        try:
            while result["inputs"] < target and time.monotonic() - begun < seconds:
                first = result["inputs"]
                process = self.start(first, min(target, first + self.reports * self.together), words)
                at = first - 1
                assert process.stdout is not None
                for line in process.stdout:
                    word, _, rest = line.partition(" ")
                    if word == "at":
                        at = int(rest)
                    elif word == "bad":
                        result["failures"].append(json.loads(rest))
                        print("FAILURE", rest, end="", flush=True)
                    elif word == "done":
                        _count(result, *json.loads(rest))
                        result["seconds"] = round(before + time.monotonic() - begun, 1)
                        self.save(result)
                        print(f"{result['inputs']} inputs, {result['seconds']:.0f} s", flush=True)
                        if time.monotonic() - begun >= seconds:
                            break
                if process.poll() is None and time.monotonic() - begun >= seconds:
                    break
                process.wait()
                _end(process)
                if process.returncode != 0:  # it died at this input: count it, go on behind it
                    if at < first:
                        raise SystemExit(f"the child cannot start; run it by hand: {process.args}")
                    why = f"the process ended with {process.returncode}"
                    result["failures"].append([at, *known(at), why])
                    result["inputs"] = at + 1
                    print("FAILURE", result["failures"][-1], flush=True)
                    self.save(result)
        finally:
            if process is not None:
                _end(process)
        print(
            f"{result['inputs']} inputs, {result['read']} read, {result['refused']} refused, "
            f"{len(result['failures'])} failures"
        )
        return 1 if result["failures"] else 0

    def _retry(self, result: dict[str, Any], words: Sequence[str]) -> None:
        """Failures of earlier runs that are none any more go to "fixed"."""
        for failure in list(result["failures"]):
            process = self.start(failure[0], failure[0] + 1, words)
            if "bad " not in process.communicate()[0] and process.returncode == 0:
                result["failures"].remove(failure)
                result["fixed"].append(failure)
                self.save(result)


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _count(result: dict[str, Any], inputs: int, counts: dict[str, list[int]]) -> None:
    result["inputs"] = inputs
    for sample, (read, refused) in counts.items():
        tally = result["samples"].setdefault(sample, [0, 0])
        tally[0] += read
        tally[1] += refused
        result["read"] += read
        result["refused"] += refused


def machine() -> dict[str, str]:
    """Where it ran."""
    return {"cpu": processor()[0], "system": platform.platform(), "python": platform.python_version()}


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options that every fuzzer has."""
    made = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    made.add_argument("--seconds", type=float, default=float("inf"))
    made.add_argument("--inputs", type=int, default=10**9, help="how many more")
    made.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    return made


def require_an_end(made: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """A run needs an end."""
    if options.seconds == float("inf") and options.inputs == 10**9:
        made.error("give --seconds or --inputs")
