"""All benchmarks of speed, one after the other, and a table beside the last kept run.

    python -m benchmarks [--quick] [--only speed,first_call] [--data FOLDER...] [--again]     (`make bench`)

Each is a process of its own. What was finished is not run again after a stop, until the whole list is done or
``--again`` is given. The last kept run is the result file as committed; without git, as it was before.
Figures that became slower by more than 5 % are marked; the exit code is 0 all the same, and 1 if a benchmark
failed. ``--quick`` measures less, writes no result file and compares what it has: a smoke run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.lib.machine import now
from benchmarks.lib.results import RESULTS, ROOT, read, write
from benchmarks.lib.timed import LEAVES, Change, compare, table

# What a stopped run left: the kept results from before it, and what is done.
STATE = ROOT / "benchmarks" / ".cache" / "run"
# Options of each script, in full and in short; {since} is when the run began, {out} the file of a short run.
# Large clouds in a size that a machine with 4 GB does in minutes: `scaling` by itself goes further.
FULL: dict[str, list[str]] = {
    "first_call": ["--since", "{since}"],
    "speed": [],
    "small_clouds": [],
    "scaling": ["--largest", "1e6", "--cases", "sphere/auto,clustered/auto,tree/auto", "--since", "{since}"],
    "million": ["--since", "{since}"],
    "epochs": [],
}
QUICK: dict[str, list[str]] = {
    "first_call": ["--cases", "signatures, n = 3", "--rounds", "1", "--output", "{out}"],
    "speed": ["--quick", "--output", "{out}"],
    "small_clouds": ["--rounds", "1", "--output", "{out}"],
    "scaling": [
        "--largest", "1e5", "--smallest", "1e5", "--cases", "sphere/auto", "--out", "{out}",
        "--picture", "{out}.png",
    ],
    "million": ["--cases", "adaptive", "--largest", "1e5", "--out", "{out}"],
}  # fmt: skip


def kept(name: str) -> dict[str, Any]:
    """The result as committed, else as it lies there, else empty."""
    path = RESULTS / f"{name}.json"
    shown = subprocess.run(
        ["git", "show", f"HEAD:./{path.relative_to(ROOT).as_posix()}"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    return json.loads(shown.stdout) if shown.returncode == 0 else read(path, {})


def run(names: list[str], options: argparse.Namespace, state: Path = STATE) -> tuple[list[Change], list[str]]:
    """Run what is not done yet; every figure beside the last kept one, and the benchmarks that failed."""
    if options.again:
        shutil.rmtree(state, ignore_errors=True)
    progress = read(state / "state.json", {"since": now(), "quick": options.quick, "done": []})
    if progress["quick"] != options.quick:
        raise SystemExit(
            f"a {'quick' if progress['quick'] else 'full'} run was stopped: finish it, or give --again"
        )
    write(state / "state.json", progress)
    changes, failed = [], []
    for name in names:
        before, out = state / f"{name}.before.json", state / f"{name}.json"
        if not before.exists():
            write(before, kept(name))
        if name not in progress["done"]:
            words = [
                word.format(since=progress["since"], out=out)
                for word in (QUICK if options.quick else FULL)[name]
            ]
            if name == "small_clouds" and options.data:
                words += ["--data", *map(str, options.data)]
            print(f"--- {name} {' '.join(words)}", flush=True)
            start = time.monotonic()
            done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *words], check=False, cwd=ROOT)
            print(f"--- {name}: {time.monotonic() - start:.0f} s", flush=True)
            if done.returncode:
                failed.append(name)
                continue
            progress["done"].append(name)
            write(state / "state.json", progress)
        found = read(out if options.quick else RESULTS / f"{name}.json", {})
        changes += compare(name, read(before, {}), found)
    return changes, failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="measure less, write no result file")
    parser.add_argument("--only", help=f"some of {','.join(LEAVES)}")
    parser.add_argument("--data", type=Path, nargs="+", help="folders of small files, for small_clouds")
    parser.add_argument("--again", action="store_true", help="begin anew after a run that was stopped")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(QUICK if options.quick else FULL)
    unknown = [name for name in names if name not in (QUICK if options.quick else FULL)]
    if unknown:
        raise SystemExit(
            f"unknown benchmark {unknown[0]!r}: one of {', '.join(QUICK if options.quick else FULL)}"
        )
    changes, failed = run(names, options)
    print("\n" + table(changes))
    slower = sum(change.slower for change in changes)
    print(f"\n{len(changes)} figures, {slower} slower by more than 5 % than the last kept run")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}; run again to go on")
    shutil.rmtree(STATE, ignore_errors=True)


if __name__ == "__main__":
    main()
