"""How fast is heatfield, beside a plain NumPy reference and other descriptors?

    python benchmarks/speed.py            # some minutes; writes benchmarks/results/speed.json
    python benchmarks/speed.py --quick    # a smoke run: small clouds, few rounds, nothing written

One thread for everyone, except where two threads are the question. The contenders take
turns, round after round, so that a busy machine slows all of them; the best round counts.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # numerical libraries read these when they are loaded, which is below
    for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[_name] = "1"

import numpy as np

HERE = Path(__file__).resolve().parent
OUTPUT = HERE / "results" / "speed.json"
VARIANTS = ("simple", "desc", "joint")
DTYPES = ("float64", "float32")
HEADLINE = ("sphere", 1024, 3)

Shot = Callable[[int], object]  # describe one cloud so many times


def make_cloud(kind: str, m: int) -> np.ndarray:
    """A seeded cloud: points on a sphere, in a ball, on a knotted curve, or along an orbit in the plane."""
    rng = np.random.default_rng(m)
    if kind == "sphere":
        points = rng.standard_normal((m, 3))
        return points / np.linalg.norm(points, axis=1, keepdims=True)
    if kind == "ball":
        return make_cloud("sphere", m) * rng.random((m, 1)) ** (1 / 3)
    if kind == "curve":
        s = rng.random(m) * 2 * np.pi
        return np.c_[np.sin(s) + 2 * np.sin(2 * s), np.cos(s) - 2 * np.cos(2 * s), -np.sin(3 * s)]
    if kind == "orbit":
        points = np.empty((m, 2))
        x, y = rng.random(2)
        for i in range(m):
            x = (x + 4.1 * y * (1 - y)) % 1
            y = (y + 4.1 * x * (1 - x)) % 1
            points[i] = x, y
        return points
    raise ValueError(f"kind must be 'sphere', 'ball', 'curve' or 'orbit', got {kind!r}")


def race(shots: dict[str, Shot], rounds: int, seconds: float, clouds: int | None = None) -> dict[str, Any]:
    """Let the contenders take turns. Milliseconds a cloud: best round, median, and least CPU time.

    A shot describes ``clouds`` clouds or, without that, as many as fill ``seconds``.
    """
    counts: dict[str, int] = {}
    wall: dict[str, list[float]] = {name: [] for name in shots}
    cpu: dict[str, list[float]] = {name: [] for name in shots}
    for name, shot in shots.items():
        if clouds is None:
            shot(1)  # compile, load, fill caches
            counts[name] = clouds_in(seconds, shot)
        else:
            counts[name] = clouds
            shot(min(clouds, 8))
    names = list(shots)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            start, start_cpu = time.perf_counter(), time.process_time()
            shots[name](counts[name])
            wall[name].append((time.perf_counter() - start) / counts[name])
            cpu[name].append((time.process_time() - start_cpu) / counts[name])
    return {
        name: {
            "best_ms": 1e3 * min(wall[name]),
            "median_ms": 1e3 * statistics.median(wall[name]),
            "cpu_ms": 1e3 * min(cpu[name]),
            "clouds_a_shot": counts[name],
        }
        for name in names
    }


def clouds_in(seconds: float, shot: Shot) -> int:
    """How many clouds fill the time, tried and doubled, since a call may cost more than its first cloud."""
    count = 1
    while True:
        start = time.perf_counter()
        shot(count)
        if time.perf_counter() - start >= seconds or count >= 4096:
            return count
        count *= 2


def load_reference() -> Any:
    """The plain NumPy specification that the tests compare with."""
    path = HERE.parent / "tests" / "helpers" / "reference.py"
    spec = importlib.util.spec_from_file_location("reference", path)
    if spec is None or spec.loader is None or not path.exists():
        raise SystemExit(f"the reference is missing: {path}; run the benchmark from a full checkout")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def heatfield_shot(points: np.ndarray, variant: str, dtype: str, n_jobs: int = 1) -> Shot:
    """The batch path, as users call it: input checks, schedule, sums, signatures, pooling."""
    import heatfield as hf

    describe = hf.HFSDescriptor(variant=variant, dtype=dtype, n_jobs=n_jobs).fit([points])
    return lambda count: describe.transform([points] * count)


def deviation(got: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, relative where the expected number is above 1."""
    return float((np.abs(got - expected) / np.maximum(1, np.abs(expected))).max())


def repeated(run: Callable[[], object]) -> Shot:
    def shot(count: int) -> None:
        for _ in range(count):
            run()

    return shot


def measure_case(kind: str, m: int, rounds: int, seconds: float) -> dict[str, Any]:
    """All contenders on one cloud: times, ratios to the reference, errors, and who could not run."""
    from _rivals import RIVALS

    reference = load_reference()
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


def _in_new_process(code: str) -> list[float]:
    """The numbers that a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
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
            found[name] += _in_new_process(code)
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
    before, peak = _in_new_process(MEMORY.replace("POINTS", str(m)))
    return {"m": m, "before_mb": before, "peak_mb": peak}


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    import heatfield as hf

    model, flags = platform.processor() or platform.machine(), []
    if Path("/proc/cpuinfo").exists():
        lines = dict(
            line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line
        )
        fields = {key.strip(): value.strip() for key, value in lines.items()}
        model = fields.get("model name", model)
        flags = sorted(f for f in fields.get("flags", "").split() if f.startswith(("avx", "fma", "sse4")))
    packages = (
        "numpy",
        "scipy",
        "numba",
        "scikit-learn",
        "torch",
        "open3d-cpu",
        "open3d",
        "jakteristics",
    )
    return {
        "cpu": model,
        "cores": cores(),
        "flags": flags,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {"heatfield": hf.__version__} | {p: v for p in packages if (v := _version(p))},
        "load_average": [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None,
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def case_of(result: dict[str, Any], kind: str, m: int, n: int) -> dict[str, Any] | None:
    for case in result["cases"]:
        if (case["cloud"], case["m"], case["n"]) == (kind, m, n):
            return case
    return None


def judge(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Every goal with what was asked and what was measured; ``met`` is None where it was not measured."""

    def ratio(m: int, name: str) -> float | None:
        case = case_of(result, "sphere", m, 3)
        return case["ratios"].get(name) if case else None

    headline = case_of(result, *HEADLINE)
    times = headline["times"] if headline else {}
    joint = None
    if {"heatfield joint float64", "heatfield desc float64"} <= times.keys():
        joint = times["heatfield joint float64"]["best_ms"] / times["heatfield desc float64"]["best_ms"]
    threads = next((t["speedup"] for t in result["threads"] if t["m"] == 1024), None)
    imports, memory = result["imports"], result["memory"]
    rows = [
        (
            "desc, m=1024, float64: times faster than the reference",
            ">=",
            8.0,
            ratio(1024, "heatfield desc float64"),
        ),
        (
            "desc, m=1024, float32: times faster than the reference",
            ">=",
            15.0,
            ratio(1024, "heatfield desc float32"),
        ),
        (
            "desc, m=128, float64: times faster than the reference",
            ">=",
            8.0,
            ratio(128, "heatfield desc float64"),
        ),
        ("two threads over many clouds, m=1024: times faster than one", ">=", 1.8, threads),
        ("joint: times the time of desc, m=1024, float64", "<=", 3.5, joint),
        ("import heatfield: seconds", "<=", 0.3, imports["heatfield_s"] if imports else None),
        (
            "20,000 points: peak megabytes",
            "<=",
            500.0,
            memory["peak_mb"] if memory and memory["m"] == 20000 else None,
        ),
    ]
    return [
        {
            "goal": goal,
            "asked": f"{sign} {bound:g}",
            "measured": value,
            "met": None if value is None else bool(value >= bound if sign == ">=" else value <= bound),
        }
        for goal, sign, bound, value in rows
    ]


def headline_table(case: dict[str, Any]) -> list[str]:
    """One cloud, every contender: milliseconds, and how many times faster than the reference."""
    lines = [f"{case['cloud']}, m={case['m']}, n={case['n']}: one cloud, one thread"]
    lines.append(f"  {'':28}{'best ms':>10}{'median':>10}{'CPU ms':>10}   x reference")
    for name, entry in case["times"].items():
        times = f"{entry['best_ms']:10.2f}{entry['median_ms']:10.2f}{entry['cpu_ms']:10.2f}"
        factor = case["ratios"].get(name)
        lines.append(f"  {name:28}{times}{'' if factor is None else f'{factor:14.1f}'}")
    lines += [f"  {name:28}{note}" for name, note in case["notes"].items()]
    return lines


def rivals_table(case: dict[str, Any]) -> list[str]:
    """Each rival's time over ours: above 1 we are faster. Ours includes the pooling, theirs does not."""
    ours = [f"heatfield desc {dtype}" for dtype in DTYPES]
    lines = [f"{case['cloud']}, m={case['m']}: times faster than each rival, desc in {' and '.join(DTYPES)}"]
    for name, entry in case["times"].items():
        if not name.startswith(("reference", "heatfield")):
            factors = [entry["best_ms"] / case["times"][own]["best_ms"] for own in ours]
            lines.append(f"  {name:28}" + "".join(f"{factor:10.2f}" for factor in factors))
    return lines


def all_clouds_table(cases: list[dict[str, Any]]) -> list[str]:
    """All clouds: the reference's milliseconds, ours with the ratio, and the rivals' milliseconds."""
    ours = [f"heatfield {variant} {dtype}" for dtype in DTYPES for variant in VARIANTS]
    rivals = [
        n for c in cases for n in (*c["times"], *c["notes"]) if not n.startswith(("reference", "heatfield"))
    ]
    columns = ["reference desc", *ours, *dict.fromkeys(rivals)]
    heads = [[str(i + 1) for i in range(len(columns))]]
    for case in cases:
        row = []
        for name in columns:
            if name not in case["times"]:
                row.append("-")
                continue
            cell = f"{case['times'][name]['best_ms']:.2f}"
            if name in ours and name in case["ratios"]:
                cell += f" ({case['ratios'][name]:.1f}x)"
            row.append(cell)
        heads.append(row)
    widths = [max(len(row[i]) for row in heads) + 2 for i in range(len(columns))]
    labels = ["cloud"] + [f"{c['cloud']} m={c['m']} n={c['n']}" for c in cases]
    lines = ["All clouds: ms a cloud, best round (times faster than the reference; simple against simple)"]
    lines += [f"  {i + 1:>2}  {name}" for i, name in enumerate(columns)]
    for label, row in zip(labels, heads, strict=True):
        lines.append(
            f"  {label:18}" + "".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        )
    return lines


def report(result: dict[str, Any]) -> str:
    """The whole result as text."""
    about = result["machine"]
    lines = [
        f"heatfield speed, {result['date']}",
        f"{about['cpu']}, {about['cores']} cores, {' '.join(about['flags'])}",
        "python " + about["python"] + "".join(f", {p} {v}" for p, v in about["versions"].items()),
        f"load average {about['load_average']} before, {result['load_average_after']} after",
        f"best of {result['rounds']} rounds",
    ]
    if result["busy"]:
        lines.append(
            "WARNING: other work took the cores during the run; do not trust the figure of two threads"
        )
    headline = case_of(result, *HEADLINE) or (result["cases"][0] if result["cases"] else None)
    if headline:
        lines += ["", *headline_table(headline), "", *rivals_table(headline)]
        lines += ["", *all_clouds_table(result["cases"])]
    lines += ["", "Threads (desc, float64)"]
    for entry in result["threads"]:
        one, two = (entry["times"][f"n_jobs={jobs}"]["best_ms"] for jobs in (1, 2))
        lines.append(
            f"  {entry['clouds']} clouds of {entry['m']} points: {one:.2f} ms a cloud with one thread, "
            f"{two:.2f} with two, {entry['speedup']:.2f} times faster"
        )
    if not result["threads"]:
        lines.append("  not measured: fewer than two cores")
    if result["imports"]:
        seconds = result["imports"]
        lines += [
            "",
            f"import heatfield {seconds['heatfield_s']:.3f} s, {seconds['ratio']:.2f} of import numpy, scipy "
            f"({seconds['numpy_scipy_s']:.3f} s); with HFSDescriptor {seconds['descriptor_s']:.3f} s",
        ]
    if result["memory"]:
        memory = result["memory"]
        lines.append(
            f"peak memory {memory['peak_mb']:.0f} MB for {memory['m']} points; "
            f"{memory['before_mb']:.0f} MB of it are the libraries"
        )
    lines += ["", "Goals"]
    for goal in result["goals"]:
        verdict = {True: "met", False: "NOT MET", None: "not measured"}[goal["met"]]
        value = "" if goal["measured"] is None else f"{goal['measured']:.2f}"
        lines.append(f"  {verdict:13}{goal['goal']:62}{goal['asked']:>8}{value:>10}")
    return "\n".join(lines)


def measure(quick: bool, rounds: int) -> dict[str, Any]:
    """Everything, in one run."""
    from _rivals import RIVALS

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
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "quick": quick,
        "rounds": rounds,
        "machine": about,
        "rivals": {rival.name: {"about": rival.about, "status": rival.status()} for rival in RIVALS},
        "cases": cases,
        "threads": threads,
        "imports": measure_imports(2 if quick else 5),
        "memory": measure_memory(2000 if quick else 20000),
    }
    result["load_average_after"] = machine()["load_average"]
    result["busy"] = is_busy(cases, threads)
    result["goals"] = judge(result)
    return result


def is_busy(cases: list[dict[str, Any]], threads: list[dict[str, Any]]) -> bool:
    """Whether others had the cores: rounds took a tenth more than the processor's time, or threads waited."""
    single = [entry for case in cases for entry in case["times"].values()]
    excess = [entry["median_ms"] / entry["cpu_ms"] for entry in single if entry["cpu_ms"] > 0]
    waited = any(t["times"]["n_jobs=2"]["best_ms"] > 0.55 * t["times"]["n_jobs=2"]["cpu_ms"] for t in threads)
    return bool(excess and statistics.median(excess) > 1.1) or waited


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
        help=f"JSON file to write (default {OUTPUT.relative_to(HERE.parent)}; quick: none)",
    )
    options = parser.parse_args()
    rounds = options.rounds if options.rounds is not None else (2 if options.quick else 5)
    if rounds < 1:
        parser.error(f"--rounds must be at least 1, got {rounds}")
    if importlib.util.find_spec("heatfield") is None:
        parser.error("heatfield is not installed: pip install . first, or set PYTHONPATH=src")
    result = measure(options.quick, rounds)
    print(report(result))
    output = options.output or (None if options.quick else OUTPUT)
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(result, indent=1) + "\n")
        print(f"\nwritten to {output}")


if __name__ == "__main__":
    main()
