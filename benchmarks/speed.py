"""How fast is heatfield, beside a plain NumPy reference and other descriptors?

    python -m benchmarks.speed            # some minutes; writes benchmarks/results/speed.json
    python -m benchmarks.speed --quick    # a smoke run: small clouds, few rounds, nothing written

One thread for everyone, except where two threads are the question. The contenders take
turns, round after round, so that a busy machine slows all of them; the best round counts.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # numerical libraries read these when they are loaded, which is below
    for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[_name] = "1"

import subprocess

import numpy as np

import heatfield as hf
from benchmarks.lib.clouds import make_cloud
from benchmarks.lib.machine import cores, load_average, now, processor, version_of
from benchmarks.lib.race import Shot, race, repeated
from benchmarks.lib.results import RESULTS, ROOT, write
from benchmarks.lib.rivals import RIVALS
from benchmarks.lib.speed_report import DTYPES, VARIANTS, is_busy, judge, report
from tests.helpers import reference

OUTPUT = RESULTS / "speed.json"
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "torch", "open3d-cpu", "open3d", "jakteristics")


def numbers_from(code: str) -> list[float]:
    """The numbers that a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"a measurement failed in its own process:\n{code}\n{done.stderr}")
    return [float(word) for word in done.stdout.split()]


def measure_imports(rounds: int) -> dict[str, float]:
    """Seconds in a fresh interpreter. HFSDescriptor also loads the compiler and scikit-learn."""
    statements = {
        "numpy_scipy_s": "import numpy, scipy",
        "heatfield_s": "import heatfield",
        "descriptor_s": "from heatfield import HFSDescriptor",
    }
    found: dict[str, list[float]] = {name: [] for name in statements}
    for _ in range(rounds):
        for name, statement in statements.items():
            code = f"import time; s = time.perf_counter(); {statement}; print(time.perf_counter() - s)"
            found[name] += numbers_from(code)
    best = {name: min(times) for name, times in found.items()}
    return best | {"ratio": best["heatfield_s"] / best["numpy_scipy_s"]}


MEMORY = """
import re, resource, sys
import numpy as np
from heatfield import HFSDescriptor
def peak():  # of this program alone: ru_maxrss also remembers the process that started it
    try:
        return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024
    except OSError:
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
for m in (64, POINTS):
    HFSDescriptor(variant="desc").fit_transform([np.random.default_rng(0).random((m, 3))])
    print(peak())
"""


def measure_memory(m: int) -> dict[str, Any]:
    """Peak resident megabytes of a whole process: after a tiny cloud, and after one of m points."""
    code = MEMORY.replace("POINTS", str(m))
    numbers_from(code)  # what it has to compile takes more memory than the cloud
    before, peak = numbers_from(code)
    return {"m": m, "before_mb": before, "peak_mb": peak}


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    name, flags = processor()
    return {
        "cpu": name,
        "cores": cores(),
        "flags": sorted(f for f in flags if f.startswith(("avx", "fma", "sse4"))),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {"heatfield": hf.__version__} | {p: v for p in PACKAGES if (v := version_of(p))},
        "load_average": load_average(),
    }


def heatfield_shot(points: np.ndarray, variant: str, dtype: str, n_jobs: int = 1) -> Shot:
    """The batch path, as users call it: input checks, schedule, sums, signatures, pooling."""
    describe = hf.HFSDescriptor(variant=variant, dtype=dtype, n_jobs=n_jobs).fit([points])
    return lambda count: describe.transform([points] * count)


def deviation(got: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, relative where the expected number is above 1."""
    return float((np.abs(got - expected) / np.maximum(1, np.abs(expected))).max())


def measure_case(kind: str, m: int, rounds: int, seconds: float) -> dict[str, Any]:
    """All contenders on one cloud: times, ratios to the reference, errors, and who could not run."""
    points = make_cloud(kind, m)
    n = points.shape[1]
    shots: dict[str, Shot] = {}
    notes: dict[str, str] = {}
    errors: dict[str, float] = {}
    for variant in ("simple", "desc"):
        shots[f"reference {variant}"] = repeated(partial(reference.descriptor, points, variant))
    for dtype in DTYPES:
        for variant in VARIANTS:
            shot = shots[f"heatfield {variant} {dtype}"] = heatfield_shot(points, variant, dtype)
            if variant != "joint":  # beyond the paper, and not in the reference
                vector = np.asarray(shot(1))[0]
                errors[f"{variant} {dtype}"] = deviation(vector, reference.descriptor(points, variant))
    for rival in RIVALS:
        status = rival.status()
        if status.startswith("not installed") or "does not load" in status:
            notes[rival.name] = status
        elif n not in rival.dimensions:
            notes[rival.name] = "3-D only"
        else:
            try:
                run = rival.prepare(points)
                run()
            except Exception as error:  # a rival's failure is a finding, not the end of the benchmark
                notes[rival.name] = f"failed: {type(error).__name__}: {error}"
            else:
                shots[rival.name] = repeated(run)
    times = race(shots, rounds, seconds)
    return {
        "cloud": kind,
        "m": m,
        "n": n,
        "times": times,
        "ratios": ratios(times, "best_ms"),
        "cpu_ratios": ratios(times, "cpu_ms"),
        "errors": errors,
        "notes": notes,
    }


def ratios(times: dict[str, Any], by: str) -> dict[str, float]:
    """How many times faster than the reference; ``simple`` is held against the simple reference."""
    found = {}
    for name, entry in times.items():
        base = "reference simple" if name.startswith("heatfield simple") else "reference desc"
        if not name.startswith("reference"):
            found[name] = times[base][by] / entry[by]
    return found


def measure_threads(m: int, count: int, rounds: int) -> dict[str, Any]:
    """Many clouds with one thread and with two, in turns."""
    points = make_cloud("sphere", m)
    shots = {f"n_jobs={jobs}": heatfield_shot(points, "desc", "float64", jobs) for jobs in (1, 2)}
    times = race(shots, rounds, 0.0, clouds=count)
    one, two = times["n_jobs=1"], times["n_jobs=2"]
    return {"m": m, "clouds": count, "times": times, "speedup": one["best_ms"] / two["best_ms"]}


def measure(quick: bool, rounds: int) -> dict[str, Any]:
    """Everything, in one run."""
    sizes = (128,) if quick else (128, 256, 1024, 2048)
    kinds = ("sphere",) if quick else ("sphere", "ball", "curve")
    plan = [(kind, m) for m in sizes for kind in kinds] + [("orbit", 200 if quick else 1000)]
    seconds = 0.02 if quick else 0.05
    about = machine()
    cases = []
    for kind, m in plan:
        print(f"measuring {kind}, m={m} ...", file=sys.stderr, flush=True)
        # The reference takes seconds for the largest clouds, and long shots vary little.
        cases.append(measure_case(kind, m, rounds if m <= 1024 else min(rounds, 3), seconds))
    threads = []
    if cores() >= 2:
        print("measuring threads ...", file=sys.stderr, flush=True)
        threads = [
            measure_threads(m, count, rounds)
            for m, count in (((128, 64),) if quick else ((128, 2000), (1024, 64)))
        ]
    print("measuring imports and memory ...", file=sys.stderr, flush=True)
    result = {
        "date": now(),
        "quick": quick,
        "rounds": rounds,
        "machine": about,
        "rivals": {rival.name: {"about": rival.about, "status": rival.status()} for rival in RIVALS},
        "cases": cases,
        "threads": threads,
        "imports": measure_imports(2 if quick else 5),
        "memory": measure_memory(2000 if quick else 20000),
    }
    result["load_average_after"] = load_average()
    result["busy"] = is_busy(cases, threads)
    result["goals"] = judge(result)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="a smoke run: small clouds, two rounds, nothing written"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        help="rounds of which the best counts (default 5; at most 3 for m=2048; quick 2)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        help=f"JSON file to write (default {OUTPUT.relative_to(ROOT)}; quick: none)",
    )
    options = parser.parse_args()
    rounds = options.rounds if options.rounds is not None else (2 if options.quick else 5)
    if rounds < 1:
        parser.error(f"--rounds must be at least 1, got {rounds}")
    result = measure(options.quick, rounds)
    print(report(result))
    output = options.output or (None if options.quick else OUTPUT)
    if output:
        write(output, result)
        print(f"\nwritten to {output}")


if __name__ == "__main__":
    main()
