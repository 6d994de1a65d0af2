"""Is this version slower than another one? The same calls in turn, in fresh processes of either interpreter.

    git worktree add ../old 07950a0 && python -m venv ../old/.venv && ../old/.venv/bin/pip install -e ../old
    python -m benchmarks.compare_versions ../old/.venv/bin/python ../old/src/heatfield
    python -m benchmarks.compare_versions ... --large 1e5 1e6 1e7    # five clouds, two threads

Each version has an environment of its own: an editable installation comes before PYTHONPATH, so that one
environment could only ever show one of them. The folder that a process imports the library from is compared
with the one that is meant. Each process reports the best of many calls; the versions take turns, and the best
process counts. One thread, except where two are the question. Rows are kept in benchmarks/results as they are
finished; beyond two million points there is one round.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.lib.clouds import LARGE_CLOUDS, make_large_cloud
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, ROOT, read, write

OUTPUT = RESULTS / "compare_versions.json"

CHILD = """
import json, os, sys, time
import numpy as np
import heatfield as hf

seconds, clock, folder, kind, path = float(sys.argv[1]), getattr(time, sys.argv[2]), *sys.argv[3:]
found = os.path.dirname(os.path.realpath(hf.__file__))
assert found == folder, f"imported from {found}, not {folder}"
rng = np.random.default_rng(0)

def describe(clouds, *args, **options):
    d = hf.HFSDescriptor(*args, **dict(n_jobs=1) | options).fit(clouds)
    return lambda: d.transform(clouds)

def small():
    for n in (3, 2):
        for m, clouds in ((128, 32), (256, 16), (1024, 4), (4096, 1)):
            points = list(rng.normal(size=(clouds, m, n)))
            for variant in ("desc", "joint"):
                for dtype in ("float64", "float32"):
                    call = describe(points, variant, dtype=dtype)
                    yield f"{variant}, n = {n}, {clouds} of {m}, {dtype}", call
    many, larger = (list(rng.normal(size=(64, m, 3))) for m in (128, 1024))
    for jobs in (1, 2):
        yield f"desc, 64 of 128, threads: {jobs}", describe(many, "desc", n_jobs=jobs)
        yield f"joint, 64 of 1024, threads: {jobs}", describe(larger, "joint", n_jobs=jobs)
    yield "desc, one cloud of 128", describe(many[:1], "desc")
    yield "signatures, one cloud of 128", lambda: hf.signatures(many[0], n_jobs=1)
    points = rng.normal(size=(1024, 3))
    field, wide = (hf.HeatField(p, n_jobs=1) for p in (points, rng.normal(size=(100_000, 3))))
    yield "simple, 1024 points", describe([points], "simple")
    some, more = 1.1 * points[:256], 1.1 * points[:1000].repeat(5, 0)
    yield "field, value and hessian at 256 query points", lambda: field.hessian(some, [0.01, 0.1])
    yield "field of 100,000, hessian at 5,000 query points", lambda: wide.hessian(more, [0.1])
    own = 0.01 * (1 + rng.random((1024, 1))) * 2.0 ** np.arange(8)
    yield "per-point times, 1024 points", lambda: hf.signatures(points, own, n_jobs=1)
    from heatfield.nn import HeatFeatures
    import torch
    torch.set_num_threads(1)
    for m, clouds in ((128, 64), (1024, 8)):
        given = torch.tensor(rng.normal(size=(clouds, m, 3)), dtype=torch.float32)
        module = HeatFeatures()
        def forward(given=given):
            with torch.no_grad():
                module(given)
        def backward(given=given):
            own = given.clone().requires_grad_()
            module(own).sum().backward()
        yield f"HeatFeatures, forward, {clouds} of {m}", forward
        yield f"HeatFeatures, forward and backward, {clouds} of {m}", backward

def large():
    points = np.load(path)
    yield os.path.basename(path)[:-4], lambda: hf.signatures(points, tol=1e-6, n_jobs=2)

out = {}
for name, call in globals()[kind]():
    if kind == "small":
        call()
    else:
        hf.signatures(rng.normal(size=(7000, 3)), tol=1e-6, n_jobs=2)
    best, until = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < until or best == float("inf"):
        start = clock()
        call()
        best = min(best, clock() - start)
    out[name] = 1e3 * best
print(json.dumps(out))
"""


def child(
    python: Path, folder: Path, seconds: float, clock: str, kind: str, path: str = ""
) -> dict[str, float]:
    """Best milliseconds of every row, by the library that an interpreter imports from a folder."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    words = [str(python), "-P", "-c", CHILD, str(seconds), clock, str(folder.resolve()), kind, path]
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd="/")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", type=Path, help="interpreter of the other version")
    parser.add_argument("folder", type=Path, help="folder of heatfield that it imports")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.5, help="per row and process")
    parser.add_argument(
        "--large", type=float, nargs="*", default=[], help="only large clouds, of so many points"
    )
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

    def compare(rounds: int, seconds: float, kind: str, path: str = "", first: bool = True) -> None:
        """Let both take turns, and write what was found so far after each kind of row."""
        best: dict[str, dict[str, float]] = {"old": {}, "new": {}}
        for turn in range(0 if first else 1, rounds + 1):
            for name, version in versions.items():
                found = child(*version, seconds if turn else 0.0, options.clock, kind, path)
                if turn:
                    best[name] = {row: min(best[name].get(row, value), value) for row, value in found.items()}
            print(f"{Path(path).stem or kind}: round {turn} of {rounds}", file=sys.stderr, flush=True)
        kept = read(options.output, {})
        rows = kept.get("rows", {})
        for row, old in best["old"].items():
            new = best["new"][row]
            rows[row] = {
                "old_ms": round(old, 3),
                "new_ms": round(new, 3),
                "ratio": new / old,
                "rounds": rounds,
            }
            print(f"{row:52} {old:10.3f} {new:10.3f} {new / old:7.3f}", flush=True)
        write(options.output, {**machine(), "clock": options.clock, "rows": rows})

    if not options.large:
        compare(options.rounds, options.seconds, "small")
    for m in map(int, options.large):
        for name in LARGE_CLOUDS:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"{name}, {m:,} points, tol 1e-6.npy"
                np.save(path, make_large_cloud(name, m))
                compare(1 if m > 2e6 else options.rounds, 0.0, "large", str(path), first=False)


if __name__ == "__main__":
    main()
