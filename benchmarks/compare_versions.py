"""Is this version slower than another one? The same calls in turn, in fresh processes of either interpreter.

    git worktree add ../old 07950a0 && python -m venv ../old/.venv && ../old/.venv/bin/pip install -e ../old
    python -m benchmarks.compare_versions ../old/.venv/bin/python ../old/src/heatfield

Each version has an environment of its own: an editable installation comes before PYTHONPATH, so that one
environment could only ever show one of them. The folder that a process imports the library from is compared
with the one that is meant. Each process reports the best of many calls; the versions take turns, and the best
process counts. One thread, except where two are the question. The first process of each is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, ROOT, write

OUTPUT = RESULTS / "compare_versions.json"

CHILD = """
import json, os, sys, time
import numpy as np
import heatfield as hf

found = os.path.dirname(os.path.realpath(hf.__file__))
assert found == sys.argv[3], f"imported from {found}, not {sys.argv[3]}"
rng = np.random.default_rng(0)
normal = rng.normal(size=(100_000, 3))
sphere = normal / np.linalg.norm(normal, axis=1, keepdims=True)
small, middle = [sphere[i * 128 : (i + 1) * 128] for i in range(32)], [sphere[:1024]]

ball = sphere[:1024] * rng.random((1024, 1)) ** (1 / 3)
turn = rng.random(1024) * 2 * np.pi
curve = np.c_[np.sin(turn) + 2 * np.sin(2 * turn), np.cos(turn) - 2 * np.cos(2 * turn), -np.sin(3 * turn)]
plane = rng.random((1000, 2))

def describe(clouds, *args, **options):
    d = hf.HFSDescriptor(*args, **options).fit(clouds)
    return lambda: d.transform(clouds)

field = hf.HeatField(sphere[:1024])
ROWS = {
    "desc, 32 clouds of 128": describe(small, "desc"),
    "desc, 32 clouds of 128, float32": describe(small, "desc", dtype="float32"),
    "desc, 32 clouds of 128, two threads": describe(small, "desc", n_jobs=2),
    "simple, 1024 points": describe(middle, "simple"),
    "desc, 1024 points": describe(middle, "desc"),
    "desc, 1024 points, float32": describe(middle, "desc", dtype="float32"),
    "joint, 1024 points": describe(middle, "joint"),
    "joint, 2048 points, float32": describe([sphere[:2048]], "joint", dtype="float32"),
    "simple, ball of 1024": describe([ball], "simple"),
    "simple, curve of 1024": describe([curve], "simple"),
    "desc, curve of 1024": describe([curve], "desc"),
    "joint, curve of 1024": describe([curve], "joint"),
    "joint, curve of 1024, float32": describe([curve], "joint", dtype="float32"),
    "joint, 4 curves of 256, float32": describe(np.split(curve, 4), "joint", dtype="float32"),
    "desc, 1000 points of the plane": describe([plane], "desc"),
    "joint, 1000 points of the plane, float32": describe([plane], "joint", dtype="float32"),
    "signatures, 1024 points": lambda: hf.signatures(sphere[:1024]),
    "signatures, 1024 points, two threads": lambda: hf.signatures(sphere[:1024], n_jobs=2),
    "heat field, hessian at 256 places": lambda: field.hessian(sphere[:256] * 1.1, [0.01, 0.1]),
    "signatures, 100,000 points, tol 1e-6": lambda: hf.signatures(sphere, tol=1e-6),
    "signatures, 100,000 points, tol 1e-6, two threads": lambda: hf.signatures(sphere, tol=1e-6, n_jobs=2),
}
seconds, clock = float(sys.argv[1]), getattr(time, sys.argv[2])
out = {}
for name, call in ROWS.items():
    call()
    best, until = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < until or best == float("inf"):
        start = clock()
        call()
        best = min(best, clock() - start)
    out[name] = 1e3 * best
print(json.dumps(out))
"""


def child(python: Path, folder: Path, seconds: float, clock: str) -> dict[str, float]:
    """Best milliseconds of every row, by the library that an interpreter imports from a folder."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    words = [str(python), "-P", "-c", CHILD, str(seconds), clock, str(folder.resolve())]
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd="/")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", type=Path, help="interpreter of the other version")
    parser.add_argument("folder", type=Path, help="folder of heatfield that it imports")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=1.0, help="per row and process")
    parser.add_argument(
        "--clock", choices=("perf_counter", "process_time"), default="perf_counter",
        help="process_time counts the processor's time only: for a machine that is not quiet",
    )  # fmt: skip
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    versions = {
        "old": (options.python.absolute(), options.folder),
        "new": (Path(sys.executable), ROOT / "src" / "heatfield"),
    }
    best: dict[str, dict[str, float]] = {}
    for turn in range(options.rounds + 1):
        for name, version in versions.items():
            found = child(*version, options.seconds if turn else 0.0, options.clock)
            if turn == 1:
                best[name] = found
            elif turn > 1:
                best[name] = {row: min(best[name][row], found[row]) for row in found}
        print(f"round {turn} of {options.rounds}", file=sys.stderr, flush=True)
    rows = {
        row: {"old_ms": round(old, 3), "new_ms": round(best["new"][row], 3), "ratio": best["new"][row] / old}
        for row, old in best["old"].items()
    }
    for row, values in rows.items():
        print(f"{row:52} {values['old_ms']:10.3f} {values['new_ms']:10.3f} {values['ratio']:7.3f}")
    write(options.output, {**machine(), "clock": options.clock, "rounds": options.rounds, "rows": rows})


if __name__ == "__main__":
    main()
