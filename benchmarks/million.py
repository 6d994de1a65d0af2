"""What a million points cost beside `signatures` (see `scaling`): times of their own, `joint`, far places.

    python -m benchmarks.million [--cases adaptive,joint] [--largest 1e5] [--jobs 2] [--minutes 2.5]
                                 [--since "2026-11-16 19:00"]

Points on a sphere, 10**5 and 10**6 of them, so that the ratio shows the trend; tol = 1e-6. Every case is run
in a fresh process that compiles on a small cloud first, then measures one call, and is written to
benchmarks/results/million.json at once; run again, the script continues where it stopped.

adaptive    `adaptive_scales` and `signatures` with its table of times, eight scales.
joint       `HFSDescriptor("joint")` of the one cloud.
far         `HeatField.value` and
far_moments `HeatField.dimension`, at as many places as there are points, uniform in a box around the sphere,
            t = 1e-5: nearly all of them are far from the data.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import heatfield as hf
from benchmarks.lib.clouds import make_large_cloud
from benchmarks.lib.machine import machine, now
from benchmarks.lib.results import RESULTS, ROOT, read, write

OUTPUT = RESULTS / "million.json"
SIZES = (100_000, 1_000_000)
TOL, TIME = 1e-6, 1e-5


def adaptive(points: np.ndarray, jobs: int) -> object:
    """Signatures at times of each point's own."""
    scales = hf.adaptive_scales(points)
    return hf.signatures(points, scales, method="fast", tol=TOL, n_jobs=jobs)


def joint(points: np.ndarray, jobs: int) -> object:
    """The longest descriptor."""
    return hf.HFSDescriptor("joint", method="fast", tol=TOL, n_jobs=jobs).fit_transform([points])


def far(points: np.ndarray, jobs: int, output: str = "value") -> object:
    """The field at as many places as there are points."""
    places = np.random.default_rng(1).uniform(-1.2, 1.2, points.shape)
    field = hf.HeatField(points, method="fast", tol=TOL, n_jobs=jobs)
    return getattr(field, output)(places, TIME)


CASES: dict[str, Callable[[np.ndarray, int], object]] = {
    "adaptive": adaptive,
    "joint": joint,
    "far": far,
    "far_moments": lambda points, jobs: far(points, jobs, "dimension"),
}


def measure(name: str, m: int, jobs: int) -> dict[str, Any]:
    """One case, in this process."""
    points = make_large_cloud("sphere", m)
    CASES[name](make_large_cloud("sphere", 7000), jobs)
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    CASES[name](points, jobs)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": seconds,
        "user_s": after.ru_utime - before.ru_utime,
        "system_s": after.ru_stime - before.ru_stime,
        "page_faults": after.ru_minflt - before.ru_minflt,
        "peak_bytes": 1024 * after.ru_maxrss,
        "jobs": jobs,
        "date": now(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default=",".join(CASES), help="some of them")
    parser.add_argument("--largest", type=float, default=SIZES[-1], help="largest number of points")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no case after so long")
    parser.add_argument("--since", default="", help="run again what is older than this date and time, UTC")
    parser.add_argument("--out", type=Path, default=OUTPUT)
    parser.add_argument("--one", metavar="CASE/M", help="one case in this process, printed as JSON")
    options = parser.parse_args()
    if options.one:
        name, m = options.one.split("/")
        print(json.dumps(measure(name, int(m), options.jobs)))
        return
    chosen = options.cases.split(",")
    unknown = [name for name in chosen if name not in CASES]
    if unknown:
        raise SystemExit(f"unknown case {unknown[0]!r}: one of {', '.join(CASES)}")
    found = read(options.out, {"runs": {}})
    last_start = time.monotonic() + 60.0 * options.minutes
    for key in [f"{name}/{m}" for m in SIZES if m <= options.largest for name in chosen]:
        known = found["runs"].get(key)
        if known and known["jobs"] == options.jobs and known["date"] >= options.since:
            continue
        if time.monotonic() > last_start:
            print(f"stopped after {options.minutes:g} minutes; run again to go on")
            break
        command = [sys.executable, "-m", "benchmarks.million", "--one", key, "--jobs", str(options.jobs)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        if done.returncode:
            raise SystemExit(f"{key} failed:\n{done.stderr}")
        found["runs"][key] = json.loads(done.stdout.splitlines()[-1])
        found.update(machine())
        write(options.out, found, sort_keys=True)
        print(f"{key:22s} {found['runs'][key]['seconds']:.2f} s", flush=True)


if __name__ == "__main__":
    main()
