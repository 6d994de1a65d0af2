"""A long fuzz of every reader: sound files, damaged at random, under the limits that the readers promise.

    python tools/fuzz_readers.py --seconds 1800
    python tools/fuzz_readers.py --inputs 1000000

Input number k is made from the seed k alone, so a run goes on where the last one ended and any input can
be made again (``--show k > file``). Each is read in a child process, which may use 300 MB more than it had
and 10 s of computing. Anything but a sound cloud or a ReadError that the reader itself raised is a failure,
and so is a child that dies. The counts go to tools/results/fuzz_readers.json. Short fuzz tests run with the
others, in tests/io.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import io
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
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "tools" / "results" / "fuzz_readers.json"

MEMORY = 300_000  # kilobytes
SECONDS = 10
TOGETHER = 500  # inputs between two reports of a child
NUMBERS = [
    b"-1",
    b"0",
    b"1e308",
    b"nan",
    b"inf",
    b"1_0",
    b"99999999999999999999",
    b"9" * 400,
    b"-0",
    b"1e-400",
    b"x",
]
EDGES = [
    0,
    1,
    2,
    3,
    7,
    8,
    127,
    128,
    255,
    256,
    2**15,
    2**16 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**63 - 1,
    2**64 - 1,
]


def samples() -> list[tuple[str, bytes]]:
    """Names and contents of sound files in every format and dialect that the tests know."""
    from tests.helpers.dialects import DIALECTS
    from tests.helpers.file_samples import SAMPLES

    return [(name, content) for name, (content, _) in SAMPLES.items()] + [
        (d.name, d.content) for d in DIALECTS
    ]


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


def inside(name: str, content: bytes, other: bytes, rng: random.Random) -> bytes:
    """As `damaged`, but under a sound wrapping where there is one: gzip, ZIP."""
    if content[:2] == b"\x1f\x8b" and rng.random() < 0.7:
        return gzip.compress(damaged(gzip.decompress(content), other, rng), 1, mtime=0)
    if name.endswith(".npz") and rng.random() < 0.7:
        out = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(content)) as old,
            zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
        ):
            chosen = rng.choice(old.namelist())
            for entry in old.namelist():
                data = old.read(entry)
                new.writestr(entry, damaged(data, other, rng) if entry == chosen else data)
        return out.getvalue()
    return damaged(content, other, rng)


def make(number: int, sound: list[tuple[str, bytes]]) -> tuple[str, str, bytes, dict[str, object]]:
    """Sample, name, content and options of one input."""
    rng = random.Random(number)
    sample, content = rng.choice(sound)
    data = inside(sample, content, rng.choice(sound)[1], rng)
    if rng.random() < 0.1:
        data = gzip.compress(data, 1, mtime=0)
    name = (
        sample
        if rng.random() < 0.8
        else "a" + rng.choice((".dat", ".xyz", ".ply", ".off", ".obj", ".stl", ".laz", ""))
    )
    options: dict[str, object] = {}
    if rng.random() < 0.3:
        options = rng.choice(
            (
                {"budget": 7}, {"budget": 7, "sampling": "voxel"}, {"budget": 3, "sampling": "farthest"},
                {"atoms": "all", "model": None}, {"dims": 2}, {"invalid": "drop"}, {"altloc": "all"},
                {"soma": "drop"}, {"atoms": "all", "invalid": "drop", "budget": 5}, {"many": True},
            )
        )  # fmt: skip
    return sample, name, data, options


def _memory(key: str) -> int:
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith(key)).split()[1])


class TooLong(BaseException):
    """More than SECONDS of computing."""


def child(first: int, last: int) -> None:
    """Read inputs and report: lines "at k" before, "bad k ..." and now and then "done k counts"."""
    import numpy as np

    import heatfield.io as hio

    for library in ("laspy", "lazrs", "h5py", "pyarrow.parquet"):
        __import__(library)
    sound = samples()
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))

    def too_long(*_: object) -> None:
        raise TooLong

    def check(cloud: hio.Cloud) -> None:
        m = len(cloud.points)
        assert cloud.points.ndim == 2, "points that are no table"
        assert np.isfinite(cloud.points).all(), "points that are not finite"
        assert all(len(column) == m for column in cloud.columns.values()), "columns of another length"
        if cloud.faces is not None:
            inside = 0 <= cloud.faces.min(initial=0) <= cloud.faces.max(initial=0) < m
            assert inside, "faces without vertices"
        if cloud.parents is not None:
            assert cloud.parents.max(initial=-1) < m == len(cloud.parents), "parents that are no nodes"

    signal.signal(signal.SIGPROF, too_long)
    counts: dict[str, list[int]] = {}
    for number in range(first, last):
        print(f"at {number}", flush=True)
        sample, name, data, options = make(number, sound)
        path = folder / name
        path.write_bytes(data)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak starts anew
        before = _memory("VmRSS")
        tally = counts.setdefault(sample, [0, 0])
        problem = ""
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = int(used.ru_utime + used.ru_stime)
        resource.setrlimit(resource.RLIMIT_CPU, (spent + 3 * SECONDS, -1))  # where no signal is heard
        try:
            if options.get("many"):
                hio.read_clouds(path)
            else:
                check(hio.read_cloud(path, **options))
            tally[0] += 1
        except hio.ReadError as error:
            tally[1] += 1
            if error.__cause__ is not None:
                problem = f"caught by the last guard: {error.__cause__!r}"
            elif str(path) not in str(error) or "\n" in str(error):
                problem = f"a message without the file, or of several lines: {error!r}"
        except TooLong:
            problem = f"more than {SECONDS} s"
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            problem = repr(error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        grown = _memory("VmHWM") - before
        if grown > MEMORY:
            problem = f"{grown} kB"
        path.unlink()
        if problem:
            print(f"bad {json.dumps([number, sample, options, problem[:400]])}", flush=True)
        if (number + 1 - first) % TOGETHER == 0 or number + 1 == last:
            print(f"done {json.dumps([number + 1, counts])}", flush=True)
            counts = {}
    folder.rmdir()


def start_child(first: int, last: int) -> subprocess.Popen[str]:
    """A child whose address space is bounded, so that a fault harms nobody else."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))

    words = [sys.executable, "-m", "tools.fuzz_readers", "--child", str(first), str(last)]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "RUST_BACKTRACE": "0",
        "PYTHONPATH": str(ROOT / "src"),
    }
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=bound, env=environment
    )


def machine() -> dict[str, str]:
    """Where it ran."""
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    cpu = names[0] if names else platform.processor()
    return {"cpu": cpu, "system": platform.platform(), "python": platform.python_version()}


def load() -> dict[str, object]:
    """What earlier runs found."""
    if RESULT.exists():
        return json.loads(RESULT.read_text())
    return {"inputs": 0, "read": 0, "refused": 0, "failures": [], "samples": {}, "seconds": 0.0}


def save(result: dict) -> None:
    """In one step."""
    result["date"] = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    result["machine"] = machine()
    result["limits"] = {"kilobytes": MEMORY, "seconds of computing": SECONDS}
    part = RESULT.with_suffix(".part")
    part.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
    os.replace(part, RESULT)


def retry(result: dict) -> None:
    """Failures of earlier runs that are none any more go to "fixed"."""
    for failure in list(result["failures"]):
        process = start_child(failure[0], failure[0] + 1)
        if "bad " not in process.communicate()[0] and process.returncode == 0:
            result["failures"].remove(failure)
            result.setdefault("fixed", []).append(failure)
            save(result)


def run(seconds: float, inputs: int) -> int:
    """Go on from the last input that was counted."""
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    result = load()
    begun, known = time.monotonic(), float(result["seconds"])
    retry(result)
    target = result["inputs"] + inputs
    process = None
    try:
        while result["inputs"] < target and time.monotonic() - begun < seconds:
            first = result["inputs"]
            process = start_child(first, min(target, first + 100 * TOGETHER))
            at = first
            for line in process.stdout:
                word, _, rest = line.partition(" ")
                if word == "at":
                    at = int(rest)
                elif word == "bad":
                    result["failures"].append(json.loads(rest))
                    print("FAILURE", rest, flush=True)
                elif word == "done":
                    result["inputs"], counts = json.loads(rest)
                    for sample, (read, refused) in counts.items():
                        tally = result["samples"].setdefault(sample, [0, 0])
                        tally[0] += read
                        tally[1] += refused
                        result["read"] += read
                        result["refused"] += refused
                    result["seconds"] = round(known + time.monotonic() - begun, 1)
                    save(result)
                    if time.monotonic() - begun >= seconds:
                        break
            if process.poll() is None and time.monotonic() - begun >= seconds:
                break
            if process.wait() != 0:  # it died at this input: count it, go on behind it
                result["failures"].append(
                    [at, make(at, samples())[0], {}, f"the process ended with {process.returncode}"]
                )
                result["inputs"] = at + 1
                print("FAILURE", result["failures"][-1], flush=True)
                save(result)
    finally:
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()
    print(
        f"{result['inputs']} inputs, {result['read']} read, {result['refused']} refused, "
        f"{len(result['failures'])} failures"
    )
    return 1 if result["failures"] else 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--inputs", type=int, default=10**9, help="how many more")
    parser.add_argument("--show", type=int, help="write this input to standard output")
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return 0
    if options.show is not None:
        sample, name, data, how = make(options.show, samples())
        print(f"# from {sample}, as {name}, with {how}", file=sys.stderr)
        sys.stdout.buffer.write(data)
        return 0
    if options.seconds == float("inf") and options.inputs == 10**9:
        parser.error("give --seconds or --inputs")
    return run(options.seconds, options.inputs)


if __name__ == "__main__":
    sys.exit(main())
