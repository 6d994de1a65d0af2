"""Time and peak memory against the number of points, each path and auto, with scikit-learn's KDE as a rival.

    python benchmarks/scaling.py --most 1e6 --jobs 2

Every run is a process of its own, so that its peak memory is its own. Writes results/scaling.json and .png.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
CLOUDS = ("sphere", "ball", "curves", "clustered", "tree")


def make(name: str, m: int) -> np.ndarray:
    """A cloud of m points in space."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(m, 3))
    if name in ("sphere", "ball"):
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        return points if name == "sphere" else points * rng.random((m, 1)) ** (1 / 3)
    if name == "clustered":
        points[: m // 2] *= 1e-3
        return points
    if name == "curves":
        which, s = rng.integers(50, size=m), rng.random((m, 1)) * 2 * np.pi
        shift, phase = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
        return shift[which] + np.sin(s + phase[which]) + 1e-3 * points
    # A trunk, branches off it, and leaves as small balls at their ends.
    height, part = rng.random(m), rng.random(m)
    trunk = np.c_[np.zeros((m, 2)), 8 * height] + [0.15, 0.15, 0.0] * points
    branch = rng.integers(60, size=m)
    foot = np.c_[np.zeros((60, 2)), 2 + 6 * rng.random(60)]
    tip = foot + np.c_[rng.normal(size=(60, 2)) * 1.5, rng.random(60)]
    along = foot[branch] + (tip - foot)[branch] * rng.random((m, 1)) + 0.02 * points
    leaves = tip[branch] + 0.3 * points
    return np.where(part[:, None] < 0.2, trunk, np.where(part[:, None] < 0.4, along, leaves))


def one(name: str, m: int, method: str, jobs: int, tol: float) -> dict:
    """One measurement, in this process."""
    points = make(name, m)
    if method == "sklearn":
        from sklearn.neighbors import KernelDensity

        import heatfield as hf

        t = hf.scale_schedule(points)[3]
        model = KernelDensity(bandwidth=np.sqrt(2 * t), rtol=tol)
        start = time.perf_counter()
        model.fit(points).score_samples(points)
        seconds, plan = time.perf_counter() - start, ["one density, one scale"]
    else:
        import heatfield as hf

        warm = points[:: max(1, m // 6000)]
        hf.signatures(warm, method="fast", tol=tol)  # compiles
        hf.signatures(warm[:500], method="dense")
        start = time.perf_counter()
        s = hf.signatures(points, method=method, tol=tol, n_jobs=jobs)
        seconds, plan = time.perf_counter() - start, s.plan.methods
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"cloud": name, "m": m, "method": method, "seconds": seconds, "peak_bytes": peak, "plan": plan}


def draw(runs: list[dict], path: Path) -> None:
    """Log-log, one panel a cloud, with the exponent of the last two sizes."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(CLOUDS), figsize=(4 * len(CLOUDS), 4), sharey=True, layout="constrained"
    )
    for axis, name in zip(axes, CLOUDS, strict=True):
        for method in ("dense", "fast", "auto", "sklearn"):
            mine = sorted((r["m"], r["seconds"]) for r in runs if (r["cloud"], r["method"]) == (name, method))
            if not mine:
                continue
            m, seconds = np.array(mine).T
            label = method
            if len(mine) > 1:
                label += f" ~ m^{np.diff(np.log(seconds[-2:]))[0] / np.diff(np.log(m[-2:]))[0]:.2f}"
            axis.loglog(m, seconds, "o-", label=label)
        axis.set(title=name, xlabel="points")
        axis.legend(fontsize=8)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("seconds, T = 8, all outputs")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=float, default=1e6, help="largest number of points")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--clouds", default=",".join(CLOUDS))
    parser.add_argument(
        "--dense-most", type=float, default=2e4, help="largest number of points for the dense path"
    )
    parser.add_argument("--one", nargs=3, metavar=("CLOUD", "M", "METHOD"), help="one run, printed as JSON")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one[0], int(float(given.one[1])), given.one[2], given.jobs, given.tol)))
        return
    runs = []
    sizes = [10**k for k in range(2, 8) if 10**k <= given.most]
    for name in given.clouds.split(","):
        for m in sorted({*sizes, int(given.dense_most)}):
            for method in ("dense", "fast", "auto", "sklearn"):
                if (method == "dense" and m > given.dense_most) or (method == "sklearn" and m > 1e4):
                    continue
                command = [sys.executable, __file__, "--one", name, str(m), method]
                command += ["--jobs", str(given.jobs), "--tol", str(given.tol)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                runs.append(json.loads(done.stdout))
                print(f"{name} {m:,} {method}: {runs[-1]['seconds']:.3f} s", flush=True)
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / "scaling.json").write_text(
        json.dumps({"tol": given.tol, "jobs": given.jobs, "runs": runs}, indent=1)
    )
    draw(runs, results / "scaling.png")


if __name__ == "__main__":
    main()
