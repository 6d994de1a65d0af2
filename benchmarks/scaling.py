"""Time and peak memory of `signatures` against the number of points, from a hundred to ten million.

    python -m benchmarks.scaling [--smallest 1e5] [--largest 1e7] [--cases sphere/auto,ball/dense] [--jobs 2]
                                 [--minutes 2.5] [--since "2026-11-16 19:00"] [--draw]

Every case runs in a fresh process: it compiles on a small cloud of the same kind, then measures one call.
Each finished case is written to benchmarks/results/scaling.json at once; run again, the script continues
where it stopped (a case with other settings is run again, and with ``--since`` an older one). After
``--minutes`` no further case is begun. Then docs/theory/scaling.png is drawn, with
the exponent of seconds ~ m**p fitted to the sizes from 1e4 on; ``--draw`` only draws.

dense, fast, auto   Eight scales, all local and global outputs, float64, tol = 1e-6 (dense: to rounding).
                    Dense is run up to 20,000 points; beyond, its time there is multiplied by
                    (m / 20,000)**2 and marked ``extrapolated``; its memory is not given.
sklearn             scikit-learn's KernelDensity (kd tree): the density alone, at one scale, the fourth of
                    eight, to rtol = 1e-6; one thread. Run while the next size may end within ``--patience``.
keops               PyKeOps, where it is installed: the density alone at that scale, exact sums of all
                    pairs on all cores. Same limit. Its formulas are compiled before the clock starts.
"""

from __future__ import annotations

import argparse
import importlib.util
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
from benchmarks.lib.clouds import LARGE_CLOUDS, make_large_cloud
from benchmarks.lib.machine import machine, now
from benchmarks.lib.race import best_of
from benchmarks.lib.results import DOCS, RESULTS, ROOT, read, write

OUTPUT = RESULTS / "scaling.json"
PICTURE = DOCS / "theory" / "scaling.png"
DENSE_MOST = 20_000
SCALES = 8


METHODS = ("dense", "fast", "auto", "sklearn", "keops")
FIT_FROM = 10_000


def series(runs: dict[str, dict], name: str, method: str, what: str, extrapolated: bool) -> np.ndarray:
    """(sizes, values) of one line of the picture."""
    found = []
    for word, entry in runs.items():
        cloud, way, m = word.split("/")
        mine = (cloud, way) == (name, method) and bool(entry.get("extrapolated")) == extrapolated
        if mine and what in entry:
            found.append((int(m), entry[what]))
    return np.array(sorted(found), float).reshape(-1, 2).T


def exponent(m: np.ndarray, seconds: np.ndarray) -> float:
    """p of seconds ~ m**p over the sizes from 1e4 on; NaN for fewer than two."""
    late = m >= FIT_FROM
    return float(np.polyfit(np.log(m[late]), np.log(seconds[late]), 1)[0]) if late.sum() > 1 else math.nan


def exponents(runs: dict[str, dict]) -> dict[str, float]:
    """By cloud and method, where two sizes or more are known."""
    out = {}
    for name in LARGE_CLOUDS:
        for method in METHODS:
            p = exponent(*series(runs, name, method, "seconds", False))
            if math.isfinite(p):
                out[f"{name}/{method}"] = round(p, 3)
    return out


def draw(runs: dict[str, dict], path: Path) -> None:
    """Log-log: seconds above, peak memory below, one column per cloud."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = dict(zip(METHODS, ("#888888", "#1f77b4", "#d62728", "#2ca02c", "#9467bd"), strict=True))
    figure, axes = plt.subplots(
        2,
        len(LARGE_CLOUDS),
        figsize=(3.4 * len(LARGE_CLOUDS), 6.4),
        sharex=True,
        sharey="row",
        layout="constrained",
    )
    for column, name in enumerate(LARGE_CLOUDS):
        time_axis, memory_axis = axes[:, column]
        for method in METHODS:
            m, seconds = series(runs, name, method, "seconds", False)
            if m.size == 0:
                continue
            p = exponent(m, seconds)
            label = {"sklearn": "sklearn KDE, 1 scale", "keops": "KeOps density, 1 scale"}.get(method, method)
            label += f"  $m^{{{p:.2f}}}$" if math.isfinite(p) else ""
            style = {"color": colours[method], "marker": "o", "ms": 4}
            if method == "fast":  # auto often lies on it
                style |= {"marker": "s", "ms": 7, "mfc": "none"}
            time_axis.loglog(m, seconds, label=label, **style)
            far, extended = series(runs, name, method, "seconds", True)
            if far.size:
                time_axis.loglog(
                    [m[-1], *far], [seconds[-1], *extended], "--", color=colours[method], lw=1,
                    label="dense, extrapolated $m^2$",
                )  # fmt: skip
            memory = series(runs, name, method, "peak_bytes", False)
            memory_axis.loglog(memory[0], memory[1] / 2**30, **style)
        time_axis.set_title({"curves": "curve bundle", "tree": "LiDAR-like tree"}.get(name, name))
        if time_axis.lines:
            time_axis.legend(fontsize=7, loc="upper left")
        memory_axis.set_xlabel("points")
        for axis in (time_axis, memory_axis):
            axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("seconds")
    axes[1, 0].set_ylabel("peak memory of the process, GiB")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def measure(name: str, m: int, method: str, jobs: int, tol: float) -> dict[str, Any]:
    """One case, in this process."""
    points = make_large_cloud(name, m)
    warm = make_large_cloud(name, 7000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if method in ("sklearn", "keops"):
        t = float(hf.scale_schedule(points, SCALES)[3])
        density = sklearn_density if method == "sklearn" else keops_density
        density(warm[:500], t, tol)
        seconds, _ = once_or_best(lambda: density(points, t, tol))
        plan = "density alone, one scale"
    else:
        # Loads everything and starts the threads.
        hf.signatures(warm, method="fast", tol=tol, n_jobs=jobs)
        hf.signatures(warm[:500], method="dense", n_jobs=jobs)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds, s = once_or_best(
            lambda: hf.signatures(points, n_scales=SCALES, method=method, tol=tol, n_jobs=jobs)
        )
        plan = " ".join(s.plan.methods)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": seconds,
        "peak_bytes": 1024 * peak,
        "peak_bytes_before": 1024 * before,  # interpreter, libraries, the points themselves, the warm-up
        "plan": plan,
        "jobs": jobs,
        "tol": tol,
        "date": now(),
    }


def once_or_best(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of one call and its result; of the best of five where none takes half a second."""
    return best_of(work, least=1, most=5, single=0.5)


def sklearn_density(points: np.ndarray, t: float, tol: float) -> np.ndarray:
    """log u up to a constant, by dual trees."""
    from sklearn.neighbors import KernelDensity

    return KernelDensity(bandwidth=math.sqrt(2.0 * t), rtol=tol).fit(points).score_samples(points)


def keops_density(points: np.ndarray, t: float, tol: float) -> np.ndarray:  # noqa: ARG001
    """The sum of weights, all pairs, generated code."""
    from pykeops.numpy import LazyTensor

    x, y = LazyTensor(points[:, None, :]), LazyTensor(points[None, :, :])
    return (-((x - y) ** 2).sum(-1) / (4.0 * t)).exp().sum(axis=1)


def sizes(largest: float) -> list[int]:
    """Powers of ten, and the dense path's largest size."""
    return sorted({10**k for k in range(2, 8) if 10**k <= largest} | {min(DENSE_MOST, int(largest))})


def cases(chosen: str | None, largest: float) -> list[tuple[str, str, int]]:
    """(cloud, method, size) in the order of size, so that the picture fills from the left."""
    pairs = [(c, w) for c in LARGE_CLOUDS for w in METHODS]
    if chosen:
        asked = [tuple(word.split("/")) for word in chosen.split(",")]
        unknown = [word for word, pair in zip(chosen.split(","), asked, strict=True) if pair not in pairs]
        if unknown:
            raise SystemExit(f"unknown case {unknown[0]!r}: CLOUD/METHOD of {LARGE_CLOUDS} and {METHODS}")
        pairs = [pair for pair in pairs if pair in asked]
    if importlib.util.find_spec("pykeops") is None:
        pairs = [(c, w) for c, w in pairs if w != "keops"]
        print("pykeops is not installed: that rival is left out")
    return [(c, w, m) for m in sizes(largest) for c, w in pairs if not (w == "dense" and m > DENSE_MOST)]


def run(case: tuple[str, str, int], options: argparse.Namespace) -> dict[str, Any]:
    """One case in a fresh process; what went wrong, where it did."""
    name, method, m = case
    command = [sys.executable, "-m", "benchmarks.scaling", "--one", f"{name}/{method}/{m}"]
    command += ["--jobs", str(options.jobs), "--tol", str(options.tol)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=options.timeout, check=False, cwd=ROOT
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"longer than {options.timeout:g} s", "jobs": options.jobs, "tol": options.tol}
    if done.returncode:
        words = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return {"failed": words[0], "jobs": options.jobs, "tol": options.tol}
    return json.loads(done.stdout.splitlines()[-1])


def key(case: tuple[str, str, int]) -> str:
    """As it stands in the file."""
    return f"{case[0]}/{case[1]}/{case[2]}"


def extrapolate(runs: dict[str, dict], largest: float) -> None:
    """The dense path beyond its largest measured size: m**2."""
    for name in LARGE_CLOUDS:
        last = runs.get(f"{name}/dense/{DENSE_MOST}")
        for m in sizes(largest):
            if last and "seconds" in last and m > DENSE_MOST:
                runs[f"{name}/dense/{m}"] = {
                    "seconds": last["seconds"] * (m / DENSE_MOST) ** 2,
                    "extrapolated": True,
                    **{word: last[word] for word in ("jobs", "tol", "date")},
                }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=float, default=1e7, help="largest number of points")
    parser.add_argument("--smallest", type=float, default=0, help="smallest number of points")
    parser.add_argument("--cases", help="only these, such as sphere/auto,ball/dense")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--patience", type=float, default=60.0, help="most seconds for a rival's next size")
    parser.add_argument("--timeout", type=float, default=3600.0, help="most seconds for one case")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no case after so long")
    parser.add_argument("--since", default="", help="run again what is older than this date and time, UTC")
    parser.add_argument("--out", type=Path, default=OUTPUT)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--draw", action="store_true", help="only draw what is known")
    parser.add_argument("--one", metavar="CLOUD/METHOD/M", help="one case in this process, printed as JSON")
    options = parser.parse_args()
    if options.one:
        name, method, m = options.one.split("/")
        print(json.dumps(measure(name, int(m), method, options.jobs, options.tol)))
        return

    found = read(options.out, {"runs": {}})
    runs = found["runs"]
    last_start = time.monotonic() + 60.0 * options.minutes
    for case in [] if options.draw else cases(options.cases, options.largest):
        if case[2] < options.smallest:
            continue
        known = runs.get(key(case), {})
        settings = (known.get("jobs"), known.get("tol"))
        if "seconds" in known and settings == (options.jobs, options.tol) and known["date"] >= options.since:
            continue
        if time.monotonic() > last_start:
            print(f"stopped after {options.minutes:g} minutes; run again to go on")
            break
        if case[1] in ("sklearn", "keops"):
            m, seconds = series(runs, case[0], case[1], "seconds", False)
            smaller = m < case[2]
            # All pairs at worst: the next size is not begun if it could take longer than that.
            if smaller.any() and seconds[smaller][-1] * (case[2] / m[smaller][-1]) ** 2 > options.patience:
                continue
        runs[key(case)] = run(case, options)
        extrapolate(runs, options.largest)
        found.update(machine())
        found["exponents"] = exponents(runs)
        write(options.out, found, sort_keys=True)
        entry = runs[key(case)]
        shown = entry.get("failed") or f"{entry['seconds']:.3f} s, {entry['peak_bytes'] / 2**30:.2f} GiB"
        print(f"{key(case):24s} {shown}", flush=True)
    if not runs:
        raise SystemExit(f"nothing to draw: {options.out} holds no runs")
    draw(runs, options.picture)
    print(f"results in {options.out}, picture in {options.picture}")


if __name__ == "__main__":
    main()
