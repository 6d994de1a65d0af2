"""One cloud of many tiles out of core: time, peak memory, how the cost grows, and a forecast.

    python -m benchmarks.survey --data FOLDER [--largest 1e8] [--jobs 1,2] [--tol 1e-4] [--check 1e7]

A landscape with trees in map coordinates, 8 points per square metre, in 64 LAS tiles, is made in FOLDER
(1e8 points: 3 GB, and 22 GB of tiles with signatures, which are removed after each case). Every case runs in
a fresh process after a warm-up; each finished one is written to benchmarks/results/survey.json at once, and
run again, the script continues where it stopped.

survey/M/J    `heatfield.cluster.survey` of M points with J threads, one tile at a time, 8 scales.
memory/M/J    `heatfield.signatures` of the same points in memory, up to 1e7.

Then the exponents p of seconds ~ m**p are fitted, pass by pass, and the time of 1e9 points on 64 workers of
one core each is forecast: passes over tiles divide among the workers, the fields of coarse scales do not.
``--check M`` compares the tiles of the survey of M points with `signatures` at corners of tiles, lonely
points, the densest ones and a random sample. ``--draw M`` draws the points coloured by dimension with the
borders of tiles.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import heatfield as hf
from benchmarks.lib.machine import load_average, machine, now
from benchmarks.lib.results import DOCS, RESULTS, ROOT, read, write
from benchmarks.lib.survey_check import compare, draw
from benchmarks.lib.terrain import make_tiles
from heatfield._sums.costs import costs

OUTPUT = RESULTS / "survey.json"
PICTURE = DOCS / "guide" / "survey.png"
IN_MEMORY_MOST = 1e7
# Work on whole grids, of which there is one per coarse scale: more workers than scales do not help.
SERIAL = ("fields",)


def peak_bytes() -> int:
    """Of this program alone, mapped files included."""
    found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
    return 1024 * (int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def warm_up(tol: float, folder: Path) -> None:
    """Compile everything, measure this machine's prices."""
    paths = make_tiles(folder / "warm-up", 20_000)
    shutil.rmtree(folder / "warm-out", ignore_errors=True)
    hf.cluster.survey(paths, folder / "warm-out", tol=tol, n_jobs=2)
    hf.signatures(hf.read_points(paths[0]), tol=tol, method="fast")
    shutil.rmtree(folder / "warm-out")
    costs()


def measure(kind: str, m: int, jobs: int, tol: float, folder: Path) -> dict[str, Any]:
    """One case, in this process."""
    warm_up(tol, folder)
    before, load = peak_bytes(), load_average()
    paths = [folder / str(m) / path.name for path in sorted((folder / str(m)).glob("*.las"))]
    out = folder / f"out-{m}-{jobs}"
    found: dict[str, Any] = {}
    if kind == "survey":
        shutil.rmtree(out, ignore_errors=True)
        started = time.perf_counter()
        s = hf.cluster.survey(paths, out, tol=tol, n_jobs=jobs)
        found["seconds"] = time.perf_counter() - started
        found["passes"] = {name: seconds for name, seconds in s.seconds.items() if name != "all"}
        found["plan"] = [entry["reason"] for entry in s.plan]
        found["points"] = s.points
    else:
        points = np.concatenate([hf.read_points(path) for path in paths])
        started = time.perf_counter()
        hf.signatures(points, tol=tol, n_jobs=jobs)
        found["seconds"] = time.perf_counter() - started
        found["points"] = len(points)
    found |= {"peak_bytes": peak_bytes(), "peak_bytes_before": before, "load": load}
    return found | {"jobs": jobs, "tol": tol, "date": now()}


def run(kind: str, m: int, jobs: int, options: argparse.Namespace) -> dict[str, Any]:
    """One case in a fresh process; what went wrong, where it did."""
    command = [sys.executable, "-m", "benchmarks.survey", "--one", f"{kind}/{m}/{jobs}"]
    command += ["--data", str(options.data), "--tol", str(options.tol)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["killed"])[-1][:300]}
    return json.loads(done.stdout.splitlines()[-1])


def exponent(sizes: list[float], seconds: list[float]) -> float | None:
    """p of seconds ~ m**p by least squares; None for fewer than two sizes."""
    good = [(m, s) for m, s in zip(sizes, seconds, strict=True) if s > 0.0]
    if len(good) < 2:
        return None
    m, s = np.log(np.array(good)).T
    return float(np.polyfit(m, s, 1)[0])


def growth(runs: dict[str, Any], jobs: int) -> dict[str, Any]:
    """Exponents of the whole and of each pass."""
    cases = sorted(
        (run for key, run in runs.items() if key.startswith("survey/") and run.get("jobs") == jobs),
        key=lambda run: run["points"],
    )
    sizes = [run["points"] for run in cases]
    names = sorted({name for run in cases for name in run["passes"]})
    return {
        "sizes": sizes,
        "all": exponent(sizes, [run["seconds"] for run in cases]),
        "passes": {name: exponent(sizes, [r["passes"].get(name, 0.0) for r in cases]) for name in names},
    }


def forecast(runs: dict[str, Any], jobs: int, m: float = 1e9, workers: int = 64) -> dict[str, Any] | None:
    """Seconds for m points on so many workers of one core, from the largest case and the exponents."""
    found = growth(runs, jobs)
    if found["all"] is None:
        return None
    largest = max(
        (run for key, run in runs.items() if key.startswith("survey/") and run.get("jobs") == jobs),
        key=lambda run: run["points"],
    )
    seconds = {}
    for name, spent in largest["passes"].items():
        power = found["passes"][name] or 1.0
        share = jobs / (min(workers, 4) if name in SERIAL else workers)
        seconds[name] = spent * (m / largest["points"]) ** power * share
    return {
        "points": m, "workers": workers, "from": largest["points"], "passes": seconds,
        "seconds": sum(seconds.values()),
    }  # fmt: skip


def main() -> None:
    """Run what is not known yet, then fit and forecast."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="for tiles: a fast disk")
    parser.add_argument("--largest", type=float, default=1e8)
    parser.add_argument("--jobs", default="1,2", help="numbers of threads")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--out", type=Path, default=OUTPUT)
    parser.add_argument("--check", type=float, metavar="M", help="compare this size with one machine")
    parser.add_argument("--draw", type=float, metavar="M", help="draw this size into docs/guide/survey.png")
    parser.add_argument("--one", metavar="KIND/M/J", help="one case in this process, printed as JSON")
    options = parser.parse_args()
    if options.one:
        kind, m, jobs = options.one.split("/")
        print(json.dumps(measure(kind, int(m), int(jobs), options.tol, options.data)))
        return
    found = read(options.out, {"runs": {}})
    runs = found["runs"]
    if options.draw or options.check:
        m = int(options.draw or options.check)
        out = options.data / f"look-{m}"
        paths = make_tiles(options.data / str(m), m)
        s = hf.cluster.survey(paths, out, tol=options.tol, n_jobs=-1)
        if options.draw:
            draw(out, PICTURE)
            print(f"picture in {PICTURE}")
        if options.check:
            found["check"] = {"points": s.points, **compare(paths, out, s, options.tol)}
            write(options.out, found, sort_keys=True)
            print(json.dumps(found["check"], indent=1))
        return
    threads = [int(word) for word in options.jobs.split(",")]
    for m in [10**k for k in range(6, 10) if 10**k <= options.largest]:
        make_tiles(options.data / str(m), m)
        for kind, jobs in [(kind, jobs) for kind in ("survey", "memory") for jobs in threads]:
            key = f"{kind}/{m}/{jobs}"
            if (kind == "memory" and m > IN_MEMORY_MOST) or runs.get(key, {}).get("tol") == options.tol:
                continue
            runs[key] = run(kind, m, jobs, options)
            shutil.rmtree(options.data / f"out-{m}-{jobs}", ignore_errors=True)
            known = {k: r for k, r in runs.items() if "failed" not in r}
            found.update(machine())
            found["growth"] = {str(j): growth(known, j) for j in threads}
            found["forecast"] = {str(j): forecast(known, j) for j in threads}
            write(options.out, found, sort_keys=True)
            case = runs[key]
            shown = case.get("failed") or (
                f"{case['seconds']:.1f} s, {case['seconds'] / case['points'] * 1e6:.2f} us per point, "
                f"{case['peak_bytes'] / 2**30:.2f} GiB"
            )
            print(f"{key:20s} {shown}", flush=True)
    print(json.dumps({"growth": found.get("growth"), "forecast": found.get("forecast")}, indent=1))


if __name__ == "__main__":
    main()
