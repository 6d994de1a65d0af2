"""One cloud of many tiles out of core: time, peak memory, how the cost grows, and a forecast.

    python -m benchmarks.survey --data FOLDER [--cases survey/1e6/1 ...] [--tol 1e-6] [--check 1e7]

A landscape with trees in map coordinates, 8 points per square metre, in 64 LAS tiles, is made in FOLDER
(1e8 points: 3 GB in about two minutes; with work files and tiles that hold signatures up to 40 GB, which are
removed after each case). Every case runs in a fresh process after a warm-up. Each finished one is written to
benchmarks/results/survey.json at once; run again, what is there is left alone, and what is missing is done.

survey/M/J    `heatfield._survey` of M points by J threads, each at a tile of its own, 8 scales.
memory/M/J    `heatfield.signatures` of the same points in memory with J threads.

Without --cases all are run, from small to large: 1e6, 1e7 and 1e8 points, in memory up to 1e7.
After each case the exponents p of seconds ~ m**p are fitted, pass by pass, and the time of 1e9 points on 64
workers of one core each is forecast by the cost model. ``--summary`` prints what is known and runs nothing.
``--check M`` compares the tiles of the survey of M points with `signatures` at corners of tiles, isolated
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
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import heatfield as hf
from benchmarks.lib.landscape import compare, draw, growth, make_tiles, model, surveys, tile_paths
from benchmarks.lib.machine import load_average, machine, now
from benchmarks.lib.results import DOCS, RESULTS, ROOT, read, write
from heatfield.core.planner import Costs

OUTPUT = RESULTS / "survey.json"
PICTURE = DOCS / "guide" / "survey.png"
CASES = [
    f"{kind}/{m}/{jobs}"
    for m in (10**6, 10**7, 10**8)
    for jobs in (1, 2)
    for kind in ("survey", "memory")
    if kind == "survey" or m <= 10**7
]
GOAL_BYTES = 8 * 2**30
# GiB that all tasks at a time may plan with; the rest of the goal is for the program and its libraries.
MEMORY = 6.5


def say(text: str) -> None:
    """A line of progress."""
    print(f"{now()}  {text}", file=sys.stderr, flush=True)


def peak_bytes() -> int:
    """Of this program alone, mapped files included."""
    found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
    return 1024 * (int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def warm_up(tol: float, folder: Path) -> None:
    """Load everything."""
    paths = make_tiles(folder / "warm-up", 20_000)
    shutil.rmtree(folder / "warm-out", ignore_errors=True)
    hf.survey(paths, folder / "warm-out", tol=tol, n_jobs=2)
    hf.signatures(hf.read_points(paths[0]), tol=tol, method="fast")
    shutil.rmtree(folder / "warm-out")


def measure(kind: str, m: int, jobs: int, tol: float, folder: Path) -> dict[str, Any]:
    """One case, in this process."""
    warm_up(tol, folder)
    before, load = peak_bytes(), load_average()
    paths = tile_paths(folder / str(m))
    found: dict[str, Any] = {"jobs": jobs, "tol": tol, "date": now(), "load": load, "costs": asdict(Costs())}
    if kind == "survey":
        out = out_folder(folder, m, jobs)
        shutil.rmtree(out, ignore_errors=True)
        cpu, started = time.process_time(), time.perf_counter()
        s = hf.survey(paths, out, n_jobs=jobs, tol=tol, memory=MEMORY, progress=True)
        found["seconds"] = time.perf_counter() - started
        found["passes"] = {name: seconds for name, seconds in s.seconds.items() if name != "all"}
        found |= {"steps": s.steps, "plan": [entry["reason"] for entry in s.plan], "spacing": s.spacing}
        found |= {"points": s.points, "written_bytes": sum(p.stat().st_size for p in out.glob("*.las"))}
    else:
        points = np.concatenate([hf.read_points(path) for path in paths])
        cpu, started = time.process_time(), time.perf_counter()
        hf.signatures(points, tol=tol, n_jobs=jobs)
        found["seconds"] = time.perf_counter() - started
        found["points"] = len(points)
    found["cpu_seconds"] = time.process_time() - cpu
    return found | {"peak_bytes": peak_bytes(), "peak_bytes_before": before}


def out_folder(folder: Path, m: int, jobs: int) -> Path:
    """Where the tiles with signatures of a case go."""
    return folder / f"out-{m}-{jobs}"


def run(case: str, options: argparse.Namespace) -> dict[str, Any]:
    """One case in a fresh process; what went wrong, where it did."""
    command = [sys.executable, "-m", "benchmarks.survey", "--one", case]
    command += ["--data", str(options.data), "--tol", str(options.tol)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    if done.returncode < 0:
        return {"failed": f"ended by signal {-done.returncode}, possibly out of memory"}
    if done.returncode:
        return {"failed": f"exit code {done.returncode}"}
    return json.loads(done.stdout.splitlines()[-1])


def one(case: str, options: argparse.Namespace) -> None:
    """The case that a fresh process was started for: its result as JSON, also where it fails."""
    kind, m, jobs = case.split("/")
    try:
        found = measure(kind, int(m), int(jobs), options.tol, options.data)
    except (ValueError, OSError, MemoryError) as error:
        found = {"failed": f"{type(error).__name__}: {error}"[:600]}
    print(json.dumps(found))


def case_named(word: str) -> str:
    """``survey/1e8/2`` as it stands in the result file."""
    try:
        kind, size, jobs = word.split("/")
        case = f"{kind}/{int(float(size))}/{int(jobs)}"
    except ValueError:
        raise SystemExit(f"--cases must be KIND/POINTS/WORKERS, got {word!r}") from None
    if kind not in ("survey", "memory"):
        raise SystemExit(f"--cases must be survey/... or memory/..., got {word!r}")
    return case


def shown(case: dict[str, Any]) -> str:
    """One line for a case."""
    if "failed" in case:
        return str(case["failed"])
    goal = "" if case["peak_bytes"] <= GOAL_BYTES else ", more than 8 GiB"
    return (
        f"{case['seconds']:.1f} s, {case['seconds'] / case['points'] * 1e6:.2f} us per point, "
        f"{case['peak_bytes'] / 2**30:.2f} GiB{goal}"
    )


def summarise(found: dict[str, Any]) -> None:
    """Growth and forecast of what is known, into the result."""
    jobs = sorted({run["jobs"] for run in found["runs"].values() if "failed" not in run})
    found["growth"] = {str(j): growth(found["runs"], j) for j in jobs if surveys(found["runs"], j)}
    found["forecast"] = {str(j): model(found["runs"], j) for j in jobs if surveys(found["runs"], j)}


def look(found: dict[str, Any], options: argparse.Namespace) -> None:
    """``--check`` and ``--draw``."""
    m = int(options.draw or options.check)
    out = options.data / f"look-{m}"
    paths = make_tiles(options.data / str(m), m, say)
    s = hf.survey(paths, out, n_jobs=2, tol=options.tol, memory=MEMORY, progress=True)
    if options.draw:
        draw(out, PICTURE)
        print(f"{s.points:,} points, picture in {PICTURE}")
    if options.check:
        found["check"] = {"points": s.points, **compare(paths, out, s, options.tol)}
        write(options.out, found, sort_keys=True)
        print(json.dumps(found["check"], indent=1))


def main() -> None:
    """Run what is not known yet, then fit and forecast."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="for tiles: a fast disk")
    parser.add_argument("--cases", nargs="+", default=CASES, metavar="KIND/M/J", help="only these")
    parser.add_argument("--again", action="store_true", help="also run cases that are known")
    parser.add_argument("--summary", action="store_true", help="run nothing, print what is known")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--out", type=Path, default=OUTPUT)
    parser.add_argument("--check", type=float, metavar="M", help="compare this size with one machine")
    parser.add_argument("--draw", type=float, metavar="M", help="draw this size into docs/guide/survey.png")
    parser.add_argument("--one", metavar="KIND/M/J", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.one, options)
        return
    found = read(options.out, {"runs": {}})
    runs = found["runs"]
    if options.draw or options.check:
        look(found, options)
        return
    for case in [] if options.summary else map(case_named, options.cases):
        known = runs.get(case, {})
        if not options.again and "failed" not in known and known.get("tol") == options.tol:
            say(f"{case}: known, {shown(known)}")
            continue
        _, m, jobs = case.split("/")
        started = time.monotonic()
        make_tiles(options.data / m, int(m), lambda text: say(text) if text.startswith("tile 64") else None)
        say(f"{case}: tiles are there after {time.monotonic() - started:.0f} s")
        runs[case] = run(case, options)
        shutil.rmtree(out_folder(options.data, int(m), int(jobs)), ignore_errors=True)
        found.update(machine())
        summarise(found)
        write(options.out, found, sort_keys=True)
        say(f"{case}: {shown(runs[case])}")
    summarise(found)
    for case, result in runs.items():
        print(f"{case:20s} {shown(result)}")
    print(json.dumps({"growth": found["growth"], "forecast": found["forecast"]}, indent=1))


if __name__ == "__main__":
    main()
