"""The first call, which compiles, and the same in a second process, which loads what the first one kept.

    python -m benchmarks.first_call [--cases desc,joint] [--minutes 2.5] [--since "2026-11-16 22:00"]

Every case is run in a fresh process with an empty folder for compiled code, then in further processes with
the same folder, of which the best counts. Seconds are those of the whole process, with its imports. Seconds
of a kernel are its own: without the functions of this package that it calls, with those of numba. A
finished case is written to benchmarks/results/first_call.json at once; run again, the script continues
where it stopped.
"""

from __future__ import annotations

import argparse
import json
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
ROUNDS = 3  # of the second process
_CLOUD = "np.random.default_rng(0).normal(size=({}, {}))"
# What a user's program would run; nothing else is imported before.
CASES = {
    "signatures, n = 2": f"hf.signatures({_CLOUD.format(1000, 2)})",
    "signatures, n = 3": f"hf.signatures({_CLOUD.format(1000, 3)})",
    "simple": f"hf.HFSDescriptor('simple').fit_transform([{_CLOUD.format(1000, 3)}])",
    "desc": f"hf.HFSDescriptor('desc').fit_transform([{_CLOUD.format(1000, 3)}])",
    "joint": f"hf.HFSDescriptor('joint').fit_transform([{_CLOUD.format(1000, 3)}])",
    "fast": f"hf.signatures({_CLOUD.format(20_000, 3)})",
    "describe": "from heatfield.cli import main; main('describe cloud.xyz -o table.csv --quiet'.split())",
}
PROGRAM = """
import json, sys, time
import numpy as np
import heatfield as hf
from numba.core import event
happened = []
class Listener(event.Listener):
    def on_start(self, e):
        function = e.data["dispatcher"].py_func
        happened.append((time.perf_counter(), function.__module__ + "." + function.__name__))
    def on_end(self, e):
        happened.append((time.perf_counter(), None))
event.register("numba:compile", Listener())
{statement}
print("\\n" + json.dumps(happened))
"""


def own_seconds(happened: list[tuple[float, str | None]]) -> dict[str, float]:
    """Seconds of each kernel from the moments at which one was begun (its name) or finished (None).

    While a kernel is compiled, others that it calls are: their time is theirs alone. Functions of numba
    belong to the kernel of this package that needs them.
    """
    found: dict[str, float] = {}
    stack: list[str] = []
    last = 0.0
    for moment, name in happened:
        if stack:
            found[stack[-1]] = found.get(stack[-1], 0.0) + moment - last
        last = moment
        if name is None:
            stack.pop()
        elif name.startswith("heatfield.") or not stack:
            stack.append(name.removeprefix("heatfield."))
        else:
            stack.append(stack[-1])
    return found


def run(statement: str, folder: Path) -> tuple[float, dict[str, float]]:
    """Seconds of one process, and of the kernels that it compiled."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "code"), "XDG_CACHE_HOME": str(folder)}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM.format(statement=statement)],
        capture_output=True, text=True, check=False, cwd=folder, env=environment,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"failed: {statement}\n{done.stderr}")
    return seconds, own_seconds(json.loads(done.stdout.splitlines()[-1]))


def measure(name: str, rounds: int = ROUNDS) -> dict[str, Any]:
    """One case: the first process and the best of the further ones."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        points = [f"{math.sin(i)} {math.cos(3 * i)} {math.sin(7 * i)}" for i in range(500)]
        (folder / "cloud.xyz").write_text("\n".join(points) + "\n")
        first, kernels = run(CASES[name], folder)
        again = []
        for _ in range(rounds):
            (folder / "table.csv").unlink(missing_ok=True)
            seconds, more = run(CASES[name], folder)
            if more:
                raise SystemExit(f"{name}: the second process compiled {', '.join(sorted(more))} again")
            again.append(seconds)
    ordered = sorted(kernels.items(), key=lambda item: -item[1])
    return {
        "first_s": round(first, 2),
        "second_s": round(min(again), 2),
        "compile_s": round(sum(kernels.values()), 2),
        "kernels": {kernel: round(seconds, 3) for kernel, seconds in ordered},
        "date": now(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default=";".join(CASES), help="some of them, separated by semicolons")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no case after so long")
    parser.add_argument("--since", default="", help="run again what is older than this date and time, UTC")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="further processes, the best counts")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    chosen = options.cases.split(";")
    unknown = [name for name in chosen if name not in CASES]
    if unknown:
        raise SystemExit(f"unknown case {unknown[0]!r}: one of {'; '.join(CASES)}")
    found = read(options.output, {"cases": {}})
    last_start = time.monotonic() + 60.0 * options.minutes
    for name in chosen:
        if name in found["cases"] and found["cases"][name]["date"] >= options.since:
            continue
        if time.monotonic() > last_start:
            print(f"stopped after {options.minutes:g} minutes; run again to go on")
            break
        entry = found["cases"][name] = measure(name, options.rounds)
        found.update(machine())
        write(options.output, found)
        print(f"{name:20s} {entry['first_s']:6.2f} s first, {entry['second_s']:5.2f} s second", flush=True)


if __name__ == "__main__":
    main()
