"""Time and peak memory of `signatures` against the number of points, from a hundred to ten million.

    python benchmarks/scaling.py [--largest 1e7] [--cases sphere/auto,ball/sklearn] [--jobs 2] [--draw]

Every case runs in a fresh process: it compiles on a small cloud of the same kind, then measures one call.
Each finished case is written to benchmarks/results/scaling.json at once; run again, the script goes on where
it stopped (a case with other settings is run anew). Then docs/scaling.png is drawn, with the exponent of
seconds ~ m**p fitted to the sizes from 1e4 on; ``--draw`` only draws.

dense, fast, auto   Eight scales, all local and global outputs, float64, tol = 1e-6 (dense: to rounding).
                    Dense is run up to 20,000 points; beyond, its time there is multiplied by
                    (m / 20,000)**2 and marked ``extrapolated``; its memory is not told.
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
from _machine import machine

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "scaling.json"
PICTURE = HERE.parent / "docs" / "scaling.png"
CLOUDS = ("sphere", "ball", "curves", "clustered", "tree")
METHODS = ("dense", "fast", "auto", "sklearn", "keops")
DENSE_MOST = 20_000
FIT_FROM = 10_000
SCALES = 8


def make(name: str, m: int) -> np.ndarray:
    """A cloud of m points in space."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(m, 3))
    if name in ("sphere", "ball"):
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        return points if name == "sphere" else points * rng.random((m, 1)) ** (1 / 3)
    if name == "clustered":  # half of the points in a tight cluster inside a wide extent
        points[: m // 2] *= 1e-3
        return points
    if name == "curves":  # fifty closed curves with a little noise
        which, s = rng.integers(50, size=m), rng.random((m, 1)) * 2 * np.pi
        shift, phase = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
        return shift[which] + np.sin(s + phase[which]) + 1e-3 * points
    # What a scanner sees of a tree: a trunk's bark, branches off it, and leaves as small balls at their ends.
    height, part = rng.random(m), rng.random(m)
    turn = rng.random(m) * 2 * np.pi
    radius = 0.25 * (1.2 - height)
    trunk = np.c_[radius * np.cos(turn), radius * np.sin(turn), 8 * height] + 0.005 * points
    branch = rng.integers(60, size=m)
    foot = np.c_[np.zeros((60, 2)), 2 + 6 * rng.random(60)]
    tip = foot + np.c_[rng.normal(size=(60, 2)) * 1.5, rng.random(60)]
    along = foot[branch] + (tip - foot)[branch] * rng.random((m, 1)) + 0.02 * points
    leaves = tip[branch] + 0.3 * points
    return np.where(part[:, None] < 0.2, trunk, np.where(part[:, None] < 0.4, along, leaves))


def measure(name: str, m: int, method: str, jobs: int, tol: float) -> dict[str, Any]:
    """One case, in this process."""
    import heatfield as hf

    points = make(name, m)
    warm = make(name, 7000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if method in ("sklearn", "keops"):
        t = float(hf.scale_schedule(points, SCALES)[3])
        density = sklearn_density if method == "sklearn" else keops_density
        density(warm[:500], t, tol)
        seconds, _ = best(lambda: density(points, t, tol))
        plan = "density alone, one scale"
    else:
        # Compiles, measures this machine's costs where they are not known, and starts the threads.
        hf.signatures(warm, method="fast", tol=tol, n_jobs=jobs)
        hf.signatures(warm[:500], method="dense", n_jobs=jobs)
        from heatfield._sums.costs import costs

        costs()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds, s = best(lambda: hf.signatures(points, n_scales=SCALES, method=method, tol=tol, n_jobs=jobs))
        plan = " ".join(s.plan.methods)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": seconds,
        "peak_bytes": 1024 * peak,
        "peak_bytes_before": 1024 * before,  # interpreter, libraries, the points themselves, the warm-up
        "plan": plan,
        "jobs": jobs,
        "tol": tol,
        "date": machine()["date"],
    }


def best(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of one call and its result; of the best of five where a call is over in no time."""
    times: list[float] = []
    while not times or (max(times) < 0.5 and len(times) < 5):
        started = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - started)
    return min(times), result


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
    pairs = [(c, w) for c in CLOUDS for w in METHODS]
    if chosen:
        asked = [tuple(word.split("/")) for word in chosen.split(",")]
        unknown = [word for word, pair in zip(chosen.split(","), asked, strict=True) if pair not in pairs]
        if unknown:
            raise SystemExit(f"unknown case {unknown[0]!r}: CLOUD/METHOD of {CLOUDS} and {METHODS}")
        pairs = [pair for pair in pairs if pair in asked]
    if importlib.util.find_spec("pykeops") is None:
        pairs = [(c, w) for c, w in pairs if w != "keops"]
        print("pykeops is not installed: that rival is left out")
    return [(c, w, m) for m in sizes(largest) for c, w in pairs if not (w == "dense" and m > DENSE_MOST)]


def run(case: tuple[str, str, int], options: argparse.Namespace) -> dict[str, Any]:
    """One case in a fresh process; what went wrong, where it did."""
    name, method, m = case
    command = [sys.executable, __file__, "--one", f"{name}/{method}/{m}"]
    command += ["--jobs", str(options.jobs), "--tol", str(options.tol)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout, check=False)
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
    for name in CLOUDS:
        last = runs.get(f"{name}/dense/{DENSE_MOST}")
        for m in sizes(largest):
            if last and "seconds" in last and m > DENSE_MOST:
                runs[f"{name}/dense/{m}"] = {
                    "seconds": last["seconds"] * (m / DENSE_MOST) ** 2,
                    "extrapolated": True,
                    **{word: last[word] for word in ("jobs", "tol", "date")},
                }


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
    for name in CLOUDS:
        for method in METHODS:
            p = exponent(*series(runs, name, method, "seconds", False))
            if math.isfinite(p):
                out[f"{name}/{method}"] = round(p, 3)
    return out


def draw(runs: dict[str, dict], path: Path) -> None:
    """Log-log: seconds above, peak memory below, one column a cloud."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = dict(zip(METHODS, ("#888888", "#1f77b4", "#d62728", "#2ca02c", "#9467bd"), strict=True))
    figure, axes = plt.subplots(
        2, len(CLOUDS), figsize=(3.4 * len(CLOUDS), 6.4), sharex=True, sharey="row", layout="constrained"
    )
    for column, name in enumerate(CLOUDS):
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


def write(path: Path, found: dict) -> None:
    """Whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    part.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=float, default=1e7, help="largest number of points")
    parser.add_argument("--cases", help="only these, such as sphere/auto,ball/dense")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--patience", type=float, default=60.0, help="most seconds for a rival's next size")
    parser.add_argument("--timeout", type=float, default=3600.0, help="most seconds for one case")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--draw", action="store_true", help="only draw what is known")
    parser.add_argument("--one", metavar="CLOUD/METHOD/M", help="one case in this process, printed as JSON")
    options = parser.parse_args()
    if options.one:
        name, method, m = options.one.split("/")
        print(json.dumps(measure(name, int(m), method, options.jobs, options.tol)))
        return

    found = json.loads(options.out.read_text()) if options.out.exists() else {"runs": {}}
    runs = found["runs"]
    for case in [] if options.draw else cases(options.cases, options.largest):
        known = runs.get(key(case), {})
        if "seconds" in known and (known["jobs"], known["tol"]) == (options.jobs, options.tol):
            continue
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
        options.out.parent.mkdir(exist_ok=True)
        write(options.out, found)
        entry = runs[key(case)]
        shown = entry.get("failed") or f"{entry['seconds']:.3f} s, {entry['peak_bytes'] / 2**30:.2f} GiB"
        print(f"{key(case):24s} {shown}", flush=True)
    if not runs:
        raise SystemExit(f"nothing to draw: {options.out} holds no runs")
    draw(runs, options.picture)
    print(f"results in {options.out}, picture in {options.picture}")


if __name__ == "__main__":
    main()
