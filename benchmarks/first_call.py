"""The first call of a new process: what a user waits for, imports included.

    python -m benchmarks.first_call [--cases "signatures; joint"] [--since "2026-11-16 22:00"]

Every case is run in fresh processes with an empty home and cache; the best counts. A finished case is written
to benchmarks/results/first_call.json at once; run again, the script continues where it stopped.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.lib.machine import machine, now
from benchmarks.lib.results import RESULTS, read, write

OUTPUT = RESULTS / "first_call.json"
ROUNDS = 5
_CLOUD = "np.random.default_rng(0).normal(size=({}, {}))"
_COMMAND = "from heatfield.cli import main; main('{}'.split())"
# What a user's program would run; nothing else is imported before.
CASES = {
    "signatures, n = 2": f"hf.signatures({_CLOUD.format(1000, 2)})",
    "signatures, n = 3": f"hf.signatures({_CLOUD.format(1000, 3)})",
    "describe, joint": f"hf.describe([{_CLOUD.format(1000, 3)}])",
    "HFSDescriptor, joint": f"hf.HFSDescriptor('joint').fit_transform([{_CLOUD.format(1000, 3)}])",
    "signatures, 20,000 points": f"hf.signatures({_CLOUD.format(20_000, 3)})",
    "heatfield info": _COMMAND.format("info cloud.xyz"),
    "heatfield describe": _COMMAND.format("describe cloud.xyz -o table.csv --quiet"),
}
PROGRAM = """
import numpy as np
import heatfield as hf
"""


def run(statement: str, folder: Path) -> float:
    """Seconds of one process, which must say nothing on standard error."""
    environment = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM + statement],
        capture_output=True, text=True, check=False, cwd=folder, env=environment,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    if done.returncode or done.stderr:
        raise SystemExit(f"failed: {statement}\n{done.stderr}")
    return seconds


def measure(name: str, rounds: int = ROUNDS) -> dict[str, Any]:
    """The best of some processes, each with empty folders."""
    found = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            points = [f"{math.sin(i)} {math.cos(3 * i)} {math.sin(7 * i)}" for i in range(500)]
            (folder / "cloud.xyz").write_text("\n".join(points) + "\n")
            found.append(run(CASES[name], folder))
    return {"seconds": round(min(found), 3), "date": now()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default=";".join(CASES), help="some of them, separated by semicolons")
    parser.add_argument("--since", default="", help="run again what is older than this date and time, UTC")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="processes, of which the best counts")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    chosen = [name.strip() for name in options.cases.split(";")]
    unknown = [name for name in chosen if name not in CASES]
    if unknown:
        raise SystemExit(f"unknown case {unknown[0]!r}: one of {'; '.join(CASES)}")
    found = read(options.output, {"cases": {}})
    for name in chosen:
        if name in found["cases"] and found["cases"][name]["date"] >= options.since:
            continue
        entry = found["cases"][name] = measure(name, options.rounds)
        found.update(machine())
        write(options.output, found)
        print(f"{name:28s} {entry['seconds']:6.2f} s", flush=True)


if __name__ == "__main__":
    main()
